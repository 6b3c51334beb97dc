"""Datasets: the list of all, the questions of any, and the form of those in the database."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.utils import unquote
from django.core.exceptions import ValidationError
from django.core.validators import ProhibitNullCharactersValidator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.html import format_html
from django.utils.http import urlencode

from ai_eval.admin import questions  # noqa: F401 - registers its model
from ai_eval.admin.dataset_list import DatasetListPage
from ai_eval.admin.dataset_rows import DatasetRowsPage
from ai_eval.admin.lost_update import GuardedForm, or_told
from ai_eval.datasets.sources import DatabaseSource
from ai_eval.models import Dataset, Question, Target
from ai_eval.wording import listed


def using_targets(slugs: Sequence[str]) -> QuerySet[Target]:
    """The targets that name datasets of the database by these ids."""
    return Target.objects.filter(dataset_source=DatabaseSource.id, dataset_reference__in=slugs)


class LinesField(forms.CharField):
    """A list of names, one a line."""

    widget = forms.Textarea(attrs={"rows": 3, "class": "vLargeTextField"})

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(str(each) for each in value) if isinstance(value, list) else value

    def to_python(self, value: Any) -> list[str]:  # type: ignore[override]
        ProhibitNullCharactersValidator()(value or "")
        return [line.strip() for line in str(value or "").splitlines() if line.strip()]

    def has_changed(self, initial: Any, data: Any) -> bool:
        return self.to_python(self.prepare_value(initial)) != self.to_python(data)


class DatasetForm(GuardedForm):
    fixtures = LinesField(
        required=False, help_text="Names that an environment loads before each answer, one a line."
    )

    class Meta:
        model = Dataset
        fields = ["slug", "label", "fixtures"]

    def clean_slug(self) -> str:
        slug: str = self.cleaned_data["slug"]
        before = self.initial.get("slug")
        if before and slug != before and (targets := list(using_targets([before])[:11])):
            names = listed([str(target) for target in targets])
            raise ValidationError(f"It can't change: {names} would no longer find the dataset.")
        return slug

    def clean_fixtures(self) -> list[str]:
        """What was not edited stays as it is stored."""
        stored = self.initial.get("fixtures", [])
        unchanged = not self.fields["fixtures"].has_changed(
            stored, self.data.get(self.add_prefix("fixtures"))
        )
        return stored if unchanged else self.cleaned_data["fixtures"]


@admin.register(Dataset)
class DatasetAdmin(DatasetListPage, DatasetRowsPage):
    form = DatasetForm
    fieldsets = [(None, {"fields": ["slug", "label", "fixtures"]})]
    change_form_template = "ai_eval/datasets/dataset_form.html"
    delete_confirmation_template = "ai_eval/datasets/delete.html"

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Who may only read is led to the page for reading."""
        dataset = self.get_object(request, unquote(object_id)) if object_id else None
        if dataset is not None:
            url = f"{self.url('dataset_rows')}?{rows_query(dataset)}"
            if request.method == "GET" and not self.has_change_permission(request):
                return HttpResponseRedirect(url)
            extra_context = {
                **(extra_context or {}),
                "rows_url": url,
                "question_count": dataset.questions.count(),
                "targets": using_targets([dataset.slug])[:20],
            }
        return or_told(partial(super().changeform_view, request, object_id, form_url, extra_context))

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[Any], dict[str, int], set[Any], list[Any]]:
        """Counted, not loaded. A dataset that a target uses is protected."""
        datasets = list(objs)
        count = Question.objects.filter(dataset__in=datasets).count()
        protected = [
            format_html('<a href="{}">{}</a>', self.url("target_change", target.pk), target)
            for target in using_targets([dataset.slug for dataset in datasets])
        ]
        return (
            [str(dataset) for dataset in datasets],
            {"datasets": len(datasets), "questions": count},
            set(),
            protected,
        )


def rows_query(dataset: Dataset) -> str:
    """The query string of the page that shows its questions."""
    return urlencode({"source": DatabaseSource.id, "reference": dataset.slug})
