"""Watching a run, and what may be done to one: cancel, resume, grade anew, ask again what is missing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.urls import URLPattern
from django.utils import timezone
from django.utils.cache import patch_vary_headers

from ai_eval.admin import words
from ai_eval.admin.base import STOP_POLLING, EvalAdmin, go_to, is_fragment, key_of
from ai_eval.admin.costs import basis_told, cost_told
from ai_eval.admin.launching import wake_on_commit
from ai_eval.conf import site_settings
from ai_eval.errors import EvalError
from ai_eval.models import Run
from ai_eval.permissions import READ, RUN
from ai_eval.runs.control import cancel, resume
from ai_eval.runs.derive import regrade, retry_missing
from ai_eval.runs.once import begin_once
from ai_eval.runs.progress import Pace, Watched, watch
from ai_eval.runs.spending import Paid, asks_its_target
from ai_eval.runs.wording import duration_text
from ai_eval.wording import counted, one_line

BAR_WIDTH = 1000
KEPT_TOLD_SECONDS = 2.0
"""A count that is older says when it was made."""


@dataclass(frozen=True)
class Part:
    """One part of the bar: how answers ended, and how many of them."""

    sign: words.Sign
    count: int
    x: float
    width: float
    """Of the bar's BAR_WIDTH."""


@dataclass(frozen=True)
class Cost:
    """What one role has cost so far, in words."""

    role: str
    told: str
    of: str


def parts_of(watched: Watched) -> list[Part]:
    """The bar, in the order of `words.VERDICTS`, then of the other outcomes."""
    planned = max(watched.run.planned, watched.counted.ended, 1)
    signs = {share: words.answer_sign(share.outcome, share.passed) for share in watched.counted.shares}
    order = [*words.VERDICTS.values(), *words.OUTCOMES.values()]
    summed: dict[words.Sign, int] = {}
    for share in sorted(watched.counted.shares, key=lambda share: order.index(signs[share])):
        summed[signs[share]] = summed.get(signs[share], 0) + share.count
    found, x = [], 0.0
    for sign, count in summed.items():
        width = BAR_WIDTH * count / planned
        found.append(Part(sign, count, round(x, 2), round(width, 2)))
        x += width
    return found


def costs_of(paid: Sequence[Paid]) -> list[Cost]:
    """One entry for each role that was asked."""
    return [Cost(each.role, cost_told(each), basis_told(each)) for each in paid]


def speed_told(pace: Pace | None) -> str:
    """`12 answers` of a minute; empty where that can't be told."""
    if pace is None or pace.per_minute is None:
        return ""
    return f"{pace.per_minute:.0f} answers" if pace.per_minute >= 10 else f"{pace.per_minute:.2g} answers"


def about(seconds: float) -> str:
    """No less than a second: the page that tells it is older than that."""
    return duration_text(max(1.0, seconds))


def worked_on(watched: Watched) -> str:
    """Who works on the run, in a sentence."""
    run, grace = watched.run, site_settings().lease_seconds
    if run.state in Run.ACTIVE:
        if watched.in_hand:
            return f"workers hold {counted(watched.in_hand, 'answer')}"
        idle = watched.idle_seconds
        waiting = "" if idle is None else f", {about(idle)} after workers were called"
        nobody = (
            "no worker has taken it yet" if run.started_at is None else "no worker is at it at this moment"
        )
        return (
            f"{nobody}{waiting}; if that lasts longer than {duration_text(grace)}, it counts as interrupted"
        )
    if watched.in_hand:
        return f"workers still hold {counted(watched.in_hand, 'answer')}, no further call is begun"
    return "nobody"


def headline(watched: Watched) -> str:
    """What a run that is not at work waits for; empty for one that is."""
    run = watched.run
    left = f"{watched.left:,} of {counted(run.planned, 'answer')}"
    if run.state == Run.State.INTERRUPTED and run.started_at is None:
        return (
            f"No worker ever took this run. {left} are left; look into the server's log for why none started."
        )
    if run.state == Run.State.INTERRUPTED:
        return f"Its workers ended before the run did. {left} are left; what was answered is kept."
    if run.state == Run.State.CANCELLED:
        return f"The run was cancelled with {left} left; what was answered is kept, and it has no verdict."
    return ""


def said(watched: Watched) -> str:
    """What a screen reader is told; it changes with the state and with every tenth of the run."""
    run = watched.run
    word = words.run_sign(run.state, run.verdict).word
    if run.state == Run.State.RUNNING:
        return f"{word}: {tenth_of(watched) * 10} % of {run.planned} answers"
    return f"{word}: {watched.counted.ended} of {run.planned} answers"


def tenth_of(watched: Watched) -> int:
    return 10 * watched.counted.ended // watched.run.planned if watched.run.planned else 10


class ProgressPages(EvalAdmin):
    """The progress page and the routes that change how a run goes on."""

    def get_urls(self) -> list[URLPattern]:
        return [
            self.route("<int:run_id>/progress/", "progress", self.progress_view, *READ),
            self.route("<int:run_id>/cancel/", "cancel", self._posted(self._cancel), *RUN),
            self.route("<int:run_id>/resume/", "resume", self._posted(self._resume), *RUN),
            self.route(
                "<int:run_id>/regrade/", "regrade", self._posted(partial(self._derive, regrade)), *RUN
            ),
            self.route(
                "<int:run_id>/retry-missing/",
                "retry_missing",
                self._posted(partial(self._derive, retry_missing)),
                *RUN,
            ),
            *super().get_urls(),
        ]

    def progress_view(self, request: HttpRequest, run_id: int) -> HttpResponseBase:
        try:
            watched = watch(run_id)
        except Run.DoesNotExist:
            return self._gone(request, run_id)
        if watched.run.state == Run.State.COMPLETE and not is_fragment(request):
            return HttpResponseRedirect(self.url("run_change", run_id))
        newest = watched.latest[0].answer.pk if watched.latest else 0
        shown = [watched.run.state, str(tenth_of(watched)), str(newest), str(watched.is_over)]
        before = request.GET.get("shown", "").split(".")
        before = before if len(before) == len(shown) else [""] * len(shown)
        context: dict[str, Any] = {
            "watched": watched,
            "run": watched.run,
            "parts": parts_of(watched),
            "costs": costs_of(watched.counted.paid),
            "percent": 100 * watched.counted.ended // max(1, watched.run.planned),
            "speed": speed_told(watched.pace),
            "pace_window": about(watched.pace.seconds) if watched.pace else "",
            "time_left": None if watched.seconds_left is None else about(watched.seconds_left),
            "asks_models": asks_its_target(watched.run) or bool(watched.run.snapshot["judges"]),
            "kept_count": (timezone.now() - watched.counted.at).total_seconds() > KEPT_TOLD_SECONDS,
            "worked_on": worked_on(watched),
            "headline": headline(watched),
            "said": said(watched),
            "shown": ".".join(shown),
            # Only what changed is put into the page: focus, selection and screen readers stay at rest.
            "changed_state": [shown[0], shown[3]] != [before[0], before[3]],
            "changed_said": shown[:2] != before[:2],
            "changed_latest": shown[2] != before[2],
        }
        if is_fragment(request):
            status = STOP_POLLING if watched.is_over else 200
            response = self.fragment(request, "ai_eval/progress/polled.html", status, **context)
        else:
            title = f"Run {run_id} of {one_line(watched.run.target_label)}"
            response = self.page(request, "ai_eval/progress/page.html", title, **context)
        # One address, two answers: a browser that goes back must not show the part as the page.
        patch_vary_headers(response, ["HX-Request"])
        return response

    def _gone(self, request: HttpRequest, run_id: int) -> HttpResponseBase:
        if is_fragment(request):
            return self.fragment(request, "ai_eval/progress/gone.html", STOP_POLLING, run_id=run_id)
        messages.error(request, f"There is no run {run_id}, or not any more.")
        return HttpResponseRedirect(self.url("run_changelist"))

    def _posted(self, act: Callable[[HttpRequest, int], HttpResponse]) -> Callable[..., HttpResponseBase]:
        """A view that acts when posted to; anything else, as the way back from signing in, only looks."""

        def view(request: HttpRequest, run_id: int) -> HttpResponseBase:
            run = Run.objects.filter(pk=run_id).only("pk", "state").first()
            if run is None:
                return self._gone(request, run_id)
            if request.method != "POST":
                messages.warning(request, "Nothing was done: please press the button again.")
                return self._home(request, run)
            try:
                return act(request, run_id)
            except Run.DoesNotExist:
                return self._gone(request, run_id)
            except EvalError as error:
                messages.error(request, f"Nothing was done: {'; '.join(error.problems)}.")
                run.refresh_from_db(fields=["state"])
                return self._home(request, run)

        return view

    def _home(self, request: HttpRequest, run: Run) -> HttpResponse:
        """Where a run is looked at: its result once it is complete, its progress before."""
        return go_to(
            request, self.url("run_change" if run.state == Run.State.COMPLETE else "progress", run.pk)
        )

    def _cancel(self, request: HttpRequest, run_id: int) -> HttpResponse:
        cancelled = cancel(run_id)
        run = Run.objects.only("pk", "state").get(pk=run_id)
        if cancelled:
            self.log_change(request, run, "Cancelled.")
            messages.success(request, f"Run {run_id} is cancelled: no further call is begun.")
        elif run.state == Run.State.CANCELLED:
            messages.info(request, f"Run {run_id} was cancelled before.")
        else:
            ended = words.run_sign(run.state, "").word if run.state != Run.State.COMPLETE else "complete"
            messages.info(request, f"Run {run_id} could not be cancelled any more: it is {ended}.")
        return self._home(request, run)

    def _resume(self, request: HttpRequest, run_id: int) -> HttpResponse:
        run = resume(run_id)
        self.log_change(request, run, "Resumed.")
        messages.success(request, f"Run {run_id} goes on where it stopped.")
        wake_on_commit(request, run)
        return self._home(request, run)

    def _derive(self, begin: Callable[[int], Run], request: HttpRequest, run_id: int) -> HttpResponse:
        """A new run out of the stored answers. A form's `seen` is the newest run that it knew of."""
        source = Run.objects.only("pk", "target_id").get(pk=run_id)
        seen = key_of(request.POST.get("seen", ""))
        if source.target_id is not None and seen is not None:
            run = begin_once(source.target_id, seen, partial(begin, run_id))
        else:
            run = begin(run_id)
        self.log_addition(request, run, f"{run.get_kind_display()}, from run {run_id}.")
        messages.success(request, f"Run {run.pk} is launched, from the stored answers of run {run_id}.")
        wake_on_commit(request, run)
        return self._home(request, run)
