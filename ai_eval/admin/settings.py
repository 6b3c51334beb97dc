"""The settings: one form for the one row, which is made when it is first saved."""

import copy
from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from ai_eval.admin.lost_update import or_told
from ai_eval.admin.settings_form import NOTHING, SettingsForm, in_force, standing_problems
from ai_eval.admin.single_row import SingleRowPage
from ai_eval.configuration.judge_catalogue import key_story
from ai_eval.models import EvalSettings, effective_settings
from ai_eval.permissions import ADMINISTER, VALIDATE_JUDGES, allowed
from ai_eval.wording import listed

SECTIONS = (
    ("Datasets", ("dataset_path",)),
    ("Judges", ("judge_model", "judge_api_base", "response_char_limit")),
    ("Passing", ("question_pass_threshold",)),
    (
        "Calls of models",
        ("rate_limit_max_retries", "rate_limit_base_delay", "rate_limit_delay_between_calls"),
    ),
)


@admin.register(EvalSettings)
class EvalSettingsAdmin(SingleRowPage):
    """The form stands where the list of rows would."""

    see = edit = (ADMINISTER,)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_change_permission(request):
            raise PermissionDenied
        if request.method != "POST":
            return self._form_page(request, SettingsForm(instance=_stored()))
        if "_clear" in request.POST:
            fields = {name: "" for name in SettingsForm(instance=_stored()).fields if name != "seen"}
            return self._form_page(
                request, SettingsForm.refilled(request.POST, _stored(), **fields), cleared=True
            )
        return or_told(partial(self._save, request))

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        if not self.has_change_permission(request):
            raise PermissionDenied
        return HttpResponseRedirect(self.url("evalsettings_changelist"))

    def _save(self, request: HttpRequest) -> HttpResponse:
        with transaction.atomic():
            before = _stored()
            form = SettingsForm(request.POST, instance=copy.copy(before))
            if form.is_valid():
                changed = self.write_row(request, form, before)
                messages.success(request, f"Saved: {listed(changed)}." if changed else "Nothing was changed.")
                return HttpResponseRedirect(self.url("evalsettings_changelist"))
        return self._form_page(request, form)

    def _form_page(self, request: HttpRequest, form: Any, cleared: bool = False) -> HttpResponse:
        row, effective = EvalSettings.objects.filter(pk=1).first(), effective_settings()
        return self.page(
            request,
            "ai_eval/settings/form.html",
            "Settings",
            form=form,
            cleared=cleared,
            sections=[
                (title, [(form[name], _choice(form, name)) for name in names]) for title, names in SECTIONS
            ],
            in_force=in_force(row, effective),
            problems=standing_problems(row, effective),
            key=key_story(effective.judge_model, effective.judge_api_base),
            stored=row,
            may_see_judges=allowed(request.user, ADMINISTER, VALIDATE_JUDGES),
        )


def _stored() -> EvalSettings:
    """The row, or a new one."""
    return EvalSettings.objects.filter(pk=1).first() or EvalSettings()


def _choice(form: SettingsForm, name: str) -> Any:
    """The box that sets a text to nothing, where there is one."""
    box = f"{name}_nothing"
    return form[box] if name in NOTHING and box in form.fields else None
