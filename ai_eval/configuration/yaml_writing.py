"""YAML that our own reader, and any other one, reads back as it was."""

import io
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml import events as yaml_events
from ruamel.yaml.tag import Tag

WIDTH = 1_000_000_000
"""Lines are never folded: a long text stays on its line."""

# Never written: the emitter only wants to see one beside an empty text.
_TAG = Tag(suffix="tag:yaml.org,2002:str")

_PLAIN = re.compile(r"[A-Za-z/][\w./@+-]*(?: [\w./@+-]+)*", re.ASCII)
_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
"""What some reader of YAML takes for something else than text."""


def write_yaml(document: Any) -> str:
    """The document (mappings with text keys, lists, texts, finite numbers, booleans, null) as YAML."""
    stream = io.StringIO()
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.allow_unicode = True
    yaml.width = WIDTH
    yaml.map_indent, yaml.sequence_indent, yaml.sequence_dash_offset = 2, 4, 2
    yaml.emit(_document(document), stream)
    return stream.getvalue()


def _document(value: Any) -> Iterator[Any]:
    yield yaml_events.StreamStartEvent()
    yield yaml_events.DocumentStartEvent(explicit=False)
    yield from _value(value)
    yield yaml_events.DocumentEndEvent(explicit=False)
    yield yaml_events.StreamEndEvent()


def _value(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield yaml_events.MappingStartEvent(None, None, True, flow_style=not value)
        for key, item in value.items():
            yield _text(str(key), one_line=True)
            yield from _value(item)
        yield yaml_events.MappingEndEvent()
    elif isinstance(value, list | tuple):
        short = all(isinstance(each, str) and len(each) < 40 for each in value) and len(value) <= 8
        yield yaml_events.SequenceStartEvent(None, None, True, flow_style=short)
        for item in value:
            yield from _value(item) if not short else [_text(item, one_line=True)]
        yield yaml_events.SequenceEndEvent()
    elif isinstance(value, str):
        yield _text(value)
    else:
        yield _scalar(_word(value))


def _word(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    # Without an exponent, which strict readers take for text.
    digits = format(Decimal(repr(value)), "f")
    return digits if "." in digits else f"{digits}.0"


def _scalar(text: str, style: str | None = None) -> Any:
    return yaml_events.ScalarEvent(None, _TAG, (style is None, style is not None), text, style=style)


def _text(text: str, one_line: bool = False) -> Any:
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return _scalar(text)
    return _scalar(text, "|" if not one_line and _fits_block(text) else '"')


def _fits_block(text: str) -> bool:
    """Whether a literal block holds this text beyond doubt: several lines, each visible from end to end."""
    lines = text.removesuffix("\n").split("\n")
    return (
        len(lines) > 1
        and not lines[0].startswith(" ")
        and bool(lines[0])
        and bool(lines[-1])
        and all(line.isprintable() and not line.endswith(" ") for line in lines)
    )
