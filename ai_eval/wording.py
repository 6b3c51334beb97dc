"""How a message names a place, shows a value, and guesses what was meant."""

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from ai_eval.text import shorten

PROBLEMS_SHOWN = 20
SHOWN_LENGTH = 60
NEAR = 0.75
"""Similarity (0 to 1, `difflib`) from which a word is a near miss of another."""


def ordinal(number: int) -> str:
    """`1st`, `2nd`, `3rd`, `11th`."""
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def printable(text: str) -> str:
    """`text` on one line, whole, without what could move a cursor or reorder a line."""
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text)


def one_line(text: str) -> str:
    """The same, shortened."""
    return shorten(printable(text[: SHOWN_LENGTH + 1]) + text[SHOWN_LENGTH + 1 :], SHOWN_LENGTH)


def quoted(text: str) -> str:
    """The same in quotes."""
    return f'"{one_line(text)}"'


def shown(value: object) -> str:
    """A value of a document as a message names it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value) if value else "empty"
    if isinstance(value, int | float):
        return shorten(str(value), SHOWN_LENGTH)
    if isinstance(value, Mapping):
        return "a mapping"
    return "a list" if isinstance(value, list | tuple) else type(value).__name__


def counted(number: int, noun: str) -> str:
    """`1 answer`, `3 answers`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def listed(names: Iterable[str], limit: int = 10) -> str:
    """The first names, and how many more there are."""
    names = [one_line(name) for name in names]
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


def bounded(problems: Sequence[str], limit: int = PROBLEMS_SHOWN) -> list[str]:
    """The first problems, and a last sentence with the number of the others."""
    if len(problems) <= limit:
        return list(problems)
    return [*problems[:limit], f"and {len(problems) - limit} more"]


def _folded(word: str) -> str:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", word)
    return re.sub(r"[\s\-_.]+", "_", spaced.strip()).lower()


def near(word: str, known: Iterable[str]) -> str | None:
    """Which of `known` was probably meant, looking past case, hyphens and camel case."""
    return _near(word, tuple(known)) if len(word) <= 200 else None


# Every row of a dataset brings the same keys.
@lru_cache(maxsize=1000)
def _near(word: str, known: tuple[str, ...]) -> str | None:
    folded = {_folded(each): each for each in known}
    found = get_close_matches(_folded(word), folded, n=1, cutoff=NEAR)
    return folded[found[0]] if found else None


def hint(word: str, known: Iterable[str]) -> str:
    """`, did you mean X?`, or nothing."""
    meant = near(word, known)
    return f", did you mean {one_line(meant)}?" if meant else ""


def join(*parts: Any) -> str:
    """The parts of a place that are there, with commas."""
    return ", ".join(str(part) for part in parts if part)
