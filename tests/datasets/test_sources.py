import codecs

import pytest

from ai_eval.datasets import DatasetSource, LoadedDataset, registry
from ai_eval.datasets.loading import load_dataset
from ai_eval.errors import DatasetError
from ai_eval.models import Dataset, EvalSettings, Question

YAML = "questions:\n- {id: q1, input: Where is it?}\n"


def problem(source: str, reference: str) -> str:
    with pytest.raises(DatasetError) as caught:
        load_dataset(source, reference)
    return caught.value.problems[0]


def test_both_sources_are_registered_at_start_up():
    assert {"file", "database"} <= set(registry.all())


def test_an_unknown_source_is_told_with_the_one_that_is_meant():
    assert problem("fiel", "x.yaml") == 'there is no dataset source "fiel", did you mean file?'
    assert "there are file, database" in problem("nowhere", "x.yaml")


@pytest.mark.parametrize("name", ["a.yaml", "a.yml", "a.YAML"])
def test_a_yaml_file_is_read(put, name: str):
    put(name, YAML)
    assert load_dataset("file", name).rows == [{"id": "q1", "input": "Where is it?"}]


def test_a_json_file_is_read_as_strict_json(put):
    put("a.json", '{"questions": [{"id": 1, "input": "x"}]}')
    assert load_dataset("file", "a.json").rows == [{"id": "1", "input": "x"}]
    put("b.json", '{"questions": [{"id": 1, "input": "x", "input": "y"}]}')
    assert problem("file", "b.json") == 'b.json: an object with the id "1" has the key "input" twice'
    put("c.json", YAML)
    assert problem("file", "c.json").startswith("c.json, line 1, column 1: ")


@pytest.mark.parametrize(
    "raw",
    [codecs.BOM_UTF8 + YAML.encode(), codecs.BOM_UTF16_LE + YAML.encode("utf-16-le"), YAML.encode("utf-16")],
)
def test_a_byte_order_mark_is_no_part_of_the_first_key(put, raw: bytes):
    put("a.yaml", raw)
    assert len(load_dataset("file", "a.yaml").rows) == 1


def test_a_broken_file_is_told_with_line_and_column(put):
    put("a.yaml", "questions:\n- id: a\n  input: it is: here\n")
    assert problem("file", "a.yaml").startswith("a.yaml, line 3, column 15: mapping values are not allowed")


def test_another_encoding_is_told(put):
    put("a.yaml", "questions: [{id: a, input: café}]".encode("cp1252"))
    assert "byte 0xe9 is not UTF-8" in problem("file", "a.yaml")


@pytest.mark.parametrize("reference", ["../a.yaml", "sub/a.yaml", "/etc/a.yaml", "..\\a.yaml", "a\x00.yaml"])
def test_a_path_is_no_reference(put, tmp_path, reference: str):
    (tmp_path / "sub").mkdir()
    put("sub/a.yaml", YAML)
    assert "is a path: write the bare name of a file" in problem("file", reference)


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("", "no file is named"),
        ("a.txt", '"a.txt" has another ending than .yaml, .yml, .json'),
        ("..", "has another ending"),
        ("riversied.yaml", "there is no such file in "),
        ("riversied.yaml", "did you mean riverside.yaml?"),
        ("zzz.json", "; there are other.json, riverside.yaml"),
        ("directory.yaml", "there is no such file"),
        ("x" * 300 + ".yaml", ""),
    ],
)
def test_what_is_no_file_there_is_told(put, tmp_path, reference: str, said: str):
    put("riverside.yaml", YAML)
    put("other.json", YAML)
    (tmp_path / "directory.yaml").mkdir()
    assert said in problem("file", reference)


def test_a_directory_that_is_not_set_or_not_there_is_told(settings, db):
    settings.AI_EVAL = {"DATASET_PATH": ""}
    assert problem("file", "a.yaml").startswith("no dataset directory is set")
    settings.AI_EVAL = {"DATASET_PATH": "/nowhere/at/all"}
    assert problem("file", "a.yaml") == "the dataset directory /nowhere/at/all is not there (dataset_path)"


def test_the_settings_row_says_where_the_directory_is(put, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "b.yaml").write_text(YAML)
    EvalSettings.objects.create(dataset_path=str(tmp_path / "other"))
    assert len(load_dataset("file", "b.yaml").rows) == 1


def test_a_file_beyond_the_limit_is_refused(put, monkeypatch):
    monkeypatch.setattr("ai_eval.datasets.files.DOCUMENT_LIMIT", 20)
    put("a.yaml", YAML)
    assert problem("file", "a.yaml") == "a.yaml: is larger than 20 bytes"


def test_references_of_the_file_source_are_its_files_in_order(put, tmp_path):
    for name in ("b.yaml", "a.json", "c.yml", "notes.txt", ".hidden.yaml", "replies.jsonl"):
        put(name, YAML)
    (tmp_path / "d.yaml").mkdir()
    assert registry.all()["file"]().references() == [
        ("a.json", "a.json"),
        ("b.yaml", "b.yaml"),
        ("c.yml", "c.yml"),
    ]


@pytest.fixture
def loans(db) -> Dataset:
    dataset = Dataset.objects.create(slug="loans", label="Loans", fixtures=["books"])
    Question.objects.create(dataset=dataset, key="b", position=2, input="two", enabled=False)
    Question.objects.create(
        dataset=dataset,
        key="a",
        position=1,
        messages=[{"role": "user", "content": "one"}],
        data={"split": "x"},
    )
    return dataset


def test_a_dataset_of_the_database_is_loaded_in_order(loans, django_assert_num_queries):
    with django_assert_num_queries(2):
        loaded = load_dataset("database", "loans")
    assert loaded.rows == [
        {"id": "a", "messages": [{"role": "user", "content": "one"}], "split": "x"},
        {"id": "b", "input": "two", "enabled": False},
    ]
    assert (loaded.label, loaded.fixtures) == ("Loans", ("books",))


def test_a_dataset_of_the_database_is_validated_as_a_file_is(loans):
    loans.questions.filter(key="b").update(data={"expected_facts": "no list", "tool_calls": []})
    assert problem("database", "loans") == (
        'dataset "loans", question "b" (2nd), key "expected_facts": is "no list", must be a list of texts'
    )


def test_a_dataset_that_the_database_does_not_have_is_told(loans):
    assert problem("database", "laons") == 'there is no dataset "laons" in the database, did you mean loans?'
    assert "there are loans" in problem("database", "zzz")
    loans.delete()
    assert "there is none at all" in problem("database", "zzz")


def test_references_of_the_database_source_are_ids_with_labels(loans):
    Dataset.objects.create(slug="bare")
    assert set(registry.all()["database"]().references()) == {("loans", "Loans"), ("bare", "bare")}


@pytest.fixture
def own_source():
    class Own(DatasetSource):
        id = "own"
        label = "Own"
        loaded: object = None

        def load(self, reference: str) -> LoadedDataset:
            return type(self).loaded  # type: ignore[return-value]

    registry.register(Own)
    yield Own
    registry.unregister(Own)


def test_what_an_apps_own_source_returns_is_checked_as_a_file_is(own_source):
    own_source.loaded = LoadedDataset([{"id": 1, "input": "x", "tag": "y"}], ("f",), "L", ("careful",))
    loaded = load_dataset("own", "anything")
    assert loaded.rows == [{"id": "1", "input": "x", "tag": "y"}]
    assert (loaded.fixtures, loaded.label, loaded.warnings[0]) == (("f",), "L", "careful")
    assert "did you mean tags?" in loaded.warnings[1]
    own_source.loaded = LoadedDataset([{"id": "a"}])
    assert problem("own", "ref").startswith('own:ref, question "a" (1st), key "input": is missing')
    own_source.loaded = [{"id": "a"}]
    assert problem("own", "ref") == "the dataset source own returned list, not a LoadedDataset"
