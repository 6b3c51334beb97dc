"""The list of every dataset there is, whichever source it comes from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

from django.core.exceptions import PermissionDenied
from django.core.paginator import Page, Paginator
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern
from django.utils.functional import cached_property

from ai_eval.admin.base import EvalAdmin
from ai_eval.admin.words import Sign
from ai_eval.datasets.catalogue import Catalogue, Entry, Group, dataset_catalogue, dataset_entry
from ai_eval.datasets.files import dataset_directory
from ai_eval.datasets.readings import Reading, read, read_at_once
from ai_eval.datasets.sources import DatabaseSource
from ai_eval.errors import DatasetError
from ai_eval.models import Dataset
from ai_eval.permissions import ADMINISTER, allowed
from ai_eval.text import clean_text

PER_PAGE = 50
PROBLEMS_SHOWN = 3
TARGETS_SHOWN = 5

MISSING = Sign("missing", "bad", "triangle")
UNREAD = Sign("not read yet", "idle", "ring")
INVALID = Sign("invalid", "bad", "cross")
EMPTY = Sign("no questions", "unsure", "ring")
DISABLED = Sign("every question is disabled", "unsure", "ring")
DOUBTFUL = Sign("valid, with warnings", "unsure", "question")
VALID = Sign("valid", "good", "check")


def dataset_sign(reading: Reading) -> Sign:
    """What a dataset that was read is good for."""
    if reading.problems:
        return INVALID
    if not reading.questions:
        return EMPTY
    if reading.disabled == reading.questions:
        return DISABLED
    return DOUBTFUL if reading.warnings else VALID


@dataclass(frozen=True)
class Line:
    """One dataset as the list shows it; `reading` is None where it was not read."""

    entry: Entry
    reading: Reading | None
    pk: int | None = None

    @property
    def sign(self) -> Sign:
        if self.entry.missing or (self.reading and self.reading.problems and not self.entry.listed):
            return MISSING
        return dataset_sign(self.reading) if self.reading else UNREAD

    @property
    def is_unread(self) -> bool:
        return self.reading is None and not self.entry.missing

    @property
    def label(self) -> str:
        return (self.reading.label if self.reading else "") or self.entry.label

    @property
    def query(self) -> str:
        return urlencode({"source": self.entry.source, "reference": self.entry.reference})

    @cached_property
    def problems(self) -> Sequence[str]:
        if self.entry.missing:
            return [self.entry.missing]
        return self.reading.problems if self.reading else ()

    @property
    def problems_shown(self) -> Sequence[str]:
        return self.problems[:PROBLEMS_SHOWN]

    @property
    def has_more_problems(self) -> bool:
        """Their number is not known: who finds more than twenty tells only how many are left out."""
        return len(self.problems) > len(self.problems_shown)

    @property
    def targets_shown(self) -> Sequence[Any]:
        return self.entry.targets[:TARGETS_SHOWN]

    @property
    def targets_left(self) -> int:
        return len(self.entry.targets) - len(self.targets_shown)


class DatasetListPage(EvalAdmin):
    def get_urls(self) -> list[URLPattern]:
        return [self.route("state/", "dataset_state", self.state_view), *super().get_urls()]

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Datasets by source, a page at a time; of each page only what is quickly read is read."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        wanted = clean_text(request.GET.get("q", "")).strip()
        catalogue = dataset_catalogue()
        page = _page(catalogue, wanted, request.GET.get("p", "1"))
        lines = _lines([entry for _, entry in page])
        return self.page(
            request,
            "ai_eval/datasets/list.html",
            "Datasets",
            missing=[line for line in lines if line.entry.missing],
            sections=_sections(catalogue, page, lines, wanted),
            page=page,
            wanted=wanted,
            directory=_directory(),
            may_edit=allowed(request.user, ADMINISTER),
        )

    def state_view(self, request: HttpRequest) -> HttpResponse:
        """One line of the list, with the dataset read whatever it takes."""
        source = clean_text(request.GET.get("source", ""))
        reference = clean_text(request.GET.get("reference", ""))
        try:
            entry = dataset_entry(source, reference)
        except DatasetError as error:
            return HttpResponse(str(error), status=404, content_type="text/plain")
        reading = read(source, reference)
        if reading.problems and not entry.listed and not entry.targets:
            return HttpResponse("\n".join(reading.problems), status=404, content_type="text/plain")
        line = Line(entry, reading, _keys([entry]).get(reference))
        return self.fragment(
            request, "ai_eval/datasets/line.html", line=line, may_edit=allowed(request.user, ADMINISTER)
        )


def _page(catalogue: Catalogue, wanted: str, number: str) -> Page[tuple[Group | None, Entry]]:
    entries: list[tuple[Group | None, Entry]] = [(None, entry) for entry in catalogue.missing]
    entries += [(group, entry) for group in catalogue.groups for entry in group.entries]
    folded = wanted.casefold()
    if folded:
        entries = [
            (group, entry)
            for group, entry in entries
            if folded in entry.reference.casefold() or folded in entry.label.casefold()
        ]
    return Paginator(entries, PER_PAGE).get_page(number)


def _lines(entries: Sequence[Entry]) -> list[Line]:
    there = [entry for entry in entries if not entry.missing]
    readings = read_at_once([(entry.source, entry.reference) for entry in there])
    keys = _keys(there)
    return [
        Line(
            entry,
            readings.get((entry.source, entry.reference)),
            keys.get(entry.reference) if entry.source == DatabaseSource.id else None,
        )
        for entry in entries
    ]


def _keys(entries: Sequence[Entry]) -> Mapping[str, int]:
    """Primary keys of the datasets of the database among them."""
    slugs = [entry.reference for entry in entries if entry.source == DatabaseSource.id]
    return dict(Dataset.objects.filter(slug__in=slugs).values_list("slug", "pk")) if slugs else {}


def _sections(
    catalogue: Catalogue, page: Page[tuple[Group | None, Entry]], lines: Sequence[Line], wanted: str
) -> list[dict[str, Any]]:
    """The sources that this page shows, each with its lines; on the first page those without any, too."""
    shown = {
        group.source: [line for _, line in pairs]
        for group, pairs in groupby(zip(page, lines, strict=True), key=lambda pair: pair[0][0])
        if group is not None
    }
    return [
        {"group": group, "lines": shown.get(group.source, [])}
        for group in catalogue.groups
        if group.source in shown or (page.number == 1 and not wanted)
    ]


def _directory() -> str:
    try:
        return str(dataset_directory())
    except DatasetError:
        return ""
