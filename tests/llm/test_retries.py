"""One layer repeats a call, as the policy and the provider say, until told to stop."""

import itertools
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from ai_eval.llm import LLMError, RetryPolicy
from ai_eval.llm_errors import retry_after
from tests.llm.conftest import Ask, Fail
from tests.llm_server import LLMServer, Reply, failing

QUICK = RetryPolicy(max_retries=3, base_delay=0.01)


def gaps(server: LLMServer) -> list[float]:
    return [later.arrived - earlier.arrived for earlier, later in itertools.pairwise(server.requests)]


@pytest.mark.parametrize(
    "reply",
    [failing(429), failing(500), failing(503), failing(408), Reply(action="close"), Reply(action="cut")],
)
def test_what_may_pass_is_asked_again(llm_server: LLMServer, ask: Ask, reply: Reply) -> None:
    llm_server.script(reply, reply)
    reply_ = ask(retry=QUICK)
    assert reply_.text
    assert [attempt.kind == "ok" for attempt in reply_.attempts] == [False, False, True]
    assert reply_.prompt_tokens == 20


def test_a_timeout_is_asked_again(llm_server: LLMServer, ask: Ask) -> None:
    llm_server.script(Reply(action="hang"))
    assert [each.kind for each in ask(retry=QUICK, timeout=3).attempts] == ["timeout", "ok"]


@pytest.mark.parametrize("reply", [failing(400), failing(401), failing(403), failing(404), Reply(body="")])
def test_what_will_not_pass_is_asked_once(llm_server: LLMServer, failure: Fail, reply: Reply) -> None:
    llm_server.script(reply)
    assert len(failure(retry=QUICK).attempts) == 1
    assert len(llm_server.requests) == 1


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_repetitions_are_bounded_and_every_attempt_is_told(
    llm_server: LLMServer, failure: Fail, retries: int
) -> None:
    llm_server.reply = failing(500)
    error = failure(retry=RetryPolicy(max_retries=retries, base_delay=0.01))
    assert error.kind == "server"
    assert [each.status for each in error.attempts] == [500] * (retries + 1)
    assert len(llm_server.requests) == retries + 1


def test_waits_grow_and_are_spread(llm_server: LLMServer, failure: Fail) -> None:
    llm_server.reply = failing(500)
    waits: list[float] = []
    retry = RetryPolicy(max_retries=4, base_delay=0.02, max_delay=0.05)
    failure(retry=retry, on_wait=lambda seconds, error: waits.append(seconds))
    assert all(
        longest / 2 <= wait <= longest for wait, longest in zip(waits, [0.02, 0.04, 0.05, 0.05], strict=True)
    )
    assert all(gap >= wait for gap, wait in zip(gaps(llm_server), waits, strict=True))
    assert len(set(waits)) == 4


@pytest.mark.parametrize("model", ["openai/mock", "hosted_vllm/mock"])
def test_retry_after_in_seconds_is_waited_for(llm_server: LLMServer, ask: Ask, model: str) -> None:
    llm_server.script(failing(429, headers={"Retry-After": "1"}))
    ask(retry=QUICK, model=model)
    assert gaps(llm_server)[0] >= 1


def test_retry_after_as_a_date_is_waited_for(llm_server: LLMServer, ask: Ask) -> None:
    waits: list[float] = []
    llm_server.script(
        lambda seen: failing(
            503,
            headers={"Retry-After": format_datetime(datetime.now(UTC) + timedelta(seconds=3), usegmt=True)},
        )
    )
    ask(retry=QUICK, on_wait=lambda seconds, error: waits.append(seconds))
    assert 0 < waits[0] <= 3
    assert gaps(llm_server)[0] >= waits[0]


@pytest.mark.parametrize("value", ["0", "-3", "Wed, 21 Oct 2015 07:28:00 GMT"])
def test_retry_after_that_is_over_is_at_once(llm_server: LLMServer, ask: Ask, value: str) -> None:
    waits: list[float] = []
    llm_server.script(failing(429, headers={"Retry-After": value}))
    # Without the header this policy waits for minutes.
    retry = RetryPolicy(max_retries=1, base_delay=600, max_delay=600)
    reply = ask(retry=retry, on_wait=lambda seconds, error: waits.append(seconds))
    assert (reply.text is not None, waits) == (True, [])


@pytest.mark.parametrize("value", ["3600", "99999999999", "Wed, 21 Oct 2099 07:28:00 GMT"])
def test_an_absurdly_long_retry_after_ends_it_and_is_told(
    llm_server: LLMServer, failure: Fail, value: str
) -> None:
    llm_server.script(failing(429, headers={"Retry-After": value}))
    error = failure(retry=QUICK)
    assert (error.kind, len(error.attempts)) == ("rate_limit", 1)
    assert error.retry_after is not None
    assert f"Retry-After asks to wait {error.retry_after:.0f} seconds, more than 60" in error.message


@pytest.mark.parametrize("value", ["soon", "1e999", "nan", "", "٣", "9" * 400])
def test_a_retry_after_that_can_not_be_read_is_none(value: str) -> None:
    assert retry_after({"retry-after": value}, now=0.0) is None


def test_a_spent_quota_is_not_asked_again(llm_server: LLMServer, failure: Fail) -> None:
    llm_server.script(failing(429, "You exceeded your current quota", code="insufficient_quota"))
    error = failure(retry=QUICK)
    assert (error.kind, len(error.attempts)) == ("rate_limit", 1)


def test_who_is_told_to_stop_asks_nothing(llm_server: LLMServer, failure: Fail) -> None:
    error = failure(should_stop=lambda: True)
    assert (error.kind, error.attempts, llm_server.requests) == ("cancelled", (), [])


def test_a_wait_ends_when_told_to_stop(llm_server: LLMServer, failure: Fail) -> None:
    llm_server.script(failing(429, headers={"Retry-After": "50"}))
    waiting: list[float] = []
    error = failure(
        retry=RetryPolicy(),
        on_wait=lambda seconds, error: waiting.append(time.monotonic()),
        should_stop=lambda: bool(waiting) and time.monotonic() > waiting[0] + 0.3,
    )
    assert error.kind == "cancelled"
    assert [each.kind for each in error.attempts] == ["rate_limit"]
    assert len(llm_server.requests) == 1


def test_calls_of_one_model_keep_their_distance(llm_server: LLMServer, ask: Ask) -> None:
    retry = RetryPolicy(max_retries=0, delay_between_calls=0.2)
    begun = time.monotonic()
    for _ in range(3):
        ask(retry=retry)
    assert llm_server.last.arrived - begun >= 0.4


def test_a_turn_is_not_waited_for_by_who_is_told_to_stop(
    llm_server: LLMServer, ask: Ask, failure: Fail
) -> None:
    retry = RetryPolicy(max_retries=0, delay_between_calls=100)
    ask(retry=retry, model="openai/slow")
    told = iter([False, False])
    error = failure(retry=retry, model="openai/slow", should_stop=lambda: next(told, True))
    assert (error.kind, len(llm_server.requests)) == ("cancelled", 1)


def test_on_wait_is_told_why(llm_server: LLMServer, ask: Ask) -> None:
    llm_server.script(failing(503, "busy"))
    told: list[LLMError] = []
    ask(retry=QUICK, on_wait=lambda seconds, error: told.append(error))
    assert [(error.kind, error.status) for error in told] == [("server", 503)]
