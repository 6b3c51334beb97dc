"""The list of runs, and their deletion."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.db.models.fields.json import KeyTransform
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString

from ai_eval.admin.base import EvalAdmin
from ai_eval.admin.filters import ChoicesInRow
from ai_eval.admin.words import run_sign
from ai_eval.errors import StateError
from ai_eval.models import Run
from ai_eval.runs.control import delete
from ai_eval.runs.wording import figure_text
from ai_eval.stats import Figure


class RunListPage(EvalAdmin):
    list_display = ("number", "target_name", "sign", "pass_rate", "avg_score", "answered", "created")
    list_display_links = ("number",)
    list_filter = (("state", ChoicesInRow), ("verdict", ChoicesInRow))
    search_fields = ("target_label", "target_slug", "=pk")
    list_per_page = 50
    show_full_result_count = False
    ordering = ("-pk",)
    change_list_template = "ai_eval/run_list.html"

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """A stored result is never rewritten."""
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Run]:
        rows = super().get_queryset(request)
        if request.resolver_match and request.resolver_match.url_name == "ai_eval_run_changelist":
            # Snapshots and results of fifty runs are megabytes, and a row needs four figures of them.
            rows = rows.defer("snapshot", "result", "error").annotate(
                pass_rate_stored=KeyTransform("pass_rate", "result__verdict"),
                avg_score_stored=KeyTransform("avg_score", "result__verdict"),
                counts_stored=KeyTransform("counts", "result__verdict"),
            )
        return rows

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        return super().changelist_view(request, {"title": "Runs", **(extra_context or {})})

    @admin.display(description="Run", ordering="pk")
    def number(self, run: Run) -> str:
        kind = "" if run.kind == Run.Kind.FULL else f" ({run.get_kind_display().lower()})"
        return f"Run {run.pk}{kind}"

    @admin.display(description="Target", ordering="target_label")
    def target_name(self, run: Run) -> str:
        return run.target_label

    @admin.display(description="Verdict, or state")
    def sign(self, run: Run) -> SafeString:
        return render_to_string("ai_eval/badge.html", {"sign": run_sign(run.state, run.verdict)})

    @admin.display(description="Pass rate")
    def pass_rate(self, run: Any) -> str:
        return _figure(run.pass_rate_stored)

    @admin.display(description="Average of 5")
    def avg_score(self, run: Any) -> str:
        return _figure(run.avg_score_stored)

    @admin.display(description="Scored")
    def answered(self, run: Any) -> str:
        counts = run.counts_stored
        return f"{counts['scored']} of {run.planned}" if counts else f"{run.planned} planned"

    @admin.display(description="Launched", ordering="created_at")
    def created(self, run: Run) -> Any:
        return run.created_at

    def get_deleted_objects(
        self, objs: Sequence[Run] | QuerySet[Run], request: HttpRequest
    ) -> tuple[list[Any], dict[str, int], set[str], list[Any]]:
        """What a deletion takes along, as numbers: listing 20,000 answers helps nobody."""
        runs = list(objs)
        told = [
            format_html("{}, with its {} answers and all their grades", str(run), run.planned) for run in runs
        ]
        active = [f"{run} is {run.state}: cancel it first" for run in runs if run.state in Run.ACTIVE]
        return told, {"runs": len(runs), "answers": sum(run.planned for run in runs)}, set(), active

    def delete_model(self, request: HttpRequest, obj: Run) -> None:
        delete(obj.pk)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Run]) -> None:
        for pk in queryset.values_list("pk", flat=True):
            try:
                delete(pk)
            except (StateError, Run.DoesNotExist) as error:
                self.message_user(request, f"Not deleted: {error}", messages.ERROR)

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        try:
            return super().delete_view(request, object_id, extra_context)
        except StateError as error:
            self.message_user(request, f"Not deleted: {error}.", messages.ERROR)
            return HttpResponseRedirect(self.url("run_change", object_id))


def _figure(stored: Any) -> str:
    return figure_text(Figure(**stored), reasons=False) if stored else "–"
