"""What needs somebody's attention, and where a site stands as a whole.

Everything is found in a fixed number of queries. Datasets are looked up and not read: whether their
questions are well formed is found out by a launch.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Exists, OuterRef, QuerySet
from django.db.models.functions import Now, Substr

from ai_eval.conf import site_settings
from ai_eval.configuration.validation import target_problems
from ai_eval.datasets.catalogue import Catalogue, dataset_catalogue
from ai_eval.graders import GraderInfo, registry
from ai_eval.graders.judge import LLMJudge
from ai_eval.models import JudgeSettings, Run, Target, WorkItem, effective_settings
from ai_eval.runs.advisories import observing_advisory
from ai_eval.runs.claims import CLAIMED, DONE, in_seconds
from ai_eval.runs.overview import TargetState, last_complete, newest, stored_results, target_states
from ai_eval.runs.wording import gate_sentence

TARGETS_SHOWN = 10
ITEMS_SHOWN = 5
RUNNING_SHOWN = 6
ERROR_LENGTH = 300

NO_GATE = "the target has no gate: nothing here can fail"
"""As an advisory of a run says it."""


@dataclass(frozen=True)
class Circumstances:
    """What a target's own row does not tell."""

    graders: Mapping[str, GraderInfo]
    """All that are registered, by id."""
    without_model: frozenset[str]
    """Ids of judges that have no model, of their own or from the settings."""
    missing_datasets: Mapping[tuple[str, str], str]
    """Source and reference to why there is no such dataset; only of those that targets name."""
    troubled_sources: Mapping[str, str]
    """Label of a dataset source that can't tell what it has, to the reason."""
    has_datasets: bool


def circumstances() -> Circumstances:
    """As they are now, in five queries."""
    catalogue = dataset_catalogue()
    graders = {info.id: info for info in registry.all(include_hidden=True)}
    return Circumstances(
        graders=graders,
        without_model=judges_without_model(graders.values()),
        missing_datasets={(each.source, each.reference): each.missing for each in catalogue.missing},
        troubled_sources={each.label: each.problem for each in catalogue.groups if each.problem},
        has_datasets=_has_datasets(catalogue),
    )


def _has_datasets(catalogue: Catalogue) -> bool:
    return any(group.entries for group in catalogue.groups)


def judges_without_model(graders: Iterable[GraderInfo]) -> frozenset[str]:
    """Ids of the judges among them that would be refused at launch, in two queries."""
    judges = {info.id for info in graders if issubclass(info.grader, LLMJudge)}
    with_own = set(JudgeSettings.objects.exclude(model="").values_list("grader", flat=True))
    return frozenset() if effective_settings().judge_model else frozenset(judges - with_own)


def obstacles(target: Target, around: Circumstances) -> list[str]:
    """Why a launch would be refused, as far as it can be told without reading the dataset."""
    found = target_problems(target)
    missing = around.missing_datasets.get((target.dataset_source, target.dataset_reference))
    found += [missing] if missing else []
    return found + [f"the judge {id} has no model" for id in _ticked(target) if id in around.without_model]


def standing_advisories(target: Target, around: Circumstances) -> list[str]:
    """What its configuration alone lets a reader of any result know."""
    observing = [id for id in _ticked(target) if id in around.graders and around.graders[id].observes_actions]
    found = observing_advisory(target.mode, observing) if _ticked(target) else []
    return found + ([NO_GATE] if target.gate() is None else [])


def _ticked(target: Target) -> list[str]:
    graders = target.graders if isinstance(target.graders, list) else []
    return list(dict.fromkeys(id for id in graders if isinstance(id, str)))


@dataclass(frozen=True)
class Item:
    """One thing to look at: of a target, and of a run of it where it is about one; or of a judge."""

    text: str
    target: Target | None = None
    run: int | None = None
    judge: str = ""


@dataclass(frozen=True)
class Concern:
    """Things of one kind: the first of `total`."""

    kind: str
    items: Sequence[Item]
    total: int

    @property
    def more(self) -> int:
        return self.total - len(self.items)


@dataclass(frozen=True)
class Running:
    """An active run. `idle`: no worker holds a live lease, and the last waking was a while ago."""

    run: Run
    ended: int
    idle: bool

    @property
    def parts(self) -> list[tuple[str, int, str]]:
        """Of its bar."""
        return [("answered", self.ended, "busy")]


@dataclass(frozen=True)
class Overview:
    """A site as somebody sees it who may see targets and runs."""

    targets: int
    disabled: int
    verdicts: Mapping[str | None, int]
    """Verdict of the last complete run of each enabled target ("" without a gate, None without a run)."""
    shown: Sequence[TargetState]
    """Targets with the worst verdict first, and of these the newest run first."""
    running: Sequence[Running]
    running_total: int
    concerns: Sequence[Concern]
    around: Circumstances
    has_runs: bool
    first_target: Target | None
    """An enabled target, where there is one."""

    @property
    def enabled(self) -> int:
        return self.targets - self.disabled


def overview() -> Overview:
    targets: list[Any] = list(
        Target.objects.annotate(
            newest_run=newest(),
            newest_state=newest("state"),
            last_run=last_complete(),
            last_verdict=last_complete("verdict"),
        )
    )
    around = circumstances()
    running = _running()
    enabled = [target for target in targets if target.enabled]
    return Overview(
        targets=len(targets),
        disabled=len(targets) - len(enabled),
        verdicts=Counter(target.last_verdict for target in enabled),
        shown=target_states(sorted(targets, key=_worst_first)[:TARGETS_SHOWN]),
        running=running[:RUNNING_SHOWN],
        running_total=len(running),
        concerns=[each for each in _concerns(enabled, around, running) if each.total],
        around=around,
        has_runs=Run.objects.exists(),
        first_target=next(iter(enabled), None),
    )


_WORST_FIRST = ("failed", "undecided", None, "", "passed")


def _worst_first(target: Any) -> tuple[bool, int, int]:
    return not target.enabled, _WORST_FIRST.index(target.last_verdict), -(target.newest_run or 0)


def _running() -> list[Running]:
    """All active runs, newest first; a target has at most one. Answers are counted of the shown ones."""
    active = Run.objects.filter(state__in=Run.ACTIVE)
    live = WorkItem.objects.filter(run=OuterRef("pk"), state=CLAIMED, lease_until__gte=Now())
    dead = ~Exists(live) & ~Exists(_woken(active))
    rows: QuerySet[Any] = active.annotate(idle=dead).select_related("target").order_by("-pk")
    runs = list(rows.defer("snapshot", "result", "error"))
    done = WorkItem.objects.filter(run__in=[run.pk for run in runs[:RUNNING_SHOWN]], state=DONE)
    ended = dict(done.order_by().values_list("run_id").annotate(n=Count("pk")))
    return [Running(run, ended.get(run.pk, 0), run.idle) for run in runs]


def _woken(active: QuerySet[Run]) -> QuerySet[Run]:
    """The run of an outer query, if its workers were woken within the time that a lease may take."""
    return active.filter(pk=OuterRef("pk"), woken_at__gt=in_seconds(-site_settings().lease_seconds))


def _concerns(enabled: Sequence[Any], around: Circumstances, running: Sequence[Running]) -> list[Concern]:
    ticked = {id for target in enabled for id in _ticked(target)}
    hindered = [(target, found) for target in enabled if (found := obstacles(target, around))]
    advised = [(target, found) for target in enabled if (found := standing_advisories(target, around))]
    idle = [each.run for each in running if each.idle]
    return [
        *_of_verdicts(enabled),
        *_of_stopped(enabled),
        _concern("idle", [Item("no worker is at work on it", run.target, run.pk) for run in idle]),
        _concern("hindered", [Item(_first_of(found), target) for target, found in hindered]),
        judge_concern(ticked & around.without_model),
        _concern("sources", [Item(f"{label}: {why}") for label, why in around.troubled_sources.items()]),
        _concern("advised", [Item(_first_of(found), target) for target, found in advised]),
    ]


def _first_of(found: Sequence[str]) -> str:
    return f"{found[0]} (and {len(found) - 1} more)" if len(found) > 1 else found[0]


def _concern(kind: str, items: Sequence[Item]) -> Concern:
    return Concern(kind, items[:ITEMS_SHOWN], len(items))


def judge_concern(ids: Iterable[str]) -> Concern:
    """Judges that are ticked somewhere and have no model."""
    return _concern("judges", [Item("has no model", judge=id) for id in sorted(ids)])


def ticked_judges_without_model() -> Concern:
    """The same for somebody who may see judges and nothing else, in three queries."""
    ticked = {id for target in Target.objects.filter(enabled=True).only("graders") for id in _ticked(target)}
    return judge_concern(ticked & judges_without_model(registry.all(include_hidden=True)))


def _of_verdicts(enabled: Sequence[Any]) -> list[Concern]:
    """Targets whose last verdict failed or is undecided, newest first, with the reasons of the shown."""
    by_verdict = {
        verdict: sorted(
            (target for target in enabled if target.last_verdict == verdict), key=lambda each: -each.last_run
        )
        for verdict in (Run.Verdict.FAILED, Run.Verdict.UNDECIDED)
    }
    shown = [target for targets in by_verdict.values() for target in targets[:ITEMS_SHOWN]]
    results = stored_results(target.last_run for target in shown)
    return [
        Concern(
            str(verdict),
            [
                Item(gate_sentence(results[target.last_run][0]), target, target.last_run)
                for target in targets[:ITEMS_SHOWN]
                if target.last_run in results
            ],
            len(targets),
        )
        for verdict, targets in by_verdict.items()
    ]


def _of_stopped(enabled: Sequence[Any]) -> list[Concern]:
    """Targets whose newest run stopped before its end. What a later run put right is no concern."""
    interrupted = [target for target in enabled if target.newest_state == Run.State.INTERRUPTED]
    in_error = [target for target in enabled if target.newest_state == Run.State.ERROR]
    errors = dict(
        Run.objects.filter(pk__in=[target.newest_run for target in in_error[:ITEMS_SHOWN]])
        .order_by()
        .values_list("pk", Substr("error", 1, ERROR_LENGTH))
    )
    return [
        _concern(
            "interrupted",
            [
                Item("stopped before its end; it can be resumed", each, each.newest_run)
                for each in interrupted
            ],
        ),
        _concern(
            "error", [Item(errors.get(each.newest_run, ""), each, each.newest_run) for each in in_error]
        ),
    ]
