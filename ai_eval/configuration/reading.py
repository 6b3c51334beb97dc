"""Reading single values of a configuration document: the type, the range, and what would be right."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ai_eval.datasets.placed import plain, written
from ai_eval.text import clean_json, clean_text
from ai_eval.wording import hint, listed, ordinal, quoted, shown

Read = Callable[[Any], Any]
"""Takes a value as written; gives it back ready to be stored, or raises `Wrong`."""


class Wrong(ValueError):
    """A value of another kind: what it is, and what it must be."""


def text(max_length: int | None = None) -> Read:
    """Text; a number is taken as it is written."""
    wanted = f"text of at most {max_length} characters" if max_length else "text"

    def read(value: Any) -> str:
        given = value if isinstance(value, bool) else written(value)
        if not isinstance(given, str):
            raise Wrong(f"is {shown(value)}, must be {wanted}")
        if max_length is not None and len(given) > max_length:
            raise Wrong(f"has {len(given)} characters, must be {wanted}")
        return clean_text(given)

    return read


def slug(value: Any) -> str:
    """A public identifier."""
    given = value if isinstance(value, bool) else written(value)
    if not isinstance(given, str) or re.fullmatch(r"[-a-zA-Z0-9_]{1,100}", given) is None:
        raise Wrong(f"is {shown(value)}, must be 1 to 100 letters, digits, hyphens or underscores")
    return given


def number(low: float | None = None, high: float | None = None) -> Read:
    """A number within bounds, as float."""

    def read(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise Wrong(f"is {shown(value)}, must be a number{_range(low, high)}")
        try:
            found = float(value)
        except OverflowError as error:
            raise Wrong(f"is out of range, must be a number{_range(low, high)}") from error
        if (low is not None and not found >= low) or (high is not None and not found <= high):
            raise Wrong(f"is {shown(value)}, must be a number{_range(low, high)}")
        return found

    return read


def whole(low: int, high: int) -> Read:
    """A whole number within bounds."""

    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise Wrong(f"is {shown(value)}, must be a whole number{_range(low, high)}")
        return int(value)

    return read


def _range(low: float | None, high: float | None) -> str:
    if high is None:
        return "" if low is None else f" from {low} on"
    return f" from {low} to {high}"


def flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Wrong(f"is {shown(value)}, must be true or false")
    return value


def choice(*names: str) -> Read:
    def read(value: Any) -> str:
        if not isinstance(value, str) or value not in names:
            meant = hint(value, names) if isinstance(value, str) else ""
            raise Wrong(f"is {shown(value)}, must be one of {listed(names)}{meant}")
        return value

    return read


def names(value: Any) -> list[str]:
    """A list of texts."""
    if not isinstance(value, list):
        raise Wrong(f"is {shown(value)}, must be a list of names")
    found = [each if isinstance(each, bool) else written(each) for each in value]
    for number, each in enumerate(found, 1):
        if not isinstance(each, str) or not each.strip():
            raise Wrong(f"has {shown(each)} in the {ordinal(number)} place, must be a list of names")
    return [clean_text(str(each)) for each in found]


def mapping(value: Any) -> dict[str, Any]:
    """A mapping, as JSON."""
    if not isinstance(value, Mapping):
        raise Wrong(f"is {shown(value)}, must be a mapping")
    return dict(clean_json(plain(value)))


def unknown_key(key: str, known: Iterable[str]) -> str:
    """The sentence about a key that nothing reads."""
    from ai_eval.agents.arguments import looks_like_credential

    known = list(known)
    meant = hint(key, known)
    if not meant and looks_like_credential(key):
        return "is not known: keys of providers come from the environment, never from here"
    return f"is not known{meant or f'; known are {listed(known, 30)}'}"


def not_in_this_version(value: Any) -> str:
    """Empty where the value is empty, else the sentence that refuses it."""
    return "" if value in (None, "", [], {}) else "is not in this version: leave it out"


def place(file: str, kind: str, id: object, key: str = "", line: int = 0) -> str:
    """`targets.yaml, target "help_desk", key "trials" (line 5)`."""
    parts = [file, f"{kind} {quoted(str(id))}" if id else kind]
    if key:
        parts.append(f"key {quoted(key)}")
    return ", ".join(part for part in parts if part) + (f" (line {line})" if line else "")
