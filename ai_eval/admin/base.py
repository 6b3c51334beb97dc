"""What every page of the admin shares: the permissions, the frame, and pages that are polled."""

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import resolve_url
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse

from ai_eval.permissions import ADMINISTER, ANY, READ, allowed

View = Callable[..., HttpResponseBase]

STOP_POLLING = 286
"""htmx swaps the reply in and asks no more."""


def is_fragment(request: HttpRequest) -> bool:
    """Whether htmx asks for a part of a page."""
    return request.headers.get("HX-Request") == "true"


LONGEST_KEY = 18
"""Digits of a number that every database takes for a key."""


def key_of(text: str) -> int | None:
    """The key of a row that a form or an address names; None for what can't be one."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= LONGEST_KEY else None


def go_to(request: HttpRequest, url: str) -> HttpResponse:
    """Send the browser to another page, from a whole page as from a part of one."""
    if is_fragment(request):
        return HttpResponse(status=204, headers={"HX-Redirect": url})
    return HttpResponse(status=302, headers={"Location": url})


class EvalAdmin(admin.ModelAdmin):
    """A model admin that asks for our permissions instead of Django's four for each table."""

    see: Sequence[str] = READ
    edit: Sequence[str] = (ADMINISTER,)
    save_on_top = False

    def has_module_permission(self, request: HttpRequest) -> bool:
        return allowed(request.user, *ANY)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return allowed(request.user, *self.see, *self.edit)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return allowed(request.user, *self.edit)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return allowed(request.user, *self.edit)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return allowed(request.user, *self.edit)

    def page(
        self, request: HttpRequest, template: str, title: str, status: int = 200, **context: Any
    ) -> TemplateResponse:
        """A whole page in the admin's frame; its template extends `ai_eval/page.html`."""
        request.current_app = self.admin_site.name
        shared = {**self.admin_site.each_context(request), "opts": self.opts, "title": title}
        return TemplateResponse(request, template, {**shared, **context}, status=status)

    def fragment(
        self, request: HttpRequest, template: str, status: int = 200, **context: Any
    ) -> TemplateResponse:
        """A part of a page, for htmx to swap in."""
        request.current_app = self.admin_site.name
        return TemplateResponse(request, template, context, status=status)

    def route(self, pattern: str, name: str, view: View, *permissions: str) -> URLPattern:
        """A page of its own, reversed as `admin:ai_eval_NAME`, for users with one of `permissions`."""
        return path(pattern, self._guarded(view, permissions or tuple(self.see)), name=f"ai_eval_{name}")

    def url(self, name: str, *args: Any) -> str:
        return reverse(f"admin:ai_eval_{name}", args=args, current_app=self.admin_site.name)

    def _guarded(self, view: View, permissions: tuple[str, ...]) -> View:
        def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if not allowed(request.user, *permissions):
                raise PermissionDenied
            return view(request, *args, **kwargs)

        within_admin = self.admin_site.admin_view(checked)

        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if is_fragment(request) and not self.admin_site.has_permission(request):
                # A redirect would be followed by htmx, and the login page put into the page.
                here = request.headers.get("HX-Current-URL", "")
                login = resolve_url("admin:login")
                return go_to(request, f"{login}?next={_path_of(here)}")
            return within_admin(request, *args, **kwargs)

        return update_wrapper(guarded, view)


def _path_of(url: str) -> str:
    from urllib.parse import quote, urlsplit

    parts = urlsplit(url)
    return quote(f"{parts.path}?{parts.query}" if parts.query else parts.path, safe="/")
