"""How far a run is, and whether anybody works on it."""

import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, F, QuerySet
from django.db.models.functions import Now, Substr
from django.utils import timezone

from ai_eval.conf import site_settings
from ai_eval.graders.context import question_text
from ai_eval.models import Answer, Grade, Run, WorkItem
from ai_eval.runs import claims
from ai_eval.runs.finish import interrupt_if_dead
from ai_eval.runs.spending import SUMS, TARGET, Paid, asks_its_target, paid_to_judges

PACE_SECONDS = 180.0
"""Of what is so long ago, and no longer, the speed is told."""
LEAST_ENDED = 3
"""With fewer answers ended in that time no time left is told."""
LATEST = 10
START_LENGTH = 300
"""Characters of a question or a reason that the latest answers show."""


@dataclass(frozen=True)
class Progress:
    state: str
    planned: int
    ended: int
    outcomes: Mapping[str, int]
    """Outcome to number of answers, of those that have ended."""


def progress(run_id: int) -> Progress:
    """Counted now, in two queries."""
    state, planned = Run.objects.values_list("state", "planned").get(pk=run_id)
    counted = Answer.objects.filter(run_id=run_id).values_list("outcome").annotate(n=Count("pk")).order_by()
    outcomes = {outcome: n for outcome, n in counted if outcome}
    return Progress(state, planned, sum(outcomes.values()), outcomes)


@dataclass(frozen=True)
class Share:
    """The answers that ended alike."""

    outcome: str
    passed: bool | None
    count: int


@dataclass(frozen=True)
class Counted:
    """The ended answers and what they cost, all of one moment."""

    shares: Sequence[Share]
    paid: Sequence[Paid]
    at: datetime

    @property
    def ended(self) -> int:
        return sum(share.count for share in self.shares)


@dataclass(frozen=True)
class Pace:
    """`ended` answers came in the last `seconds`."""

    ended: int
    seconds: float

    @property
    def per_minute(self) -> float | None:
        """None as long as it can't be told."""
        return 60 * self.ended / self.seconds if self.ended and self.seconds > 0 else None

    def seconds_for(self, answers: int) -> float | None:
        """How long so many answers take at this speed; None when too few came to tell."""
        return self.seconds * answers / self.ended if self.ended >= LEAST_ENDED else None


@dataclass(frozen=True)
class Ended:
    """One of the latest answers, with the grade that says most about it: an errored, else the lowest one."""

    answer: Answer
    question: str
    grader: str
    reason: str


@dataclass(frozen=True)
class Watched:
    """A run as it is now."""

    run: Run
    in_hand: int
    """Answers that some worker holds under a live lease."""
    idle_seconds: float | None
    """Since workers were last woken, when none is at work on an active run."""
    counted: Counted
    pace: Pace | None
    """None unless it is running."""
    latest: Sequence[Ended]

    @property
    def left(self) -> int:
        return max(0, self.run.planned - self.counted.ended)

    @property
    def seconds_left(self) -> float | None:
        return self.pace.seconds_for(self.left) if self.pace and self.left else None

    @property
    def is_over(self) -> bool:
        """Whether nothing will change until somebody does something."""
        return self.run.state not in Run.ACTIVE and not self.in_hand


def watch(run_id: int) -> Watched:
    """The run with what a viewer wants to know, in a number of queries that does not depend on its size.

    A run whose workers died is turned into an interrupted one, as each look does. Run.DoesNotExist.
    """
    run, in_hand = _with_clock(run_id), claims_in_hand(run_id)
    if run.state in Run.ACTIVE and not in_hand:
        interrupt_if_dead(run_id, site_settings().lease_seconds)
        run = _with_clock(run_id)
    active = run.state in Run.ACTIVE
    return Watched(
        run=run,
        in_hand=in_hand,
        idle_seconds=_since(run, "woken_at") if active and not in_hand else None,
        counted=counts.of(run),
        pace=_pace(run) if run.state == Run.State.RUNNING else None,
        latest=latest(run),
    )


def _with_clock(run_id: int) -> Run:
    """The run, with the database's time as `clock`."""
    return Run.objects.select_related("target", "source").annotate(clock=Now()).defer("result").get(pk=run_id)


def claims_in_hand(run_id: int) -> int:
    """Answers of the run that are held under a live lease."""
    held = WorkItem.objects.filter(run_id=run_id, state=claims.CLAIMED, lease_until__gte=Now())
    return held.count()


def _since(run: Run, *moments: str) -> float | None:
    """Seconds since the latest of these, by the database's clock."""
    known = [moment for name in moments if (moment := getattr(run, name)) is not None]
    clock: datetime = run.clock  # type: ignore[attr-defined]
    return max(0.0, (clock - max(known)).total_seconds()) if known else None


def _pace(run: Run) -> Pace:
    """Over the last minutes; only since it was resumed where that is less."""
    since = _since(run, "started_at", "woken_at")
    seconds = PACE_SECONDS if since is None else min(PACE_SECONDS, since)
    ended = WorkItem.objects.filter(run=run, ended_at__gt=claims.in_seconds(-seconds)).count()
    return Pace(ended, seconds)


def count(run: Run) -> Counted:
    """Counted now, in two queries that read every answer and grade of the run."""
    at = timezone.now()
    asked = Answer.objects.filter(run=run, asked=True).order_by()
    rows: list[dict[str, Any]] = list(asked.values("outcome", "passed").annotate(**SUMS))  # type: ignore[arg-type]
    shares = [
        Share(row["outcome"], row["passed"], row["paid_calls"])
        for row in rows
        if row["outcome"] != Answer.Outcome.WAITING
    ]
    paid = paid_to_judges(run)
    if asks_its_target(run) and rows:
        paid.insert(0, _together(rows))
    return Counted(shares, paid, at)


def _together(rows: Sequence[Mapping[str, Any]]) -> Paid:
    """What all groups of answers have cost."""
    known = {name: [row[name] for row in rows if row[name] is not None] for name in SUMS}
    return Paid.of(TARGET, {name: sum(values) if values else None for name, values in known.items()})


class Counts:
    """Counts that are kept the longer, the longer they took, so that viewers never slow a run down."""

    SMALL = 1000
    """Planned answers up to which they are always counted anew."""
    TIMES = 20
    """A count is kept for so many times as long as it took."""
    KEPT = 100

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[Any, ...], tuple[float, Counted]] = OrderedDict()

    def of(self, run: Run) -> Counted:
        """Counted now, or a short while ago: see `Counted.at`. Always now once the run has ended."""
        if run.planned <= self.SMALL or run.state not in Run.ACTIVE:
            return count(run)
        key = (run.pk, run.created_at, run.state)
        with self._lock:
            until, counted = self._kept.get(key, (0.0, None))
            if counted is not None and time.monotonic() < until:
                return counted
            begun = time.monotonic()
            counted = count(run)
            ended = time.monotonic()
            self._kept[key] = (ended + self.TIMES * (ended - begun), counted)
            while len(self._kept) > self.KEPT:
                self._kept.popitem(last=False)
            return counted


counts = Counts()


def latest(run: Run) -> list[Ended]:
    """The answers that ended last, the newest first, in three queries."""
    items = WorkItem.objects.filter(run=run, ended_at__isnull=False).order_by("-ended_at", "-pk")
    newest = list(items.values_list("pk", flat=True)[:LATEST])
    fields = ("question_id", "trial", "question", "outcome", "score", "passed", "run_id")
    answers = Answer.objects.filter(pk__in=newest).only(*fields)
    rows = {answer.pk: answer for answer in answers.annotate(error_start=Substr("error", 1, START_LENGTH))}
    telling = _telling_grades(newest)
    return [
        Ended(
            rows[pk],
            question_text(rows[pk].question)[:START_LENGTH],
            *(("", rows[pk].error_start) if rows[pk].error_start else telling.get(pk, ("", ""))),
        )
        for pk in newest
        if pk in rows
    ]


def _telling_grades(answers: Sequence[int]) -> dict[int, tuple[str, str]]:
    """Of each answer the grader and reason of the grade that says most."""
    grades: QuerySet[Grade] = Grade.objects.filter(answer_id__in=answers)
    ordered = grades.exclude(outcome=Grade.Outcome.SKIPPED).order_by(
        F("composite").asc(nulls_first=True), "pk"
    )
    rows = ordered.values_list("answer_id", "grader", Substr("reason", 1, START_LENGTH))
    found: dict[int, tuple[str, str]] = {}
    for answer_id, grader, reason in rows:
        found.setdefault(answer_id, (grader, reason))
    return found
