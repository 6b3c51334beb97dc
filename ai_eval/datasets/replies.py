"""Recorded replies: a JSONL or CSV file in the dataset directory, one reply for a question and trial."""

import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ai_eval.agents.records import read_record
from ai_eval.datasets.files import find_file, read_file
from ai_eval.datasets.json_text import read_json
from ai_eval.datasets.placed import plain, written
from ai_eval.errors import DatasetError
from ai_eval.text import clean_text
from ai_eval.wording import bounded, hint, listed, quoted, shown

REPLY_ENDINGS = (".jsonl", ".csv")
REPLIES_LIMIT = 200_000_000
"""Bytes of a file of replies."""

COLUMNS = ("question_id", "trial", "response", "tool_calls")
NEEDED = ("question_id", "response")
SEPARATORS = {",": "a comma", ";": "a semicolon", "\t": "a tab"}
TRIALS = range(1, 101)


@dataclass(frozen=True)
class Reply:
    """`response` None: the system gave none. `tool_calls` None: no record; `[]`: it called nothing."""

    response: str | None
    tool_calls: list[dict[str, Any]] | None = None


@dataclass(frozen=True)
class Replies:
    """Replies by question id and trial."""

    by_key: Mapping[tuple[str, int], Reply] = field(default_factory=dict)

    def get(self, question_id: str, trial: int = 1) -> Reply | None:
        """The reply to a question in a trial (1 the first), or None."""
        return self.by_key.get((question_id, trial))


def load_replies(reference: str) -> Replies:
    """The replies of a file of the dataset directory. DatasetError tells up to 20 problems by line."""
    path = find_file(reference, REPLY_ENDINGS)
    text = read_file(path, REPLIES_LIMIT)
    reading = _Reading(path.name)
    records = reading.csv_records if path.suffix.lower() == ".csv" else reading.jsonl_records
    for line, record in records(text):
        reading.take(line, record)
    if reading.problems:
        raise DatasetError(bounded(reading.problems))
    if not reading.found:
        raise DatasetError(f"{path.name}: holds no reply")
    return Replies(reading.found)


class _Reading:
    def __init__(self, name: str) -> None:
        self.name = name
        self.problems: list[str] = []
        self.found: dict[tuple[str, int], Reply] = {}
        self.lines: dict[tuple[str, int], int] = {}

    def problem(self, line: int, sentence: str) -> None:
        self.problems.append(f"{self.name}, line {line}: {sentence}")

    def jsonl_records(self, text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
        # Only a line feed ends a line: JSON texts may hold the other characters that end lines elsewhere.
        for number, line in enumerate(text.split("\n"), 1):
            if not line.strip():
                continue
            try:
                record = read_json(line.strip(), "")
            except DatasetError as error:
                self.problem(number, _without_line(error))
                continue
            if not isinstance(record, Mapping):
                self.problem(number, f"is {shown(record)}, must be an object with {listed(COLUMNS)}")
                continue
            self.check_names(number, "key", list(record))
            missing = [key for key in NEEDED if key not in record]
            for key in missing:
                nothing = "; null says that there is none" if key == "response" else ""
                self.problem(number, f'key "{key}" is missing{nothing}')
            if not missing:
                yield number, record

    def csv_records(self, text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
        # The module's limit of 131,072 characters a cell is below what a long response has.
        csv.field_size_limit(max(csv.field_size_limit(), REPLIES_LIMIT))
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=_separator(text, self.name), strict=True)
        line = 1
        names: list[str] = []
        try:
            for cells in reader:
                begins, line = line, reader.line_num + 1
                if not any(cells):
                    continue
                if not names:
                    names = [cell.strip() for cell in cells]
                    self.check_names(begins, "column", names)
                    if self.problems:
                        return
                elif len(cells) != len(names):
                    self.problem(begins, f"has {len(cells)} cells, must have {len(names)} as the header")
                else:
                    yield begins, dict(zip(names, cells, strict=True))
        except csv.Error as error:
            self.problem(line, f"{error}; a quote inside a quoted cell is written twice")

    def check_names(self, line: int, noun: str, names: list[str]) -> None:
        for name in dict.fromkeys(names):
            if name not in COLUMNS:
                meant = hint(name, COLUMNS) or f"; known are {listed(COLUMNS)}"
                self.problem(line, f"{noun} {quoted(name)} is not known{meant}")
            elif names.count(name) > 1:
                self.problem(line, f"{noun} {quoted(name)} stands there twice")
        if noun == "column":
            for name in NEEDED:
                if name not in names:
                    self.problem(line, f'column "{name}" is missing')

    def take(self, line: int, record: Mapping[str, Any]) -> None:
        """Check one record and keep it."""
        problems = len(self.problems)
        id = written(record["question_id"])
        if not isinstance(id, str) or not id.strip() or isinstance(record["question_id"], bool):
            self.problem(line, f'"question_id" is {shown(id)}, must be the id of a question')
        trial = self.trial(line, record.get("trial"))
        response = record["response"]
        if response is not None and not isinstance(response, str):
            self.problem(line, f'"response" is {shown(response)}, must be text, or null where there was none')
        calls = self.calls(line, record.get("tool_calls"))
        if len(self.problems) > problems:
            return
        assert isinstance(id, str)
        key = (clean_text(id.strip()), trial)
        if key in self.found:
            self.problem(
                line,
                f"question {quoted(key[0])}, trial {trial} has a reply already, in line {self.lines[key]}",
            )
            return
        self.lines[key] = line
        self.found[key] = Reply(None if response is None else clean_text(response), calls)

    def trial(self, line: int, given: object) -> int:
        text = written(given)
        text = text.strip() if isinstance(text, str) else text
        if text is None or text == "":
            return 1
        digits = re.fullmatch("[0-9]{1,9}", text) if isinstance(text, str) else None
        if digits and int(digits[0]) in TRIALS:
            return int(digits[0])
        self.problem(line, f'"trial" is {shown(plain(given))}, must be a whole number from 1 to {TRIALS[-1]}')
        return 0

    def calls(self, line: int, given: object) -> list[dict[str, Any]] | None:
        """The tool-call record: None where the cell is empty or null."""
        if isinstance(given, str):
            if not given.strip():
                return None
            try:
                given = read_json(given.strip(), "")
            except DatasetError as error:
                self.problem(line, f'"tool_calls": {_without_line(error)}')
                return None
        if given is None:
            return None
        try:
            return read_record(plain(given))
        except ValueError as error:
            self.problem(line, f'"tool_calls": {error}; write a list of calls, or nothing where nobody knows')
            return None


def _without_line(error: DatasetError) -> str:
    """A problem of one line's JSON; the line that is meant is that of the file."""
    return error.problems[0].removeprefix(", line 1, ").removeprefix(": ")


def _separator(text: str, name: str) -> str:
    """The separator with which the first line that is not blank has the most known columns."""
    header = next((line for line in text.splitlines() if line.strip(" \t,;")), "")
    found = {}
    for separator in SEPARATORS:
        cells = next(csv.reader([header], delimiter=separator), [])
        found[separator] = len({cell.strip() for cell in cells} & set(COLUMNS))
    best = max(found, key=lambda separator: found[separator])
    if found[best] >= 1:
        return best
    raise DatasetError(
        f"{name}, line 1: the header has none of the columns {listed(COLUMNS)}, "
        f"separated by {', '.join(SEPARATORS.values())}"
    )
