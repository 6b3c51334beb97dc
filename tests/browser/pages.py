"""Every page of the admin, with the cases in which it looks different."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from ai_eval.models import EvalSettings, Grade, JudgeSettings
from tests.browser.site import Site

PREFIX = "ai_eval_"


def nothing(site: Site) -> Sequence[Any]:
    return ()


@dataclass(frozen=True)
class Page:
    """A page that can be opened. `name` is the URL's without the app's prefix, `case` says what is special
    about it, and `shows` names hostile texts that have to be readable on it, whole and unchanged."""

    name: str
    case: str = ""
    arguments: Callable[[Site], Sequence[Any]] = nothing
    query: Callable[[Site], str] = lambda site: ""
    user: str = "adam"
    shows: tuple[str, ...] = ()

    def path(self, site: Site) -> str:
        query = self.query(site)
        return address(self.name, *self.arguments(site)) + (f"?{query}" if query else "")

    def __str__(self) -> str:
        return f"{self.name} {self.case}".strip()


def address(name: str, *arguments: Any) -> str:
    if name == "app_list":
        return reverse("admin:app_list", args=("ai_eval",))
    return reverse(f"admin:{PREFIX}{name}", args=arguments)


def target(name: str) -> Callable[[Site], Sequence[Any]]:
    return lambda site: (site.targets[name],)


def run(name: str) -> Callable[[Site], Sequence[Any]]:
    return lambda site: (site.runs[name],)


def answer(name: str) -> Callable[[Site], Sequence[Any]]:
    return lambda site: (site.answers[name],)


def dataset(site: Site) -> Sequence[Any]:
    return (site.dataset,)


def question(site: Site) -> Sequence[Any]:
    return (site.question,)


def grade(answer: str, grader: str) -> Callable[[Site], Sequence[Any]]:
    return lambda site: (Grade.objects.get(answer=site.answers[answer], grader=grader).pk,)


def judge_settings(site: Site) -> Sequence[Any]:
    return (JudgeSettings.objects.get(grader=site.judge).pk,)


def settings(site: Site) -> Sequence[Any]:
    return (EvalSettings.objects.get().pk,)


PAGES = [
    Page("app_list"),
    Page("target_changelist", shows=("target label", "chat label")),
    Page("target_add"),
    Page("target_change", "agent", target("agent"), shows=("target label",)),
    Page("target_change", "chat", target("chat"), shows=("chat label", "model", "system prompt")),
    Page("target_change", "recorded", target("recorded")),
    Page("target_change", "gone", target("gone"), shows=("agent", "environment", "grader")),
    Page("target_delete", "", target("agent"), shows=("target label",)),
    Page("target_history", "", target("agent")),
    Page(
        "launch",
        "",
        query=lambda site: "ids=" + ",".join(str(site.targets[name]) for name in ("agent", "chat", "gone")),
        shows=("target label", "chat label"),
    ),
    *(
        Page("progress", name, run(name), user="olga")
        for name in ("pending", "running", "interrupted", "cancelled", "error")
    ),
    Page("run_changelist", shows=("target label", "deleted label")),
    *(
        Page("run_change", name, run(name), user="olga")
        for name in (
            *("failed", "passed", "undecided", "no gate", "environment", "recorded", "regraded", "retried"),
            *("without target", "pending", "running", "interrupted", "cancelled", "error"),
        )
    ),
    Page("run_snapshot", "agent", run("failed"), user="olga"),
    Page("run_snapshot", "chat", run("undecided"), user="olga", shows=("system prompt",)),
    Page("run_delete", "", run("failed"), shows=("target label",)),
    Page("run_history", "", run("failed")),
    *(
        Page("answer", name, answer(name), user="olga")
        for name in (
            *("hostile", "empty", "target error", "no record", "empty record", "one call", "many calls"),
            *("changes", "bad", "fails", "judge", "clamped", "turns"),
        )
    ),
    Page("answer_formatted", "", answer("hostile"), user="olga"),
    Page("answer_calls", "many", answer("many calls"), user="olga", shows=("call", "call key")),
    Page("answer_calls", "one", answer("one call"), user="olga", shows=("argument",)),
    Page("grade", "bad", grade("bad", "house_tone"), user="olga", shows=("raw reply",)),
    Page("grade", "unusable", grade("judge", "house_tone"), user="olga", shows=("unusable reply",)),
    Page("grade", "no judge", grade("hostile", "contains_done"), user="olga"),
    Page("dataset_changelist", shows=("dataset label",)),
    Page("dataset_add"),
    Page("dataset_change", "", dataset, shows=("dataset label",)),
    Page("dataset_delete", "", dataset, shows=("dataset label",)),
    Page("dataset_history", "", dataset),
    Page("question_changelist", shows=("question id",)),
    Page("question_add"),
    Page("question_change", "", question, shows=("question id", "question")),
    Page("question_delete", "", question, shows=("question id",)),
    Page("question_history", "", question),
    Page("dataset_rows", "database", query=lambda site: "source=database&reference=agents_questions"),
    Page("dataset_rows", "file", query=lambda site: "source=file&reference=library.yaml"),
    Page("dataset_rows", "broken", query=lambda site: "source=file&reference=broken.yaml"),
    Page("graders"),
    Page("judgesettings_changelist"),
    Page("judge", "with a prompt", lambda site: (site.judge,), shows=("prompt", "judge model")),
    Page("judge", "in edit", lambda site: (site.judge,), user="vera", shows=("prompt", "judge model")),
    Page("judge", "as it comes", lambda site: ("groundedness_grader",)),
    Page("judgesettings_delete", "", judge_settings, user="root"),
    Page("judgesettings_history", "", judge_settings),
    Page("evalsettings_changelist"),
    Page("evalsettings_history", "", settings),
]

POSTED = {"cancel", "resume", "regrade", "retry_missing", "target_advice", "judge_preview"}
"""Addresses that take a POST only, and show no page of their own."""

FILES = {"run_json", "answer_text", "grade_text"}
"""Sent to be kept, not shown."""

PARTS = {"dataset_state"}
"""A line of another page, loaded by it."""

LED_ON = {"judgesettings_change", "evalsettings_change"}
"""Addresses that the admin makes by itself, and that lead to a page of ours."""

NOBODY = {"run_add", "judgesettings_add", "evalsettings_add", "evalsettings_delete"}
"""Addresses that the admin makes by itself, for what nobody may do."""


def names() -> set[str]:
    """The name of every address of the admin that is ours, and of the app's own page."""
    return {
        name.removeprefix(PREFIX)
        for name in _names(get_resolver().url_patterns)
        if name.startswith(PREFIX) or name == "app_list"
    }


def _names(patterns: Sequence[URLPattern | URLResolver]) -> Iterator[str]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from _names(pattern.url_patterns)
        elif pattern.name:
            yield pattern.name


each_page = pytest.mark.parametrize("page", [page for page in PAGES if page.name in names()], ids=str)
