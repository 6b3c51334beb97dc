"""The list of judges and the form of one: what it asks with, its prompt's check, and the preview."""

import pytest
from django.test import Client
from django.urls import reverse

from ai_eval.admin.judge_form import PROMPT_LIMIT
from ai_eval.graders import Grader, register, registry
from ai_eval.models import Answer, EvalSettings, JudgeSettings, Run
from tests.admin.judge_pages import LIST, PROMPT, RELEVANCE, judge, preview, typed
from tests.admin.reading import HOSTILE, SignIn, form_errors, queries_of, shown, words
from tests.llm_server import LLMServer
from tests.runs.making import make_target

# The list


def test_each_judge_is_listed_with_the_model_that_a_run_would_ask_and_where_it_comes_from(vera: Client):
    EvalSettings.objects.create(judge_model="openai/of-the-site")
    JudgeSettings.objects.create(grader=RELEVANCE, model="openai/its-own", prompt=PROMPT)
    text = words(shown(vera, LIST))
    assert "Relevance (gradient, 0-5) relevance_grader dimension relevance openai/its-own" in text
    assert "openai/of-the-site" in text
    assert "unvalidated" in text


def test_a_judge_without_any_model_is_told(vera: Client, settings):
    settings.AI_EVAL = {**settings.AI_EVAL, "JUDGE_MODEL": ""}
    assert "no model" in words(shown(vera, LIST))


def test_settings_of_a_judge_that_is_gone_stay_visible_and_can_be_deleted(vera: Client):
    stored = JudgeSettings.objects.create(grader=f"gone {HOSTILE}", prompt=HOSTILE, model="openai/x")
    for url in (LIST, judge(stored.grader)):
        html = shown(vera, url)
        assert "missing" in html
        assert "<script>alert" not in html
    vera.post(reverse("admin:ai_eval_judgesettings_delete", args=[stored.pk]), {"post": "yes"})
    assert not JudgeSettings.objects.exists()


def test_a_judge_that_nobody_registered_is_not_found(vera: Client):
    assert vera.get(judge("nobody")).status_code == 404
    assert vera.post(preview("nobody"), {"prompt": PROMPT}).status_code == 404


def test_the_list_costs_as_many_queries_for_thirty_rows_as_for_three(vera: Client):
    make_target(slug="first", graders=[RELEVANCE])
    JudgeSettings.objects.create(grader="gone")
    few = queries_of(vera, LIST)
    for number in range(30):
        make_target(slug=f"more{number}", graders=[RELEVANCE])
        JudgeSettings.objects.create(grader=f"gone{number}")
    assert queries_of(vera, LIST) == few


# Who may


@pytest.mark.parametrize(
    ("name", "reads", "edits"),
    [("olga", 200, 403), ("adam", 200, 302), ("anna", 403, 403), ("vera", 200, 302), ("nina", 403, 403)],
)
def test_who_looks_after_judges_edits_them_and_operators_read_them(
    signed_in: SignIn, name: str, reads: int, edits: int
):
    client = signed_in(name)
    assert client.get(LIST).status_code == reads
    assert client.get(judge()).status_code == reads
    assert client.post(judge(), typed(model="openai/x")).status_code == edits
    assert JudgeSettings.objects.exists() == (edits == 302)


# The form


def test_settings_of_its_own_are_saved_logged_and_removed_when_nothing_is_left(vera: Client):
    reply = vera.post(judge(), typed(model="openai/x", parameters='{"temperature": null}', prompt=PROMPT))
    assert reply.status_code == 302
    stored = JudgeSettings.objects.get(grader=RELEVANCE)
    assert (stored.model, stored.parameters, stored.prompt) == ("openai/x", {"temperature": None}, PROMPT)
    vera.post(judge(), typed(seen=stored.changed_at.isoformat()))
    assert not JudgeSettings.objects.exists()
    text = words(shown(vera, judge()))
    assert "vera: gave it settings of its own" in text
    assert "vera: removed its settings" in text


def test_the_built_in_prompt_typed_word_for_word_stays_the_built_in_one(vera: Client):
    built_in = registry.get(RELEVANCE).grader.default_template  # type: ignore[union-attr]
    reply = vera.post(judge(), typed(model="openai/x", prompt=built_in.replace("\n", "\r\n")), follow=True)
    assert JudgeSettings.objects.get().prompt == ""
    assert "the built-in one, word for word" in reply.content.decode()


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("prompt", "$question $response $dimension", "$criteria"),
        ("prompt", PROMPT + " $answer", "$answer"),
        ("prompt", PROMPT + " costs $ 5", "Line 4, column 17"),
        ("prompt", PROMPT + "x" * PROMPT_LIMIT, "100,000"),
        ("parameters", "{", "JSON"),
        ("parameters", "[1]", "must be a mapping"),
        ("parameters", '{"api_key": "x"}', "comes from the environment"),
        ("api_base", "file:///etc/passwd", "http"),
        ("api_base", "http://host/?api_key=abc", "key"),
        ("model", "openai/a b", "no space"),
        ("model", "openai/\u202ex", "can't be seen"),
    ],
)
def test_what_a_judge_can_not_have_is_told_at_its_field(vera: Client, field: str, value: str, told: str):
    found = form_errors(vera.post(judge(), typed(**{field: value})))
    assert list(found) == [field]
    assert told in " ".join(found[field])
    assert not JudgeSettings.objects.exists()


def test_of_two_who_edit_one_judge_the_second_is_told_and_keeps_what_was_typed(vera: Client):
    JudgeSettings.objects.create(grader=RELEVANCE, model="openai/first")
    opened = vera.get(judge()).context["form"].initial["seen"]
    JudgeSettings.objects.get().delete()
    JudgeSettings.objects.create(grader=RELEVANCE, model="openai/second")
    reply = vera.post(judge(), typed(model="openai/third", seen=opened))
    assert "saved this after you opened it" in str(form_errors(reply))
    assert 'value="openai/third"' in reply.content.decode()
    assert JudgeSettings.objects.get().model == "openai/second"


def test_settings_that_somebody_made_meanwhile_are_not_overwritten(vera: Client):
    JudgeSettings.objects.create(grader=RELEVANCE, model="openai/first")
    assert "saved this after you opened it" in str(
        form_errors(vera.post(judge(), typed(model="openai/mine")))
    )
    assert JudgeSettings.objects.get().model == "openai/first"


def test_settings_that_somebody_removed_meanwhile_are_not_made_again_unasked(vera: Client):
    stored = JudgeSettings.objects.create(grader=RELEVANCE, model="openai/first")
    seen = stored.changed_at.isoformat()
    stored.delete()
    assert "Somebody removed" in str(form_errors(vera.post(judge(), typed(model="openai/mine", seen=seen))))
    assert not JudgeSettings.objects.exists()


def test_hostile_settings_come_out_as_they_went_in(vera: Client):
    JudgeSettings.objects.create(grader=RELEVANCE, model=f"openai/{HOSTILE}", prompt=HOSTILE + PROMPT)
    for url in (LIST, judge()):
        html = shown(vera, url)
        assert "<script>alert" not in html
        assert "<img src=x" not in html


def test_a_grader_with_an_odd_id_has_an_address(vera: Client):
    base = registry.get(RELEVANCE).grader  # type: ignore[union-attr]

    class Odd(base):  # type: ignore[misc, valid-type]
        id = "odd/preview/x?y#z"
        label = "Odd"

    register(Odd)
    try:
        assert "Odd (gradient, 0-5)" in shown(vera, judge(Odd.id))
        assert vera.post(preview(Odd.id), {"prompt": PROMPT}).status_code == 200
    finally:
        registry.unregister(Odd)
    assert issubclass(Odd, Grader)


# The preview


def test_the_preview_is_what_the_judge_was_sent(vera: Client, graded: Run, llm_server: LLMServer):
    before = len(llm_server.requests)
    sent = next(seen for seen in llm_server.requests if "response_format" in seen.body or "5" in seen.prompt)
    reply = vera.post(preview(), {"prompt": "", "answer": Answer.objects.get().pk})
    filled = reply.context["filled"].shown
    assert filled in sent.prompt
    assert "Where is <b>book</b> {1} $5 of 100 %?" in filled
    assert len(llm_server.requests) == before, "a preview asks no model"


def test_the_preview_follows_what_is_typed_and_stores_nothing(vera: Client, graded: Run):
    reply = vera.post(preview(), {"prompt": f"As typed: {PROMPT}"})
    assert reply.context["filled"].shown.startswith("As typed: Judge relevance: how far")
    assert not JudgeSettings.objects.exists()


def test_a_prompt_that_can_not_be_used_is_told_instead_of_a_preview(vera: Client, graded: Run):
    text = words(vera.post(preview(), {"prompt": PROMPT + " $nothing"}).content.decode())
    assert "can’t be used" in text
    assert "$nothing" in text
    assert "Shown once the prompt can be used." in text


def test_without_any_answer_the_page_says_so(vera: Client):
    assert "There is no answer with a response yet" in words(shown(vera, judge()))


@pytest.mark.parametrize("answer", ["0", "-1", "x", "9" * 30, "\u0663", "99999"])
def test_an_answer_that_is_none_is_told(vera: Client, graded: Run, answer: str):
    text = words(vera.post(preview(), {"prompt": "", "answer": answer}).content.decode())
    assert "There is no such answer" in text


def test_a_preview_is_asked_for_by_post_only(vera: Client):
    assert vera.get(preview()).status_code == 405
