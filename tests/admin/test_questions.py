"""The questions of datasets in the database: list and form."""

import json
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from ai_eval.datasets.loading import load_dataset
from ai_eval.models import Dataset, Question
from tests.admin.reading import READS_AND_EDITS, SignIn
from tests.runs.making import make_dataset

HOSTILE = "<script>alert(1)</script>{{ 7*7 }}%s"
LIST = reverse("admin:ai_eval_question_changelist")
ADD = reverse("admin:ai_eval_question_add")


def change(question: Question) -> str:
    return reverse("admin:ai_eval_question_change", args=[question.pk])


def row(**given: Any) -> dict[str, Any]:
    return {"key": "q1", "position": "", "enabled": "on", "input": "one", "messages": "", "data": "", **given}


def form_of(reply) -> dict[str, Any]:
    """What a browser would send back unchanged: it ends every line with CR LF."""
    form = reply.context["adminform"].form
    sent = {}
    for name in form.fields:
        value = form[name].value()
        if value is not False and name != "overwrite":
            text = "" if value is None else "on" if value is True else str(value)
            sent[name] = text.replace("\r\n", "\n").replace("\n", "\r\n")
    return sent


def errors(reply) -> dict[str, Any]:
    assert reply.status_code == 200, "it was saved"
    return reply.context["adminform"].form.errors


@pytest.fixture
def loans(db) -> Dataset:
    return make_dataset("loans", [])


def test_a_question_is_added_at_the_end(signed_in: SignIn, loans: Dataset):
    client = signed_in("adam")
    data = '{"criteria": "Says so.", "split": "test", "own": [1, 2.5, null]}'
    for key in ("b", "a"):
        reply = client.post(ADD, row(dataset=loans.pk, key=key, data=data))
        assert reply["Location"] == f"{LIST}?dataset__id__exact={loans.pk}"
    assert [question.key for question in loans.questions.all()] == ["b", "a"]
    assert loans.questions.get(key="b").row() == {"id": "b", "input": "one", **json.loads(data)}


def test_several_turns_are_written_as_json(signed_in: SignIn, loans: Dataset):
    turns = [{"role": "user", "content": "Do you have Ulysses?\n"}]
    signed_in("adam").post(ADD, row(dataset=loans.pk, input="", messages=json.dumps(turns)))
    assert load_dataset("database", "loans").rows == [{"id": "q1", "messages": turns}]


AWKWARD = {
    "unicode": {"input": " e\u0301 \u202eabc\u202c \u200b👩‍🔬 ", "criteria": "\u00a0x\u00a0"},
    "hostile": {"input": HOSTILE, HOSTILE: HOSTILE, "metadata": {"<b>": "</textarea><script>"}},
    "line ends": {"input": "a\r\nb\nc\rd\n\n", "criteria": "a\r\nb\nc"},
    "numbers": {
        "input": "x",
        "metadata": {"big": 2**70, "small": 1e-9, "whole": 1.0, "no": False, "nil": None},
    },
    "long": {"input": "x" * 10_000, "metadata": {"blob": "é" * 1_000_000}},
    "turns": {"messages": [{"role": "user", "content": "a\r\nb", "name": "x"}], "enabled": False},
}


@pytest.mark.parametrize("given", AWKWARD.values(), ids=AWKWARD)
def test_saving_without_an_edit_changes_nothing(signed_in: SignIn, given: dict[str, Any]):
    question = make_dataset("loans", [given]).questions.get()
    before = question.row()
    client = signed_in("adam")
    page = client.get(change(question))
    assert "<script>" not in page.content.decode().replace("<script src", "")
    reply = client.post(change(question), form_of(page))
    assert reply.status_code == 302, errors(reply)
    question.refresh_from_db()
    assert json.dumps(question.row(), sort_keys=True) == json.dumps(before, sort_keys=True)


WRONG = [
    ("key", {"key": ""}, "required"),
    ("key", {"key": "x" * 201}, "at most 200"),
    ("key", {"key": "a\x00b"}, "Null characters"),
    ("key", {"key": "a\u200bb"}, "a sign that can't be seen"),
    ("key", {"key": "taken"}, "is taken by another question"),
    ("position", {"position": "-1"}, "greater than or equal to 0"),
    ("position", {"position": "9" * 30}, "less than or equal to"),
    ("position", {"position": "abc"}, "whole number"),
    ("input", {"input": ""}, "a question has input (text) or messages (several turns)"),
    ("input", {"input": " \n"}, "must be text that is not empty"),
    ("input", {"input": "\u200b"}, "shows nothing"),
    ("input", {"input": "a\x00b"}, "Null characters"),
    ("messages", {"messages": '[{"role": "user", "content": "x"}]'}, "stands beside input"),
    ("messages", {"input": "", "messages": '[{"role": "user"}]'}, "messages[1].content is missing"),
    ("messages", {"input": "", "messages": '[{"role": "assistant", "content": "x"}]'}, "must be the user's"),
    ("messages", {"input": "", "messages": '"text"'}, "must be a list of turns"),
    ("messages", {"input": "", "messages": "[{"}, "JSON, line 1, column 3"),
    ("data", {"data": "[1]"}, "is a list, must be a mapping of keys"),
    ("data", {"data": "0"}, "is 0, must be a mapping of keys"),
    ("data", {"data": '{"a": 1, "a": 2}'}, 'has the key "a" twice'),
    ("data", {"data": '{"a": NaN}'}, "NaN is no number"),
    ("data", {"data": '{"a":\n nope}'}, "JSON, line 2, column 2"),
    ("data", {"data": '{"a":' * 60 + "1" + "}" * 60}, "nested deeper than 50 levels"),
    ("data", {"data": '{"a":' * 45 + "1" + "}" * 45}, "nested deeper than 40 levels"),
    ("data", {"data": "[" * 100_000}, "nested deeper"),
    ("data", {"data": '{"input": "x"}'}, '"input" has a field of its own'),
    ("data", {"data": '{"id": "x"}'}, '"id" has a field of its own'),
    (
        "data",
        {"data": '{"expected_facts": "no list"}'},
        'expected_facts is "no list", must be a list of texts',
    ),
    ("data", {"data": '{"expected_tools": [{"nmae": "x"}]}'}, "did you mean name?"),
    ("data", {"data": '{"split": "' + "x" * 101 + '"}'}, "must be text of 1 to 100 characters"),
    ("data", {"data": '{"a\\": \\"b": ' + "[" * 41 + "]" * 41 + "}"}, "nested deeper"),
    ("dataset", {"dataset": ""}, "required"),
    ("dataset", {"dataset": "99999999999999999999"}, "valid choice"),
    ("dataset", {"dataset": "abc"}, "valid choice"),
]


@pytest.mark.parametrize(("field", "given", "said"), WRONG, ids=[f"{w[0]}-{w[2]}"[:40] for w in WRONG])
def test_what_a_question_can_not_be_is_told_at_its_field(
    signed_in: SignIn, loans: Dataset, field: str, given: dict[str, str], said: str
):
    Question.objects.create(dataset=loans, key="taken", input="x")
    found = errors(signed_in("adam").post(ADD, row(dataset=loans.pk) | given))
    assert said in " ".join(found[field])
    assert list(found) == [field], "each problem stands once, at its own field"
    assert loans.questions.count() == 1


def test_what_may_be_a_mistake_is_told_and_saved(signed_in: SignIn, loans: Dataset):
    data = '{"expected_fact": ["x"], "tool_calls": []}'
    reply = signed_in("adam").post(ADD, row(dataset=loans.pk, data=data), follow=True)
    html = reply.content.decode()
    assert "did you mean expected_facts?" in html
    assert "tool_calls is set by the runner" in html
    assert loans.questions.count() == 1


def test_what_no_database_takes_is_replaced_by_a_visible_mark(signed_in: SignIn, loans: Dataset):
    reply = signed_in("adam").post(ADD, row(dataset=loans.pk, data='{"own": "a\\u0000b\\ud800"}'))
    assert reply.status_code == 302
    assert loans.questions.get().data == {"own": "a␀b�"}


def test_one_id_stands_in_two_datasets(signed_in: SignIn, loans: Dataset):
    other = make_dataset("other", ["one"])
    assert signed_in("adam").post(ADD, row(dataset=loans.pk)).status_code == 302
    assert other.questions.get().key == loans.questions.get().key == "q1"


def test_of_two_who_edit_one_question_the_second_is_told(signed_in: SignIn):
    question = make_dataset("loans", ["one"]).questions.get()
    client = signed_in("adam")
    given = form_of(client.get(change(question)))
    assert client.post(change(question), {**given, "input": "first"}).status_code == 302
    reply = client.post(change(question), {**given, "input": "second"})
    html = reply.content.decode()
    assert "Somebody saved this after you opened it" in html
    assert "Input is &quot;first&quot; there" in html
    question.refresh_from_db()
    assert question.input == "first"
    Question.objects.filter(pk=question.pk).update(data={"split": "third"})
    seen = reply.context["adminform"].form.conflict
    again = client.post(change(question), {**given, "input": "second", "overwrite": seen})
    assert "Somebody saved this" in again.content.decode(), "a third change in between is told, too"
    seen = again.context["adminform"].form.conflict
    assert client.post(change(question), {**given, "input": "second", "overwrite": seen}).status_code == 302
    question.refresh_from_db()
    assert (question.input, question.data) == ("second", {})


def test_a_question_that_was_deleted_meanwhile_is_not_made_again(signed_in: SignIn):
    question = make_dataset("loans", ["one"]).questions.get()
    client = signed_in("adam")
    given = form_of(client.get(change(question)))
    Dataset.objects.all().delete()
    assert client.post(change(question), given).status_code in (302, 404)
    assert not Question.objects.exists()


def test_a_dataset_changes_with_its_questions(signed_in: SignIn):
    dataset = make_dataset("loans", ["one", "two", "three"])
    client = signed_in("adam")
    first, second, third = dataset.questions.all()
    seen = {dataset.changed_at}
    given = form_of(client.get(change(first)))
    for url, data in (
        (change(first), {**given, "input": "other"}),
        (reverse("admin:ai_eval_question_delete", args=[second.pk]), {"post": "yes"}),
        (LIST, {"action": "delete_selected", "_selected_action": [third.pk], "post": "yes"}),
    ):
        assert client.post(url, data).status_code == 302
        dataset.refresh_from_db()
        seen.add(dataset.changed_at)
    assert len(seen) == 4
    assert dataset.questions.count() == 1


def test_a_question_stays_in_its_dataset(signed_in: SignIn):
    question = make_dataset("loans", ["one"]).questions.get()
    other = make_dataset("other", [])
    client = signed_in("adam")
    client.post(change(question), {**form_of(client.get(change(question))), "dataset": other.pk})
    question.refresh_from_db()
    assert question.dataset.slug == "loans"


def listed(client: Client, **query: str) -> str:
    reply = client.get(LIST, query)
    assert reply.status_code == 200
    return reply.content.decode()


def test_the_list_shows_what_is_asked_and_escapes_it(signed_in: SignIn):
    turns = [{"role": "user", "content": "Do you have Ulysses?"}, {"role": "user", "content": "Well?"}]
    make_dataset("loans", [HOSTILE, {"messages": turns, "split": "<i>test"}, "x" * 10_000])
    html = listed(signed_in("olga"))
    assert "&lt;script&gt;alert(1)&lt;/script&gt;{{ 7*7 }}%s" in html
    assert "Do you have Ulysses?" in html
    assert "&lt;i&gt;test" in html
    assert "x" * 160 + "…" in html
    assert "x" * 161 not in html


def test_questions_are_filtered_by_dataset_turns_and_whether_they_are_enabled(signed_in: SignIn):
    turns = [{"role": "user", "content": "a turn"}]
    loans = make_dataset(
        "loans", ["one question", {"input": "one off", "enabled": False}, {"messages": turns}]
    )
    make_dataset("other", ["elsewhere"])
    client = signed_in("olga")
    html = listed(client, dataset__id__exact=str(loans.pk))
    assert "Questions of loans" in html
    assert "one question" in html
    assert "elsewhere" not in html
    assert "a turn" not in listed(client, turns="single")
    assert "one question" not in listed(client, turns="multi")
    assert "one question" not in listed(client, enabled__exact="0")


@pytest.mark.parametrize(
    "row",
    [
        {"input": 'Où est "Ulysse"?'},
        {"messages": [{"role": "user", "content": 'Où est "Ulysse"?'}]},
        {"input": "x", "criteria": 'Où est "Ulysse"?'},
        {"input": "x", "id": 'Où est "Ulysse"?'},
    ],
    ids=["input", "messages", "data", "id"],
)
@pytest.mark.parametrize("q", ["ulysse", "Où est", '"Ulysse"'])
def test_text_is_found_wherever_it_stands(signed_in: SignIn, row: dict[str, Any], q: str):
    make_dataset("loans", [row])
    make_dataset("other", ["something else"])
    html = listed(signed_in("olga"), q=q)
    assert ">1 question<" in " ".join(html.split()).replace("> ", ">").replace(" <", "<")


@pytest.mark.parametrize(
    "q", ["\x00", "%", "_", "\\", "'", HOSTILE, "x" * 60_000, "a " * 3000, "\u202e", '"'], ids=ascii
)
def test_a_search_for_anything_is_no_failure(signed_in: SignIn, q: str):
    make_dataset("loans", ["plain"])
    html = listed(signed_in("olga"), q=q)
    assert "<script>alert" not in html
    assert "0 questions" in html or (q == "\x00" and "Null characters" in html)


@pytest.mark.parametrize(
    "query",
    [
        "p=abc",
        "p=-1",
        "p=99999999",
        "p=" + "9" * 5000,
        "p=%00",
        "o=abc",
        "o=99.-3.x",
        "all=",
        "turns=x",
        "enabled__exact=x",
        "dataset__id__exact=abc",
        "dataset__id__exact=99999999999999999999",
        "dataset__id__exact=%00",
        "dataset__id__exact=1&dataset__id__exact=2",
        "input__regex=(",
        "data__x__y=1",
        "nothing=1",
        "_facets=1",
        "e=1",
        "_popup=1",
        "_to_field=abc",
    ],
    ids=lambda query: query[:30],
)
def test_garbage_in_the_address_is_no_failure(signed_in: SignIn, query: str):
    make_dataset("loans", [f"question {number}" for number in range(60)])
    client = signed_in("adam")
    reply = client.get(f"{LIST}?{query}", follow=True)
    assert reply.status_code in (200, 400)
    if reply.redirect_chain:
        assert "There is no such page or filter" in reply.content.decode()


@pytest.mark.parametrize("pk", ["99999999999999999999", "abc", "-1", "%00"])
def test_a_question_that_is_none_is_no_failure(signed_in: SignIn, pk: str):
    client = signed_in("adam")
    for page in ("change", "delete", "history"):
        assert client.get(f"/admin/ai_eval/question/{pk}/{page}/").status_code in (302, 404)


def test_the_list_costs_the_same_queries_for_3_as_for_30_questions(signed_in: SignIn):
    client = signed_in("olga")

    def cost(count: int, slug: str) -> int:
        make_dataset(slug, ["x"] * count)
        with CaptureQueriesContext(connection) as queries:
            listed(client)
        return len(queries)

    assert cost(3, "few") == cost(30, "many")


def test_the_list_fetches_no_whole_question(signed_in: SignIn):
    make_dataset("loans", [{"input": "x" * 1_000_000, "metadata": {"blob": "y" * 1_000_000}}] * 2)
    reply = signed_in("olga").get(LIST)
    assert len(reply.content) < 100_000
    fetched = reply.context["cl"].result_list
    assert all(each.get_deferred_fields() == {"input", "messages", "data"} for each in fetched)


def test_ten_thousand_chosen_questions_are_deleted_after_a_short_question(signed_in: SignIn):
    dataset = Dataset.objects.create(slug="big")
    Question.objects.bulk_create(
        Question(dataset=dataset, key=f"key{number}", input="x") for number in range(10_000)
    )
    first = str(dataset.questions.first().pk)
    client = signed_in("adam")
    chosen = {"action": "delete_selected", "_selected_action": [first], "select_across": "1"}
    asked = client.post(f"{LIST}?dataset__id__exact={dataset.pk}", chosen).content.decode()
    assert "and 9980 more" in asked
    client.post(f"{LIST}?dataset__id__exact={dataset.pk}", {**chosen, "post": "yes"})
    assert not dataset.questions.exists()


def test_who_may_not_edit_is_led_to_the_question_to_read(signed_in: SignIn):
    question = make_dataset("loans", [{"id": "a b", "input": "one"}]).questions.get()
    client = signed_in("olga")
    reply = client.get(change(question))
    assert reply["Location"] == "/admin/ai_eval/dataset/rows/?source=database&reference=loans&question=a+b"
    assert client.post(change(question), {"input": "x"}).status_code == 403


@pytest.mark.parametrize(("name", "reads", "edits"), READS_AND_EDITS)
def test_operators_read_and_administrators_edit(signed_in: SignIn, name: str, reads: int, edits: int):
    dataset = make_dataset("loans", ["one", "two"])
    first, second = dataset.questions.all()
    client = signed_in(name)
    delete = reverse("admin:ai_eval_question_delete", args=[first.pk])
    selected = {"action": "delete_selected", "_selected_action": [second.pk], "post": "yes"}
    assert client.get(LIST).status_code == reads
    assert client.get(ADD).status_code == edits
    assert client.post(ADD, row(dataset=dataset.pk, key="q3")).status_code == (302 if edits == 200 else 403)
    assert client.post(delete, {"post": "yes"}).status_code == (302 if edits == 200 else 403)
    client.post(LIST, selected)
    assert dataset.questions.count() == (1 if edits == 200 else 2)


def test_who_is_not_signed_in_is_sent_to_sign_in(db):
    question = make_dataset("loans", ["one"]).questions.get()
    for url in (LIST, ADD, change(question)):
        assert Client().get(url)["Location"].startswith("/admin/login/")
        assert Client().post(url, row())["Location"].startswith("/admin/login/")
