"""One answer unfolded: question, response, tool calls, grades, and what a judge was sent."""

from html import unescape

import pytest
from django.test import Client
from django.urls import reverse

from ai_eval.models import Answer, Grade, Run
from tests.admin.reading import HOSTILE, shown, words
from tests.llm_server import LLMServer, Reply
from tests.runs.making import make_target, run_target

FRAGMENT = {"HX-Request": "true"}


def page_of(answer: Answer) -> str:
    return reverse("admin:ai_eval_answer", args=[answer.pk])


def answer_to(question: str | dict, **fields: object) -> Answer:
    return run_target(make_target([question], **fields)).answers.get()


def test_no_record_and_an_empty_record_are_told_apart(olga: Client):
    unknown = answer_to("no record", slug="unknown")
    empty = answer_to("empty record", slug="empty")
    assert "No tool-call record: nobody knows what was called." in words(shown(olga, page_of(unknown)))
    assert "It called no tool: the record is there, and empty." in words(shown(olga, page_of(empty)))


def test_tool_calls_are_a_list_with_their_arguments(olga: Client):
    answer = answer_to("renew 4711", agent="renewer")
    text = words(shown(olga, page_of(answer)))
    assert "Tool calls (1) renew card 4711" in text


def test_five_thousand_calls_come_a_hundred_at_a_time(olga: Client):
    answer = answer_to("one")
    calls = [{"plugin_id": "", "function_name": f"call_{n}", "arguments": {"n": n}} for n in range(1, 5001)]
    Answer.objects.filter(pk=answer.pk).update(tool_calls=calls)
    first = shown(olga, page_of(answer))
    assert "call_100<" in first
    assert "call_101<" not in first
    assert "The calls from 101 on, of 5000" in words(first)
    url = reverse("admin:ai_eval_answer_calls", args=[answer.pk])
    last = shown(olga, f"{url}?first=4901")
    assert "call_4901<" in last
    assert "call_5000<" in last
    assert "on, of 5000" not in words(last)
    behind = words(shown(olga, f"{url}?first=5001"))
    assert "The record has 5000 calls; there is none from here on." in behind
    assert olga.get(f"{url}?first=abc").status_code == 404


def test_a_response_of_two_megabytes_is_cut_on_the_page_and_whole_in_the_file(olga: Client):
    answer = answer_to("one")
    response = "ä<" * 1_048_576
    Answer.objects.filter(pk=answer.pk).update(response=response)
    html = shown(olga, page_of(answer))
    assert len(html) < 200_000
    assert "These are the first 20000 of 2097152 characters." in words(html)
    file = olga.get(reverse("admin:ai_eval_answer_text", args=[answer.pk, "response"]))
    assert file.content.decode() == response


def test_a_downloaded_text_is_nothing_that_a_browser_would_run(olga: Client):
    answer = answer_to("odd")
    file = olga.get(reverse("admin:ai_eval_answer_text", args=[answer.pk, "response"]))
    assert file.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert file.headers["X-Content-Type-Options"] == "nosniff"
    assert file.headers["Content-Disposition"].startswith("attachment")


@pytest.mark.parametrize("part", ["row", "question", "response", "error"])
def test_each_part_of_an_answer_can_be_fetched_whole(olga: Client, part: str):
    answer = answer_to({"id": "q", "input": "one", "expected": "1"})
    file = olga.get(reverse("admin:ai_eval_answer_text", args=[answer.pk, part]))
    assert file.status_code == 200


@pytest.mark.parametrize("part", ["tool_calls", "changes", "password", "pk"])
def test_a_part_that_is_not_there_is_not_found(olga: Client, part: str):
    answer = answer_to("no record")
    assert olga.get(reverse("admin:ai_eval_answer_text", args=[answer.pk, part])).status_code == 404


def test_failed_required_graders_stand_first_and_skipped_ones_last(olga: Client):
    graders = ["skips_grader", "always_pass", "raises_grader", "contains_done"]
    answer = answer_to("blank", graders=graders, required=["contains_done"])
    html = shown(olga, page_of(answer))
    order = [
        html.index(f'aria-label="Grade by {label}"')
        for label in ("Says done", "Raises", "Always passes", "Skips")
    ]
    assert order == sorted(order)
    assert "required, and not met" in words(html)


def test_a_transcript_is_shown_turn_by_turn(olga: Client):
    turns = [
        {"role": "user", "content": "Where is Emma?"},
        {"role": "assistant", "content": "Out."},
        {"role": "user", "content": "Until when?"},
    ]
    text = words(shown(olga, page_of(answer_to({"id": "q", "messages": turns}))))
    assert "Transcript user Where is Emma? assistant Out. user Until when?" in text


@pytest.mark.parametrize(
    ("response", "told"), [("", "The response is empty."), (" \n ", "3 characters and no word")]
)
def test_a_response_without_a_word_is_told_and_is_no_empty_box(olga: Client, response: str, told: str):
    answer = answer_to("one")
    Answer.objects.filter(pk=answer.pk).update(response=response)
    text = words(shown(olga, page_of(answer)))
    assert told in text


def test_what_graders_were_given_is_shown_under_its_own_keys(olga: Client):
    answer = answer_to(
        {"id": "q", "input": "one", "zone": "b", "metadata": {"shelf": 4}, "expected_facts": ["open at nine"]}
    )
    text = words(shown(olga, page_of(answer)))
    assert "What graders were given beside it (3) expected_facts • open at nine metadata" in text
    assert text.index("metadata") < text.index("zone")


def test_what_a_judge_was_sent_and_replied_is_there_on_demand(settings, olga: Client, llm_server: LLMServer):
    settings.AI_EVAL = {**settings.AI_EVAL, "JUDGE_MODEL": "openai/judge", "JUDGE_API_BASE": llm_server.url}
    reply = '{"score": 1, "reason": "off topic <script>alert(1)</script>"}'
    llm_server.script(Reply(text=reply))
    answer = answer_to("one", graders=["relevance_grader"])
    html = shown(olga, page_of(answer))
    grade = answer.grades.get()
    url = reverse("admin:ai_eval_grade", args=[grade.pk])
    assert f'data-load="{url}"' in html
    assert "off topic <script>" in unescape(html)
    prompt = shown(olga, url)
    assert reply in unescape(prompt)
    assert "<script>alert" not in prompt
    assert grade.sent[-1]["content"][:200] in unescape(prompt)
    assert "20, 9" in words(prompt)
    file = olga.get(reverse("admin:ai_eval_grade_text", args=[grade.pk, "reply"]))
    assert file.content.decode() == reply


def test_an_unusable_reply_is_an_errored_grade_that_keeps_the_reply(
    settings, olga: Client, llm_server: LLMServer
):
    settings.AI_EVAL = {**settings.AI_EVAL, "JUDGE_MODEL": "openai/judge", "JUDGE_API_BASE": llm_server.url}
    llm_server.script(Reply(text="I'd say rather good"), Reply(text="I'd say rather good"))
    answer = answer_to("one", graders=["relevance_grader"])
    text = words(shown(olga, page_of(answer)))
    assert "missing: no grade could be given" in text
    assert "I'd say rather good" in words(
        shown(olga, reverse("admin:ai_eval_grade", args=[answer.grades.get().pk]))
    )


def test_htmx_gets_the_answer_without_the_frame(olga: Client):
    answer = answer_to("one")
    fragment = olga.get(page_of(answer), headers=FRAGMENT).content.decode()
    assert "<html" not in fragment
    assert "done: one" in fragment


def test_htmx_is_sent_to_the_login_once_the_session_has_ended(client: Client, db: None):
    answer = answer_to("one")
    headers = {**FRAGMENT, "HX-Current-URL": "http://testserver/admin/ai_eval/run/1/change/?status=failed"}
    response = client.get(page_of(answer), headers=headers)
    assert response.status_code == 204
    assert response.headers["HX-Redirect"] == (
        "/admin/login/?next=/admin/ai_eval/run/1/change/%3Fstatus%3Dfailed"
    )


def test_the_page_of_an_answer_leads_to_its_neighbours(olga: Client):
    run = run_target(make_target(["one", "two", "three"]))
    first, second, third = run.answers.order_by("position")
    html = shown(olga, page_of(second))
    assert f'href="{page_of(first)}"' in html
    assert f'href="{page_of(third)}"' in html


@pytest.mark.parametrize("name", ["answer", "answer_calls", "grade"])
@pytest.mark.parametrize("key", [0, 10**20])
def test_what_was_deleted_meanwhile_is_not_found(olga: Client, name: str, key: int):
    assert olga.get(reverse(f"admin:ai_eval_{name}", args=[key])).status_code == 404


def test_hostile_text_of_a_model_comes_out_as_it_went_in(olga: Client):
    answer = answer_to({"id": "q", "input": HOSTILE, "criteria": HOSTILE, HOSTILE[:30]: "x"})
    calls = [{"plugin_id": HOSTILE, "function_name": HOSTILE + "2", "arguments": {HOSTILE: HOSTILE}}]
    Answer.objects.filter(pk=answer.pk).update(
        response=HOSTILE,
        error=HOSTILE,
        model=HOSTILE,
        tool_calls=calls,
        changes={HOSTILE: HOSTILE},
        notes=[HOSTILE],
    )
    Grade.objects.filter(answer=answer).update(reason=HOSTILE, details={HOSTILE: HOSTILE}, model=HOSTILE)
    html = shown(olga, page_of(answer))
    assert "<script>alert" not in html
    assert "<img src=x" not in html
    assert "49" not in words(html)
    assert unescape(html).count(HOSTILE) >= 10


def test_records_and_messages_of_any_shape_are_shown(olga: Client):
    answer = answer_to("one")
    Answer.objects.filter(pk=answer.pk).update(
        tool_calls=["text", {"arguments": [1, 2]}, {"function_name": "f", "arguments": None}, None],
        question={"id": "q", "messages": ["odd", {"role": 5, "content": None}]},
    )
    text = words(shown(olga, page_of(answer)))
    assert "Tool calls (4)" in text
    assert "a call without a name text" in text
    assert "f without arguments" in text


def test_the_cost_of_an_answer_is_unknown_and_not_nothing(olga: Client):
    answer = answer_to("one")
    assert "Cost unknown" in words(shown(olga, page_of(answer)))
    Answer.objects.filter(pk=answer.pk).update(cost=0.00042)
    assert "Cost $0.0004" in words(shown(olga, page_of(answer)))


def test_a_run_with_trials_tells_which_trial_an_answer_is(olga: Client):
    run: Run = run_target(make_target(["one"], trials=2))
    html = shown(olga, reverse("admin:ai_eval_run_change", args=[run.pk]))
    assert "trial 2" in words(html)


def test_a_response_can_be_read_as_markdown_and_its_html_stays_text(olga: Client):
    answer = answer_to("one")
    Answer.objects.filter(pk=answer.pk).update(response=f"Open **daily** {HOSTILE}")
    html = olga.get(
        reverse("admin:ai_eval_answer_formatted", args=[answer.pk]), headers=FRAGMENT
    ).content.decode()
    assert "Open <strong>daily</strong> &lt;script&gt;" in html
    assert "<img" not in html


def test_an_answer_without_a_response_has_nothing_to_format(olga: Client):
    answer = answer_to("raise")
    assert olga.get(reverse("admin:ai_eval_answer_formatted", args=[answer.pk])).status_code == 404
