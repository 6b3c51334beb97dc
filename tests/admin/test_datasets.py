"""The list of datasets: every source, and what is wrong with what it offers."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ai_eval.datasets import DatasetSource, LoadedDataset, registry
from ai_eval.datasets.readings import read
from ai_eval.errors import DatasetError
from ai_eval.models import Target
from tests.admin.dataset_pages import HOSTILE, LIST, line, listed, state
from tests.admin.reading import SignIn
from tests.runs.making import make_dataset, make_target

YAML = "label: Riverside\nquestions:\n- {id: a, input: x}\n- {id: b, input: y, enabled: false}\n"

Put = Callable[..., Path]


@pytest.fixture
def put(tmp_path: Path, settings, db) -> Put:
    """Writes a file into the dataset directory, which is empty at first, as if it had lain there."""
    settings.AI_EVAL = {**settings.AI_EVAL, "DATASET_PATH": tmp_path}

    def write(name: str, content: str, age: float = 100.0) -> Path:
        path = tmp_path / name
        path.write_text(content)
        then = path.stat().st_mtime - age
        os.utime(path, (then, then))
        return path

    return write


@pytest.fixture
def tickets():
    """A source of another app; what it gives is set by the test."""

    class Tickets(DatasetSource):
        id = "tickets"
        label = "Support tickets"
        offered: object = [("open", "Open tickets")]
        loaded: object = LoadedDataset([{"id": "t1", "input": "Where is my hold?"}])

        def references(self) -> list[tuple[str, str]]:
            return given(type(self).offered)

        def load(self, reference: str) -> LoadedDataset:
            return given(type(self).loaded)

    def given(what):
        if isinstance(what, Exception):
            raise what
        return what

    registry.register(Tickets)
    yield Tickets
    registry.unregister(Tickets)


def test_every_source_is_listed_with_its_datasets(signed_in: SignIn, put: Put, tickets):
    put("riverside.yaml", YAML)
    make_dataset("loans", ["one", {"messages": [{"role": "user", "content": "two"}]}])
    html = listed(signed_in("olga"))
    assert html.index("<h2>File") < html.index("<h2>Database") < html.index("<h2>Support tickets")
    assert "Riverside" in line(html, "riverside.yaml")
    assert "1 of them disabled" in line(html, "riverside.yaml")
    assert "single-turn" in line(html, "riverside.yaml")
    assert "1 of them multi-turn" in line(html, "reference=loans")
    assert "Open tickets" in html


def test_a_dataset_says_which_targets_use_it(signed_in: SignIn, put: Put):
    put("riverside.yaml", YAML)
    make_target(slug="desk", label="Help desk", dataset_source="file", dataset_reference="riverside.yaml")
    html = listed(signed_in("olga"))
    assert "Help desk" in line(html, "riverside.yaml")
    assert "no target" in line(html, "desk_questions")


def test_a_broken_file_is_told_with_its_place(signed_in: SignIn, put: Put):
    put("broken.yaml", "questions:\n- id: a\n  input: it is: here\n")
    shown = line(listed(signed_in("olga")), "broken.yaml")
    assert "invalid" in shown
    assert "line 3, column 15" in shown
    assert "questions unknown" in shown, "what was not read has no figure"


def test_of_many_problems_the_first_are_shown_and_the_others_linked(signed_in: SignIn, put: Put):
    rows = "".join(f"- {{id: q{n}, input: x, enabled: maybe}}\n" for n in range(9))
    put("wrong.yaml", f"questions:\n{rows}")
    shown = line(listed(signed_in("olga")), "wrong.yaml")
    assert shown.count("must be true or false") == 3
    assert "more problems" in shown


def test_a_file_without_questions_and_one_with_all_disabled_are_no_valid_ones(signed_in: SignIn, put: Put):
    put("empty.yaml", "questions: []\n")
    put("off.yaml", "questions: [{id: a, input: x, enabled: false}]\n")
    html = listed(signed_in("olga"))
    assert "no questions" in line(html, "empty.yaml")
    assert "every question is disabled" in line(html, "off.yaml")


def test_a_directory_that_is_not_there_breaks_nothing_else(signed_in: SignIn, settings):
    settings.AI_EVAL = {**settings.AI_EVAL, "DATASET_PATH": "/nowhere/at/all"}
    make_dataset("loans", ["one"])
    html = listed(signed_in("olga"))
    assert "the dataset directory /nowhere/at/all is not there" in html
    assert "valid" in line(html, "loans")


@pytest.mark.parametrize("offered", [RuntimeError("down: <b>"), DatasetError("down: <b>"), [1], None])
def test_a_source_that_fails_breaks_nothing_else(signed_in: SignIn, put: Put, tickets, offered):
    put("riverside.yaml", YAML)
    make_target(slug="desk", label="Help desk", dataset_source="tickets", dataset_reference="open")
    tickets.offered = offered
    html = listed(signed_in("olga"))
    assert "can&#x27;t be listed" in html or "can't be listed" in html
    assert "<b>" not in html
    assert "valid" in line(html, "riverside.yaml")
    assert "Help desk" in line(html, "reference=open"), "nobody knows that it is missing"


def test_a_vanished_dataset_stays_visible_as_missing(signed_in: SignIn, put: Put):
    put("riverside.yaml", YAML)
    make_target(slug="f", label="Files", dataset_source="file", dataset_reference="riversied.yaml")
    target = make_target(slug="d", label="Rows")
    Target.objects.filter(pk=target.pk).update(dataset_reference="gone")
    make_target(slug="s", label="Tickets", dataset_source="tickest", dataset_reference="open")
    html = listed(signed_in("olga"))
    missing = line(html, "file:riversied.yaml")
    assert "Files" in missing
    assert "did you mean riverside.yaml?" in missing
    assert "there is no dataset &quot;gone&quot; in the database" in line(html, "database:gone")
    assert "there is no dataset source &quot;tickest&quot;" in line(html, "tickest:open")
    assert html.index("riversied.yaml") < html.index("<h2>File"), "what needs a hand stands first"


def test_an_apps_own_source_is_read_apart_from_the_list(signed_in: SignIn, tickets):
    client = signed_in("olga")
    shown = line(listed(client), "reference=open")
    assert "not read yet" in shown
    assert 'hx-get="/admin/ai_eval/dataset/state/?source=tickets&amp;reference=open"' in shown
    shown = line(state(client, "tickets", "open").content.decode(), "reference=open")
    assert "valid" in shown
    assert "hx-get" not in shown, "it would be read again and again"


@pytest.mark.parametrize(
    "loaded", [RuntimeError("no connection"), DatasetError("no connection"), [{"id": "no connection"}]]
)
def test_a_dataset_that_its_source_fails_to_read_is_told(signed_in: SignIn, tickets, loaded):
    tickets.loaded = loaded
    shown = line(state(signed_in("olga"), "tickets", "open").content.decode(), "reference=open")
    assert "invalid" in shown
    assert "no connection" in shown or "not a LoadedDataset" in shown


def test_a_reference_that_its_source_reads_without_listing_it_is_not_missing(signed_in: SignIn, tickets):
    make_target(slug="desk", label="Help desk", dataset_source="tickets", dataset_reference="closed")
    client = signed_in("olga")
    assert "missing" not in line(listed(client), "reference=closed")
    assert "valid" in line(state(client, "tickets", "closed").content.decode(), "reference=closed")
    tickets.loaded = DatasetError("there is no such view")
    assert "missing" in line(state(client, "tickets", "closed").content.decode(), "reference=closed")


@pytest.mark.parametrize(
    ("source", "reference"),
    [("", ""), ("file", ""), ("fiel", "a.yaml"), ("file", "../../etc/passwd"), ("database", "a\x00b")],
)
def test_the_state_of_nothing_is_not_found(signed_in: SignIn, put: Put, source: str, reference: str):
    assert state(signed_in("olga"), source, reference).status_code == 404


def test_a_large_file_is_read_apart_from_the_list(signed_in: SignIn, put: Put):
    put("large.yaml", YAML + "# " + "x" * 500_000)
    client = signed_in("olga")
    assert "not read yet" in line(listed(client), "large.yaml")
    assert "valid" in line(state(client, "file", "large.yaml").content.decode(), "large.yaml")
    assert "valid" in line(listed(client), "large.yaml"), "once read, it is known"


def test_a_file_that_did_not_change_is_read_once(put: Put):
    put("a.yaml", YAML)
    assert read("file", "a.yaml") is read("file", "a.yaml")


def test_a_file_that_changed_is_read_again(signed_in: SignIn, put: Put):
    client = signed_in("olga")
    put("a.yaml", "questions: [{id: a, input: x}]")
    assert "valid" in line(listed(client), "a.yaml")
    path = put("a.yaml", "questions: [{id: a, inptu: x}]")
    assert "invalid" in line(listed(client), "a.yaml")
    path.unlink()
    assert "a.yaml" not in listed(client)


def test_a_file_that_changes_within_one_tick_of_its_time_is_read_again(put: Put):
    path = put("a.yaml", "questions: [{id: a, input: x}]", age=0)
    stamp = path.stat().st_mtime_ns
    assert not read("file", "a.yaml").problems
    path.write_text("questions: [{id: a, inptu: x}]")
    os.utime(path, ns=(stamp, stamp))
    assert read("file", "a.yaml").problems


def test_a_dataset_of_the_database_that_changed_is_read_again(signed_in: SignIn):
    dataset = make_dataset("loans", ["one"])
    client = signed_in("olga")
    assert "valid" in line(listed(client), "reference=loans")
    dataset.questions.update(data={"expected_facts": "no list"})
    assert "invalid" in line(listed(client), "reference=loans")
    dataset.questions.all().delete()
    assert "no questions" in line(listed(client), "reference=loans")


def test_a_question_that_is_not_even_a_mapping_breaks_nothing_else(signed_in: SignIn):
    make_dataset("other", ["one"])
    make_dataset("loans", ["one"]).questions.update(data=["no", "mapping"])
    html = listed(signed_in("olga"))
    assert "invalid" in line(html, "reference=loans")
    assert "valid" in line(html, "reference=other")


def test_the_list_costs_the_same_queries_for_3_as_for_30_datasets(signed_in: SignIn, put: Put):
    client = signed_in("olga")

    def cost(count: int, name: str) -> int:
        for number in range(count):
            put(f"{name}{number}.yaml", YAML)
            make_target(slug=f"{name}{number}")
            make_target(slug=f"{name}{number}f", dataset_source="file", dataset_reference=f"{name}{number}")
        with CaptureQueriesContext(
            connection,
        ) as queries:
            listed(client)
        return len(queries)

    assert cost(1, "a") == cost(9, "b")


def test_a_long_list_is_paged_and_says_where_it_stands(signed_in: SignIn, put: Put):
    for number in range(60):
        put(f"f{number:02}.yaml", "questions: []")
    client = signed_in("olga")
    assert "1 to 50 of 60 datasets, page 1 of 2" in listed(client)
    second = listed(client, "?p=2")
    assert "f59.yaml" in second
    assert "f00.yaml" not in second


@pytest.mark.parametrize("p", ["abc", "-1", "0", "99999999", "9" * 5000, "%00", "1.5", ""], ids=ascii)
def test_a_page_that_is_none_is_no_failure(signed_in: SignIn, db, p: str):
    make_dataset("loans", ["one"])
    assert "1 to 1 of 1 datasets" in listed(signed_in("olga"), f"?p={p}")


def test_datasets_are_found_by_label_and_reference(signed_in: SignIn, put: Put):
    put("café.yaml", YAML)
    make_dataset("loans", ["one"])
    make_target(slug="desk", dataset_source="file", dataset_reference="gone-café.yaml")
    html = listed(signed_in("olga"), "?q=CAFÉ")
    assert "2 datasets" in html
    assert "reference=loans" not in html


@pytest.mark.parametrize(
    "q", ["\x00", HOSTILE, "x" * 10_000, "%", "\u202e"], ids=["nul", "hostile", "long", "%", "rtl"]
)
def test_a_search_for_anything_finds_nothing_and_harms_nothing(signed_in: SignIn, db, q: str):
    make_dataset("loans", ["one"])
    reply = signed_in("olga").get(LIST, {"q": q})
    assert reply.status_code == 200
    assert "<script>alert" not in reply.content.decode()
    assert "in its name" in reply.content.decode()


def test_names_that_are_no_text_break_nothing(signed_in: SignIn, put: Put, tmp_path: Path):
    (Path(os.fsdecode(os.fsencode(str(tmp_path)) + b"/\xff.yaml"))).write_text(YAML)
    (tmp_path / f"{HOSTILE.replace('/', '')}.yaml").write_text(
        "label: '<img src=x onerror=alert(1)>'\nquestions: []"
    )
    html = listed(signed_in("olga"))
    assert "\N{REPLACEMENT CHARACTER}.yaml" in html
    assert "<script>alert" not in html
    assert "<img" not in html
