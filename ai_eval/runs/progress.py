"""How far a run is."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Count

from ai_eval.models import Answer, Run


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
