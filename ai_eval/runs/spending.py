"""What a run has cost, as stored: sums of what is known, beside how much of it is known."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q, Sum

from ai_eval.models import Answer, Grade, Run, Target

TARGET = "the target"
"""The role of what is evaluated; any other role is the id of a judge, which holds no space."""


@dataclass(frozen=True)
class Paid:
    """What one role has cost in a run, in US dollars and tokens. Sums are None where nothing is known."""

    role: str
    calls: int
    """Answers, or grades of one judge."""
    cost: float | None
    priced: int
    """Of `calls`, those whose cost is known."""
    prompt_tokens: int | None
    completion_tokens: int | None
    counted: int
    """Of `calls`, those whose tokens are known; the sums of tokens are of these."""

    @classmethod
    def of(cls, role: str, sums: Mapping[str, Any]) -> "Paid":
        """From a row with the columns of `SUMS`."""
        return cls(role, *(sums[name] for name in SUMS))


_COUNTED = Q(prompt_tokens__isnull=False, completion_tokens__isnull=False)
SUMS = {
    "paid_calls": Count("pk"),
    "paid_cost": Sum("cost"),
    "paid_priced": Count("cost"),
    "paid_prompt_tokens": Sum("prompt_tokens", filter=_COUNTED),
    "paid_completion_tokens": Sum("completion_tokens", filter=_COUNTED),
    "paid_counted": Count("pk", filter=_COUNTED),
}
"""In the order of the fields of `Paid`, without the role."""


def asks_its_target(run: Run) -> bool:
    """Whether the run asks what it evaluates, instead of reading what was answered before."""
    return run.target_snapshot["mode"] != Target.Mode.RECORDED and run.kind != Run.Kind.REGRADE


def paid_in(run: Run) -> list[Paid]:
    """What each role has cost so far, in two queries. Roles that were never asked are left out."""
    found = []
    if asks_its_target(run):
        sums = Answer.objects.filter(run=run, asked=True).aggregate(**SUMS)
        found.append(Paid.of(TARGET, sums))
    return [part for part in [*found, *paid_to_judges(run)] if part.calls]


def paid_to_judges(run: Run) -> list[Paid]:
    """The same for its judges, in one query."""
    judged = Grade.objects.filter(answer__run=run).exclude(model="")
    return [
        Paid.of(row["grader"], row) for row in judged.order_by("grader").values("grader").annotate(**SUMS)
    ]
