"""How targets stand: what their last runs gave, and what a site needs to have mended.

Every function asks a fixed number of queries, whatever the number of targets and runs. Of runs only the
columns and the keys of results that are shown are read: a snapshot can be a megabyte.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.db.models.fields.json import KeyTransform

from ai_eval.models import Run, Target
from ai_eval.runs.verdict import Verdict
from ai_eval.stats import Figure

HISTORY = 12
"""Runs of a target that its history shows."""

MAXIMUM: Mapping[str, float] = {Target.Metric.PASS_RATE: 1.0, Target.Metric.AVG_SCORE: 5.0}


@dataclass(frozen=True)
class PastRun:
    """A run as a row of a list shows it; its figures are None unless it is complete."""

    pk: int
    state: str
    verdict: str
    kind: str
    split: str
    created_at: datetime
    pass_rate: Figure | None
    avg_score: Figure | None

    def figure(self, metric: str) -> Figure | None:
        return self.avg_score if metric == Target.Metric.AVG_SCORE else self.pass_rate

    @property
    def is_active(self) -> bool:
        return self.state in Run.ACTIVE


@dataclass(frozen=True)
class TargetState:
    """A target and its runs. `last` is its newest complete run, and `verdict` that run's."""

    target: Target
    history: Sequence[PastRun]
    """Its newest runs of any state, oldest first."""
    last: PastRun | None
    verdict: Verdict | None
    advisories: Sequence[str]
    """Those of the last complete run."""
    active: int | None
    """The run that is under way, and its state."""
    active_state: str

    @property
    def newest(self) -> PastRun | None:
        return self.history[-1] if self.history else None

    @property
    def metric(self) -> str:
        """What the last verdict was about, else what the next one will be about."""
        gate = self.verdict.gate if self.verdict else None
        metric = gate.metric if gate else self.target.gate_metric
        return metric if metric in MAXIMUM else Target.Metric.PASS_RATE

    @property
    def threshold(self) -> float | None:
        gate = self.verdict.gate if self.verdict else None
        return gate.threshold if gate else None

    @property
    def figure(self) -> Figure | None:
        return self.last.figure(self.metric) if self.last else None


def _newest_first() -> QuerySet[Run]:
    """Runs of the target of an outer query."""
    return Run.objects.filter(target=OuterRef("pk")).order_by("-pk")


def newest(field: str = "pk") -> Subquery:
    """A field of the newest run, for a query on targets; null where there is none."""
    return Subquery(_newest_first().values(field)[:1])


def last_complete(field: str = "pk") -> Subquery:
    """A field of the newest complete run, for a query on targets; null where there is none."""
    return Subquery(_newest_first().filter(state=Run.State.COMPLETE).values(field)[:1])


def target_states(targets: Iterable[Target]) -> list[TargetState]:
    """One for each target, in their order, in four queries."""
    targets = list(targets)
    pks = [target.pk for target in targets]
    bounds = (
        Target.objects.filter(pk__in=pks)
        .order_by()
        .values_list("pk", Subquery(_newest_first().values("pk")[HISTORY - 1 : HISTORY]), last_complete())
    )
    since: dict[int, int | None] = {}
    last: dict[int, int | None] = {}
    for pk, oldest_shown, last_pk in bounds:
        since[pk], last[pk] = oldest_shown, last_pk
    runs = _past_runs(_shown(since) | Q(pk__in=[pk for pk in last.values() if pk is not None]))
    results = stored_results(pk for pk in last.values() if pk is not None)
    rows = Run.objects.filter(state__in=Run.ACTIVE).order_by().values_list("target_id", "pk", "state")
    active = {target: (pk, state) for target, pk, state in rows}
    return [
        _state(target, runs[target.pk], since.get(target.pk), last.get(target.pk), results, active)
        for target in targets
    ]


def _shown(since: Mapping[int, int | None]) -> Q:
    """The runs of histories: a range of each target, which its index gives without reading older ones."""
    condition = Q(target__in=[pk for pk, oldest in since.items() if oldest is None])
    for pk, oldest in since.items():
        if oldest is not None:
            condition |= Q(target=pk, pk__gte=oldest)
    return condition


def _past_runs(condition: Q) -> dict[int, list[PastRun]]:
    """By target, oldest first."""
    rows = (
        Run.objects.filter(condition)
        .order_by("pk")
        .values_list(
            "target_id",
            "pk",
            "state",
            "verdict",
            "kind",
            "split",
            "created_at",
            KeyTransform("pass_rate", "result__verdict"),
            KeyTransform("avg_score", "result__verdict"),
        )
    )
    found: dict[int, list[PastRun]] = defaultdict(list)
    for target, pk, state, verdict, kind, split, created_at, pass_rate, avg_score in rows:
        figures = _figure(pass_rate), _figure(avg_score)
        found[target].append(PastRun(pk, state, verdict, kind, split, created_at, *figures))
    return found


def _figure(stored: Mapping[str, Any] | None) -> Figure | None:
    return Figure(**stored) if stored else None


def stored_results(runs: Iterable[int]) -> dict[int, tuple[Verdict, list[str]]]:
    """Verdict and advisories of complete runs, in one query."""
    stored = Run.objects.filter(pk__in=list(runs), result__isnull=False)
    rows: Iterable[tuple[int, Any]] = stored.order_by().values_list("pk", "result")
    return {pk: (Verdict.from_json(result["verdict"]), list(result["advisories"])) for pk, result in rows}


def _state(
    target: Target,
    runs: Sequence[PastRun],
    since: int | None,
    last: int | None,
    results: Mapping[int, tuple[Verdict, list[str]]],
    active: Mapping[Any, tuple[int, str]],
) -> TargetState:
    # Between the queries runs may have come, ended and gone: what is not found is not shown.
    verdict, advisories = results.get(last or 0, (None, []))
    active_run, active_state = active.get(target.pk, (None, ""))
    return TargetState(
        target=target,
        history=[run for run in runs if since is None or run.pk >= since][-HISTORY:],
        last=next((run for run in runs if run.pk == last), None) if verdict else None,
        verdict=verdict,
        advisories=advisories,
        active=active_run,
        active_state=active_state,
    )
