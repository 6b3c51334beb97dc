"""What a page shows of one answer: built here, so that templates only lay it out."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ai_eval.datasets.schema import KNOWN_KEYS
from ai_eval.models import Answer, Grade, Run
from ai_eval.stats import reaches
from ai_eval.text import is_blank

SHOWN_CHARACTERS = 20_000
CALLS_A_PAGE = 100


@dataclass(frozen=True)
class LongText:
    """Text that a page may show the start of only."""

    shown: str
    total: int
    """Characters of the whole."""

    @property
    def is_cut(self) -> bool:
        return len(self.shown) < self.total


def long_text(text: str) -> LongText:
    return LongText(text[:SHOWN_CHARACTERS], len(text))


def readable(value: Any) -> str:
    """A JSON value as a reader takes it in: text as it came, a list of texts a line each, else JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(each, str) for each in value):
        return "\n".join(f"• {each}" for each in value)
    return json.dumps(value, ensure_ascii=False, indent=2)


@dataclass(frozen=True)
class Turn:
    role: str
    content: LongText


@dataclass(frozen=True)
class Part:
    name: str
    text: LongText


def turns(messages: Any) -> list[Turn]:
    """Messages of a question or a prompt; what is no message is shown as it is stored."""
    found = []
    for each in messages if isinstance(messages, list) else []:
        if isinstance(each, Mapping) and isinstance(each.get("content"), str):
            found.append(Turn(str(each.get("role", "")), long_text(each["content"])))
        else:
            found.append(Turn("", long_text(readable(each))))
    return found


def question_turns(row: Mapping[str, Any]) -> list[Turn]:
    return (
        turns(row["messages"])
        if row.get("messages")
        else [Turn("user", long_text(str(row.get("input", ""))))]
    )


def question_parts(row: Mapping[str, Any]) -> list[Part]:
    """What graders were given beside the question's own words, in the order of the documentation: PostgreSQL
    keeps none."""
    own = ("id", "input", "messages")
    names = [name for name in KNOWN_KEYS if name in row] + sorted(row.keys() - set(KNOWN_KEYS))
    return [Part(name, long_text(readable(row[name]))) for name in names if name not in own]


@dataclass(frozen=True)
class Call:
    number: int
    name: str
    plugin_id: str
    """Empty where it says the same as the name."""
    arguments: Sequence[Part]


@dataclass(frozen=True)
class CallPage:
    """Calls `first` to `last` of `total`, counted from 1; `next` is the call behind them, or None."""

    calls: Sequence[Call]
    total: int
    next: int | None

    @property
    def first(self) -> int:
        return self.calls[0].number if self.calls else 0

    @property
    def last(self) -> int:
        return self.calls[-1].number if self.calls else 0


def call_page(record: Sequence[Any], first: int = 1) -> CallPage:
    """A hundred calls of a tool-call record from the `first` on."""
    shown = record[first - 1 : first - 1 + CALLS_A_PAGE]
    following = first + len(shown)
    return CallPage(
        [_call(number, each) for number, each in enumerate(shown, first)],
        len(record),
        following if following <= len(record) else None,
    )


def _call(number: int, call: Any) -> Call:
    if not isinstance(call, Mapping):
        return Call(number, "", "", [Part("", long_text(readable(call)))])
    name, plugin_id = str(call.get("function_name", "")), str(call.get("plugin_id", ""))
    arguments = call.get("arguments")
    if isinstance(arguments, Mapping):
        parts = [Part(str(key), long_text(readable(value))) for key, value in arguments.items()]
    else:
        parts = [] if arguments in (None, "") else [Part("", long_text(readable(arguments)))]
    return Call(number, name or plugin_id, "" if plugin_id == name else plugin_id, parts)


@dataclass(frozen=True)
class GradeView:
    grade: Grade
    label: str
    """The grader's label when the run was launched."""
    required: bool
    failed_required: bool
    reached: bool | None
    """Whether it reaches the pass threshold; None unless it was scored."""
    reason: LongText
    details: str

    @property
    def asked_a_model(self) -> bool:
        return bool(self.grade.attempts)


def grade_views(run: Run, answer: Answer, grades: Sequence[Grade]) -> list[GradeView]:
    """Failed required graders first, then what else held the answer down, then the rest."""
    labels = grader_labels(run)
    threshold = run.snapshot["pass_threshold"]
    required = run.snapshot["target"]["required"]
    views = [
        GradeView(
            grade,
            labels.get(grade.grader, grade.grader),
            grade.grader in required,
            grade.grader in answer.failed_required,
            None if grade.composite is None else reaches(grade.composite, threshold),
            long_text(grade.reason),
            json.dumps(grade.details, ensure_ascii=False, indent=2) if grade.details else "",
        )
        for grade in grades
    ]
    return sorted(views, key=_by_weight)


def _by_weight(view: GradeView) -> tuple[bool, int]:
    if view.reached is False:
        weight = 0
    elif view.grade.outcome == Grade.Outcome.ERRORED:
        weight = 1
    else:
        weight = 2 if view.reached else 3
    return not view.failed_required, weight


def grader_labels(run: Run) -> dict[str, str]:
    """Grader's id to its label, as both were when the run was launched."""
    return {each["id"]: each["label"] for each in run.snapshot["graders"]}


def answer_context(run: Run, answer: Answer) -> dict[str, Any]:
    """What the template of an answer needs; `record` is None where nobody knows what was called."""
    return {
        "run": run,
        "answer": answer,
        "turns": question_turns(answer.question),
        "parts": question_parts(answer.question),
        "response": None if answer.response is None else long_text(answer.response),
        "blank": answer.response is not None and is_blank(answer.response),
        "error": long_text(answer.error),
        "record": None if answer.tool_calls is None else call_page(answer.tool_calls),
        "changes": None if answer.changes is None else long_text(readable(answer.changes)),
        "grades": grade_views(run, answer, list(answer.grades.all())),
        "threshold": run.snapshot["pass_threshold"],
        "trials": run.snapshot["target"]["trials"],
        "tags": [each.tag for each in answer.tags.all()],
    }
