"""The page on which the questions of any dataset are read."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from ai_eval.datasets import DatasetSource, LoadedDataset, registry
from ai_eval.errors import DatasetError
from ai_eval.models import Dataset, Question
from tests.admin.reading import SignIn
from tests.runs.making import make_dataset, make_target

HOSTILE = "<script>alert(1)</script>{{ 7*7 }}%s"
ROWS = reverse("admin:ai_eval_dataset_rows")
YAML = "questions:\n- {id: a, input: Where is it?}\n"


@pytest.fixture
def folder(tmp_path: Path, settings, db) -> Path:
    """The dataset directory, beside which lies a file that nobody may read."""
    directory = tmp_path / "datasets"
    directory.mkdir()
    (tmp_path / "secret.yaml").write_text("questions: [{id: a, input: the secret}]")
    settings.AI_EVAL = {**settings.AI_EVAL, "DATASET_PATH": directory}
    return directory


def shown(client: Client, source: str, reference: str, **more: str) -> str:
    reply = client.get(ROWS, {"source": source, "reference": reference, **more})
    assert reply.status_code == 200
    return reply.content.decode()


FULL: dict[str, Any] = {
    "id": "renew",
    "input": "Keep Middlemarch for me.",
    "criteria": "Says until when.",
    "expected": {"format": "json"},
    "expected_facts": ["due on 15 March"],
    "must_not_contain": ["language model"],
    "expected_tools": [
        "look_up_patron",
        {"name": "renew_loan", "args": {"card": "C-1001"}, "after": "look_up_patron", "times": 1},
        {"not": "pay_fee"},
    ],
    "tags": ["loans"],
    "split": "test",
    "metadata": {"level": 3},
    "own": [1, 2],
}
READABLE = [
    "Keep Middlemarch for me.",
    "Says until when.",
    "&quot;format&quot;: &quot;json&quot;",
    "due on 15 March",
    "language model",
    "renew_loan with {&quot;card&quot;: &quot;C-1001&quot;}, after look_up_patron, times 1",
    "never pay_fee",
    "<bdi>loans</bdi>",
    "<bdi>split test</bdi>",
    "&quot;level&quot;: 3",
    "own",
]


def test_every_key_of_a_question_is_readable(signed_in: SignIn, folder: Path):
    (folder / "a.json").write_text(json.dumps({"label": "Riverside", "questions": [FULL]}))
    make_dataset("loans", [FULL])
    client = signed_in("olga")
    for html in (shown(client, "file", "a.json"), shown(client, "database", "loans")):
        assert [text for text in READABLE if text not in html] == []


def test_turns_stand_with_their_roles(signed_in: SignIn, db):
    turns = [
        {"role": "user", "content": "Do you have Ulysses?"},
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": "Hold it."},
    ]
    make_dataset("loans", [{"messages": turns, "enabled": False}])
    html = shown(signed_in("olga"), "database", "loans")
    assert html.index("Do you have Ulysses?") < html.index(">assistant<") < html.index("Hold it.")
    assert "disabled" in html


def test_a_dataset_of_an_apps_own_source_is_read(signed_in: SignIn, db):
    class Tickets(DatasetSource):
        id = "tickets"
        label = "Support tickets"

        def references(self) -> list[tuple[str, str]]:
            return [("open", "Open tickets"), ("down", "Down")]

        def load(self, reference: str) -> LoadedDataset:
            if reference == "open":
                return LoadedDataset([{"id": "t1", "input": "Where is my hold?"}])
            raise RuntimeError("no <b>connection") if reference == "down" else DatasetError("no such view")

    registry.register(Tickets)
    try:
        client = signed_in("olga")
        assert "Where is my hold?" in shown(client, "tickets", "open")
        assert "no &lt;b&gt;connection" in shown(client, "tickets", "down")
        reply = client.get(ROWS, {"source": "tickets", "reference": "other"})
    finally:
        registry.unregister(Tickets)
    assert reply.status_code == 404
    assert "no such view" in reply.content.decode()


def test_what_is_wrong_with_a_file_is_told_with_its_line(signed_in: SignIn, folder: Path):
    (folder / "a.yaml").write_text("questions:\n- id: a\n  input: x\n  enabled: maybe\n")
    html = shown(signed_in("adam"), "file", "a.yaml")
    assert "key &quot;enabled&quot;: is &quot;maybe&quot;, must be true or false (line 4)" in html
    assert "Use in a new target" not in html


def test_what_may_be_a_mistake_is_told(signed_in: SignIn, folder: Path):
    (folder / "a.yaml").write_text("questions: [{id: a, input: x, expected_fact: [y]}]")
    assert "did you mean expected_facts?" in shown(signed_in("olga"), "file", "a.yaml")


def test_a_file_that_just_changed_is_shown_as_it_is(signed_in: SignIn, folder: Path):
    client = signed_in("olga")
    for word in ("first", "other"):
        (folder / "a.yaml").write_text(f"questions: [{{id: a, input: {word}}}]")
        assert word in shown(client, "file", "a.yaml")


def test_an_old_file_that_changed_is_shown_as_it_is(signed_in: SignIn, folder: Path):
    client = signed_in("olga")
    for word in ("first", "other"):
        (folder / "a.yaml").write_text(f"questions: [{{id: a, input: {word}}}]")
        os.utime(folder / "a.yaml", (1_000_000_000, 1_000_000_000))
        assert word in shown(client, "file", "a.yaml")


@pytest.mark.parametrize(
    "reference",
    [
        "../secret.yaml",
        "..\\secret.yaml",
        "sub/../../secret.yaml",
        "./../secret.yaml",
        "{parent}/secret.yaml",
        "file://{parent}/secret.yaml",
        "%2e%2e%2fsecret.yaml",
        "..",
        ".",
        "/",
        "/etc/passwd",
        "a.yaml\x00",
        "\x00../secret.yaml",
        "a.yaml/",
        "",
        "nope.yaml",
        "x" * 5000 + ".yaml",
        HOSTILE,
        "\u202e.yaml",
    ],
    ids=lambda reference: ascii(reference)[:30],
)
def test_nothing_outside_the_directory_is_read(signed_in: SignIn, folder: Path, reference: str):
    (folder / "a.yaml").write_text(YAML)
    asked = {"source": "file", "reference": reference.replace("{parent}", str(folder.parent))}
    client = signed_in("olga")
    for url in (ROWS, reverse("admin:ai_eval_dataset_state")):
        reply = client.get(url, asked)
        html = reply.content.decode()
        assert reply.status_code == 404
        assert "the secret" not in html
        assert "<script>alert" not in html or reply["Content-Type"].startswith("text/plain")


@pytest.mark.parametrize("relative", [True, False])
def test_no_link_out_of_the_directory_is_followed(signed_in: SignIn, folder: Path, relative: bool):
    (folder / "out.yaml").symlink_to("../secret.yaml" if relative else folder.parent / "secret.yaml")
    client = signed_in("olga")
    html = shown(client, "file", "out.yaml")
    assert "leads out of the dataset directory" in html
    assert "the secret" not in html
    assert "leads out" in client.get(reverse("admin:ai_eval_dataset_changelist")).content.decode()


def test_a_link_within_the_directory_is_followed(signed_in: SignIn, folder: Path):
    (folder / "..data").mkdir()
    (folder / "..data" / "a.yaml").write_text(YAML)
    (folder / "a.yaml").symlink_to("..data/a.yaml")
    assert "Where is it?" in shown(signed_in("olga"), "file", "a.yaml")


@pytest.mark.parametrize(
    ("source", "reference", "said"),
    [
        ("fiel", "a.yaml", "there is no dataset source &quot;fiel&quot;, did you mean file?"),
        ("", "", "there is no dataset source"),
        (HOSTILE, "a", "there is no dataset source"),
        ("file\x00", "a.yaml", "there is no dataset source"),
        ("database", "laons", "did you mean loans?"),
        ("database", "lo\x00ans", "there is no dataset"),
        ("database", "9" * 5000, "there is no dataset"),
        ("file", "b.yaml", "there is no such file"),
    ],
    ids=lambda value: ascii(value)[:20],
)
def test_what_is_not_there_is_told(signed_in: SignIn, folder: Path, source: str, reference: str, said: str):
    make_dataset("loans", ["one"])
    reply = signed_in("olga").get(ROWS, {"source": source, "reference": reference})
    assert reply.status_code == 404
    html = reply.content.decode()
    assert said in html
    assert "<script>alert" not in html
    assert "All datasets" in html


def test_a_vanished_dataset_names_the_targets_that_use_it(signed_in: SignIn, folder: Path):
    make_target(slug="desk", label="Help desk", dataset_source="file", dataset_reference="gone.yaml")
    reply = signed_in("olga").get(ROWS, {"source": "file", "reference": "gone.yaml"})
    assert reply.status_code == 404
    assert "Help desk" in reply.content.decode()


def test_hostile_text_stays_text(signed_in: SignIn, folder: Path):
    question = {"id": HOSTILE, "input": HOSTILE, "tags": [HOSTILE], HOSTILE: {HOSTILE: [HOSTILE]}}
    question |= {"expected_facts": [HOSTILE], "expected_tools": [HOSTILE], "split": HOSTILE}
    (folder / "a.json").write_text(json.dumps({"label": HOSTILE, "questions": [question]}))
    client = signed_in("adam")
    for html in (shown(client, "file", "a.json"), shown(client, "file", "a.json", question=HOSTILE)):
        assert "<script>alert" not in html
        assert "&lt;script&gt;alert(1)&lt;/script&gt;{{ 7*7 }}%s" in html


def test_a_question_that_no_form_would_let_through_is_shown_all_the_same(signed_in: SignIn, db):
    dataset = make_dataset("loans", ["one", "two"])
    Question.objects.filter(key="q1").update(data=["no", "mapping"], messages={"role": 1})
    Question.objects.filter(key="q2").update(messages=["x", {"role": 3, "content": None}, 4])
    html = shown(signed_in("adam"), "database", "loans")
    assert "invalid" in html
    assert "mapping" in html
    assert all(
        reverse("admin:ai_eval_question_change", args=[each.pk]) in html for each in dataset.questions.all()
    )


def test_long_texts_are_cut_in_the_list_and_whole_by_themselves(signed_in: SignIn, db):
    facts = [f"fact {number}." for number in range(50)]
    make_dataset("loans", [{"input": "é" * 1_000_000, "expected_facts": facts, "own": "y" * 2000}] * 3)
    client = signed_in("olga")
    html = shown(client, "database", "loans")
    assert len(html) < 100_000
    assert "[998500 more characters]" in html
    assert "and 30 more" in html
    alone = shown(client, "database", "loans", question="q2")
    assert "é" * 1_000_000 in alone
    assert "fact 49." in alone
    assert alone.count("<article") == 1


@pytest.mark.parametrize(
    "wanted", ["nope", "", "\x00", HOSTILE, "x" * 5000], ids=lambda wanted: ascii(wanted)[:10]
)
@pytest.mark.parametrize("source", ["file", "database"])
def test_a_question_that_is_not_there_is_told(signed_in: SignIn, folder: Path, source: str, wanted: str):
    (folder / "a.yaml").write_text(YAML)
    make_dataset("a", ["one"])
    reference = {"file": "a.yaml", "database": "a"}[source]
    reply = signed_in("olga").get(ROWS, {"source": source, "reference": reference, "question": wanted})
    assert reply.status_code == 404
    assert "The dataset has no question" in reply.content.decode()
    assert "<script>alert" not in reply.content.decode()


def big() -> Dataset:
    dataset = Dataset.objects.create(slug="big")
    Question.objects.bulk_create(
        Question(dataset=dataset, key=f"k{number}", position=number, input=f"asked {number}.")
        for number in range(10_000)
    )
    return dataset


def test_ten_thousand_questions_are_paged(signed_in: SignIn, db):
    big()
    client = signed_in("olga")
    html = shown(client, "database", "big")
    assert "1 to 50 of 10000 questions, page 1 of 200" in html
    assert "asked 49." in html
    assert "asked 50." not in html
    assert "asked 9999." in shown(client, "database", "big", p="200")
    assert "source=database&amp;reference=big&amp;p=2" in html, "the next page is one of the same dataset"


@pytest.mark.parametrize("p", ["abc", "-1", "0", "99999999", "9" * 5000, "\x00", "1.5", ""], ids=ascii)
def test_a_page_that_is_none_is_no_failure(signed_in: SignIn, db, p: str):
    make_dataset("loans", ["one"])
    assert "1 to 1 of 1 questions" in shown(signed_in("olga"), "database", "loans", p=p)


def test_an_empty_dataset_says_so(signed_in: SignIn, db):
    make_dataset("loans", [])
    assert "It has no question yet." in shown(signed_in("olga"), "database", "loans")
    assert "Add the first one" in shown(signed_in("adam"), "database", "loans")


@pytest.mark.parametrize("source", ["file", "database"])
def test_the_page_costs_the_same_queries_for_3_as_for_30_questions(
    signed_in: SignIn, folder: Path, source: str
):
    client = signed_in("adam")

    def cost(count: int) -> int:
        make_dataset(f"d{count}", ["x"] * count)
        questions = [{"id": str(number), "input": "x"} for number in range(count)]
        (folder / f"d{count}.json").write_text(json.dumps({"questions": questions}))
        reference = f"d{count}.json" if source == "file" else f"d{count}"
        with CaptureQueriesContext(connection) as queries:
            shown(client, source, reference)
        return len(queries)

    assert cost(3) == cost(30)


def test_an_administrator_is_offered_a_new_target(signed_in: SignIn, folder: Path):
    (folder / "a b&c.yaml").write_text(YAML)
    html = shown(signed_in("adam"), "file", "a b&c.yaml")
    assert f'{reverse("admin:ai_eval_target_add")}?dataset=file%3Aa+b%26c.yaml"' in html
    assert "Use in a new target" not in shown(signed_in("olga"), "file", "a b&c.yaml")


@pytest.mark.parametrize(
    ("name", "status"),
    [("adam", 200), ("olga", 200), ("root", 200), ("anna", 403), ("vera", 403), ("nina", 403)],
)
def test_operators_and_administrators_read(signed_in: SignIn, name: str, status: int):
    make_dataset("loans", ["one"])
    asked = {"source": "database", "reference": "loans"}
    assert signed_in(name).get(ROWS, asked).status_code == status


def test_who_is_not_signed_in_is_sent_to_sign_in(db):
    assert Client().get(ROWS)["Location"].startswith("/admin/login/")
