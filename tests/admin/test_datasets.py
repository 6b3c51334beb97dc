"""The list of datasets, and the form of those in the database."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from ai_eval.datasets import DatasetSource, LoadedDataset, registry
from ai_eval.datasets.readings import read
from ai_eval.errors import DatasetError
from ai_eval.models import Dataset, Question, Target
from tests.runs.making import make_dataset, make_target

HOSTILE = "<script>alert(1)</script>{{ 7*7 }}%s"
YAML = "label: Riverside\nquestions:\n- {id: a, input: x}\n- {id: b, input: y, enabled: false}\n"
LIST = reverse("admin:ai_eval_dataset_changelist")

SignIn = Callable[[str], Client]
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


def listed(client: Client, query: str = "") -> str:
    reply = client.get(LIST + query)
    assert reply.status_code == 200
    return reply.content.decode()


def line(html: str, reference: str) -> str:
    """The row of the table that names the reference, with its white space made one."""
    rows = [row for row in html.split("<tr")[1:] if reference in row]
    assert len(rows) == 1, f"{len(rows)} rows name {reference}"
    return " ".join(rows[0].partition("</tr>")[0].split())


def state(client: Client, source: str, reference: str):
    return client.get(reverse("admin:ai_eval_dataset_state"), {"source": source, "reference": reference})


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


ADD = reverse("admin:ai_eval_dataset_add")


def change(dataset: Dataset) -> str:
    return reverse("admin:ai_eval_dataset_change", args=[dataset.pk])


def delete(dataset: Dataset) -> str:
    return reverse("admin:ai_eval_dataset_delete", args=[dataset.pk])


def form_of(reply) -> dict[str, str]:
    """What a browser would send back unchanged."""
    form = reply.context["adminform"].form
    values = {name: form[name].value() for name in form.fields}
    return {name: "" if value is None else value for name, value in values.items() if value is not False}


def test_an_administrator_adds_a_dataset(signed_in: SignIn):
    reply = signed_in("adam").post(
        ADD, {"slug": "loans", "label": HOSTILE, "fixtures": "books\r\n\r\n patrons "}
    )
    assert reply.status_code == 302
    dataset = Dataset.objects.get()
    assert (dataset.slug, dataset.label, dataset.fixtures) == ("loans", HOSTILE, ["books", "patrons"])


def test_saving_without_an_edit_changes_nothing(signed_in: SignIn):
    dataset = make_dataset("loans", ["one"])
    names = [" two\nlines ", "books"]
    Dataset.objects.filter(pk=dataset.pk).update(fixtures=names)
    client = signed_in("adam")
    assert client.post(change(dataset), form_of(client.get(change(dataset)))).status_code == 302
    dataset.refresh_from_db()
    assert dataset.fixtures == names


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("slug", "", "required"),
        ("slug", "a b", "valid"),
        ("slug", "taken", "already exists"),
        ("slug", "x" * 101, "at most 100"),
        ("label", "a\x00b", "Null characters"),
        ("fixtures", "a\x00b", "Null characters"),
        ("label", "x" * 201, "at most 200"),
    ],
)
def test_what_a_dataset_can_not_be_is_told_at_its_field(signed_in: SignIn, field: str, value: str, said: str):
    make_dataset("taken", [])
    reply = signed_in("adam").post(ADD, {"slug": "loans", "label": "", "fixtures": "", field: value})
    assert reply.status_code == 200
    assert said in str(reply.context["adminform"].form.errors[field])
    assert Dataset.objects.count() == 1


def test_the_id_that_a_target_uses_can_not_change(signed_in: SignIn):
    make_target(slug="desk", label="Help desk")
    dataset = Dataset.objects.get()
    client = signed_in("adam")
    given = form_of(client.get(change(dataset)))
    reply = client.post(change(dataset), {**given, "slug": "renamed"})
    assert "Help desk would no longer find the dataset" in str(reply.context["adminform"].form.errors["slug"])
    assert client.post(change(dataset), {**given, "label": "Renamed"}).status_code == 302


def test_of_two_who_edit_one_dataset_the_second_is_told(signed_in: SignIn):
    dataset = make_dataset("loans", ["one"])
    client = signed_in("adam")
    given = form_of(client.get(change(dataset)))
    assert client.post(change(dataset), {**given, "label": "First"}).status_code == 302
    reply = client.post(change(dataset), {**given, "label": "Second"})
    assert "adam" in reply.content.decode()
    assert "label is First there" in reply.content.decode().replace("Label", "label")
    dataset.refresh_from_db()
    assert dataset.label == "First"
    again = {**given, "label": "Second", "overwrite": reply.context["adminform"].form.conflict}
    assert client.post(change(dataset), again).status_code == 302
    dataset.refresh_from_db()
    assert dataset.label == "Second"


def test_who_may_not_edit_is_led_to_the_questions(signed_in: SignIn):
    dataset = make_dataset("loans", ["one"])
    client = signed_in("olga")
    reply = client.get(change(dataset))
    assert reply["Location"] == "/admin/ai_eval/dataset/rows/?source=database&reference=loans"
    assert client.post(change(dataset), {"slug": "x"}).status_code == 403
    assert "Add a dataset" not in listed(client)
    assert change(dataset) not in listed(client)


@pytest.mark.parametrize(
    ("name", "reads", "edits"),
    [
        ("adam", 200, 200),
        ("olga", 200, 403),
        ("anna", 403, 403),
        ("vera", 403, 403),
        ("nina", 403, 403),
        ("root", 200, 200),
    ],
)
def test_operators_read_and_administrators_edit(signed_in: SignIn, name: str, reads: int, edits: int):
    dataset = make_dataset("loans", ["one"])
    client = signed_in(name)
    assert client.get(LIST).status_code == reads
    assert state(client, "database", "loans").status_code == reads
    assert client.get(ADD).status_code == edits
    assert client.get(delete(dataset)).status_code == edits
    assert client.post(delete(dataset), {"post": "yes"}).status_code == (302 if edits == 200 else 403)
    assert Dataset.objects.exists() is (edits == 403)


def test_who_is_not_signed_in_is_sent_to_sign_in(db):
    dataset = make_dataset("loans", ["one"])
    for url in (LIST, ADD, change(dataset), delete(dataset), reverse("admin:ai_eval_dataset_state")):
        assert Client().get(url)["Location"].startswith("/admin/login/")


def test_a_dataset_that_a_target_uses_is_not_deleted(signed_in: SignIn):
    make_target(slug="desk", label="Help desk <b>")
    dataset = Dataset.objects.get()
    client = signed_in("adam")
    for reply in (client.get(delete(dataset)), client.post(delete(dataset), {"post": "yes"})):
        html = reply.content.decode()
        assert "is in use and can't be deleted" in html
        assert "Help desk &lt;b&gt;" in html
    assert Dataset.objects.exists()


def test_a_target_over_a_file_of_that_name_protects_no_dataset(signed_in: SignIn):
    dataset = make_dataset("loans", ["one"])
    make_target(slug="desk", dataset_source="file", dataset_reference="loans")
    assert signed_in("adam").post(delete(dataset), {"post": "yes"}).status_code == 302
    assert not Dataset.objects.filter(pk=dataset.pk).exists()


def test_deleting_ten_thousand_questions_loads_none_of_them(signed_in: SignIn):
    dataset = Dataset.objects.create(slug="big")
    Question.objects.bulk_create(
        Question(dataset=dataset, key=f"q{number}", input="x") for number in range(10_000)
    )
    client = signed_in("adam")
    with CaptureQueriesContext(connection) as queries:
        assert "its 10000 questions" in client.get(delete(dataset)).content.decode()
        assert client.post(delete(dataset), {"post": "yes"}).status_code == 302
    assert not Question.objects.exists()
    asked = [query["sql"] for query in queries if '"ai_eval_question"."input"' in query["sql"]]
    assert asked == []


def test_deleting_twice_is_told(signed_in: SignIn):
    dataset = make_dataset("loans", ["one"])
    client = signed_in("adam")
    client.post(delete(dataset), {"post": "yes"})
    reply = client.post(delete(dataset), {"post": "yes"}, follow=True)
    assert "doesn’t exist" in reply.content.decode()


@pytest.mark.parametrize("pk", ["99999999999999999999", "abc", "-1", "%00"])
def test_a_dataset_that_is_none_is_no_failure(signed_in: SignIn, pk: str):
    client = signed_in("adam")
    for page in ("change", "delete", "history"):
        assert client.get(f"/admin/ai_eval/dataset/{pk}/{page}/").status_code in (302, 404)
