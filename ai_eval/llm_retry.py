"""Waiting: between repetitions of a failed call and between calls, in steps short enough to be stopped."""

import random
import threading
import time
from collections.abc import Callable

import tenacity

from ai_eval.llm_types import LLMError, LLMRequest, RetryPolicy

STEP = 0.1
"""Seconds after which a wait looks again whether it should stop."""


class Stopped(Exception):
    """Told to stop."""


def sleep(seconds: float, should_stop: Callable[[], bool]) -> None:
    """Wait. Stopped when `should_stop` says so meanwhile."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if should_stop():
            raise Stopped
        time.sleep(min(STEP, left))


def retrying(
    policy: RetryPolicy,
    should_stop: Callable[[], bool],
    on_wait: Callable[[float, LLMError], None] | None = None,
) -> tenacity.Retrying:
    """Repeats a call that raises an LLMError which may pass, as `policy` says; the last one is raised."""

    def wait(state: tenacity.RetryCallState) -> float:
        error = _failure(state)
        if error.retry_after is not None:
            return error.retry_after
        longest = min(policy.max_delay, policy.base_delay * 2.0 ** min(state.attempt_number - 1, 60))
        return longest * random.uniform(0.5, 1.0)  # noqa: S311 - spreads the callers, keeps no secret

    def may_pass(error: BaseException) -> bool:
        if not isinstance(error, LLMError) or not error.may_pass:
            return False
        if error.retry_after is not None and error.retry_after > policy.max_delay:
            asked = (
                f"Retry-After asks to wait {error.retry_after:.0f} seconds, more than {policy.max_delay:g}"
            )
            error.message = f"{error.message}; {asked}, so it was not asked again"
            return False
        return True

    def tell(state: tenacity.RetryCallState) -> None:
        if on_wait is not None and state.upcoming_sleep > 0:
            on_wait(state.upcoming_sleep, _failure(state))

    return tenacity.Retrying(
        retry=tenacity.retry_if_exception(may_pass),
        stop=tenacity.stop_after_attempt(policy.max_retries + 1),
        wait=wait,
        sleep=lambda seconds: sleep(seconds, should_stop),
        before_sleep=tell,
        reraise=True,
    )


def _failure(state: tenacity.RetryCallState) -> LLMError:
    assert state.outcome is not None
    error = state.outcome.exception()
    assert isinstance(error, LLMError)
    return error


class Pace:
    """Keeps the calls of this process to one model at one endpoint a given time apart."""

    _paces: dict[tuple[str, str], "Pace"] = {}
    _lock = threading.Lock()

    def __init__(self) -> None:
        self.delay = 0.0
        self._next = 0.0

    @classmethod
    def of(cls, request: LLMRequest, policy: RetryPolicy) -> "Pace":
        if policy.delay_between_calls <= 0:
            return _AT_ONCE
        with cls._lock:
            pace = cls._paces.setdefault((request.model, request.api_base), cls())
            pace.delay = policy.delay_between_calls
            return pace

    def wait(self, should_stop: Callable[[], bool]) -> None:
        """Until this caller's turn. Stopped when told so; its turn is lost then."""
        if self.delay <= 0:
            return
        with self._lock:
            now = time.monotonic()
            turn = max(now, self._next)
            self._next = turn + self.delay
        sleep(turn - now, should_stop)


_AT_ONCE = Pace()
