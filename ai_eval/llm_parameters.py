"""Which parameters may be stored with a target or a judge: how a model decodes, never where or who it is."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
VERBOSITIES = ("low", "medium", "high")

Check = Callable[[Any], str | None]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(low: float, high: float) -> Check:
    def check(value: Any) -> str | None:
        fits = _is_number(value) and low <= value <= high
        return None if fits else f"must be a number from {low:g} to {high:g}"

    return check


def _whole(low: int) -> Check:
    def check(value: Any) -> str | None:
        fits = isinstance(value, int) and not isinstance(value, bool) and value >= low
        return None if fits else f"must be a whole number from {low} on"

    return check


def _one_of(*names: str) -> Check:
    def check(value: Any) -> str | None:
        return None if value in names else f"must be one of {', '.join(names)}"

    return check


def _stop(value: Any) -> str | None:
    texts = [value] if isinstance(value, str) else value
    fits = isinstance(texts, list) and texts and all(isinstance(each, str) and each for each in texts)
    return None if fits else "must be a text or a list of texts, none of them empty"


def _bias(value: Any) -> str | None:
    fits = isinstance(value, Mapping) and all(
        isinstance(token, str) and token.isdecimal() and _is_number(bias) and -100 <= bias <= 100
        for token, bias in value.items()
    )
    return None if fits else "must map token numbers to numbers from -100 to 100"


def _thinking(value: Any) -> str | None:
    fits = isinstance(value, Mapping) and set(value) <= {"type", "budget_tokens"}
    return None if fits else "must be an object with type and budget_tokens"


ALLOWED: Mapping[str, Check] = MappingProxyType(
    {
        "frequency_penalty": _number(-2, 2),
        "logit_bias": _bias,
        "max_completion_tokens": _whole(1),
        "max_tokens": _whole(1),
        "min_p": _number(0, 1),
        "presence_penalty": _number(-2, 2),
        "reasoning_effort": _one_of(*EFFORTS),
        "repetition_penalty": _number(0, 10),
        "seed": _whole(0),
        "stop": _stop,
        "temperature": _number(0, 2),
        "thinking": _thinking,
        "top_k": _whole(0),
        "top_p": _number(0, 1),
        "verbosity": _one_of(*VERBOSITIES),
    }
)

TOOLS = frozenset({"tools", "tool_choice", "parallel_tool_calls"})
"""What code may pass beside these for one call, and nobody may store."""


def check_parameters(parameters: object) -> list[str]:
    """What is wrong with parameters that are to be stored, one sentence each; empty when they are good.

    None is allowed as a value: it removes a default, such as a judge's temperature 0.
    """
    if not isinstance(parameters, Mapping):
        return ["parameters must be an object of names and values"]
    problems = []
    for name, value in parameters.items():
        check = ALLOWED.get(name) if isinstance(name, str) else None
        if check is None:
            problems.append(f"parameter {name!r} is not allowed; allowed are {', '.join(ALLOWED)}")
        elif value is not None and (problem := check(value)):
            problems.append(f"parameter {name!r} {problem}, or null")
    return problems
