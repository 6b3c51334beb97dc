"""Questions as they came, checked: the one function through which every source goes."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from ai_eval.datasets.base import LoadedDataset
from ai_eval.datasets.json_text import deeper_than
from ai_eval.datasets.placed import line_of, plain, written
from ai_eval.datasets.schema import (
    DOCUMENT_KEYS,
    KNOWN_KEYS,
    document_problems,
    instead_of,
    question_problems,
)
from ai_eval.errors import DatasetError
from ai_eval.graders.tool_expectations import Unreadable, read_expectations
from ai_eval.text import clean_json, is_blank
from ai_eval.wording import bounded, hint, join, near, ordinal, quoted, shown

RESERVED_KEYS = ("tool_calls", "environment", "response_char_limit")
"""Set by the runner for graders; a row can't forge them."""

READ_AT_TOP = ("criteria", "expected", "expected_facts", "must_not_contain", "expected_tools")
"""Keys that graders read beside `metadata`, never in it."""

ROW_DEPTH = 40
"""Levels within one key of a question: less than a document has, so that an export can hold it."""

_TEXTS = ("id", "input", "criteria", "expected", "rubric_ref", "bundle", "split")
_LISTS_OF_TEXTS = ("expected_facts", "must_not_contain", "tags")


def validate_rows(document: object, place: str) -> LoadedDataset:
    """The dataset that a document holds: a mapping with `questions`, and `label`, `fixtures`.

    `place` names it in messages (`riverside.yaml`). DatasetError tells up to 20 problems, each with
    the question, the key, and what would be right. What may be a mistake and is none for certain
    stands in `warnings`.
    """
    return _Validation(place).run(document)


class _Validation:
    def __init__(self, place: str) -> None:
        self.place = place
        self.problems: list[str] = []
        self.first: dict[str, tuple[int, int]] = {}
        self.warned: dict[tuple[str, str], list[str]] = defaultdict(list)

    def run(self, document: object) -> LoadedDataset:
        if not isinstance(document, Mapping):
            raise DatasetError(
                f"{self.place}: is {shown(document)}, must be a mapping with the key questions"
            )
        self.check_document(document)
        questions = document.get("questions")
        rows = []
        for number, given in enumerate(questions if isinstance(questions, list) else [], 1):
            if isinstance(given, Mapping):
                rows.append(self.check_row(given, number))
            else:
                self.problems.append(
                    f"{self.place}, {ordinal(number)} question: is {shown(given)}, "
                    "must be a mapping with id and input"
                )
        if self.problems:
            raise DatasetError(bounded(self.problems))
        return LoadedDataset(
            rows=rows,
            fixtures=tuple(clean_json(written(each)) for each in document.get("fixtures") or ()),
            label=str(clean_json(written(document.get("label") or ""))),
            warnings=tuple(self.warnings()),
        )

    def check_document(self, document: Mapping[str, Any]) -> None:
        if not isinstance(document.get("questions"), list):
            was = f"is missing{instead_of('questions', document, DOCUMENT_KEYS)}"
            was = was if "questions" not in document else f"is {shown(document['questions'])}"
            self.problems.append(f'{self.place}, key "questions": {was}, must be a list of questions')
        around = {
            key: plain(value) for key, value in document.items() if value is not None and key != "questions"
        }
        around |= {key: written(around[key]) for key in ("id", "label") if key in around}
        if isinstance(around.get("fixtures"), list):
            around["fixtures"] = [written(each) for each in document["fixtures"]]
        for key, problem in document_problems(around):
            self.problems.append(f"{self.place}, key {quoted(key)}: {problem}")
        for key in document:
            if key not in DOCUMENT_KEYS:
                self.warned[key, f"is not read{hint(key, DOCUMENT_KEYS)}"].append("")

    def check_row(self, given: Mapping[str, Any], number: int) -> dict[str, Any]:
        texts = _with_texts({str(key): value for key, value in given.items()})
        row: dict[str, Any] = clean_json(plain(texts))
        id = row.get("id")
        label = f"question {quoted(id)} ({ordinal(number)})" if isinstance(id, str) else ""
        label = label or f"{ordinal(number)} question"
        found = [*question_problems(row), *_asked_problems(row)]
        if not any(key.startswith("expected_tools") for key, _ in found):
            found += _tool_problems(row)
        found += [
            (key, f"is nested deeper than {ROW_DEPTH} levels")
            for key in row
            if deeper_than(row[key], ROW_DEPTH)
        ]
        if isinstance(id, str):
            found += self.id_problems(id, number, line_of(given, "id"))
        for key, problem in found:
            line = line_of(given, key.partition(".")[0].partition("[")[0])
            where = f" (line {line})" if line else ""
            self.problems.append(f"{self.place}, {label}, key {quoted(key)}: {problem}{where}")
        for key, warning in _row_warnings(row):
            self.warned[key, warning].append(label)
        return row

    def id_problems(self, id: str, number: int, line: int) -> list[tuple[str, str]]:
        found = []
        if id != id.strip() or any(not sign.isprintable() for sign in id):
            found.append(("id", "has white space at its ends or a sign that can't be seen"))
        if id in self.first:
            earlier, at = self.first[id]
            where = f" in line {at}" if at else ""
            found.append(("id", f"is taken by the {ordinal(earlier)} question{where}; ids are unique"))
        self.first.setdefault(id, (number, line))
        return found

    def warnings(self) -> list[str]:
        found = []
        for (key, warning), labels in self.warned.items():
            more = f" and {len(labels) - 1} more" if len(labels) > 1 else ""
            found.append(f"{join(self.place, labels[0] + more)}, key {quoted(key)}: {warning}")
        return bounded(found)


def _with_texts(row: dict[str, Any]) -> dict[str, Any]:
    """The row with numbers written out where text belongs, and without empty optional keys."""
    row = {key: value for key, value in row.items() if value is not None or key not in KNOWN_KEYS}
    for key in _TEXTS:
        if key in row:
            row[key] = written(row[key])
    for key in _LISTS_OF_TEXTS:
        if isinstance(row.get(key), list):
            row[key] = [written(each) for each in row[key]]
    if isinstance(row.get("messages"), list):
        row["messages"] = [_with_text(each, "content") for each in row["messages"]]
    if isinstance(row.get("expected"), Mapping):
        row["expected"] = _with_text(row["expected"], "format", "pattern")
    if isinstance(row.get("expected_tools"), list):
        row["expected_tools"] = [_with_text(each, "name", "not", "after") for each in row["expected_tools"]]
    return row


def _with_text(value: object, *keys: str) -> object:
    if not isinstance(value, Mapping):
        return value
    return {key: written(item) if key in keys else item for key, item in value.items()}


def _asked_problems(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    if "messages" not in row:
        if "input" not in row:
            instead = instead_of("input", row, KNOWN_KEYS) or instead_of("messages", row, KNOWN_KEYS)
            return [
                ("input", f"is missing{instead}; a question has input (text) or messages (several turns)")
            ]
        blank = isinstance(row["input"], str) and row["input"].strip() and is_blank(row["input"])
        return [("input", "shows nothing, must be the question as it is asked")] if blank else []
    if "input" in row:
        return [("messages", "stands beside input; a question has one of them")]
    last = row["messages"][-1] if isinstance(row["messages"], list) and row["messages"] else None
    if isinstance(last, Mapping) and last.get("role") in ("system", "assistant", "developer"):
        place = f"messages[{len(row['messages'])}].role"
        return [(place, f"is {quoted(last['role'])}, the last turn must be the user's: it is what is asked")]
    return []


def _tool_problems(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What the schema can't say of `expected_tools`, by the words of the grader that reads it."""
    tools = row.get("expected_tools")
    entries = read_expectations(tools) if isinstance(tools, list) else []
    return [
        (f"expected_tools[{number}]", entry.problem.removeprefix("can't be read: "))
        for number, entry in enumerate(entries, 1)
        if isinstance(entry, Unreadable)
    ]


def _row_warnings(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    found = []
    for key in row:
        if key in RESERVED_KEYS:
            found.append((key, "is set by the runner, the row's value is ignored"))
        elif key not in KNOWN_KEYS and (meant := near(key, KNOWN_KEYS)):
            found.append((key, f"is no known key and is kept as it is, did you mean {meant}?"))
    metadata = row.get("metadata")
    for key in metadata if isinstance(metadata, Mapping) else ():
        if key in READ_AT_TOP and key not in row:
            found.append((f"metadata.{key}", f"is not read there: {key} stands beside metadata, not in it"))
    return found
