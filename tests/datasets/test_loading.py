import pytest

from ai_eval.datasets.loading import choose_rows, dataset_hash, metadata_warnings
from ai_eval.errors import DatasetError

ROWS = [
    {"id": "a", "input": "x", "split": "train"},
    {"id": "b", "input": "x", "split": "test", "enabled": False},
    {"id": "c", "input": "x", "split": "train", "enabled": True},
    {"id": "d", "input": "x", "enabled": False},
    {"id": "e", "input": "x"},
]


def ids(split: str) -> list[str]:
    return [row["id"] for row in choose_rows(ROWS, split)]


def test_rows_that_are_not_enabled_are_left_out():
    assert ids("") == ["a", "c", "e"]


def test_a_split_chooses_its_rows():
    assert ids("train") == ["a", "c"]


def test_a_split_that_does_not_exist_is_told_with_those_that_do():
    with pytest.raises(DatasetError) as caught:
        choose_rows(ROWS, "tset")
    assert caught.value.problems == ['there is no split "tset": there are train, test']
    with pytest.raises(DatasetError, match='there is no split "x": no question has one'):
        choose_rows(ROWS[3:], "x")


def test_names_that_a_dataset_brings_can_not_move_a_cursor():
    with pytest.raises(DatasetError) as caught:
        choose_rows([{"id": "a", "split": "\x1b[2Jx\n"}], "x\x1b")
    assert caught.value.problems[0].isprintable()


def test_a_split_without_an_enabled_question_is_told():
    with pytest.raises(DatasetError, match='the split "test" has no enabled question'):
        choose_rows(ROWS, "test")


def test_the_hash_knows_contents_and_order_of_rows_but_not_the_order_of_keys():
    one, two = {"id": "a", "input": "é"}, {"id": "b", "input": "x"}
    assert dataset_hash([one, two]) == dataset_hash([{"input": "é", "id": "a"}, two])
    assert dataset_hash([one, two]) != dataset_hash([two, one])
    assert dataset_hash([one]) != dataset_hash([{**one, "input": "è"}])
    assert dataset_hash([]) == "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"


def test_the_hash_takes_1_and_1_0_for_the_same_and_true_for_another():
    hashes = [dataset_hash([{"id": "a", "n": n}]) for n in (1, 1.0, True, "1")]
    assert hashes[0] == hashes[1]
    assert len(set(hashes)) == 3


def test_the_hash_takes_a_number_for_the_same_however_a_database_gives_it_back():
    hashes = {dataset_hash([{"id": "a", "n": n}]) for n in (1e300, 10**300)}
    assert len(hashes) == 1
    assert dataset_hash([{"n": 2**60 + 1}]) != dataset_hash([{"n": 2**60}])


def test_a_near_miss_of_a_metadata_key_that_a_grader_reads_is_told_once():
    rows = [{"id": n, "metadata": {"sate": 1, "state": 1, "note": "x"}} for n in "abc"]
    assert metadata_warnings(rows, ["state"]) == [
        'question "a" and 2 more, key "metadata.sate": no ticked grader reads it, '
        "did you mean metadata.state?"
    ]
    assert metadata_warnings(rows, []) == []
    assert metadata_warnings([{"id": "a"}], ["state"]) == []


def test_a_metadata_key_that_another_grader_reads_is_no_near_miss():
    rows = [{"id": "a", "metadata": {"states": 1, "state": 1}}]
    assert metadata_warnings(rows, ["state", "states"]) == []
