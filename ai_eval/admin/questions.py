"""The questions of the datasets in the database: list and form."""

import json
import re
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import ERROR_FLAG, ChangeList
from django.db import transaction
from django.db.models import Q, QuerySet, TextField
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Cast, Left
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.http import urlencode
from django.utils.translation import ngettext

from ai_eval.admin.base import EvalAdmin
from ai_eval.admin.question_form import QuestionForm
from ai_eval.datasets.sources import DatabaseSource
from ai_eval.models import Dataset, Question

START = 160
"""Characters of a question that the list shows."""
SEARCH_LIMIT = 200
NAMED_WHEN_DELETED = 20
LOOKUPS = ("dataset__id__exact", "enabled__exact", "turns")
DIGITS = re.compile("[0-9]{1,18}")


class TurnsFilter(admin.SimpleListFilter):
    title = "turns"
    parameter_name = "turns"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("single", "single-turn"), ("multi", "multi-turn")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Question]) -> QuerySet[Question]:
        if self.value() in ("single", "multi"):
            return queryset.filter(messages__isnull=self.value() == "single")
        return queryset


class QuestionList(ChangeList):
    """Fetches the start of each question instead of rows that may have a megabyte."""

    def get_queryset(self, *args: Any, **kwargs: Any) -> QuerySet[Question]:
        first = KeyTextTransform("content", KeyTransform(0, "messages"))
        return (
            super()
            .get_queryset(*args, **kwargs)
            .defer("input", "messages", "data")
            .annotate(
                start=Left("input", START + 1),
                first_turn=Left(first, START + 1),
                several=Q(messages__isnull=False),
                split=KeyTextTransform("split", "data"),
            )
        )


@admin.register(Question)
class QuestionAdmin(EvalAdmin):
    form = QuestionForm
    change_form_template = "ai_eval/datasets/question_form.html"
    change_list_template = "ai_eval/datasets/question_list.html"
    list_display = ["key", "asked", "turns", "split_name", "enabled", "dataset"]
    list_filter = ["dataset", TurnsFilter, "enabled"]
    list_select_related = ["dataset"]
    list_per_page = 50
    ordering = ["dataset__label", "dataset__slug", "position", "pk"]
    search_fields = ["key"]
    search_help_text = "Text of the id, the question, its messages or its further keys, as it stands there."
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    fieldsets = [
        (None, {"fields": ["dataset", "key", "position", "enabled"]}),
        ("What is asked", {"fields": ["input", "messages"]}),
        ("What graders need to know", {"fields": ["data"]}),
    ]

    @admin.display(description="Question, or its first turn")
    def asked(self, question: Any) -> str:
        text = question.first_turn if question.several else question.start
        return f"{text[:START]}…" if len(text or "") > START else text

    @admin.display(description="Turns")
    def turns(self, question: Any) -> str:
        return "multi-turn" if question.several else "single-turn"

    @admin.display(description="Split", empty_value="none")
    def split_name(self, question: Any) -> str | None:
        return question.split

    def get_list_display(self, request: HttpRequest) -> Any:
        """The dataset where there may be several."""
        chosen = "dataset__id__exact" in request.GET
        return [name for name in self.list_display if not (chosen and name == "dataset")]

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return QuestionList

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest | None = None) -> bool:
        """Only what the filters ask for: any other lookup could be made to fail inside the database."""
        return lookup in LOOKUPS

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Question], search_term: str
    ) -> tuple[QuerySet[Question], bool]:
        """Questions that hold the text as it stands, upper and lower case alike."""
        if not search_term:
            return queryset, False
        if len(search_term) > SEARCH_LIMIT:
            self.message_user(
                request, f"A text to search for has at most {SEARCH_LIMIT} characters.", messages.ERROR
            )
            return queryset.none(), False
        found = Q(key__icontains=search_term) | Q(input__icontains=search_term)
        # One database keeps JSON with its escapes, another without.
        for ascii in (True, False):
            escaped = json.dumps(search_term, ensure_ascii=ascii)[1:-1]
            found |= Q(turns_text__icontains=escaped) | Q(data_text__icontains=escaped)
        texts = queryset.alias(turns_text=Cast("messages", TextField()), data_text=Cast("data", TextField()))
        return texts.filter(found), False

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if ERROR_FLAG in request.GET and request.method == "GET":
            said = "There is no such page or filter; these are all questions."
            self.message_user(request, said, messages.WARNING)
        chosen = request.GET.get("dataset__id__exact", "")
        dataset = Dataset.objects.filter(pk=chosen).first() if DIGITS.fullmatch(chosen) else None
        context = {**(extra_context or {}), "title": "Questions", "dataset": dataset}
        if dataset is not None:
            context |= {"title": f"Questions of {dataset}", "rows_query": _rows_query(dataset)}
        return super().changelist_view(request, context)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """The dataset as a plain select: the admin would wrap it in buttons that open windows."""
        if db_field.name == "dataset":
            return db_field.formfield(**kwargs)
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def get_readonly_fields(self, request: HttpRequest, obj: Question | None = None) -> list[str]:
        """A question stays in its dataset."""
        return ["dataset"] if obj is not None else []

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Who may only read is led to the page for reading."""
        if request.method == "GET" and object_id and self.has_view_permission(request):
            question = self.get_object(request, unquote(object_id))
            if question is not None:
                asked = _rows_query(question.dataset, question=question.key)
                url = f"{self.url('dataset_rows')}?{asked}"
                if not self.has_change_permission(request):
                    return HttpResponseRedirect(url)
                extra_context = {**(extra_context or {}), "rows_url": url}
        return super().changeform_view(request, object_id, form_url, extra_context)

    def save_model(self, request: HttpRequest, obj: Question, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        _touch(obj.dataset)
        for warning in form.warnings:
            self.message_user(request, f"Saved, but this may be a mistake: {warning}", messages.WARNING)

    def response_post_save_add(self, request: HttpRequest, obj: Question) -> HttpResponseRedirect:
        return self._to_its_list(request, obj) or super().response_post_save_add(request, obj)

    def response_post_save_change(self, request: HttpRequest, obj: Question) -> HttpResponseRedirect:
        return self._to_its_list(request, obj) or super().response_post_save_change(request, obj)

    def _to_its_list(self, request: HttpRequest, question: Question) -> HttpResponseRedirect | None:
        """The questions of its dataset, where the editor came from no list."""
        if self.get_preserved_filters(request):
            return None
        query = urlencode({"dataset__id__exact": question.dataset_id})
        return HttpResponseRedirect(f"{self.url('question_changelist')}?{query}")

    @transaction.atomic
    def delete_model(self, request: HttpRequest, obj: Question) -> None:
        obj.delete()
        _touch(obj.dataset)

    @transaction.atomic
    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Question]) -> None:
        datasets = list(Dataset.objects.filter(pk__in=queryset.order_by().values("dataset")))
        queryset.delete()
        for dataset in datasets:
            _touch(dataset)

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[Any], dict[str, int], set[Any], list[Any]]:
        """Named up to a number: nothing hangs on a question, so nothing else has to be looked for."""
        count = len(objs)
        names = [f"{each.dataset}: {each.key}" for each in objs[:NAMED_WHEN_DELETED]]
        more = [f"and {count - len(names)} more"] if count > len(names) else []
        return [*names, *more], {ngettext("question", "questions", count): count}, set(), []


def _touch(dataset: Dataset) -> None:
    """A dataset changes with its questions, as it does when one is imported."""
    dataset.save(update_fields=["changed_at"])


def _rows_query(dataset: Dataset, **more: str) -> str:
    return urlencode({"source": DatabaseSource.id, "reference": dataset.slug, **more})
