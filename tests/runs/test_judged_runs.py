"""Runs with a judge and with a model, over a real HTTP server: what is stored in the end."""

import json
from pathlib import Path

import pytest

from ai_eval.models import Run
from ai_eval.runs.launch import launch, prepare
from ai_eval.runs.worker import Worker
from tests.llm_server import LLMServer, Reply, failing
from tests.runs.making import answers_of, make_target, run_target

pytestmark = pytest.mark.django_db(transaction=True)

CASES = [
    json.loads(line) for line in (Path("tests") / "data" / "judge_replies.jsonl").read_text().splitlines()
]
GRADERS = {5: "relevance_grader", 1: "groundedness_grader"}


@pytest.fixture(autouse=True)
def _judge(settings, llm_server: LLMServer) -> None:
    settings.AI_EVAL = {
        **settings.AI_EVAL,
        "JUDGE_MODEL": "openai/judge",
        "JUDGE_API_BASE": llm_server.url,
        "RATE_LIMIT_BASE_DELAY": 0.01,
        "LLM_TIMEOUT": 1.0,
    }


def chat_target(server: LLMServer, questions=("where is it?",), **fields):
    more = {"mode": "chat", "agent": "", "model": "openai/model", "api_base": server.url, **fields}
    return make_target(questions, **more)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_each_reply_of_a_judge_becomes_its_stored_grade(case, llm_server: LLMServer):
    llm_server.reply = Reply(text=case["reply"])
    response = case.get("response", "It is on the second shelf.")
    run = run_target(make_target([response], agent="echo", graders=[GRADERS[case["scale"][1]]]))
    (grade,) = answers_of(run)["q1"].grades.all()
    assert grade.score == case["score"]
    assert grade.outcome == ("errored" if case["score"] is None else "scored")
    assert grade.raw_reply == case["reply"]
    assert grade.reason
    # An unusable reply is asked for once more; what both took is counted.
    asked = 2 if case["score"] is None else 1
    assert len(llm_server.requests) == len(grade.attempts) == asked
    assert grade.prompt_tokens == 20 * asked


def test_a_clamped_score_says_what_it_was_and_is_counted(llm_server: LLMServer):
    llm_server.reply = Reply(text='{"score": 7, "reason": "beyond good"}')
    run = run_target(make_target(["x"], agent="echo", graders=["relevance_grader"]))
    (grade,) = answers_of(run)["q1"].grades.all()
    assert (grade.score, grade.clamped_from) == (5.0, 7.0)
    assert "7" in grade.reason
    assert run.result["verdict"]["counts"]["clamped"] == 1
    assert run.verdict == "undecided"


def test_a_model_is_asked_with_its_prompt_and_every_turn(llm_server: LLMServer):
    turns = [
        {"role": "user", "content": "Is Emma in?"},
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": "Keep it for me."},
    ]
    target = chat_target(
        llm_server, [{"messages": turns}], system_prompt="Be brief.", parameters={"temperature": 0.5}
    )
    run = run_target(target)
    answer = answers_of(run)["q1"]
    sent = llm_server.requests[0].body
    assert sent["messages"] == [{"role": "system", "content": "Be brief."}, *turns]
    assert sent["temperature"] == 0.5
    assert answer.response == llm_server.reply(llm_server.requests[0]).text
    assert (answer.prompt_tokens, answer.completion_tokens, answer.cost) == (20, 9, None)
    assert answer.tool_calls is None


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (failing(401), "auth"),
        (failing(403), "auth"),
        (failing(404), "not found"),
        (failing(429, headers={"Retry-After": "0"}), "rate limit"),
        (failing(500), "server"),
        (Reply(body=b""), "unusable"),
        (Reply(body="<html>Welcome</html>"), "unusable"),
        (Reply(action="close"), "connection"),
        (Reply(action="hang"), "timeout"),
    ],
    ids=["401", "403", "404", "429", "500", "empty", "html", "closed", "hangs"],
)
def test_a_provider_that_fails_leaves_the_answer_missing_and_the_run_goes_on(
    reply: Reply, kind: str, llm_server: LLMServer, settings
):
    settings.AI_EVAL = {**settings.AI_EVAL, "RATE_LIMIT_MAX_RETRIES": 1}
    llm_server.reply = lambda seen: reply if "broken" in seen.prompt else Reply(text="done")
    run = run_target(chat_target(llm_server, ["broken", "fine"]))
    answers = answers_of(run)
    assert (answers["q1"].outcome, answers["q1"].score) == ("provider_error", None)
    assert kind in answers["q1"].error
    assert answers["q1"].attempts[0]["kind"] == kind.replace(" ", "_")
    assert answers["q2"].outcome == "scored"
    assert run.verdict == "undecided"


def test_a_refused_connection_leaves_the_answer_missing(llm_server: LLMServer, settings):
    settings.AI_EVAL = {**settings.AI_EVAL, "RATE_LIMIT_MAX_RETRIES": 0}
    target = chat_target(llm_server, api_base="http://127.0.0.1:9/v1")
    assert answers_of(run_target(target))["q1"].outcome == "provider_error"


def test_a_rate_limit_that_passes_is_waited_for_and_both_attempts_are_kept(llm_server: LLMServer):
    llm_server.script(failing(429, headers={"Retry-After": "0"}))
    answer = answers_of(run_target(chat_target(llm_server)))["q1"]
    assert answer.outcome == "scored"
    assert [attempt["kind"] for attempt in answer.attempts] == ["rate_limit", "ok"]


def test_a_reply_of_two_megabytes_is_stored_whole_and_cut_for_the_judge_with_a_mark(llm_server: LLMServer):
    text = "x" * 2_000_000 + " the last word"
    llm_server.reply = lambda seen: (
        Reply(text='{"score": 4, "reason": "long"}') if "response_format" in seen.body else Reply(text=text)
    )
    run = run_target(chat_target(llm_server, graders=["relevance_grader"]))
    answer = answers_of(run)["q1"]
    (grade,) = answer.grades.all()
    assert answer.response == text
    assert grade.truncated == len(text) - 4000
    assert "the last word" in grade.sent[0]["content"]
    assert len(grade.sent[0]["content"]) < 10_000
    assert run.result["verdict"]["counts"]["truncated"] == 1


def test_a_cut_off_response_is_told(llm_server: LLMServer):
    llm_server.reply = Reply(text="done, but", finish_reason="length")
    run = run_target(chat_target(llm_server))
    assert "the model stopped with length" in run.advisories


def test_an_empty_response_is_not_sent_to_a_judge(llm_server: LLMServer):
    run = run_target(make_target(["blank"], agent="scripted", graders=["relevance_grader"]))
    (grade,) = answers_of(run)["q1"].grades.all()
    assert (grade.score, grade.reason) == (0.0, "empty response")
    assert llm_server.requests == []


def test_a_judge_that_fails_everywhere_leaves_the_gate_undecided_never_failed(llm_server: LLMServer):
    llm_server.reply = failing(401)
    run = run_target(make_target(["one", "two"], graders=["relevance_grader"]))
    assert [answer.outcome for answer in run.answers.all()] == ["grade_error", "grade_error"]
    assert run.verdict == "undecided"


def test_cancelling_stops_calls_that_wait_to_be_repeated(llm_server: LLMServer):
    from ai_eval.runs.control import cancel

    llm_server.reply = failing(429, headers={"Retry-After": "30"})
    run = launch(prepare(chat_target(llm_server)))
    worker = Worker(run.pk)

    def cancel_once_asked() -> None:
        if llm_server.requests:
            cancel(run.pk)

    worker.run(cancel_once_asked)
    run = Run.objects.get(pk=run.pk)
    assert run.state == "cancelled"
    assert run.answers.get().outcome == ""
    assert run.work_items.get().state == "waiting"
    assert len(llm_server.requests) == 1


def test_an_endpoint_of_somebody_else_gets_no_key_and_the_run_says_so(llm_server: LLMServer, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-this-is-secret-0123456789")
    plan = prepare(chat_target(llm_server, api_base="http://models.example.org/v1"))
    assert any("models.example.org" in advisory for advisory in plan.snapshot["advisories"])
    assert "sk-this-is-secret" not in json.dumps(plan.snapshot)
