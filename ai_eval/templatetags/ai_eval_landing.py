"""The landing page of the app. Its figures come by a tag, since a site's own AdminSite makes its context."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import template
from django.template import Context
from django.urls import reverse
from django.utils.safestring import SafeString

from ai_eval.admin.target_list import cell, target_rows
from ai_eval.admin.words import VERDICTS, Sign
from ai_eval.models import Run
from ai_eval.permissions import ADMINISTER, ANNOTATE, READ, RUN, VALIDATE_JUDGES, allowed
from ai_eval.runs.attention import Concern, Item, Overview, overview, ticked_judges_without_model

register = template.Library()


@dataclass(frozen=True)
class Kind:
    """How a kind of concern is told. `page` is where its items are mended, `more` where all are listed."""

    sign: Sign
    heading: str
    page: str
    link: str
    more: str = ""
    query: str = ""


TARGETS, RUNS = "target_changelist", "run_changelist"
KINDS: Mapping[str, Kind] = {
    "failed": Kind(
        VERDICTS["failed"], "Failed at the last run", "run_change", "Read why", TARGETS, "last_verdict=failed"
    ),
    "undecided": Kind(
        VERDICTS["undecided"],
        "Undecided at the last run",
        "run_change",
        "Read why",
        TARGETS,
        "last_verdict=undecided",
    ),
    "interrupted": Kind(
        Sign("interrupted", "unsure", "pause"),
        "Stopped before the end",
        "progress",
        "Look and resume",
        RUNS,
        f"state__exact={Run.State.INTERRUPTED}",
    ),
    "error": Kind(
        Sign("ended in error", "bad", "triangle"),
        "Runs that ended in error",
        "run_change",
        "Open the run",
        RUNS,
        f"state__exact={Run.State.ERROR}",
    ),
    "idle": Kind(
        Sign("nobody at work", "unsure", "pause"),
        "Active, and no worker is at work",
        "progress",
        "Look and resume",
        RUNS,
    ),
    "hindered": Kind(
        Sign("can’t run", "bad", "triangle"), "Can’t be launched", "target_change", "Open the target", TARGETS
    ),
    "judges": Kind(
        Sign("no model", "bad", "triangle"),
        "Judges without a model",
        "judge",
        "Open the judge",
        "judgesettings_changelist",
    ),
    "sources": Kind(
        Sign("unknown", "unsure", "question"),
        "Dataset sources that can’t be looked into",
        "dataset_changelist",
        "See the datasets",
    ),
    "advised": Kind(
        Sign("advisory", "unsure", "question"), "To know", "target_change", "Open the target", TARGETS
    ),
}


@dataclass(frozen=True)
class Told:
    concern: Concern
    kind: Kind
    lines: list[tuple[Item, str]]
    """Each item with the address of its page."""
    more_url: str


@dataclass(frozen=True)
class Link:
    label: str
    url: str
    what: str


@register.inclusion_tag("ai_eval/landing/site.html", takes_context=True)
def landing(context: Context) -> dict[str, Any]:
    """All that the user may see of the site, and what there is to do."""
    request = context["request"]
    user = request.user
    url = _Urls(getattr(request, "current_app", None))
    may = {
        "see": allowed(user, *READ),
        "administer": allowed(user, ADMINISTER),
        "run": allowed(user, *RUN),
        "validate": allowed(user, VALIDATE_JUDGES),
        "annotate": allowed(user, ANNOTATE),
    }
    site = overview() if may["see"] else None
    concerns = list(site.concerns) if site else []
    if site is None and may["validate"]:
        concerns = [each for each in [ticked_judges_without_model()] if each.total]
    return {
        "request": request,
        "may": may,
        "site": site,
        "rows": target_rows(site.shown, site.around) if site else [],
        "standing": _standing(site) if site else [],
        "told": [_told(each, url) for each in concerns],
        "looked_at": bool(site) or may["validate"],
        "running": site.running if site else [],
        "links": _links(context.get("app_list") or [], url),
    }


@register.simple_tag
def target_cell(name: str, target: Any) -> SafeString:
    return cell(name, target)


class _Urls:
    """Addresses within the admin site that is being shown."""

    def __init__(self, current_app: str | None) -> None:
        self.current_app = current_app

    def __call__(self, page: str, *args: Any) -> str:
        return reverse(f"admin:ai_eval_{page}", args=args, current_app=self.current_app)


def _told(concern: Concern, url: _Urls) -> Told:
    kind = KINDS[concern.kind]
    lines = [(item, _page_of(item, kind, url)) for item in concern.items]
    more = f"{url(kind.more)}?{kind.query}" if kind.more else ""
    return Told(concern, kind, lines, more)


def _page_of(item: Item, kind: Kind, url: _Urls) -> str:
    if item.judge:
        return url(kind.page, item.judge)
    if kind.page == "target_change" and item.target:
        return url(kind.page, item.target.pk)
    return url(kind.page, item.run) if item.run else url(kind.page)


def _standing(site: Overview) -> list[tuple[str, int, str]]:
    """Parts of the bar over all enabled targets."""
    told = [(sign.word, site.verdicts.get(verdict, 0), sign.tone) for verdict, sign in VERDICTS.items()]
    return [*told, ("without a complete run", site.verdicts.get(None, 0), "busy")]


WHAT = {
    "Target": "what is evaluated, and how",
    "Run": "what was asked, answered and graded",
    "Dataset": "lists of questions",
    "Question": "those that are kept in the database",
    "JudgeSettings": "LLM judges: models and prompts",
    "EvalSettings": "defaults of the site",
}
ORDER = list(WHAT)


def _links(app_list: list[dict[str, Any]], url: _Urls) -> list[Link]:
    """The lists that Django found this user may see, and the page of graders."""
    models = [model for app in app_list for model in app["models"] if model["admin_url"]]
    models.sort(key=lambda each: ORDER.index(each["object_name"]) if each["object_name"] in ORDER else 99)
    links = [
        Link(str(model["name"]), model["admin_url"], WHAT.get(model["object_name"], "")) for model in models
    ]
    return [*links, Link("Graders", url("graders"), "what can be ticked, and what each looks at")]
