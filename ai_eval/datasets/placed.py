"""What a reader of documents gives back: plain data that also knows where and how it was written."""

from collections.abc import Mapping
from typing import Any


class Block(dict[str, Any]):
    """A mapping. `line` is where it begins, `lines` where each key stands; 1-based, 0 where unknown."""

    line: int = 0

    def __init__(self, line: int = 0) -> None:
        super().__init__()
        self.line = line
        self.lines: dict[str, int] = {}


class WrittenInt(int):
    """A whole number that knows its text."""

    written: str


class WrittenFloat(float):
    """A number with decimals that knows its text."""

    written: str


DIGITS_LIMIT = 400
"""Longer numbers are no numbers but texts without quotes."""


def number(text: str) -> WrittenInt | WrittenFloat | None:
    """The number that a decimal text stands for; None where it is too long or out of range."""
    if len(text) > DIGITS_LIMIT:
        return None
    whole = text.lstrip("-").isdecimal()
    value: WrittenInt | WrittenFloat = WrittenInt(text) if whole else WrittenFloat(text)
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return None
    value.written = text
    return value


def written(value: object) -> object:
    """A number or boolean as the text that was written; everything else as it is."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, WrittenInt | WrittenFloat):
        return value.written
    return str(value) if isinstance(value, int | float) else value


def plain(value: Any) -> Any:
    """The same data as ordinary dictionaries, lists and numbers."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, WrittenInt):
        return int(value)
    return float(value) if isinstance(value, WrittenFloat) else value


def line_of(block: object, key: str | None = None) -> int:
    """The line of a key, else of the mapping itself; 0 where unknown."""
    if not isinstance(block, Block):
        return 0
    return block.lines.get(key, block.line) if key is not None else block.line
