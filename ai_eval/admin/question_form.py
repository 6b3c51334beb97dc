"""The form of one question: checked on save by the function that every import goes through."""

import json
import re
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Max

from ai_eval.configuration.writing import question_fields, same
from ai_eval.datasets.json_text import read_json
from ai_eval.datasets.loading import dataset_hash
from ai_eval.datasets.placed import plain
from ai_eval.datasets.rows import validate_rows
from ai_eval.errors import DatasetError
from ai_eval.models import Dataset, Question
from ai_eval.wording import listed, quoted, shown

OWN_KEYS = ("id", "input", "messages", "enabled")
"""Keys of a row that have a field of their own."""
FIELD_OF_KEY = {"id": "key", "input": "input", "messages": "messages", "enabled": "enabled"}
PLACE = "question"

_LINE_END = re.compile("\r\n?|\n")


class VerbatimField(forms.CharField):
    """Text as it came: nothing stripped, and line ends that only a browser rewrote are no change."""

    widget = forms.Textarea(attrs={"rows": 6, "class": "vLargeTextField"})

    def __init__(self, **options: Any) -> None:
        super().__init__(strip=False, **options)

    def to_python(self, value: Any) -> str:
        return _LINE_END.sub("\n", super().to_python(value) or "")

    def has_changed(self, initial: Any, data: Any) -> bool:
        return _LINE_END.sub("\n", initial or "") != _LINE_END.sub("\n", data or "")


class JSONTextField(VerbatimField):
    """Strict JSON, read as a dataset file is; what is empty is None. `initial` is the text."""

    widget = forms.Textarea(
        attrs={"rows": 10, "class": "vLargeTextField ae-code", "spellcheck": "false", "autocomplete": "off"}
    )

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        if not text.strip():
            return None
        try:
            return read_json(text, "JSON")
        except DatasetError as error:
            raise ValidationError(error.problems) from error


def json_text(value: Any) -> str:
    """As the form shows it; nothing for what holds nothing."""
    return json.dumps(value, ensure_ascii=False, indent=2) if value not in (None, {}) else ""


def state_of(question: Question) -> str:
    """What tells one state of a question from another: it has no time of change of its own."""
    return dataset_hash(
        [
            {
                "row": [question.key, question.input, question.messages, question.data],
                "position": question.position,
                "enabled": question.enabled,
            }
        ]
    )


class QuestionForm(forms.ModelForm):
    """Refuses to overwrite what it did not show, as `GuardedForm` does. Validate it in a transaction."""

    seen = forms.CharField(required=False, widget=forms.HiddenInput)
    overwrite = forms.CharField(required=False, widget=forms.HiddenInput)
    input = VerbatimField(
        required=False,
        label="Input",
        help_text="The question as it is asked. Leave it empty where there are messages.",
    )
    messages = JSONTextField(
        required=False,
        label="Messages (several turns)",
        help_text='Instead of input, as JSON: [{"role": "user", "content": "…"}, …]. '
        "The last turn is the user's: it is what is asked.",
    )
    # Declared fields are collected: `self.data` stays what was posted.
    data = JSONTextField(  # type: ignore[assignment]
        required=False,
        label="Further keys",
        help_text='As JSON: {"criteria": "…", "expected_facts": ["…"], "split": "test", "tags": ["…"]}. '
        "Also expected, must_not_contain, expected_tools, rubric_ref, bundle, metadata, and your own keys.",
    )

    class Meta:
        model = Question
        fields = ["dataset", "key", "position", "enabled", "input", "messages", "data"]
        help_texts = {
            "key": "Unique in its dataset.",
            "position": "Questions are asked in this order. Empty: at the end.",
            "enabled": "A question that is not enabled is left out of runs.",
        }

    conflict = ""
    """The state that would be overwritten, once validation has found one."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.warnings: list[str] = []
        self.fields["position"].required = False
        if self.instance.pk is None:
            self.initial.pop("position", None)
            self.fields["position"].initial = None
        else:
            self.initial["seen"] = state_of(self.instance)
        for name in ("messages", "data"):
            given = self.initial.get(name)
            if self.instance.pk is not None or not isinstance(given, str):
                self.initial[name] = json_text(given)

    def clean_input(self) -> str:
        """What was not edited keeps the line ends that it came with."""
        edited: str = self.cleaned_data["input"]
        stored = self.initial.get("input", "")
        return edited if self.fields["input"].has_changed(stored, edited) else stored

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean() or self.cleaned_data
        dataset = self._locked_dataset()
        if dataset is None:
            return cleaned
        if self.instance.pk is not None:
            self._guard()
        key = cleaned.get("key")
        if key and dataset.questions.filter(key=key).exclude(pk=self.instance.pk).exists():
            self.add_error("key", f"is taken by another question of {quoted(str(dataset))}; ids are unique")
        if not self.errors:
            cleaned |= self._checked(cleaned)
        if "position" in cleaned and cleaned["position"] is None:
            last = dataset.questions.exclude(pk=self.instance.pk).aggregate(last=Max("position"))["last"]
            cleaned["position"] = (last or 0) + 1
        return cleaned

    def _locked_dataset(self) -> Dataset | None:
        """Whoever adds to one dataset at the same moment waits, so that ids stay unique."""
        pk = self.instance.dataset_id or getattr(self.cleaned_data.get("dataset"), "pk", None)
        if pk is None:
            return None
        dataset = Dataset.objects.select_for_update().filter(pk=pk).first()
        if dataset is None:
            raise ValidationError("Its dataset was deleted meanwhile, and it can't be saved.", code="deleted")
        return dataset

    def _guard(self) -> None:
        stored = Question.objects.select_for_update().filter(pk=self.instance.pk).first()
        if stored is None:
            raise ValidationError("It was deleted meanwhile, and can't be saved.", code="deleted")
        state = state_of(stored)
        given = self.cleaned_data
        if state in (given.get("seen"), given.get("overwrite")):
            return
        self.conflict = state
        differing = [
            f"{self.fields[name].label} is {shown(getattr(stored, name))} there"
            for name in ("key", "position", "enabled", "input", "messages", "data")
            if name in given and not same(getattr(stored, name) or "", plain(given[name]) or "")
        ]
        what = f" What differs from yours: {listed(differing)}." if differing else ""
        raise ValidationError(
            f"Somebody saved this after you opened it, and nothing of yours is saved yet.{what}",
            code="lost_update",
        )

    def _checked(self, given: dict[str, Any]) -> dict[str, Any]:
        """The columns of the row; what is wrong with it is told at its field."""
        data = {} if given["data"] is None else given["data"]
        if not isinstance(data, dict):
            self.add_error("data", f"is {shown(data)}, must be a mapping of keys: {{…}}")
            return {}
        for key in OWN_KEYS:
            if key in data:
                self.add_error("data", f"{quoted(key)} has a field of its own above")
        row = {"id": given["key"], "enabled": given["enabled"], **data}
        row |= {name: given[name] for name in ("input", "messages") if given[name]}
        try:
            loaded = validate_rows({"questions": [row]}, PLACE)
        except DatasetError as error:
            for problem in error.problems:
                field, said = _placed(problem, given["key"])
                self.add_error(field, said)
            return {}
        self.warnings = [_placed(warning, given["key"])[1] for warning in loaded.warnings]
        return question_fields(loaded.rows[0])


def _placed(problem: str, id: str) -> tuple[str, str]:
    """The field that a problem belongs to, and the problem without what the form shows anyway."""
    for question in (f"question {quoted(id)} (1st)", "1st question"):
        before = f'{PLACE}, {question}, key "'
        if problem.startswith(before):
            key, _, said = problem.removeprefix(before).partition('": ')
            field = FIELD_OF_KEY.get(re.split(r"[.\[]", key, maxsplit=1)[0], "data")
            return field, said if FIELD_OF_KEY.get(key) else f"{key} {said}"
    return "data", problem
