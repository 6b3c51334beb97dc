"""The list of targets: how each one stands, at one glance."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.contrib import admin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import BadRequest
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.formats import date_format
from django.utils.safestring import SafeString
from django.utils.timezone import localtime

from ai_eval.admin.base import EvalAdmin, key_of
from ai_eval.admin.charts import SparkPoint
from ai_eval.admin.filters import BooleanInRow, ChoicesInRow, ListFilterInRow
from ai_eval.admin.words import VERDICTS, run_sign
from ai_eval.models import Target
from ai_eval.runs.attention import Circumstances, circumstances, obstacles, standing_advisories
from ai_eval.runs.overview import MAXIMUM, PastRun, TargetState, last_complete, newest, target_states
from ai_eval.runs.wording import counts_sentence, figure_text
from ai_eval.stats import Figure

METRICS: Mapping[str, str] = {
    Target.Metric.PASS_RATE: "Pass rate",
    Target.Metric.AVG_SCORE: "Average score of 5",
}
NO_RUN = "none"


def spark_points(runs: Sequence[PastRun], metric: str) -> list[SparkPoint]:
    """Runs as points of a sparkline; one that is not complete has no value, and its state says why."""
    return [_spark_point(run, run.figure(metric)) for run in runs]


def _spark_point(run: PastRun, figure: Figure | None) -> SparkPoint:
    sign = run_sign(run.state, run.verdict)
    day = date_format(localtime(run.created_at), "SHORT_DATE_FORMAT")
    what = f"{sign.word}, {figure_text(figure)}" if figure else sign.word
    title = f"Run {run.pk} of {day}: {what}{f', split {run.split}' if run.split else ''}"
    if figure is None:
        return SparkPoint(None, sign, title)
    return SparkPoint(figure.value, sign, title, figure.low, figure.high)


def state_context(state: TargetState) -> dict[str, Any]:
    """What templates show of a target's state."""
    return {
        "state": state,
        "metric": METRICS[state.metric],
        "maximum": MAXIMUM[state.metric],
        "points": spark_points(state.history, state.metric),
        "counts": counts_sentence(state.verdict) if state.verdict else "",
    }


class LastVerdictFilter(ListFilterInRow):
    title = "last verdict"
    parameter_name = "last_verdict"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        verdicts = [(verdict or "no_gate", sign.word) for verdict, sign in VERDICTS.items()]
        return [*verdicts, (NO_RUN, "no complete run")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        value = self.value()
        if value is None:
            return queryset
        if value not in dict(self.lookup_choices):
            raise IncorrectLookupParameters(f"no verdict is {value!r}")
        if value == NO_RUN:
            return queryset.filter(last_verdict__isnull=True)
        return queryset.filter(last_verdict="" if value == "no_gate" else value)


class TargetChangeList(ChangeList):
    """The list with the runs of its page, fetched together."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list: Any = target_rows(target_states(self.result_list), circumstances())


def target_rows(states: Iterable[TargetState], around: Circumstances) -> list[Any]:
    """The targets, each with its `state_of`, its `obstacles` and its `advice`."""
    rows = []
    for state in states:
        row: Any = state.target
        row.state_of = state
        row.obstacles = obstacles(row, around)
        row.advice = list(dict.fromkeys([*standing_advisories(row, around), *state.advisories]))
        rows.append(row)
    return rows


def cell(name: str, target: Any) -> SafeString:
    """A cell of a row that `target_rows` gave."""
    context = {"target": target, **state_context(target.state_of)}
    return render_to_string(f"ai_eval/target_list/{name}.html", context)


class TargetListPage(EvalAdmin):
    list_display = ("name", "verdict", "score", "run")
    list_display_links = None
    list_filter = (LastVerdictFilter, ("mode", ChoicesInRow), ("enabled", BooleanInRow))
    search_fields = ("label", "slug", "agent", "model", "dataset_reference")
    search_help_text = "Label, id, agent, model or dataset."
    list_per_page = 50
    list_max_show_all = 100
    show_full_result_count = False
    change_list_template = "ai_eval/target_list/list.html"

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return TargetChangeList

    def get_queryset(self, request: HttpRequest) -> QuerySet[Target]:
        rows: QuerySet[Target] = super().get_queryset(request)
        if request.resolver_match and request.resolver_match.url_name == "ai_eval_target_changelist":
            rows = rows.annotate(newest_run=newest(), last_verdict=last_complete("verdict"))
        return rows

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        if any("\x00" in value for _, values in request.GET.lists() for value in values):
            raise BadRequest("a value holds a NUL character")
        if any(key_of(each) is None for each in request.POST.getlist(ACTION_CHECKBOX_NAME)):
            raise BadRequest("a selected target is no number of one")
        return super().changelist_view(request, {"title": "Targets", **(extra_context or {})})

    @admin.display(description="Target", ordering="label")
    def name(self, target: Any) -> SafeString:
        return cell("name", target)

    @admin.display(description="Last verdict", ordering="newest_run")
    def verdict(self, target: Any) -> SafeString:
        return cell("verdict", target)

    @admin.display(description="Score (95 %)")
    def score(self, target: Any) -> SafeString:
        return cell("score", target)

    @admin.display(description="")
    def run(self, target: Any) -> SafeString:
        return cell("run", target)
