"""Strict JSON: no key twice, no NaN, nothing after the value."""

import json
from typing import Any, NoReturn

from ai_eval.datasets.placed import Block, number, written
from ai_eval.datasets.yaml_text import DEPTH_LIMIT
from ai_eval.errors import DatasetError
from ai_eval.wording import quoted, shown


class _Refused(ValueError):
    """A problem whose place the decoder does not tell."""


def read_json(text: str, name: str) -> Any:
    """The value of a JSON text: objects are `Block` without lines, numbers know their text.

    `name` stands for the file, or the file and line, in messages. DatasetError tells what is wrong.
    """
    if not text.strip():
        raise DatasetError(f"{name}: is empty")
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise DatasetError(
            f"{name}, line {error.lineno}, column {error.colno}: {error.msg[:1].lower()}{error.msg[1:]}"
        ) from error
    except _Refused as error:
        raise DatasetError(f"{name}: {error}") from error
    except RecursionError as error:
        raise DatasetError(f"{name}: nested deeper than {DEPTH_LIMIT} levels") from error
    if deeper_than(value, DEPTH_LIMIT):
        raise DatasetError(f"{name}: nested deeper than {DEPTH_LIMIT} levels")
    return value


def _object(pairs: list[tuple[str, Any]]) -> Block:
    block = Block()
    for key, value in pairs:
        if key in block:
            which = next((f" with the id {shown(written(item))}" for k, item in pairs if k == "id"), "")
            raise _Refused(f"an object{which} has the key {quoted(key)} twice")
        block[key] = value
    return block


def _constant(text: str) -> NoReturn:
    raise _Refused(f"{text} is no number that JSON knows; write null, or text in quotes")


def _integer(text: str) -> Any:
    value = number(text)
    if value is None:
        raise _Refused("a number that is too large; put it in quotes if it is text")
    return value


def _decimal(text: str) -> Any:
    value = number(text)
    if value is None:
        raise _Refused(f"the number {quoted(text)} is too large; put it in quotes if it is text")
    return value


def deeper_than(value: Any, limit: int) -> bool:
    """Whether mappings and lists stand inside each other on more than `limit` levels."""
    level = [value]
    for _ in range(limit):
        level = [
            item
            for each in level
            if isinstance(each, dict | list)
            for item in (each.values() if isinstance(each, dict) else each)
        ]
        if not any(isinstance(each, dict | list) for each in level):
            return False
    return True


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_constant=_constant, parse_int=_integer, parse_float=_decimal
)
