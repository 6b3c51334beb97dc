"""The page that shows every grader of the site."""

from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern

from ai_eval.admin.base import EvalAdmin
from ai_eval.configuration.grader_catalogue import grader_catalogue
from ai_eval.permissions import ANY, READ, VALIDATE_JUDGES, allowed


class GradersPage(EvalAdmin):
    def grader_urls(self) -> list[URLPattern]:
        return [self.route("graders/", "graders", self.graders_view, *ANY)]

    def graders_view(self, request: HttpRequest) -> HttpResponse:
        return self.page(
            request,
            "ai_eval/graders/list.html",
            "Graders",
            catalogue=grader_catalogue(),
            may_see_judges=allowed(request.user, *READ, VALIDATE_JUDGES),
            may_see_targets=allowed(request.user, *READ),
        )
