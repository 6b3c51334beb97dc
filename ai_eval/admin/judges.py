"""The judges: which there are, what each asks its model with, and the form of one."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern

from ai_eval.admin.graders import GradersPage
from ai_eval.admin.judge_page import JudgePage
from ai_eval.configuration.judge_catalogue import judge_catalogue
from ai_eval.models import JudgeSettings
from ai_eval.permissions import ADMINISTER, READ, VALIDATE_JUDGES, allowed
from ai_eval.trust import UNVALIDATED


@admin.register(JudgeSettings)
class JudgeSettingsAdmin(GradersPage, JudgePage):
    """The catalogue of judges stands where the list of rows would: a judge without a row is one, too."""

    see = READ
    edit = (VALIDATE_JUDGES,)

    def get_urls(self) -> list[URLPattern]:
        return [*self.grader_urls(), *self.judge_urls(), *super().get_urls()]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        return self.page(
            request,
            "ai_eval/judges/list.html",
            "LLM judges",
            catalogue=judge_catalogue(),
            trust_word=UNVALIDATED,
            may_edit=allowed(request.user, VALIDATE_JUDGES),
            may_administer=allowed(request.user, ADMINISTER),
            may_see_targets=allowed(request.user, *READ),
        )

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """A row is made by saving the form of its judge."""
        return False

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """The address of a row leads to the form of its judge."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        row = self.get_object(request, unquote(object_id))
        if row is None:
            self.message_user(
                request, "These settings are gone; perhaps they were removed.", messages.WARNING
            )
            return HttpResponseRedirect(self.url("judgesettings_changelist"))
        return HttpResponseRedirect(self.url("judge", row.grader))
