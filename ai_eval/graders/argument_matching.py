"""Whether a recorded argument is the expected one: yes, no, or nobody can tell."""

import json
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from ai_eval.agents.arguments import REDACTED, TOO_MUCH, VALUE_LIMIT, is_cut, kept_part
from ai_eval.graders.json_checks import NotJSON, read_strictly
from ai_eval.graders.patterns import PatternError, PatternTimeout, compile_pattern, found
from ai_eval.text import shorten
from ai_eval.wording import near, quoted, shown


class Match(Enum):
    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"
    """What was recorded is redacted or cut where it matters, or an expression took too long."""


class BadExpectation(ValueError):
    """The expectation can't be read; the message says why."""


Matcher = Callable[[Any], Match]

MATCHERS = ("contains", "regex", "any")


def matcher_of(expected: Any) -> Matcher:
    """How an argument is compared with `expected`.

    A mapping with the one key `contains` (text within the argument), `regex` (found in it) or `any`
    (a list of alternatives, or true: whatever it is) says how; everything else is compared by value,
    as JSON: 1 is 1.0 and is neither true nor "1"; a list or a mapping is compared with the value that
    the argument's JSON text stands for. BadExpectation for what is malformed.
    """
    if isinstance(expected, Mapping) and len(expected) == 1:
        ((kind, wanted),) = expected.items()
        if kind in MATCHERS:
            return _MAKERS[kind](wanted)
        meant = near(str(kind), MATCHERS)
        if meant:
            raise BadExpectation(f"{quoted(str(kind))} is not known, did you mean {meant}?")
    return lambda value: equal(expected, value)


def _contains(wanted: Any) -> Matcher:
    if not isinstance(wanted, str) or not wanted:
        raise BadExpectation(f"contains is {shown(wanted)}, must be text that is not empty")

    def match(value: Any) -> Match:
        if value == REDACTED:
            return Match.UNKNOWN
        text = written(value)
        if is_cut(text):
            return Match.YES if wanted in kept_part(text) else Match.UNKNOWN
        return _match(wanted in text)

    return match


def _regex(wanted: Any) -> Matcher:
    if not isinstance(wanted, str):
        raise BadExpectation(f"regex is {shown(wanted)}, must be a regular expression in quotes")
    try:
        compile_pattern(wanted)
    except PatternError as error:
        raise BadExpectation(f"regex {quoted(wanted)} {error}") from error

    def match(value: Any) -> Match:
        text = written(value)
        if value == REDACTED or is_cut(text):
            return Match.UNKNOWN
        try:
            return _match(found(wanted, text))
        except PatternTimeout:
            return Match.UNKNOWN

    return match


def _any(wanted: Any) -> Matcher:
    if wanted is True:
        return lambda value: Match.YES
    if not isinstance(wanted, list) or not wanted:
        raise BadExpectation(
            f"any is {shown(wanted)}, must be a list of alternatives that is not empty, or true"
        )
    matchers = [matcher_of(each) for each in wanted]

    def match(value: Any) -> Match:
        results = [matcher(value) for matcher in matchers]
        if Match.YES in results:
            return Match.YES
        return Match.UNKNOWN if Match.UNKNOWN in results else Match.NO

    return match


_MAKERS: Mapping[str, Callable[[Any], Matcher]] = {"contains": _contains, "regex": _regex, "any": _any}


def equal(expected: Any, value: Any) -> Match:
    """Whether a stored argument is `expected`, by value."""
    if value == REDACTED and isinstance(value, str):
        return Match.UNKNOWN
    if isinstance(expected, list | Mapping) and isinstance(value, str):
        if is_cut(value):
            return Match.UNKNOWN
        try:
            value = read_strictly(value)
        except NotJSON:
            return Match.NO
        if not isinstance(value, list | dict):
            return Match.NO
    if isinstance(expected, str) and is_cut(value):
        # What is kept tells two texts apart; it never tells that they are the same.
        other = len(expected) <= VALUE_LIMIT or expected[:VALUE_LIMIT] != kept_part(value)
        return Match.NO if other else Match.UNKNOWN
    return _equal(expected, value)


def _equal(expected: Any, value: Any) -> Match:
    if isinstance(value, str) and value in (REDACTED, TOO_MUCH):
        return Match.UNKNOWN
    if isinstance(expected, Mapping) and isinstance(value, Mapping):
        if expected.keys() != value.keys():
            return Match.NO
        return _all(_equal(item, value[key]) for key, item in expected.items())
    if isinstance(expected, list) and isinstance(value, list):
        if len(expected) != len(value):
            return Match.NO
        return _all(_equal(one, other) for one, other in zip(expected, value, strict=True))
    if isinstance(expected, bool) or isinstance(value, bool):
        return _match(expected is value)
    if isinstance(expected, int | float) and isinstance(value, int | float):
        return _match(expected == value)
    return _match(type(expected) is type(value) and expected == value)


def _all(results: Any) -> Match:
    found_all = list(results)
    if Match.NO in found_all:
        return Match.NO
    return Match.UNKNOWN if Match.UNKNOWN in found_all else Match.YES


def _match(same: bool) -> Match:
    return Match.YES if same else Match.NO


def written(value: Any) -> str:
    """An argument as text: text as it is, everything else as JSON."""
    return (
        value
        if isinstance(value, str)
        else json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    )


def shown_value(value: Any, limit: int = 80) -> str:
    """A value as a reason shows it: as JSON, so that 1 and "1" look different; on one line."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    flat = "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text)
    return shorten(flat, limit)
