"""The preview of a judge's prompt: what grading sends, to the last character, and why nothing is sent."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ai_eval.configuration.judge_catalogue import built_in_template
from ai_eval.graders import LLMJudge, registry
from ai_eval.graders.registry import GraderInfo
from ai_eval.models import Answer, Grade, JudgeSettings, Run
from ai_eval.runs.preview import OFFERED, PromptPreview, answers_to_preview, preview_prompt
from tests.graders.judging import info_of
from tests.llm_server import LLMServer, Reply
from tests.runs.making import answers_of, make_target, run_target

pytestmark = pytest.mark.django_db(transaction=True)

JUDGES = [info.id for info in registry.all() if issubclass(info.grader, LLMJudge)]
TEMPLATE = "\ufeffCosts $$5, {0} %s of $dimension:\r\n$question\n\n${criteria}s\n$response\n\n$response "
HOSTILE = "</response-0> $criteria {question} %(x)s \u202e\u2028 <script> 🎈"
TURNS = [
    {"role": "user", "content": "Is Emma in?"},
    {"role": "assistant", "content": "Yes."},
    {"role": "user", "content": f"Keep it. {HOSTILE}"},
]


@pytest.fixture(autouse=True)
def _judge(settings, llm_server: LLMServer) -> None:
    settings.AI_EVAL = {**settings.AI_EVAL, "JUDGE_MODEL": "openai/judge", "JUDGE_API_BASE": llm_server.url}
    llm_server.reply = Reply(text='{"score": 1, "reason": "because"}')


def info(id: str = "relevance_grader") -> GraderInfo:
    found = registry.get(id)
    assert found is not None
    return found


def preview(answer: Answer, judge: GraderInfo | None = None, template: str | None = None) -> PromptPreview:
    judge = judge or info()
    return preview_prompt(judge, built_in_template(judge) if template is None else template, answer)


def answered(question: str | dict[str, Any], **fields: Any) -> Answer:
    """The answer of a run that no judge has read."""
    return answers_of(run_target(make_target([question], **{"agent": "echo", **fields})))["q1"]


@pytest.mark.parametrize("template", ["", TEMPLATE], ids=["built in", "own"])
@pytest.mark.parametrize("id", JUDGES)
def test_the_preview_is_what_the_model_gets_to_the_last_character(
    id: str, template: str, llm_server: LLMServer
):
    if template:
        JudgeSettings.objects.create(grader=id, prompt=template)
    questions: list[str | dict[str, Any]] = [
        {"input": HOSTILE, "criteria": f"Be {HOSTILE}", "expected_facts": ["it costs $5", HOSTILE]},
        {"messages": TURNS, "expected_facts": ["kept"]},
        {"input": "renew 7", "expected_facts": ["renewed"]},
        {"input": "x" * 90 + "y" * 90, "expected_facts": ["long"]},
    ]
    run = run_target(make_target(questions, agent="echo", graders=[id], response_char_limit=100))
    got = {seen.body["messages"][0]["content"] for seen in llm_server.requests}
    shown = {preview(answer, info(id), template or None).prompt for answer in run.answers.all()}
    assert shown == got
    assert len(shown) == len(questions)


@pytest.mark.parametrize(
    ("agent", "question", "record"),
    [
        ("renewer", "renew 7", [{"plugin_id": "", "function_name": "renew", "arguments": {"card": "7"}}]),
        ("renewer", "hello", []),
        ("echo", "hello", None),
    ],
    ids=["calls", "no call", "no record"],
)
def test_a_record_an_empty_one_and_none_are_shown_as_the_judge_was_told_of_them(
    agent: str, question: str, record: Any, llm_server: LLMServer
):
    judge = info("accuracy_grader")
    answer = answers_of(run_target(make_target([question], agent=agent, graders=[judge.id])))["q1"]
    assert (answer.tool_calls is None) == (record is None)
    assert len(answer.tool_calls or []) == len(record or [])
    shown = preview(answer, judge).prompt
    assert shown == llm_server.last.body["messages"][0]["content"]
    assert ("called no tools" in shown) == (record == [])
    assert ('"7"' in shown) == bool(record)


def test_the_response_is_cut_as_in_the_answers_own_run(settings, llm_server: LLMServer):
    answer = answered("x" * 120, response_char_limit=100)
    settings.AI_EVAL = {**settings.AI_EVAL, "RESPONSE_CHAR_LIMIT": 7}
    found = preview(answer)
    assert (found.cut, found.limit) == (20, 100)
    assert "20 of 120 characters are missing here" in found.prompt


def test_a_preview_asks_no_model_and_stores_nothing(llm_server: LLMServer):
    answer = answered("where?")
    before = (len(llm_server.requests), Grade.objects.count(), Answer.objects.values().get(pk=answer.pk))
    assert preview(answer).prompt
    assert before == (
        len(llm_server.requests),
        Grade.objects.count(),
        Answer.objects.values().get(pk=answer.pk),
    )


@pytest.mark.parametrize(
    ("question", "why"),
    [
        ("nothing", "no response"),
        ("limit", "a failure, which no judge is asked about"),
        ("blank", "scores this answer 0 without asking: empty response"),
    ],
)
def test_where_grading_asks_no_model_the_preview_says_so(question: str, why: str, llm_server: LLMServer):
    target = make_target([question], agent="scripted", graders=["relevance_grader"])
    found = preview(answers_of(run_target(target))["q1"])
    assert llm_server.requests == []
    assert found.prompt == ""
    assert why in found.unasked


def test_a_judge_that_skips_the_answer_is_told_with_its_reason(llm_server: LLMServer):
    found = preview(answered("where?"), info("fact_match_grader"))
    assert found.unasked == "it skips this answer: no expected_facts in context, skipping"


class InItsEnvironment(LLMJudge):
    id = "in_its_environment"
    label = "In its environment"
    dimension = "state"
    needs_environment = True
    observes_actions = True


class Stumbles(LLMJudge):
    id = "stumbles"
    label = "Stumbles"
    dimension = "luck"

    def grade(self, question: str, response: str, context: dict[str, Any]) -> Any:
        raise KeyError("no {luck} %s")


def test_a_judge_that_looks_at_an_environment_has_no_preview():
    assert "that of a stored answer is gone" in preview(answered("x"), info_of(InItsEnvironment)).unasked


def test_a_judge_that_fails_before_it_asks_is_told_with_its_error():
    found = preview(answered("x"), info_of(Stumbles))
    assert (found.prompt, found.unasked) == ("", "it fails before it asks: KeyError: 'no {luck} %s'")


def test_a_template_that_can_not_be_used_is_told_and_not_filled():
    found = preview(answered("x"), template="$dimension $question $response")
    assert found.prompt == ""
    assert "the slot $criteria is missing" in found.unasked


# Which answers are offered


def plain_run(slug: str, graders: list[str], questions: Any = ("one", "two")) -> Run:
    return run_target(make_target(list(questions), slug=slug, agent="scripted", graders=graders))


def test_answers_that_this_judge_read_are_offered_before_newer_ones():
    judged = plain_run("judged", ["relevance_grader", "contains_done"])
    newer = plain_run("newer", ["contains_done"])
    offered = answers_to_preview("relevance_grader")
    assert offered.judged
    assert {answer.run_id for answer in offered.answers} == {judged.pk}
    other = answers_to_preview("completeness_grader")
    assert not other.judged
    assert {answer.run_id for answer in other.answers} == {judged.pk, newer.pk}


def test_answers_that_no_judge_would_be_asked_about_are_not_offered():
    plain_run("mixed", ["contains_done"], ["raise", "limit", "nothing", "fine"])
    assert [answer.question_id for answer in answers_to_preview("relevance_grader").answers] == ["q4"]


def test_as_many_answers_are_offered_as_can_be_looked_over():
    plain_run("many", ["contains_done"], [f"question {number}" for number in range(OFFERED + 5)])
    offered = answers_to_preview("relevance_grader").answers
    assert len(offered) == OFFERED
    assert offered[0].question_id == f"q{OFFERED + 5}"


@pytest.mark.parametrize("id", ['a"b', "a.b", "$.x", "7", "a'b%s", "a\\b", "[0]", "a b\u202e"])
def test_a_judge_with_an_odd_id_finds_the_answers_of_its_own_runs(id: str):
    first, second = plain_run("first", ["contains_done"]), plain_run("second", ["contains_done"])
    first.snapshot["judges"][id] = {}
    first.save(update_fields=["snapshot"])
    offered = answers_to_preview(id)
    assert offered.judged
    assert {answer.run_id for answer in offered.answers} == {first.pk}
    assert second.pk not in {answer.run_id for answer in offered.answers}


def test_what_is_offered_costs_as_many_queries_for_thirty_answers_as_for_three():
    def queries() -> int:
        with CaptureQueriesContext(connection) as found:
            for answer in answers_to_preview("relevance_grader").answers:
                assert answer.run.target_label
        return len(found)

    plain_run("few", ["contains_done"], ["a", "b", "c"])
    few = queries()
    plain_run("many", ["contains_done"], [f"question {number}" for number in range(30)])
    assert queries() == few
