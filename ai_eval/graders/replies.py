"""What a judge replied, read by closed rules: a verdict, or unusable and why. Nothing is guessed.

A judge is asked for one JSON object, `{"score": number, "reason": string}`. A reply that is not
clearly one verdict is unusable: never a zero, never a pass.
"""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ai_eval.text import shorten

REPLY_LIMIT = 100_000
"""Bytes of UTF-8; a longer reply is unusable."""

DEPTH_LIMIT = 200
"""Containers within one another; fixed, so that what can be read does not depend on the caller's stack."""

VERDICT_LIMIT = 100
"""Equal verdicts in one reply; each is looked for in the judged text, which may be long."""

NO_REASON = "no reason given"


@dataclass(frozen=True)
class JudgeReply:
    """A reply as read: with a score it is usable, else `why` says what was wrong."""

    score: float | None = None
    """The finite number that the judge gave, which may lie outside its scale."""
    reason: str = ""
    why: str = ""

    @property
    def usable(self) -> bool:
        return self.score is not None


class _Unusable(Exception):
    """The reply is no verdict; the message says why."""


class _Members(dict[str, Any]):
    """A JSON object that remembers what a mapping would hide."""

    twice = False
    """It gave `score` twice."""
    constant = ""
    """A bare NaN or infinity somewhere within it, which is no JSON."""

    @classmethod
    def of(cls, pairs: list[tuple[str, Any]]) -> "_Members":
        members = cls(pairs)
        members.twice = sum(name == "score" for name, _ in pairs) > 1
        return members


def read_reply(
    text: str | None, *, maximum: float, finish_reason: str | None, judged_text: str
) -> JudgeReply:
    """The verdict in `text`, the reply of a judge; never raises, whatever the text.

    `maximum` is that of the judge's scale, for scores such as "4/5". `finish_reason` is the
    provider's; all but `stop` count as cut off. `judged_text` is the response under judgement: a
    verdict that stands in it, character for character, was quoted and not given.
    """
    try:
        return _read(text or "", maximum, finish_reason or "", judged_text)
    except _Unusable as unusable:
        return JudgeReply(why=str(unusable))


def _read(text: str, maximum: float, finish_reason: str, judged_text: str) -> JudgeReply:
    if len(text) > REPLY_LIMIT or len(text.encode("utf-8", "surrogatepass")) > REPLY_LIMIT:
        raise _Unusable(f"longer than {REPLY_LIMIT} bytes")
    cut = (
        ""
        if finish_reason == "stop"
        else f"cut off (finish_reason {shorten(finish_reason, 40) or 'unknown'})"
    )
    text = _stripped(text)
    if not text:
        raise _Unusable(f"empty and {cut}" if cut else "empty")
    whole = _whole_object(text)
    if whole is None:
        text = _without_fence(_without_thinking(text, cut))
        if not text:
            raise _Unusable("empty but for its wrapping")
        whole = _whole_object(text)
    if whole is not None:
        if "score" not in whole:
            raise _Unusable("the object has no score")
        verdicts = [(text, whole)]
    elif cut:
        raise _Unusable(cut)
    else:
        verdicts = _candidates(text)
    return _one_verdict(verdicts, maximum, judged_text)


def _one_verdict(verdicts: list[tuple[str, _Members]], maximum: float, judged_text: str) -> JudgeReply:
    scores = [_score(members, maximum) for _, members in verdicts]
    distinct = list(dict.fromkeys(scores))
    if len(distinct) > 1:
        shown = " and ".join(f"{score:g}" for score in distinct[:5])
        count = "two" if len(verdicts) == 2 else len(verdicts)
        raise _Unusable(f"{count} verdicts that differ: {shown}")
    if any(source in judged_text for source in {source for source, _ in verdicts}):
        raise _Unusable("the verdict was quoted from the judged text")
    reasons = [reason for _, members in verdicts if (reason := _reason(members))]
    return JudgeReply(score=distinct[0], reason=reasons[-1] if reasons else NO_REASON)


# The text round the verdict


def _stripped(text: str) -> str:
    return text.strip().strip("\ufeff").strip()


def _without_thinking(text: str, cut: str) -> str:
    """Without leading thoughts, or without all up to the first closing tag where none was opened."""
    before, closed, after = text.partition("</think>")
    if closed and "<think>" not in before:
        text = _stripped(after)
    while text.startswith("<think>"):
        _, closed, after = text.partition("</think>")
        if not closed:
            raise _Unusable(f"thinking that never ends, {cut}" if cut else "thinking that never ends")
        text = _stripped(after)
    return text


def _without_fence(text: str) -> str:
    """Without one fence round everything and its language tag."""
    opening = re.match(r"`{3,}+|~{3,}+", text)
    if opening is None:
        return text
    marks = opening.group()
    if not text.endswith(marks) or len(text) < 2 * len(marks):
        return text
    body = text[len(marks) : -len(marks)]
    return _stripped(re.sub(r"\A[ \t]*+[A-Za-z0-9_+.#-]*+", "", body, count=1))


# The values in the text

_START = re.compile(r"[{\[]")
_SPACE = re.compile(r"[ \t\n\r]*+")
_STRING = r'"[^"\\]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\]*+)*+"'
_NUMBER = r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][-+]?[0-9]++)?+"
_SCALAR = re.compile(rf"{_STRING}|{_NUMBER}|true|false|null|NaN|-?Infinity")
_NAME = re.compile(rf"[ \t\n\r]*+{_STRING}[ \t\n\r]*+:")
_SCORE_KEY = re.compile(r"""(["'])score\1\s*+:""")


def _end_of_value(text: str, start: int, failed: set[int]) -> int | None:
    """Where the JSON value that begins at `start` ends, or None where it is none.

    Each container that was still open where reading failed would fail there too, so all of them go
    into `failed`. What the scan tries later lies inside a string of this attempt, which reads the
    quotes the other way round; so no more than two failed attempts ever cover one character, and the
    scan takes linear time. A decoder tried at every brace would not.
    """
    opened: list[int] = []
    position = start
    while True:
        position = _after_value_begins(text, position, opened)
        while position >= 0:
            position = _skip_space(text, position)
            following = text[position : position + 1]
            if following == ("}" if text[opened[-1]] == "{" else "]"):
                opened.pop()
                position += 1
                if not opened:
                    return position
            elif following == ",":
                position = _at_member(text, position + 1, opened)
                break
            else:
                position = -1
        if position < 0:
            failed.update(opened)
            return None


def _after_value_begins(text: str, position: int, opened: list[int]) -> int:
    """Reads on to the end of the next scalar or empty container, opening what is open by then; else -1."""
    while position >= 0:
        position = _skip_space(text, position)
        if text[position : position + 1] not in ("{", "["):
            scalar = _SCALAR.match(text, position)
            return scalar.end() if scalar else -1
        opened.append(position)
        if len(opened) > DEPTH_LIMIT:
            raise _Unusable(f"nested more than {DEPTH_LIMIT} deep")
        inside = _skip_space(text, position + 1)
        if text[inside : inside + 1] == ("}" if text[position] == "{" else "]"):
            return inside
        position = _at_member(text, inside, opened)
    return -1


def _at_member(text: str, position: int, opened: list[int]) -> int:
    """Where the value of the next member begins: behind its name in an object; -1 where there is none."""
    if text[opened[-1]] == "[":
        return position
    name = _NAME.match(text, position)
    return name.end() if name else -1


def _skip_space(text: str, position: int) -> int:
    space = _SPACE.match(text, position)
    return space.end() if space else position


def _values(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each JSON object or list in `text`, from left to right, each taken whole."""
    failed: set[int] = set()
    position = 0
    while (start := _START.search(text, position)) is not None:
        position = start.end()
        if start.start() in failed:
            continue
        end = _end_of_value(text, start.start(), failed)
        if end is not None:
            yield start.start(), end
            position = end


def _whole_object(text: str) -> _Members | None:
    """The object that the whole text is, None where the text is more than one JSON value or none."""
    if not text.startswith(("{", "[")) or _end_of_value(text, 0, set()) != len(text):
        return None
    if text.startswith("["):
        raise _Unusable("a list, not an object")
    return _decoded(text)


def _candidates(text: str) -> list[tuple[str, _Members]]:
    """Every object with a score, at least one, and no trace of a further verdict outside of them."""
    found: list[tuple[str, _Members]] = []
    outside: list[str] = []
    done = 0
    for start, end in _values(text):
        if text[start] == "{" and "score" in (members := _decoded(text[start:end])):
            found.append((text[start:end], members))
            outside.append(text[done:start])
            done = end
            if len(found) > VERDICT_LIMIT:
                raise _Unusable(f"more than {VERDICT_LIMIT} verdicts")
    outside.append(text[done:])
    if any(_SCORE_KEY.search(part) for part in outside):
        raise _Unusable(
            "a score stands outside of every readable verdict"
            if found
            else "a score stands in what is not a JSON object of its own"
        )
    if not found:
        raise _Unusable("no JSON object with a score")
    return found


def _decoded(source: str) -> _Members:
    """The object that `source` is; integers that are too long for a float become infinities."""
    constants: list[str] = []

    def constant(word: str) -> None:
        constants.append(word)

    try:
        value = json.loads(
            source,
            strict=False,
            object_pairs_hook=_Members.of,
            parse_int=lambda digits: int(digits) if len(digits) < 400 else float(digits),
            parse_constant=constant,
        )
    except (ValueError, RecursionError) as error:
        raise _Unusable(f"can't be parsed: {type(error).__name__}") from error
    assert isinstance(value, _Members)
    value.constant = constants[0] if constants else ""
    return value


# The score and the reason

_PLAIN = re.compile(r"(?P<number>[+-]?[0-9]+(?:\.[0-9]+)?)(?:/(?P<out_of>[0-9]+(?:\.[0-9]+)?))?")


def _score(members: _Members, maximum: float) -> float:
    if members.twice:
        raise _Unusable("score is given twice")
    given = members["score"]
    if members.constant:
        raise _Unusable(f"{members.constant} is no JSON number")
    if isinstance(given, bool):
        raise _Unusable("score is a boolean")
    if isinstance(given, str):
        return _score_in_words(given.strip(), maximum)
    if not isinstance(given, int | float):
        kinds = {type(None): "null", list: "a list", _Members: "an object"}
        raise _Unusable(f"score is {kinds[type(given)]}")
    return _finite(given)


def _score_in_words(words: str, maximum: float) -> float:
    form = _PLAIN.fullmatch(words)
    if form is None:
        raise _Unusable(f"score is a text that is no plain number: {shorten(words, 40)!r}")
    number = _finite(float(form["number"]))
    if form["out_of"] is not None:
        if float(form["out_of"]) != maximum:
            raise _Unusable(f"score is out of another maximum than {maximum:g}: {shorten(words, 40)!r}")
        if number > maximum:
            raise _Unusable(f"score is above its own maximum: {shorten(words, 40)!r}")
    return number


def _finite(number: float) -> float:
    try:
        finite = float(number)
    except OverflowError:
        finite = math.inf
    if not math.isfinite(finite):
        raise _Unusable("score is not finite: too large a number")
    return finite


def _reason(members: _Members) -> str:
    """The reason as text, empty where there is none; what is no text is shown as JSON."""
    given = members.get("reason")
    if given is None:
        return ""
    return given.strip() if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
