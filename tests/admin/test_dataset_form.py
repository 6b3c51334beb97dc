"""The form of a dataset in the database, and its deletion."""

from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from ai_eval.models import Dataset, Question
from tests.admin.dataset_pages import HOSTILE, LIST, listed, state
from tests.admin.reading import READS_AND_EDITS, SignIn
from tests.runs.making import make_dataset, make_target

YAML = "label: Riverside\nquestions:\n- {id: a, input: x}\n- {id: b, input: y, enabled: false}\n"

Put = Callable[..., Path]


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


@pytest.mark.parametrize(("name", "reads", "edits"), READS_AND_EDITS)
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
