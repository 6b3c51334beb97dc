"""Launching runs of chosen targets: what they will ask and cost is told first."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect, QueryDict
from django.urls import URLPattern

from ai_eval.admin.base import EvalAdmin, key_of
from ai_eval.admin.costs import calls_told, expected_told, last_told
from ai_eval.errors import EvalError
from ai_eval.models import Run, Target
from ai_eval.permissions import RUN, allowed
from ai_eval.runs.estimate import Estimate, estimate
from ai_eval.runs.launch import launch, prepare
from ai_eval.runs.local import wake
from ai_eval.runs.once import LaunchedMeanwhile, begin_once, newest_run
from ai_eval.wording import listed, one_line, quoted

MOST_TARGETS = 20
"""Each run gets worker processes of its own, all at once; the command runs targets one after another."""
SPLIT_LENGTH = 100


@dataclass(frozen=True)
class Offer:
    """One target on the confirmation page: what its run would ask, or why it can't be run."""

    target: Target
    problems: Sequence[str]
    estimate: Estimate | None
    last_seen: int
    """Its newest run; a newer one makes the page ask again."""
    active_run: int | None = None

    @property
    def can_run(self) -> bool:
        return self.estimate is not None and self.active_run is None

    def words(self) -> dict[str, tuple[str, str]]:
        """Calls, price and last cost, each with what it rests on."""
        if self.estimate is None:
            return {}
        last = self.estimate.last
        return {
            "calls": calls_told(self.estimate),
            "price": expected_told([self.estimate]),
            "last": last_told(last) if last else ("none", "nothing is known from experience"),
        }


@dataclass(frozen=True)
class Choice:
    """Which targets, and with which split and trials (None: each target's own)."""

    ids: Sequence[int]
    split: str = ""
    trials: int | None = None
    problems: Sequence[str] = ()

    def query(self) -> str:
        given = {
            "ids": ",".join(map(str, self.ids)),
            "split": self.split,
            "trials": "" if self.trials is None else str(self.trials),
        }
        return urlencode({name: value for name, value in given.items() if value}, safe=",")


def read_choice(query: QueryDict) -> Choice:
    """From a query string or a form; `problems` tells what was not understood."""
    problems = []
    parts = [part.strip() for part in query.get("ids", "").split(",") if part.strip()]
    understood = [key for part in parts if (key := key_of(part)) is not None]
    strange = [part for part in parts if key_of(part) is None]
    if strange:
        problems.append(f"There is no target {quoted(strange[0])}: a target is named by its number here.")
    ids = list(dict.fromkeys(understood))
    if len(ids) > MOST_TARGETS:
        problems.append(
            "These are too many targets at once, since each run gets worker processes of its own: here are "
            f"the first {MOST_TARGETS}. The command ai_eval_run runs all of them, one after another."
        )
    split = query.get("split", "").strip()
    if len(split) > SPLIT_LENGTH:
        problems.append(
            f"No split has a name longer than {SPLIT_LENGTH} characters: all questions are shown."
        )
        split = ""
    given = query.get("trials", "").strip()
    trials = key_of(given) if len(given) <= 4 else None
    if given and trials is None:
        problems.append(f"The trials are {quoted(given)}, not a whole number from 1 to 100: none are set.")
    return Choice(ids[:MOST_TARGETS], split, trials, problems)


def offer(target: Target, choice: Choice) -> Offer:
    """What a run of the target would ask, or every reason against it."""
    last_seen, state = newest_run(target.pk)
    active_run = last_seen if state in Run.ACTIVE else None
    try:
        plan = prepare(target, split=choice.split, trials=choice.trials)
    except EvalError as error:
        return Offer(target, _told(target, error), None, last_seen, active_run)
    return Offer(target, (), estimate(plan), last_seen, active_run)


def _told(target: Target, error: EvalError) -> list[str]:
    """Without the target's id in front: it stands above."""
    return [problem.removeprefix(f"{target.slug}: ") for problem in error.problems]


class LaunchPages(EvalAdmin):
    """The action of the list, and the confirmation page that every Run button leads to."""

    actions = ("run_selected",)

    def get_urls(self) -> list[URLPattern]:
        return [self.route("launch/", "launch", self.launch_view, *RUN), *super().get_urls()]

    def has_run_permission(self, request: HttpRequest) -> bool:
        return allowed(request.user, *RUN)

    @admin.action(description="Run selected targets", permissions=["run"])
    def run_selected(self, request: HttpRequest, queryset: QuerySet[Target]) -> HttpResponse:
        chosen = list(queryset.values_list("pk", flat=True)[: MOST_TARGETS + 1])
        return HttpResponseRedirect(f"{self.url('launch')}?{Choice(chosen).query()}")

    def launch_view(self, request: HttpRequest) -> HttpResponseBase:
        given = request.POST if request.method == "POST" else request.GET
        choice = read_choice(given)
        for problem in choice.problems:
            messages.warning(request, problem)
        found = Target.objects.in_bulk(choice.ids)
        gone = [str(id) for id in choice.ids if id not in found]
        if gone:
            messages.warning(request, f"There is no target {listed(gone)} any more.")
        targets = [found[id] for id in choice.ids if id in found]
        if not targets:
            messages.error(request, "Choose at least one target to run.")
            return HttpResponseRedirect(self.url("target_changelist"))
        if request.method == "POST" and not choice.problems:
            return self._launch(request, targets, choice)
        return self._confirm(request, targets, choice)

    def _confirm(self, request: HttpRequest, targets: Sequence[Target], choice: Choice) -> HttpResponseBase:
        offers = [offer(target, choice) for target in targets]
        can_run = [each for each in offers if each.can_run]
        estimates = [each.estimate for each in can_run if each.estimate is not None]
        title = f"Run {one_line(str(targets[0]))}" if len(targets) == 1 else f"Run {len(targets)} targets"
        return self.page(
            request,
            "ai_eval/launch/confirm.html",
            title,
            offers=offers,
            choice=choice,
            ids=",".join(str(target.pk) for target in targets),
            can_run=can_run,
            answers=sum(each.answers for each in estimates),
            target_calls=sum(each.target_calls for each in estimates),
            judge_calls=sum(each.judge_calls for each in estimates),
            agent_runs=sum(each.agent_runs for each in estimates),
            price=expected_told(estimates),
        )

    def _launch(self, request: HttpRequest, targets: Sequence[Target], choice: Choice) -> HttpResponseBase:
        ticked = set(request.POST.getlist("run"))
        wanted = [target for target in targets if str(target.pk) in ticked]
        again = HttpResponseRedirect(f"{self.url('launch')}?{choice.query()}")
        if not wanted:
            messages.error(request, "Nothing was launched: no target is ticked.")
            return again
        launched: list[Run] = []
        active: list[int] = []
        for target in wanted:
            try:
                launched.append(self._launch_one(request, target, choice))
            except LaunchedMeanwhile as meanwhile:
                self._tell_of(request, target, meanwhile)
                if meanwhile.active:
                    active.append(meanwhile.run_id)
            except EvalError as error:
                told = "; ".join(_told(target, error))
                messages.error(request, f"{one_line(str(target))} was not launched: {told}")
        if len(wanted) == 1 and launched + active:
            return HttpResponseRedirect(self.url("progress", launched[0].pk if launched else active[0]))
        if launched or active:
            return HttpResponseRedirect(self.url("run_changelist"))
        return again

    def _launch_one(self, request: HttpRequest, target: Target, choice: Choice) -> Run:
        plan = prepare(target, split=choice.split, trials=choice.trials)
        seen = request.POST.get(f"seen_{target.pk}", "")
        # A page that does not say what it knew knew nothing.
        last_seen = key_of(seen) or 0
        run = begin_once(target.pk, last_seen, partial(launch, plan))
        self.log_addition(request, run, "Launched.")
        messages.success(request, f"Run {run.pk} of {one_line(str(target))} is launched.")
        wake_on_commit(request, run)
        return run

    def _tell_of(self, request: HttpRequest, target: Target, meanwhile: LaunchedMeanwhile) -> None:
        label = one_line(str(target))
        if meanwhile.active:
            messages.info(
                request, f"{label} is being run already, by run {meanwhile.run_id}: no other was launched."
            )
            return
        messages.warning(
            request,
            f"Nothing was launched yet: run {meanwhile.run_id} of {label} has come and gone since you opened "
            "this page. Run it again all the same?",
        )


def wake_on_commit(request: HttpRequest, run: Run) -> None:
    """Start workers once the run can be seen by them; where none can be started, say so."""

    def start(**ignored: Any) -> None:
        try:
            wake(run)
        except OSError as error:
            problem = f"no worker process could be started ({error.strerror or type(error).__name__})"
            messages.error(request, f"Run {run.pk} waits: {problem}.")

    transaction.on_commit(start)
