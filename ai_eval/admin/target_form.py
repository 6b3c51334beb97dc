"""The form of a target: the page to edit it, the page to read it, notes while it is edited, and its end."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.forms import BoundField
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseNotAllowed,
    HttpResponseRedirect,
)
from django.urls import URLPattern

from ai_eval.admin.base import EvalAdmin
from ai_eval.admin.lost_update import or_told
from ai_eval.admin.target_fields import Preview, TargetForm
from ai_eval.admin.target_graders import GraderGroup, grader_groups
from ai_eval.admin.target_reading import reading_context
from ai_eval.configuration.advice import Advice, field_problems, target_advice
from ai_eval.configuration.validation import OWN_FIELDS
from ai_eval.errors import StateError
from ai_eval.models import Run, Target
from ai_eval.permissions import ADMINISTER
from ai_eval.wording import listed, one_line

SECTIONS = (
    ("Name", ("label", "slug", "enabled")),
    (
        "What is evaluated",
        ("mode", "agent", "environment", "model", "api_base", "system_prompt", "replies"),
    ),
    ("Questions", ("dataset",)),
    ("Graders", ("graders",)),
    ("Gate", ("gate_type", "gate_metric", "gate_threshold")),
)
ADVANCED = (
    *("trials", "pass_threshold", "max_error_rate", "response_char_limit", "time_limit"),
    *("parameters", "demand_trust"),
)
NOTED = (*(name for _, names in SECTIONS for name in names), *ADVANCED)
MODE_OF = {name: mode.value for mode, names in OWN_FIELDS.items() for name in names}
GATED = ("gate_metric", "gate_threshold")


@dataclass(frozen=True)
class Row:
    """One field with its notes; `mode` is the only mode that it belongs to, or empty."""

    field: BoundField
    notes: Sequence[Advice]
    mode: str = ""
    gated: bool = False


class TargetFormPages(EvalAdmin):
    form = TargetForm
    change_form_template = "ai_eval/target_form/form.html"
    delete_confirmation_template = "ai_eval/target_form/delete.html"
    prepopulated_fields = {"slug": ("label",)}
    save_as = True

    def get_urls(self) -> list[URLPattern]:
        return [
            self.route("advice/", "target_advice", self.advice_view, ADMINISTER),
            self.route("<int:pk>/advice/", "target_advice", self.advice_view, ADMINISTER),
            *super().get_urls(),
        ]

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, str | list[str]]:
        """`?dataset=source:reference` preselects; nothing else of the address enters the form."""
        given = request.GET.get("dataset")
        return {"dataset": given} if given else {}

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        if self.has_change_permission(request) or not self.has_view_permission(request):
            return super().change_view(request, object_id, form_url, extra_context)
        if request.method not in ("GET", "HEAD"):
            raise PermissionDenied
        target = self.get_object(request, unquote(object_id))
        if target is None:
            return super().change_view(request, object_id, form_url, extra_context)
        return self.page(request, "ai_eval/target_form/reading.html", str(target), **reading_context(target))

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        return or_told(partial(super().changeform_view, request, object_id, form_url, extra_context))

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        form: TargetForm = context["adminform"].form
        stored = form.instance.pk is not None
        notes = _opening_notes(form)
        slow = any(each.tone == "busy" for each in notes)
        context |= {
            "sections": [(title, list(_rows(form, names, notes))) for title, names in SECTIONS],
            "advanced": list(_rows(form, ADVANCED, notes)),
            "advanced_open": _advanced_is_open(form),
            "grader_groups": _form_graders(form),
            "whole_notes": [each for each in notes if each.field not in NOTED],
            "advice_url": self.url("target_advice", *([form.instance.pk] if stored else [])),
            "reads_later": slow,
            "rows_query": _rows_query(form.instance),
        }
        return super().render_change_form(request, context, *args, **kwargs)

    def advice_view(self, request: HttpRequest, pk: int | None = None) -> HttpResponseBase:
        """Notes on a form in mid-edit, for htmx to put at their fields. Nothing is saved or locked."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        stored = Target.objects.filter(pk=pk).first() if pk is not None else Target()
        if stored is None:
            notes = [Advice("", "This target was deleted meanwhile, and can't be saved.", "bad")]
        else:
            stored.pk, stored._state.adding = None, True
            form = Preview(request.POST, instance=stored)
            form.is_valid()
            notes = _preview_notes(form)
        return self.fragment(
            request,
            "ai_eval/target_form/advice.html",
            fields=[(name, [each for each in notes if each.field == name]) for name in NOTED],
            whole_notes=[each for each in notes if each.field not in NOTED],
            rows_query="" if stored is None else _rows_query(stored),
            told=[each for each in notes if each.tone != "idle"],
        )

    def save_model(self, request: HttpRequest, obj: Target, form: TargetForm, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if form.cleared:
            messages.info(
                request,
                f"Cleared, since the mode is {obj.mode} and nothing would read it: {listed(form.cleared)}.",
            )
        for problem in form.standing:
            messages.warning(request, f"Saved, but it can't be run as it stands: {problem}.")

    def response_add(
        self, request: HttpRequest, obj: Target, post_url_continue: str | None = None
    ) -> HttpResponse:
        return self._to_launch(request, obj) or super().response_add(request, obj, post_url_continue)

    def response_change(self, request: HttpRequest, obj: Target) -> HttpResponse:
        return self._to_launch(request, obj) or super().response_change(request, obj)

    def _to_launch(self, request: HttpRequest, target: Target) -> HttpResponse | None:
        if "_saveandrun" not in request.POST:
            return None
        messages.success(request, f"{one_line(str(target))} is saved.")
        return HttpResponseRedirect(f"{self.url('launch')}?ids={target.pk}")

    # Its end

    def get_deleted_objects(
        self, objs: QuerySet[Target] | Sequence[Target], request: HttpRequest
    ) -> tuple[list[Any], dict[Any, int], set[str], list[str]]:
        """Nothing but the targets: their runs stay, and are not loaded. An active run protects its target."""
        targets = list(objs)
        active = active_runs(targets)
        return [str(each) for each in targets], {self.opts.verbose_name_plural: len(targets)}, set(), active

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        target = self.get_object(request, unquote(object_id))
        runs = Run.objects.filter(target=target).count() if target is not None else 0
        try:
            with transaction.atomic():
                return super().delete_view(request, object_id, {**(extra_context or {}), "runs": runs})
        except StateError as error:
            messages.error(request, "\n".join(error.problems))
            return HttpResponseRedirect(self.url("target_change", unquote(object_id)))

    def delete_model(self, request: HttpRequest, obj: Target) -> None:
        self.delete_queryset(request, Target.objects.filter(pk=obj.pk))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Target]) -> None:
        """StateError when a run of one of them was launched since the question was shown."""
        with transaction.atomic():
            targets = list(queryset.select_for_update().order_by("pk"))
            if active := active_runs(targets):
                raise StateError(active)
            Target.objects.filter(pk__in=[each.pk for each in targets]).delete()


def active_runs(targets: Iterable[Target]) -> list[str]:
    """One sentence for each run that is pending or running."""
    runs = Run.objects.filter(target__in=list(targets), state__in=Run.ACTIVE).defer("snapshot", "result")
    return [f"Run {run.pk} of {one_line(run.target_label)} is {run.state}: cancel it first." for run in runs]


def _rows(form: TargetForm, names: Iterable[str], notes: Sequence[Advice]) -> Iterable[Row]:
    for name in names:
        own = [each for each in notes if each.field == name]
        yield Row(form[name], own, MODE_OF.get(name, ""), name in GATED)


def _opening_notes(form: TargetForm) -> list[Advice]:
    """Advice, and what is wrong already with what is stored; errors of a refused form stand by themselves."""
    target = form.instance
    notes = [Advice(field, text, "bad") for field, text in form.listing_problems]
    if form.is_bound:
        notes += [each for each in field_problems(target) if each.text in form.standing]
    elif target.pk is not None:
        notes += field_problems(target)
    notes += _unknown_choice(form)
    return [*notes, *target_advice(target, wait=False)]


def _unknown_choice(form: TargetForm) -> list[Advice]:
    asked = form.initial.get("dataset") if not form.is_bound else None
    if asked and asked not in form.datasets.pairs:
        return [Advice("dataset", f"There is no dataset {one_line(str(asked))}; choose another.", "bad")]
    return []


def _preview_notes(form: Preview) -> list[Advice]:
    """Advice, and the problems of fields that were filled in: what is still empty is no mistake yet."""
    notes = [Advice(field, text, "bad") for field, text in form.listing_problems]
    for name, errors in form.errors.items():
        filled = name in form.changed_data and form[name].value() not in (None, "", [])
        if name in NOTED and filled:
            notes += [Advice(name, str(error), "bad") for error in errors]
        elif name == "required":
            notes += [Advice("graders", str(error), "bad") for error in errors]
    notes += [each for each in field_problems(form.instance) if each.text in form.standing]
    return [*notes, *target_advice(form.instance)]


def _advanced_is_open(form: TargetForm) -> bool:
    """Folded unless something in it is wrong, or is not what a new target has."""
    if any(name in form.errors for name in ADVANCED):
        return True
    fresh = Target()
    return any(getattr(form.instance, name) != getattr(fresh, name) for name in ADVANCED)


def _form_graders(form: TargetForm) -> list[GraderGroup]:
    ticked = form["graders"].value() or []
    required = form["required"].value() or []
    return grader_groups([str(id) for id in ticked], [str(id) for id in required])


def _rows_query(target: Target) -> str:
    """The query string of the page that shows the questions; empty where no dataset is chosen."""
    if not target.dataset_source:
        return ""
    return urlencode({"source": target.dataset_source, "reference": target.dataset_reference})
