"""The second call of a judge, the scale of its own, and the formats it is asked for."""

from collections.abc import Callable
from typing import Any

import pytest

from ai_eval.graders.judge import GradingCancelled
from ai_eval.graders.prompts import RETRY_REMINDER
from ai_eval.llm import RetryPolicy
from tests.graders.judging import Tone, grade, nothing_remembered, scoring, sent
from tests.llm_server import LLMServer, Reply, Seen, failing

__all__ = ["nothing_remembered"]

PROSE = "Four, I would say."


def formats(server: LLMServer) -> list[str | None]:
    """The response format of each request; None where it asked for none."""
    return [seen.body.get("response_format", {}).get("type") for seen in server.requests]


def taking(*accepted: str) -> Callable[[Seen], Reply]:
    """A model that refuses every response format but these."""

    def reply(seen: Seen) -> Reply:
        asked = seen.body.get("response_format", {}).get("type")
        if asked is None or asked in accepted:
            return scoring(4)
        return failing(400, f"response_format.type {asked} is unknown here")

    return reply


# The reminder


def test_a_reminder_shows_the_judge_its_own_reply(llm_server: LLMServer) -> None:
    llm_server.script(Reply(text=PROSE), scoring(4))
    grade(llm_server)
    first, reply, reminder = sent(llm_server)
    assert llm_server.requests[0].body["messages"] == [first]
    assert reply == {"role": "assistant", "content": PROSE}
    assert reminder == {"role": "user", "content": RETRY_REMINDER}


@pytest.mark.parametrize("text", [None, "", " \n", "\u200b"])
def test_a_reply_without_text_is_no_turn_of_its_own(text: str | None, llm_server: LLMServer) -> None:
    llm_server.script(Reply(text=text), scoring(4))
    assert grade(llm_server).score == 4.0
    (turn,) = sent(llm_server)
    assert turn["role"] == "user"
    assert turn["content"].startswith(llm_server.requests[0].body["messages"][0]["content"])
    assert turn["content"].endswith(RETRY_REMINDER)


def test_a_reply_of_two_megabytes_is_not_sent_back_whole(llm_server: LLMServer) -> None:
    llm_server.script(Reply(text="x" * 2_000_000), scoring(4))
    assert grade(llm_server).score == 4.0
    assert len(sent(llm_server)[1]["content"]) < 5000


def test_each_attempt_tells_what_was_wrong_with_its_reply(llm_server: LLMServer) -> None:
    llm_server.script(Reply(text=PROSE), scoring("80%"))
    result = grade(llm_server)
    assert result.trace is not None
    errors = [attempt["error"] for attempt in result.trace.attempts]
    assert errors[0] == "unusable: no JSON object with a score"
    assert "80%" in errors[1]
    assert result.reason.endswith(errors[1].removeprefix("unusable: "))


def test_a_usable_reply_has_no_error(llm_server: LLMServer) -> None:
    result = grade(llm_server)
    assert result.trace is not None
    assert [attempt["error"] for attempt in result.trace.attempts] == [""]


def test_a_reminder_that_fails_is_an_error_that_tells_both_and_keeps_the_reply(llm_server: LLMServer) -> None:
    llm_server.script(Reply(text=PROSE), failing(500, "overloaded"))
    result = grade(llm_server)
    assert result.trace is not None
    assert (result.outcome, result.trace.raw_reply) == ("errored", PROSE)
    assert "server" in result.reason
    assert "before that its reply was unusable: no JSON object with a score" in result.reason
    assert [attempt["kind"] for attempt in result.trace.attempts] == ["ok", "server"]


def test_retries_of_one_call_are_attempts_too(llm_server: LLMServer) -> None:
    llm_server.script(failing(503), Reply(text=PROSE), failing(429, headers={"Retry-After": "0"}), scoring(4))
    result = grade(llm_server, retry=RetryPolicy(max_retries=1, base_delay=0.0))
    assert result.trace is not None
    assert [attempt["kind"] for attempt in result.trace.attempts] == ["server", "ok", "rate_limit", "ok"]


def test_a_judge_that_is_stopped_before_its_reminder_gives_no_grade(llm_server: LLMServer) -> None:
    llm_server.reply = Reply(text=PROSE)
    grader = Tone()
    grader.should_stop = lambda: bool(llm_server.requests)
    with pytest.raises(GradingCancelled):
        grade(llm_server, grader)
    assert len(llm_server.requests) == 1


@pytest.mark.parametrize(
    ("parameters", "used", "room"),
    [
        ({}, 9, {"max_tokens": 512}),
        ({}, 3000, {"max_tokens": 6000}),
        ({"max_tokens": 100}, 9, {"max_tokens": 200}),
        ({"max_tokens": None}, 9, {"max_tokens": 512}),
        ({"max_completion_tokens": 100}, 9, {"max_completion_tokens": 200}),
    ],
)
def test_a_reply_that_was_cut_off_gets_twice_its_room(
    parameters: dict[str, Any], used: int, room: dict[str, int], llm_server: LLMServer
) -> None:
    usage = {"prompt_tokens": 1, "completion_tokens": used, "total_tokens": 1 + used}
    llm_server.script(Reply(text='{"score": 4, "rea', finish_reason="length", usage=usage), scoring(3))
    assert grade(llm_server, parameters=parameters).score == 3.0
    body = llm_server.last.body
    assert {name: body[name] for name in body if name.startswith("max_")} == room


def test_a_reply_that_was_not_cut_off_keeps_its_room(llm_server: LLMServer) -> None:
    llm_server.script(Reply(text=PROSE), scoring(3))
    grade(llm_server, parameters={"max_tokens": 100})
    assert llm_server.last.body["max_tokens"] == 100


# The scale


class OutOfTen(Tone):
    def interpret_score(self, raw: float) -> float | None:
        return raw / 2


class OutOfTenClamped(Tone):
    def interpret_score(self, raw: float) -> float | None:
        return super().interpret_score(raw / 2)


@pytest.mark.parametrize("grader", [OutOfTen, OutOfTenClamped])
def test_a_scale_of_the_judges_own_is_not_taken_for_clamping(
    grader: type[Tone], llm_server: LLMServer
) -> None:
    llm_server.reply = scoring(8)
    result = grade(llm_server, grader())
    assert result.trace is not None
    assert (result.score, result.trace.clamped_from, result.reason) == (4.0, None, "because")


@pytest.mark.parametrize("grader", [OutOfTen, OutOfTenClamped])
def test_a_reading_that_leaves_the_scale_is_clamped_and_told(
    grader: type[Tone], llm_server: LLMServer
) -> None:
    llm_server.reply = scoring(12)
    result = grade(llm_server, grader())
    assert result.trace is not None
    assert (result.score, result.trace.clamped_from) == (5.0, 6.0)
    assert result.reason == "because (clamped from 6 to the scale)"


def test_only_the_reply_that_counts_is_told_as_clamped(llm_server: LLMServer) -> None:
    class Strict(Tone):
        def interpret_score(self, raw: float) -> float | None:
            score = super().interpret_score(raw)
            return None if raw > 9 else score

    llm_server.script(scoring(10), scoring(3))
    result = grade(llm_server, Strict())
    assert result.trace is not None
    assert (result.score, result.trace.clamped_from) == (3.0, None)


@pytest.mark.parametrize("odd", [float("nan"), True, "4"])
def test_a_reading_that_is_no_number_is_an_error_and_not_clamped(odd: Any, llm_server: LLMServer) -> None:
    class Odd(Tone):
        def interpret_score(self, raw: float) -> Any:
            return odd

    assert grade(llm_server, Odd()).outcome == "errored"


# Response formats


def test_a_schema_then_json_then_plain_is_tried_and_all_attempts_are_kept(llm_server: LLMServer) -> None:
    llm_server.reply = taking()
    result = grade(llm_server)
    assert result.trace is not None
    assert formats(llm_server) == ["json_schema", "json_object", None]
    assert (result.score, result.trace.response_format) == (4.0, "plain")
    kinds = [attempt["kind"] for attempt in result.trace.attempts]
    assert kinds == ["unsupported_parameter", "unsupported_parameter", "ok"]


def test_what_works_is_remembered_for_this_model_at_this_endpoint_only(llm_server: LLMServer) -> None:
    llm_server.reply = taking("json_object")
    grade(llm_server)
    grade(llm_server)
    grade(llm_server, model="openai/other")
    assert formats(llm_server) == [
        "json_schema", "json_object",
        "json_object",
        "json_schema", "json_object",
    ]  # fmt: skip


def test_a_refusal_of_something_else_takes_no_format_away(llm_server: LLMServer) -> None:
    llm_server.reply = failing(400, "messages must not be empty")
    assert grade(llm_server).outcome == "errored"
    assert formats(llm_server) == ["json_schema"]


def test_a_judge_may_be_set_to_begin_with_a_weaker_format(llm_server: LLMServer) -> None:
    result = grade(llm_server, response_format="plain")
    assert result.trace is not None
    assert (formats(llm_server), result.trace.response_format) == ([None], "plain")
    grade(llm_server)
    grade(llm_server, response_format="plain")
    assert formats(llm_server) == [None, "json_schema", None]


def test_what_a_model_refuses_is_not_tried_again_because_a_judge_is_set_to_it(llm_server: LLMServer) -> None:
    llm_server.reply = taking("json_object")
    for _ in range(2):
        grade(llm_server, response_format="json_schema")
    assert formats(llm_server) == ["json_schema", "json_object", "json_object"]


def test_a_model_that_takes_temperature_1_only_is_told_with_what_helps(llm_server: LLMServer) -> None:
    # Refused before anything is sent: the library knows this model.
    result = grade(llm_server, model="openai/o1")
    assert result.outcome == "errored"
    assert "temperature: null" in result.reason
    assert llm_server.requests == []
