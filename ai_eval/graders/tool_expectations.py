"""`expected_tools` of a question: what each entry asks for, and whether a record satisfies it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ai_eval.graders.argument_matching import BadExpectation, Match, Matcher, matcher_of, shown_value
from ai_eval.text import shorten
from ai_eval.wording import hint, listed, ordinal, quoted, shown

KEYS = ("name", "args", "after", "times", "not")

CALLS_SHOWN = 3


@dataclass(frozen=True)
class ToolExpectation:
    """One entry of `expected_tools`, read."""

    name: str
    forbidden: bool = False
    args: Mapping[str, Any] = field(default_factory=dict)
    """As they were given; `matchers` compares."""
    matchers: Mapping[str, Matcher] = field(default_factory=dict)
    after: str = ""
    at_least: int = 1
    at_most: int | None = None
    counted: bool = False
    """The question names a number of calls."""
    nth: int = 1
    """The entry stands there for the nth time, and asks for an nth call."""

    @property
    def plain(self) -> bool:
        """It asks for a call and for nothing that only a record can tell."""
        return not (self.forbidden or self.args or self.after or self.counted or self.nth > 1)

    @property
    def label(self) -> str:
        """`renew(card="42") after look_up`, `not delete`."""
        args = ", ".join(f"{name}={shown_value(value)}" for name, value in self.args.items())
        text = f"{one_line(self.name)}({args})" if args else one_line(self.name)
        text = f"not {text}" if self.forbidden else text
        return f"{text} after {one_line(self.after)}" if self.after else text

    @property
    def wanted(self) -> str:
        """How many calls are expected, in words."""
        if self.forbidden or self.at_most == 0:
            return "no call"
        if self.at_most is None:
            if not self.counted:
                return "a call" if self.nth == 1 else f"a {ordinal(self.nth)} call"
            return f"at least {_calls(self.at_least)}"
        if self.at_least == self.at_most:
            return _calls(self.at_most)
        if self.at_least == 0:
            return f"at most {_calls(self.at_most)}"
        return f"{self.at_least} to {self.at_most} calls"


@dataclass(frozen=True)
class Unreadable:
    """An entry that nobody can read: it is never satisfied."""

    label: str
    problem: str


def one_line(name: str) -> str:
    """A name on one line, without what could move a cursor or reorder a line."""
    return quoted(name)[1:-1]


def _calls(count: int) -> str:
    return "1 call" if count == 1 else f"{count} calls"


def read_expectations(entries: Sequence[Any]) -> list[ToolExpectation | Unreadable]:
    """Every entry as it is meant; equal entries without `times` ask for a call each."""
    read: list[ToolExpectation | Unreadable] = []
    for number, entry in enumerate(entries, 1):
        nth = 1 + sum(_same(earlier, entry) for earlier in entries[: number - 1])
        try:
            read.append(_read(entry, nth))
        except BadExpectation as error:
            read.append(Unreadable(f"entry {number}", f"can't be read: {error}"))
    return read


def _same(one: Any, other: Any) -> bool:
    """Whether two entries are the same, as JSON: 1 and true are not."""
    one = {"name": one} if isinstance(one, str) else one
    other = {"name": other} if isinstance(other, str) else other
    return isinstance(one, Mapping) and _canonical(one) == _canonical(other)


def _canonical(value: Any) -> Any:
    if isinstance(value, Mapping):
        return ("mapping", frozenset((key, _canonical(item)) for key, item in value.items()))
    if isinstance(value, list):
        return ("list", tuple(_canonical(item) for item in value))
    return (isinstance(value, bool), isinstance(value, str), value)


def _read(entry: Any, nth: int) -> ToolExpectation:
    if isinstance(entry, str):
        return ToolExpectation(_name("name", entry), at_least=nth, nth=nth)
    if not isinstance(entry, Mapping):
        raise BadExpectation(f"is {shown(entry)}, must be a tool's name, or a mapping with name or not")
    for key in entry:
        if key not in KEYS:
            meant = hint(str(key), KEYS) or f"; known are {listed(KEYS)}"
            raise BadExpectation(f"the key {quoted(str(key))} is not known{meant}")
    if ("name" in entry) == ("not" in entry):
        were = "both name and not" if "name" in entry else "neither name nor not"
        raise BadExpectation(f"has {were}, must have one of them")
    args = entry.get("args", {})
    if "args" in entry and (not isinstance(args, Mapping) or not args):
        raise BadExpectation(f"args is {shown(args)}, must be a mapping that is not empty")
    matchers = {str(name): _matcher(name, value) for name, value in args.items()}
    args = {str(name): value for name, value in args.items()}
    if "not" in entry:
        for key in ("after", "times"):
            if key in entry:
                raise BadExpectation(f"has {key} beside not, which asks for no call at all")
        return ToolExpectation(_name("not", entry["not"]), True, args, matchers, at_least=0, at_most=0)
    name = _name("name", entry["name"])
    after = _name("after", entry["after"]) if "after" in entry else ""
    if "times" not in entry:
        return ToolExpectation(name, False, args, matchers, after, at_least=nth, nth=nth)
    at_least, at_most = _times(entry["times"])
    if after and at_most == 0:
        raise BadExpectation("has after beside a number of calls that is 0")
    return ToolExpectation(name, False, args, matchers, after, at_least, at_most, counted=True)


def _name(key: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise BadExpectation(f"{key} is {shown(value)}, must be a tool's name")
    return value


def _matcher(name: Any, value: Any) -> Matcher:
    try:
        return matcher_of(value)
    except BadExpectation as error:
        raise BadExpectation(f"args.{one_line(str(name))}: {error}") from error


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0 or value != value // 1:
        raise BadExpectation(f"times has {shown(value)}, must be a whole number from 0 on")
    return int(value)


def _times(times: Any) -> tuple[int, int | None]:
    """The least and the greatest number of calls."""
    if not isinstance(times, Mapping):
        count = _count(times)
        return count, count
    if not times or not set(times) <= {"min", "max"}:
        raise BadExpectation("times must be a whole number, or a mapping with min, max or both")
    at_least = _count(times.get("min", 0))
    at_most = _count(times["max"]) if "max" in times else None
    if at_most is not None and at_least > at_most:
        raise BadExpectation(f"times has min {at_least} above max {at_most}")
    if at_least == 0 and at_most is None:
        raise BadExpectation("times has min 0 and no max, which asks for nothing")
    return at_least, at_most


def calls_named(name: str, calls: Sequence[Any]) -> list[int]:
    """Positions of the calls of a tool, by either of its names."""
    return [
        position
        for position, call in enumerate(calls)
        if isinstance(call, Mapping) and name in (call.get("function_name"), call.get("plugin_id"))
    ]


def problem_with(expectation: ToolExpectation, calls: Sequence[Any]) -> str:
    """What is unsatisfied, expected first and found second; empty when the record satisfies it."""
    named = calls_named(expectation.name, calls)
    matched: list[int] = []
    unknown: dict[int, list[str]] = {}
    for position in named:
        match, untold = _match_call(expectation, calls[position])
        if match is Match.YES:
            matched.append(position)
        elif match is Match.UNKNOWN:
            unknown[position] = untold
    at_least, at_most = expectation.at_least, expectation.at_most
    fewest, most = len(matched), len(matched) + len(unknown)
    if most < at_least or (at_most is not None and fewest > at_most):
        return f"expected {expectation.wanted}, found {_found(expectation, calls, named, matched)}"
    if fewest < at_least or (at_most is not None and most > at_most):
        return f"expected {expectation.wanted}, found {_untold(fewest, unknown)}"
    return _order_problem(expectation, calls, matched, unknown) if expectation.after else ""


def _match_call(expectation: ToolExpectation, call: Mapping[str, Any]) -> tuple[Match, list[str]]:
    """Whether one call has the expected arguments, and which of them can't be told."""
    arguments = call.get("arguments")
    untold = []
    for name, matcher in expectation.matchers.items():
        if not isinstance(arguments, Mapping) or name not in arguments:
            return Match.NO, []
        match = matcher(arguments[name])
        if match is Match.NO:
            return Match.NO, []
        if match is Match.UNKNOWN:
            untold.append(name)
    return (Match.UNKNOWN, untold) if untold else (Match.YES, [])


def _found(expectation: ToolExpectation, calls: Sequence[Any], named: list[int], matched: list[int]) -> str:
    if matched:
        some = "; ".join(shown_call(calls[position]) for position in matched[:CALLS_SHOWN])
        return f"{len(matched)}: {some}" if expectation.args else str(len(matched))
    if named:
        some = "; ".join(shown_call(calls[position]) for position in named[:CALLS_SHOWN])
        more = f" and {len(named) - CALLS_SHOWN} more" if len(named) > CALLS_SHOWN else ""
        return f"{some}{more}"
    return "none"


def _untold(fewest: int, unknown: Mapping[int, list[str]]) -> str:
    names = listed(dict.fromkeys(one_line(name) for untold in unknown.values() for name in untold))
    return (
        f"{fewest} and {len(unknown)} that can't be compared: "
        f"what was recorded of {names} is redacted, cut, or took too long to search"
    )


def _order_problem(
    expectation: ToolExpectation, calls: Sequence[Any], matched: list[int], unknown: Mapping[int, list[str]]
) -> str:
    earlier = calls_named(expectation.after, calls)
    name, after = one_line(expectation.name), one_line(expectation.after)
    if not earlier:
        return f"expected {name} after {after}, found no call of {after}"
    if matched and matched[-1] > earlier[0]:
        return ""
    if unknown and max(unknown) > earlier[0]:
        return f"expected {name} after {after}, found {_untold(0, unknown)}"
    if not matched:
        return f"expected {name} after {after}, found no such call of {name}"
    if expectation.name == expectation.after:
        return f"expected {name} after another call of it, found one call"
    return f"expected {name} after {after}, found {name} before {after} only"


def shown_call(call: Mapping[str, Any]) -> str:
    """`renew(card="42")`, shortened."""
    name = call.get("function_name") or call.get("plugin_id")
    arguments = call.get("arguments")
    shown_args = ""
    if isinstance(arguments, Mapping):
        shown_args = ", ".join(
            f"{one_line(str(key))}={shown_value(value)}" for key, value in arguments.items()
        )
    return shorten(f"{one_line(str(name))}({shown_args})", 200)
