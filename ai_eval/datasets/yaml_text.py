"""Strict YAML: text stays text.

Only `null`, `true`, `false` and plain decimal numbers without a leading zero (`3`, `-2`, `3.5`) have a
type. All else that stands without quotes is text as it was written: `no`, `on`, `0010`, `1e3`, `1_000`,
`0x1f`, `1:30`, `2024-01-01`, `~`, and nothing at all, which is empty text. A key given twice, an anchor,
an alias, a merge key, a tag and a second document are refused.
"""

import re
from collections.abc import Iterator
from typing import Any, NoReturn

from ruamel.yaml import YAML
from ruamel.yaml import events as yaml_events
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.reader import ReaderError

from ai_eval.datasets.placed import Block, number
from ai_eval.errors import DatasetError
from ai_eval.wording import quoted

DEPTH_LIMIT = 50
"""Mappings and lists inside each other."""

NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
WORDS = {"null": None, "true": True, "false": False}

_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")

_HINTS = {
    "mapping values are not allowed here": "a text that holds a colon and a space has to stand in quotes",
    "found character '\\t' that cannot start any token": "indent with spaces, not with tabs",
    "found character '\t' that cannot start any token": "indent with spaces, not with tabs",
    "found unexpected end of stream": "a quote is not closed",
    "expected '<document start>', but found ('<scalar>',)": "something follows after the end of the document",
    "expected <block end>, but found '<scalar>'": "a quote inside a text, or a wrong indentation",
    "expected <block end>, but found '-'": "the dashes of one list have to stand below each other",
    "expected <block end>, but found '?'": "keys of one mapping have to stand below each other",
    "found character '@' that cannot start any token": "a text that begins with @ has to stand in quotes",
    "found character '`' that cannot start any token": "a text that begins with ` has to stand in quotes",
    "found character '%' that cannot start any token": "a text that begins with % has to stand in quotes",
}


def read_yaml(text: str, name: str) -> Any:
    """The one document of a YAML text: mappings are `Block`, numbers know their text.

    `name` stands for the file in messages. DatasetError names line and column.
    """
    return _Reader(text, name).document()


class _Reader:
    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = name
        # An instance serves one document only: it keeps the state of the last one.
        self.events: Iterator[Any] = YAML(typ="safe", pure=True).parse(text)

    def document(self) -> Any:
        self.take()
        event = self.take()
        if isinstance(event, yaml_events.StreamEndEvent):
            raise DatasetError(f"{self.name}: is empty")
        if event.version not in (None, (1, 2)):
            self.refuse(event, "a %YAML directive asks for another version than 1.2: leave it out")
        value = self.value(self.take(), 1)
        self.take()
        after = self.take()
        if not isinstance(after, yaml_events.StreamEndEvent):
            self.refuse(after, "a second document begins: one file holds one")
        return value

    def take(self) -> Any:
        try:
            return next(self.events)
        except MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            problem = error.problem or error.context or "can't be read"
            why = _HINTS.get(problem)
            place = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
            raise DatasetError(
                f"{self.name}{place}: {problem}{self.begun(error, mark)}{f' ({why})' if why else ''}"
            ) from error
        except ReaderError as error:
            before = self.text[: error.position]
            line = before.count("\n") + 1
            column = len(before) - before.rfind("\n")
            raise DatasetError(
                f"{self.name}, line {line}, column {column}: a control character (U+{error.character:04X}); "
                "write it as an escape inside double quotes"
            ) from error
        except YAMLError as error:
            raise DatasetError(f"{self.name}: {error}") from error

    @staticmethod
    def begun(error: MarkedYAMLError, mark: Any) -> str:
        begin = error.context_mark
        if begin is None or mark is None or begin.line == mark.line or not error.context:
            return ""
        return f", {error.context} that begins in line {begin.line + 1}"

    def refuse(self, event: Any, problem: str) -> NoReturn:
        mark = event.start_mark
        raise DatasetError(f"{self.name}, line {mark.line + 1}, column {mark.column + 1}: {problem}")

    def value(self, event: Any, depth: int) -> Any:
        if isinstance(event, yaml_events.AliasEvent):
            self.refuse(event, f"an alias ({quoted(str(event.anchor))}); write the value out")
        if event.anchor is not None:
            self.refuse(event, f"an anchor ({quoted(str(event.anchor))}); leave it out, aliases are not read")
        if event.ctag is not None:
            self.refuse(
                event, f"a tag ({quoted(str(event.ctag))}); leave it out, values have the type they show"
            )
        if isinstance(event, yaml_events.ScalarEvent):
            return self.scalar(event)
        if depth > DEPTH_LIMIT:
            self.refuse(event, f"nested deeper than {DEPTH_LIMIT} levels")
        if isinstance(event, yaml_events.SequenceStartEvent):
            return self.sequence(depth)
        return self.mapping(event, depth)

    def sequence(self, depth: int) -> list[Any]:
        found = []
        while not isinstance(event := self.take(), yaml_events.SequenceEndEvent):
            found.append(self.value(event, depth + 1))
        return found

    def mapping(self, start: Any, depth: int) -> Block:
        block = Block(start.start_mark.line + 1)
        while not isinstance(event := self.take(), yaml_events.MappingEndEvent):
            if not isinstance(event, yaml_events.ScalarEvent):
                self.value(event, depth + 1)
                self.refuse(event, "a key that is a list or a mapping; write text")
            self.value(event, depth)
            key = _joined(event.value)
            if key == "<<" and event.style is None:
                self.refuse(event, "a merge key (<<); write the keys out")
            if key in block:
                self.refuse(event, f"the key {quoted(key)} is given twice, first in line {block.lines[key]}")
            block.lines[key] = event.start_mark.line + 1
            block[key] = self.value(self.take(), depth + 1)
        return block

    def scalar(self, event: Any) -> Any:
        text: str = event.value
        if event.style is None:
            if text in WORDS:
                return WORDS[text]
            if NUMBER.fullmatch(text):
                value = number(text)
                if value is None:
                    self.refuse(event, "a number that is too large; put it in quotes if it is text")
                return value
        return _joined(text)


def _joined(text: str) -> str:
    """Surrogate pairs that were written as two escapes (as JSON does) are one character."""
    return _PAIR.sub(lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)
