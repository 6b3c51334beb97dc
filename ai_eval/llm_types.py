"""What goes into a model call and what comes out of it. No network, no litellm."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

KINDS = (
    "connection",
    "timeout",
    "auth",
    "not_found",
    "rate_limit",
    "server",
    "bad_request",
    "unsupported_parameter",
    "too_long",
    "unusable",
    "cancelled",
)
"""Kinds of failure. `unusable` is an answer with a good status that holds no reply."""

RETRIED_KINDS = frozenset({"connection", "timeout", "rate_limit", "server"})


@dataclass(frozen=True)
class LLMRequest:
    """One call. `parameters` are decoding parameters; one that is None is left out. `timeout` in seconds."""

    model: str
    messages: Sequence[Mapping[str, Any]]
    api_base: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    response_format: Mapping[str, Any] | None = None
    timeout: float = 60.0


@dataclass(frozen=True)
class RetryPolicy:
    """How often and how patiently a call is repeated. All delays in seconds.

    The wait before repetition k (from 0) is drawn between half and all of min(max_delay, base_delay * 2**k),
    unless the provider names one with Retry-After; one longer than `max_delay` ends the repetitions.
    `delay_between_calls` is the least time between two calls of this process to one model.
    """

    max_retries: int = 3
    base_delay: float = 5.0
    max_delay: float = 60.0
    delay_between_calls: float = 0.0


@dataclass(frozen=True)
class Usage:
    """Tokens and price of one attempt; None is unknown, which is never the same as 0.

    `cached_tokens` are part of `prompt_tokens`. `cost` in US dollars.
    """

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cost: float | None = None


@dataclass(frozen=True)
class Attempt:
    """One attempt at a call. `kind` is `ok` or one of KINDS; `seconds` is its own time, without the waits."""

    kind: str
    error: str = ""
    status: int | None = None
    usage: Usage = field(default_factory=Usage)
    finish_reason: str = ""
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> "Attempt":
        return cls(**{**document, "usage": Usage(**document["usage"])})


def total(values: Sequence[int | None]) -> int | None:
    """The sum of what is known; None when nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def total_cost(attempts: Sequence[Attempt]) -> float | None:
    """Dollars over all attempts; None when nothing is known, or not the price of one that used tokens."""
    used = [each.usage for each in attempts if each.usage.prompt_tokens or each.usage.completion_tokens]
    costs = [usage.cost for usage in used if usage.cost is not None]
    return sum(costs) if costs and len(costs) == len(used) else None


@dataclass(frozen=True)
class LLMReply:
    """A reply, with every attempt it took. `text` is None when the model gave none; `model` is as served."""

    text: str | None
    finish_reason: str
    model: str
    attempts: tuple[Attempt, ...]
    tool_calls: list[dict[str, Any]] | None = None
    message: dict[str, Any] = field(default_factory=dict)

    @property
    def prompt_tokens(self) -> int | None:
        return total([each.usage.prompt_tokens for each in self.attempts])

    @property
    def completion_tokens(self) -> int | None:
        return total([each.usage.completion_tokens for each in self.attempts])

    @property
    def cached_tokens(self) -> int | None:
        return total([each.usage.cached_tokens for each in self.attempts])

    @property
    def cost(self) -> float | None:
        """See `total_cost`."""
        return total_cost(self.attempts)


class LLMError(Exception):
    """A call that brought no reply. `message` is free of secrets and of bounded length.

    `status` is the HTTP status, where one came. `parameter` names what the model refuses when `kind` is
    `unsupported_parameter`. `retry_after` is what the provider asked for, in seconds.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        status: int | None = None,
        parameter: str = "",
        retry_after: float | None = None,
        attempts: tuple[Attempt, ...] = (),
        final: bool = False,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.status = status
        self.parameter = parameter
        self.retry_after = retry_after
        self.attempts = attempts
        self.final = final

    @property
    def may_pass(self) -> bool:
        """Whether asking again may help."""
        return self.kind in RETRIED_KINDS and not self.final
