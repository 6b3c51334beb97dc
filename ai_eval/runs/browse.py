"""Finding answers of a run: filters, counts, and pages that are as quick at the end as at the start."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Substr

from ai_eval.models import Answer, AnswerTag, Grade, Run
from ai_eval.stats import reaches
from ai_eval.stats.thresholds import TOLERANCE
from ai_eval.wording import listed, quoted

PAGE_SIZE = 50
START_LENGTH = 300
"""Characters of a question or a reason that a list shows."""
TAGS_SHOWN = 200
LAST_POSITION = 2**31 - 1

ERRORED = (Answer.Outcome.TARGET_ERROR, Answer.Outcome.PROVIDER_ERROR, Answer.Outcome.GRADE_ERROR)
STATUSES: Mapping[str, Q] = {
    "failed": Q(passed=False),
    "failed_required": (Q(passed=False) | Q(passed=None)) & ~Q(failed_required=[]),
    "errored": Q(outcome__in=ERRORED),
    "empty": Q(outcome=Answer.Outcome.EMPTY),
    "degraded": Q(degraded=True),
    "unscored": Q(outcome=Answer.Outcome.UNSCORED),
    "passed": Q(passed=True),
    "waiting": Q(outcome=Answer.Outcome.WAITING),
}
"""What an answer can be found by. They overlap: an empty answer has failed too, most of the time."""

GRADED = ("below", "errored", "skipped", "reached", "clamped")
"""What one grader can have made of an answer; `below` and `reached` are about the pass threshold."""


@dataclass(frozen=True)
class AnswerFilter:
    """Which answers of a run are looked for. Empty fields filter nothing."""

    status: str = ""
    grader: str = ""
    graded: str = ""
    tag: str = ""

    def query(self, **changes: str) -> str:
        """The filter as a query string, without a question mark; with `changes`, of the changed one."""
        changed = replace(self, **changes)
        grade = f"{changed.grader}:{changed.graded}" if changed.grader else ""
        given = {"status": changed.status, "grade": grade, "tag": changed.tag}
        return urlencode({name: value for name, value in given.items() if value})


def read_filter(query: Mapping[str, str], graders: Sequence[str]) -> tuple[AnswerFilter, list[str]]:
    """The filter of a query string (`status`, `tag`, `grade` as `grader:graded`), and its faults."""
    problems = []
    status, grade, tag = (query.get(name, "") for name in ("status", "grade", "tag"))
    if status and status not in STATUSES:
        problems.append(f"there is no filter {quoted(status)}, only {listed(STATUSES)}")
        status = ""
    grader, _, graded = grade.rpartition(":")
    if grade and (grader not in graders or graded not in GRADED):
        problems.append(
            f"the grade {quoted(grade)} is none of this run: "
            f"it is a grader, a colon, and one of {listed(GRADED)}"
        )
        grader = graded = ""
    if "\0" in tag:
        problems.append("a tag holds no NUL")
        tag = ""
    return AnswerFilter(status, grader, graded, tag), problems


def read_position(query: Mapping[str, str], name: str) -> tuple[int | None, list[str]]:
    """The position that `name` gives in a query string, and what is wrong with it."""
    given = query.get(name, "")
    if not given:
        return None, []
    if given.isascii() and given.isdigit() and len(given) <= 10 and int(given) <= LAST_POSITION:
        return int(given), []
    return None, [f"{name} is {quoted(given)}, not the position of an answer"]


def matching(run: Run, wanted: AnswerFilter) -> QuerySet[Answer]:
    """The answers of the run that the filter lets through, in no order."""
    found = Answer.objects.filter(run=run)
    if wanted.status:
        found = found.filter(STATUSES[wanted.status])
    if wanted.grader:
        threshold = run.snapshot["pass_threshold"]
        grades = Grade.objects.filter(answer=OuterRef("pk"), grader=wanted.grader)
        found = found.filter(Exists(grades.filter(_graded(wanted.graded, threshold))))
    if wanted.tag:
        # By id, so that the run's own index of tags is walked instead of every answer.
        tagged = AnswerTag.objects.filter(run=run, tag=wanted.tag)
        found = found.filter(pk__in=tagged.values("answer_id"))
    return found


def _graded(graded: str, threshold: float) -> Q:
    """In SQL what `stats.reaches` says in Python."""
    if graded == "below":
        return Q(composite__lt=threshold - TOLERANCE)
    if graded == "reached":
        return Q(composite__gte=threshold - TOLERANCE)
    if graded == "clamped":
        return Q(clamped_from__isnull=False)
    return Q(outcome=graded)


def status_counts(run: Run) -> dict[str, int]:
    """How many answers of the run each status lets through; `all` is their number."""
    counts = {name: Count("pk", filter=where) for name, where in STATUSES.items()}
    return Answer.objects.filter(run=run).aggregate(all=Count("pk"), **counts)


def tag_counts(run: Run) -> list[tuple[str, int]]:
    """The tags of the run's questions with their numbers of answers, most frequent first."""
    counted = AnswerTag.objects.filter(run=run).values_list("tag").annotate(n=Count("pk"))
    return list(counted.order_by("-n", "tag")[:TAGS_SHOWN])


@dataclass(frozen=True)
class GradeLine:
    """Of a grade that held its answer down, what a list shows."""

    grader: str
    outcome: str
    composite: float | None
    required: bool
    reason: str


@dataclass(frozen=True)
class AnswerRow:
    """An answer in a list, with the start of its question and what held it down."""

    answer: Answer
    question: str
    held_down_by: Sequence[GradeLine]


@dataclass(frozen=True)
class AnswerPage:
    """Neighbouring answers in their order. `before` and `after` are positions, None at either end."""

    rows: Sequence[AnswerRow]
    total: int
    """Answers that the filter lets through, on all pages."""
    before: int | None
    after: int | None


def answer_page(
    run: Run,
    wanted: AnswerFilter,
    *,
    after: int | None = None,
    before: int | None = None,
    size: int = PAGE_SIZE,
) -> AnswerPage:
    """The `size` matching answers behind position `after`, or before position `before`.

    In a fixed number of queries; positions are walked by an index, so no page is slower for being late.
    """
    found = matching(run, wanted)
    total = found.count()
    listed_rows = _with_starts(found)
    if before is not None:
        near = list(listed_rows.filter(position__lt=before).order_by("-position")[: size + 1])
        rows, more_before, more_after = near[:size][::-1], len(near) > size, True
    else:
        start = 0 if after is None else after
        near = list(listed_rows.filter(position__gt=start).order_by("position")[: size + 1])
        rows, more_before, more_after = near[:size], bool(start), len(near) > size
    return AnswerPage(
        _with_grades(run, rows),
        total,
        rows[0].position if rows and more_before else None,
        rows[-1].position if rows and more_after else None,
    )


def _with_starts(answers: QuerySet[Answer]) -> QuerySet[Answer]:
    fields = ("run_id", "question_id", "trial", "position", "outcome", "score", "passed", "degraded")
    return answers.only(*fields, "failed_required", "seconds").annotate(
        asked_text=Substr(KeyTextTransform("input", "question"), 1, START_LENGTH),
        turns=KeyTransform("messages", "question"),
        error_start=Substr("error", 1, START_LENGTH),
    )


def _with_grades(run: Run, answers: Sequence[Answer]) -> list[AnswerRow]:
    threshold = run.snapshot["pass_threshold"]
    lines: dict[int, list[GradeLine]] = defaultdict(list)
    required = {answer.pk: answer.failed_required for answer in answers}
    grades = (
        Grade.objects.filter(answer__in=[answer.pk for answer in answers if answer.passed is not True])
        .exclude(outcome=Grade.Outcome.SKIPPED)
        .order_by("pk")
        .values_list("answer_id", "grader", "outcome", "composite", Substr("reason", 1, START_LENGTH))
    )
    for answer_id, grader, outcome, composite, reason in grades:
        if composite is None or not reaches(composite, threshold):
            line = GradeLine(grader, outcome, composite, grader in required[answer_id], reason)
            lines[answer_id].append(line)
    return [
        AnswerRow(
            answer,
            answer.asked_text or _last_turn(answer.turns),  # type: ignore[attr-defined]
            sorted(lines[answer.pk], key=lambda line: not line.required),
        )
        for answer in answers
    ]


def _last_turn(messages: Any) -> str:
    """The start of the last message of a conversation; empty where there is none."""
    last = messages[-1] if isinstance(messages, list) and messages else {}
    content = last.get("content") if isinstance(last, dict) else None
    return content[:START_LENGTH] if isinstance(content, str) else ""
