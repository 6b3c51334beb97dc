"""The questions of any dataset, whichever source it comes from, to be read."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern

from ai_eval.admin.base import EvalAdmin
from ai_eval.admin.dataset_list import MISSING, dataset_sign
from ai_eval.datasets.catalogue import Entry, dataset_entry
from ai_eval.datasets.readings import read, read_rows
from ai_eval.datasets.schema import KNOWN_KEYS
from ai_eval.datasets.sources import DatabaseSource
from ai_eval.errors import DatasetError
from ai_eval.models import Dataset, Question
from ai_eval.permissions import ADMINISTER, allowed
from ai_eval.text import clean_text, shorten
from ai_eval.wording import quoted

PER_PAGE = 50
TEXT_SHOWN = 1500
"""Characters of one text in the list; a question by itself is shown whole."""
ITEMS_SHOWN = 20

ASKED_KEYS = ("id", "input", "messages", "enabled", "split", "tags", "bundle")
"""Shown in the head of a question, or as what is asked."""

LABELS = {
    "criteria": "Criteria",
    "expected": "Expected",
    "expected_facts": "Expected facts",
    "must_not_contain": "Must not contain",
    "expected_tools": "Expected tools",
    "rubric_ref": "Rubric",
    "metadata": "Metadata",
}


@dataclass(frozen=True)
class ShownKey:
    """One key of a question: a text, or a list of texts of which `left` are not shown."""

    label: str
    text: str = ""
    items: Sequence[str] = ()
    left: int = 0
    is_json: bool = False


@dataclass(frozen=True)
class ShownQuestion:
    """A question as a reader sees it; `turns` are pairs of role and text, one where it has no roles."""

    id: str
    turns: Sequence[tuple[str, str]]
    turns_left: int
    marks: Sequence[str]
    disabled: bool
    keys: Sequence[ShownKey]
    url: str
    pk: int | None = None


class DatasetRowsPage(EvalAdmin):
    def get_urls(self) -> list[URLPattern]:
        return [self.route("rows/", "dataset_rows", self.rows_view), *super().get_urls()]

    def rows_view(self, request: HttpRequest) -> HttpResponse:
        """A page of questions, or the one that `question` names; what is wrong with the dataset above."""
        source = clean_text(request.GET.get("source", ""))
        reference = clean_text(request.GET.get("reference", ""))
        try:
            entry = dataset_entry(source, reference)
        except DatasetError as error:
            return self._not_there(request, str(error))
        dataset = Dataset.objects.filter(slug=reference).first() if source == DatabaseSource.id else None
        rows: _Rows
        if dataset is not None:
            reading, rows = read(source, reference), _StoredRows(dataset.questions.all())
        else:
            reading, loaded = read_rows(source, reference)
            rows = _Rows(loaded)
        if reading.problems and not entry.listed:
            return self._not_there(request, " ".join(reading.problems), entry)
        wanted = request.GET.get("question")
        if wanted is not None:
            rows = rows.only(clean_text(wanted))
            if not rows:
                said = f"The dataset has no question {quoted(wanted)}."
                return self._not_there(request, said, entry)
        page = Paginator(rows, PER_PAGE).get_page(request.GET.get("p", "1"))
        url = f"{self.url('dataset_rows')}?{_query(entry)}"
        return self.page(
            request,
            "ai_eval/datasets/rows.html",
            reading.label or entry.label,
            entry=entry,
            reading=reading,
            sign=dataset_sign(reading),
            dataset=dataset,
            page=page,
            shown=[_shown(each, url, whole=wanted is not None) for each in page],
            alone=wanted is not None,
            url=url,
            target_url=f"{self.url('target_add')}?{urlencode({'dataset': f'{source}:{reference}'})}",
            may_edit=allowed(request.user, ADMINISTER),
        )

    def _not_there(self, request: HttpRequest, said: str, entry: Entry | None = None) -> HttpResponse:
        return self.page(
            request,
            "ai_eval/datasets/not_there.html",
            "No such dataset",
            status=404,
            said=said,
            entry=entry,
            sign=MISSING,
        )


class _Rows(Sequence[Any]):
    """Rows in order, with the primary keys of those in the database; sliced as a paginator does."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, part: Any) -> Any:
        return [(row, None) for row in self.rows[part]]

    def only(self, id: str) -> "_Rows":
        return _Rows([row for row in self.rows if row.get("id") == id])


class _StoredRows(_Rows):
    """The same of a dataset of the database, of which only the page that is shown is fetched."""

    def __len__(self) -> int:
        return int(self.rows.count())

    def __getitem__(self, part: Any) -> Any:
        return [(_row(question), question.pk) for question in self.rows[part]]

    def only(self, id: str) -> "_StoredRows":
        return _StoredRows(self.rows.filter(key=id))


def _row(question: Question) -> Mapping[str, Any]:
    """Also of a question that no form or import would let through."""
    if isinstance(question.data, dict):
        return question.row()
    return {"id": question.key, "input": question.input, "data": question.data}


def _query(entry: Entry) -> str:
    return urlencode({"source": entry.source, "reference": entry.reference})


def _shown(row_and_pk: tuple[Mapping[str, Any], int | None], url: str, whole: bool) -> ShownQuestion:
    row, pk = row_and_pk
    limit = None if whole else TEXT_SHOWN
    id = str(row.get("id", ""))
    asked = _turns(row)
    turns = asked if whole else asked[:ITEMS_SHOWN]
    keys = [key for key in KNOWN_KEYS if key in row] + [key for key in row if key not in KNOWN_KEYS]
    tags = row.get("tags")
    marks = [f"{name} {row[name]}" for name in ("split", "bundle") if isinstance(row.get(name), str)]
    marks += [str(tag) for tag in tags[:ITEMS_SHOWN]] if isinstance(tags, list) else []
    return ShownQuestion(
        id=id,
        turns=[(role, _cut(text, limit)) for role, text in turns],
        turns_left=len(asked) - len(turns),
        marks=[shorten(mark, 100) for mark in marks],
        disabled=row.get("enabled", True) is False,
        keys=[_shown_key(key, row[key], limit) for key in keys if key not in ASKED_KEYS],
        url=f"{url}&{urlencode({'question': id})}",
        pk=pk,
    )


def _turns(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    messages = row.get("messages")
    if messages is None:
        return [("", str(row.get("input", "")))]
    if not isinstance(messages, list):
        return [("", _json(messages))]
    return [
        (str(each.get("role", "")), str(each.get("content", "")))
        if isinstance(each, Mapping)
        else ("", _json(each))
        for each in messages
    ]


def _shown_key(key: str, value: Any, limit: int | None) -> ShownKey:
    label = LABELS.get(key, key)
    if isinstance(value, str):
        return ShownKey(label, text=_cut(value, limit))
    if key in LABELS and isinstance(value, list):
        items = [_tool(each) if key == "expected_tools" else _text(each) for each in value]
        shown = items if limit is None else items[:ITEMS_SHOWN]
        return ShownKey(label, items=[_cut(each, limit) for each in shown], left=len(items) - len(shown))
    return ShownKey(label, text=_cut(_json(value, indent=2), limit), is_json=True)


def _tool(expected: Any) -> str:
    """`renew_loan with {"card": "C-1001"}, after look_up_patron, times 1`."""
    if not isinstance(expected, Mapping):
        return _text(expected)
    rest = {key: value for key, value in expected.items() if key not in ("name", "not", "args")}
    name = f"never {expected['not']}" if "not" in expected else str(expected.get("name", ""))
    args = f" with {_json(expected['args'])}" if "args" in expected else ""
    return name + args + "".join(f", {key} {_text(value)}" for key, value in rest.items())


def _text(value: Any) -> str:
    return value if isinstance(value, str) else _json(value)


def _json(value: Any, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _cut(text: str, limit: int | None) -> str:
    return text if limit is None else shorten(text, limit)
