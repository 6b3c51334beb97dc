"""Tool-call arguments, normalised once, before anything is stored or shown. Nothing here raises."""

import dataclasses
import json
import re
from collections.abc import Mapping, Set
from itertools import islice
from typing import Any

from ai_eval.agents.credentials import looks_like_credential as looks_like_credential
from ai_eval.text import clean_json, clean_text, shorten

VALUE_LIMIT = 1000
"""Characters of one argument that are kept."""

REDACTED = "[redacted]"

DEPTH_LIMIT = 50
"""Containers within one another; a mark stands for what lies deeper."""

SIZE_LIMIT = 10_000
"""Values within one argument; a mark stands for the containers after them."""

TOO_MUCH = "[too much to keep]"

_CUT = re.compile(rf"(?s)(.{{{VALUE_LIMIT}}})… \[[1-9][0-9]* more characters\]")


def is_cut(value: object) -> bool:
    """Whether a stored argument lost its end. A whole one is never longer than the limit."""
    return isinstance(value, str) and len(value) > VALUE_LIMIT


def kept_part(value: str) -> str:
    """The part of a stored text that is the argument's own, without the mark of a cut."""
    return value[:VALUE_LIMIT]


def normalise_arguments(given: object) -> dict[str, Any]:
    """Arguments as a mapping of names to values, whichever way they were written.

    Takes a mapping, JSON text of one, JSON text within JSON text, and nothing (None, empty text).
    What is no mapping after that is kept whole under the name `value`.
    """
    for _ in range(3):
        if not isinstance(given, str):
            break
        if not given.strip():
            return {}
        try:
            given = json.loads(given, strict=False)
        except (ValueError, RecursionError):
            break
    if given is None:
        return {}
    given = _fields(given)
    if isinstance(given, Mapping):
        return {_text(key): value for key, value in given.items()}
    return {"value": given}


def stored_arguments(given: object) -> dict[str, Any]:
    """Normalised arguments as they are stored: scalars, long ones cut with a mark, credentials redacted.

    A list or mapping among them is kept as its JSON text. Storing what is stored changes nothing.
    """
    try:
        arguments = normalise_arguments(given)
    except Exception as error:  # noqa: BLE001 - a mapping of foreign code; the call itself must go on
        return {"value": f"[unreadable: {type(error).__name__}]"}
    return {clean_text(name): _stored(name, value) for name, value in arguments.items()}


def recorded_call(function_name: str, arguments: object = None, plugin_id: str = "") -> dict[str, Any]:
    """One entry of a tool-call record."""
    name = _text(function_name)
    return {
        "plugin_id": _text(plugin_id) or name,
        "function_name": name,
        "arguments": stored_arguments(arguments),
    }


def _stored(name: str, value: object) -> Any:
    if _is_secret(name, value):
        return REDACTED
    try:
        plain = _Reading().plain(value)
    except Exception as error:  # noqa: BLE001 - as above
        return f"[unreadable: {type(error).__name__}]"
    if isinstance(plain, str):
        return _cut(_redacted_text(plain))
    return _cut(_as_text(plain)) if isinstance(plain, dict | list) else plain


def _is_secret(name: str, value: object) -> bool:
    # A flag such as `show_password`, or nothing at all, gives nothing away.
    return value is not None and not isinstance(value, bool) and looks_like_credential(name)


class _Reading:
    """JSON without credentials out of any object; bounded, since an object may hold itself many times."""

    def __init__(self) -> None:
        self._left = SIZE_LIMIT

    def plain(self, value: object, depth: int = 0) -> Any:
        self._left -= 1
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int | float):
            return _number(value)
        if isinstance(value, str):
            return _text(value)
        if depth >= DEPTH_LIMIT or self._left <= 0:
            return TOO_MUCH
        value = _fields(value)
        if isinstance(value, Mapping):
            return {
                _text(key): REDACTED if _is_secret(_text(key), item) else self.plain(item, depth + 1)
                for key, item in islice(value.items(), max(0, self._left))
            }
        if isinstance(value, list | tuple):
            return [self.plain(item, depth + 1) for item in islice(value, max(0, self._left))]
        if isinstance(value, Set):
            items = [self.plain(item, depth + 1) for item in islice(value, max(0, self._left))]
            return sorted(items, key=_as_text)
        return _text(value)


def _number(value: int | float) -> Any:
    """A number that every database and JSON reader takes, else its text."""
    if isinstance(value, int):
        # Python writes no number of thousands of digits, and a shorter one is an identifier all the same.
        return int(value) if value.bit_length() <= 1000 else f"{'-' if value < 0 else ''}0x{abs(value):x}"
    return clean_json(float(value))


def _fields(value: object) -> object:
    """An instance of a data class or of a pydantic model as the mapping of its fields."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name, None) for field in dataclasses.fields(value)}
    dump = getattr(type(value), "model_dump", None)
    return dump(value) if callable(dump) else value


def _text(value: object) -> str:
    if isinstance(value, str):
        return clean_text(str.__str__(value))
    try:
        return clean_text(str(value))
    except Exception:  # noqa: BLE001 - foreign code that can't tell its own text; the call itself must go on
        return f"[{type(value).__name__}]"


def _as_text(plain: object) -> str:
    return json.dumps(plain, ensure_ascii=False, sort_keys=True)


def _redacted_text(text: str) -> str:
    """`text`; where it is JSON that holds credentials, the same JSON without them."""
    if text[:1] not in ("{", "["):
        return text
    try:
        plain = json.loads(text, strict=False)
        kept = _Reading().plain(plain)
    except (ValueError, RecursionError):
        return text
    return _as_text(kept) if REDACTED in _as_text(kept) and kept != plain else text


def _cut(text: str) -> str:
    return text if _CUT.fullmatch(text) else shorten(text, VALUE_LIMIT)
