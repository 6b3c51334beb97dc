"""The form of a target: its fields, what can be chosen in them, and what is wrong with what was chosen."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django import forms
from django.contrib.admin.widgets import AdminTextareaWidget, AdminTextInputWidget
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Count

from ai_eval import agents, environments
from ai_eval.admin.lost_update import GuardedForm
from ai_eval.configuration.advice import field_problems, vanished
from ai_eval.configuration.reading import Wrong, mapping
from ai_eval.configuration.schema import LARGEST, TARGET_NESTED
from ai_eval.configuration.validation import OWN_FIELDS
from ai_eval.datasets import registry as sources
from ai_eval.datasets.files import files_with
from ai_eval.datasets.json_text import read_json
from ai_eval.datasets.replies import REPLY_ENDINGS
from ai_eval.errors import DatasetError, EvalError
from ai_eval.failures import described
from ai_eval.models import Question, Target, effective_settings
from ai_eval.registries import ClassRegistry
from ai_eval.wording import listed, one_line, printable

Choices = list[tuple[str, str]]
NO_GATE = "none"


def registered_choices(registry: ClassRegistry[Any], stored: str, nothing: str) -> Choices:
    """What is registered, and what the target names although it is registered no more."""
    found = [(id, f"{declared.label} ({id})") for id, declared in registry.all().items()]
    gone = [(stored, missing_label(stored))] if stored and registry.get(stored) is None else []
    return [("", nothing), *gone, *found]


def missing_label(name: str) -> str:
    return f"{printable(name)}: missing, no app registers it any more"


@dataclass(frozen=True)
class DatasetChoices:
    """`groups` are source labels with their datasets; `pairs` says which source and reference a value is."""

    groups: Sequence[tuple[str, Choices]]
    pairs: Mapping[str, tuple[str, str]]
    problems: Sequence[str] = field(default_factory=tuple)


def dataset_value(source: str, reference: str) -> str:
    return f"{source}:{reference}" if source or reference else ""


def dataset_choices(source: str = "", reference: str = "") -> DatasetChoices:
    """All datasets of all sources; a stored one that is not among them stands first, as missing."""
    groups: list[tuple[str, Choices]] = []
    pairs: dict[str, tuple[str, str]] = {}
    problems = []
    for id, declared in sources.all().items():
        try:
            listing = [(str(name), str(label)) for name, label in declared().references()]
        except EvalError as error:
            problems += error.problems
            continue
        except Exception as error:  # noqa: BLE001 - an app's own source may raise anything, and the page must open
            problems.append(f"the dataset source {id} can't list its datasets: {described(error)}")
            continue
        counts = _counts() if id == "database" else {}
        group = [(dataset_value(id, name), _dataset_label(name, label, counts)) for name, label in listing]
        pairs |= {dataset_value(id, name): (id, name) for name, _ in listing}
        if group:
            groups.append((str(declared.label), group))
    stored = dataset_value(source, reference)
    if stored and stored not in pairs:
        pairs[stored] = (source, reference)
        groups.insert(0, ("Missing", [(stored, f"{one_line(stored)}: missing")]))
    return DatasetChoices(groups, pairs, problems)


def _counts() -> dict[str, int]:
    """Questions of each dataset of the database."""
    return dict(Question.objects.order_by().values_list("dataset__slug").annotate(n=Count("pk")))


def _dataset_label(name: str, label: str, counts: Mapping[str, int]) -> str:
    shown = label if label in ("", name) else f"{one_line(label)} ({one_line(name)})"
    count = counts.get(name)
    return (
        f"{shown or one_line(name)}, {count} question{'' if count == 1 else 's'}" if count else shown or name
    )


def reply_choices(stored: str) -> tuple[Choices, list[str]]:
    """The files of recorded replies, and what is wrong with the directory."""
    problems: list[str] = []
    try:
        names = files_with(REPLY_ENDINGS)
    except DatasetError as error:
        names, problems = [], error.problems
    gone = [(stored, f"{one_line(stored)}: missing")] if stored and stored not in names else []
    return [("", "Choose a file"), *gone, *((name, name) for name in names)], problems


class NamesField(forms.Field):
    """Ids of ticked checkboxes, each once, in the order of the page."""

    widget = forms.SelectMultiple

    def to_python(self, value: Any) -> list[str]:
        return list(dict.fromkeys(str(each) for each in value or ()))

    def has_changed(self, initial: Any, data: Any) -> bool:
        return sorted(self.to_python(initial)) != sorted(self.to_python(data))


class ParametersField(forms.JSONField):
    """A JSON object, read as strictly as a dataset is."""

    widget = AdminTextareaWidget

    def bound_data(self, data: Any, initial: Any) -> Any:
        """What was typed: Django's own reading of it fails on long numbers and deep nesting."""
        return data

    def prepare_value(self, value: Any) -> str:
        if isinstance(value, str):
            return value
        return json.dumps(value, ensure_ascii=False, indent=2) if value else ""

    def to_python(self, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        if not value.strip():
            return {}
        try:
            return mapping(read_json(value.strip(), "JSON"))
        except DatasetError as error:
            raise ValidationError(list(error.problems), code="invalid") from error
        except Wrong as wrong:
            raise ValidationError(
                'It %(problem)s, such as {"temperature": 0.2}.', params={"problem": wrong}
            ) from wrong

    def has_changed(self, initial: Any, data: Any) -> bool:
        try:
            return bool((initial or {}) != self.to_python(data))
        except ValidationError:
            return True


class TargetForm(GuardedForm):
    """A target. What belongs to another mode, or to no gate, is cleared; `cleared` names it."""

    required_css_class = "required"

    mode = forms.ChoiceField(
        label="Mode",
        choices=[
            (Target.Mode.AGENT.value, "Agent: one of this site's own, which may act"),
            (Target.Mode.CHAT.value, "Chat: a model with a prompt"),
            (Target.Mode.RECORDED.value, "Recorded: replies from a file; nothing is asked"),
        ],
        widget=forms.RadioSelect,
        initial=Target.Mode.AGENT,
    )
    agent = forms.ChoiceField(label="Agent", required=False)
    environment = forms.ChoiceField(
        label="Environment",
        required=False,
        help_text="What the agent acts on: put on a known start state for each answer.",
    )
    replies = forms.ChoiceField(
        label="Recorded replies",
        required=False,
        help_text="A JSONL or CSV file of the dataset directory: question_id, trial, response, tool_calls.",
    )
    parameters = ParametersField(
        label="Parameters",
        required=False,
        help_text='How the model decodes, as a JSON object: {"temperature": 0.2, "max_tokens": 500}.',
    )
    dataset = forms.ChoiceField(label="Dataset", error_messages={"required": "Choose a dataset."})
    graders = NamesField(label="Graders", required=False)
    required = NamesField(label="Required", required=False)
    required_default = forms.BooleanField(
        label="Use the default: the ticked ones that observe actions", required=False
    )
    response_char_limit = forms.IntegerField(
        label="Response limit", required=False, min_value=1, max_value=LARGEST
    )
    gate_type = forms.ChoiceField(
        label="Gate",
        choices=[
            (NO_GATE, "No gate: nothing can fail"),
            (Target.GateType.HARD.value, "Hard: a failed gate fails the run command, and with it a CI job"),
            (Target.GateType.SOFT.value, "Soft: a failed gate warns"),
        ],
        widget=forms.RadioSelect,
        initial=NO_GATE,
    )

    class Meta:
        model = Target
        fields = (
            *("label", "slug", "enabled", "mode", "agent", "environment", "model", "api_base"),
            *("system_prompt", "replies", "graders", "required", "gate_type", "gate_metric"),
            *("gate_threshold", "trials", "pass_threshold", "max_error_rate", "response_char_limit"),
            *("time_limit", "parameters", "demand_trust"),
        )
        widgets = {
            "label": AdminTextInputWidget,
            "slug": AdminTextInputWidget,
            "model": AdminTextInputWidget,
            "api_base": AdminTextInputWidget,
            "system_prompt": AdminTextareaWidget,
        }
        help_texts = {
            "label": "What people read. Empty: the id.",
            "slug": "The public identifier in files, on the command line and in reports: letters, digits, "
            "hyphens, underscores. Runs keep the id that they were launched under.",
            "enabled": "A disabled target can't be launched.",
            "model": "A LiteLLM model string, such as openai/gpt-4.1-mini.",
            "api_base": "An endpoint of your own; empty: the provider's. Keys come from the environment.",
            "system_prompt": "Sent before each question; empty: none.",
            "gate_metric": "Pass rate: the share of answers that pass. Average score: from 0 to 5.",
            "gate_threshold": "From 0 to 1 for the pass rate, from 0 to 5 for the average score.",
            "trials": "How often each question is asked, up to 100.",
            "max_error_rate": "Share of answers, 0 to 1, that may miss something before nothing is decided.",
            "demand_trust": "What every judge must be, or the gate is undecided.",
        }
        labels = {
            "api_base": "Address",
            "gate_metric": "Metric",
            "gate_threshold": "Threshold",
            "max_error_rate": "Largest share missing",
            "demand_trust": "Trust demanded of judges",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        target: Target = self.instance
        self.cleared: list[str] = []
        self.standing: list[str] = []
        self.datasets = dataset_choices(target.dataset_source, target.dataset_reference)
        self._choose("agent", registered_choices(agents.registry, target.agent, "Choose an agent"))
        self._choose("environment", registered_choices(environments.registry, target.environment, "None"))
        choices, self.reply_problems = reply_choices(target.replies)
        self._choose("replies", choices)
        self._choose("dataset", [("", "Choose a dataset"), *self.datasets.groups])
        if dataset := dataset_value(target.dataset_source, target.dataset_reference):
            self.initial["dataset"] = dataset
        self.initial["required_default"] = target.required is None
        if target.gate_threshold is None:
            self.initial["gate_type"] = NO_GATE
        self.fields["label"].required = False
        self._tell_defaults()
        self.gone = vanished(target) if target.pk is not None or target.slug else []

    def _tell_defaults(self) -> None:
        site = effective_settings()
        self.fields["pass_threshold"].help_text = (
            "Score, 0 to 5, from which an answer passes. "
            f"Empty: the site's, now {site.question_pass_threshold:g}."
        )
        self.fields["response_char_limit"].help_text = (
            "Characters of a response that a judge sees; what is stored is never cut. "
            f"Empty: the site's, now {site.response_char_limit}."
        )
        self.fields[
            "time_limit"
        ].help_text = f"Seconds that an answer may take. Empty: the site's, now {site.time_limit:g}."

    def _choose(self, name: str, choices: Sequence[Any]) -> None:
        chosen = self.fields[name]
        assert isinstance(chosen, forms.ChoiceField)
        chosen.choices = choices

    def clean_dataset(self) -> str:
        value = str(self.cleaned_data["dataset"])
        for key, part in zip(TARGET_NESTED["dataset"], self.datasets.pairs[value], strict=True):
            try:
                key.read(part)
            except Wrong as wrong:
                raise ValidationError(f"Its {key.name} {wrong}.", code="invalid") from wrong
        return value

    def clean_graders(self) -> list[str]:
        """Those that are stored keep their order; the others follow in that of the page."""
        ticked: list[str] = self.cleaned_data["graders"]
        kept = [id for id in self.instance.graders if id in ticked]
        return [*kept, *(id for id in ticked if id not in kept)]

    def clean(self) -> dict[str, Any] | None:
        data = self.cleaned_data
        self._clear_other_modes(data)
        self._clean_gate(data)
        self._clean_required(data)
        data["label"] = data.get("label") or data.get("slug", "")
        return super().clean()

    def _clear_other_modes(self, data: dict[str, Any]) -> None:
        mode = data.get("mode")
        for own, names in OWN_FIELDS.items():
            for name in names if mode and own != mode else ():
                self.errors.pop(name, None)
                if data.get(name):
                    self.cleared.append(f"{self.fields[name].label} ({own} mode)")
                data[name] = {} if name == "parameters" else ""

    def _clean_gate(self, data: dict[str, Any]) -> None:
        if data.get("gate_type") == NO_GATE:
            for name in ("gate_metric", "gate_threshold"):
                self.errors.pop(name, None)
            # Without a threshold there is no gate; its metric and type stay, as they do in an import.
            data["gate_threshold"] = None
            data["gate_metric"], data["gate_type"] = self.instance.gate_metric, self.instance.gate_type
        elif "gate_threshold" in data and data["gate_threshold"] is None:
            self.add_error("gate_threshold", "A gate needs a threshold; or choose no gate.")

    def _clean_required(self, data: dict[str, Any]) -> None:
        required = data.get("required") or []
        if not data.get("required_default"):
            data["required"] = required
        elif required:
            self.add_error(
                "required",
                f"Untick “Use the default”, or these: {listed(required)}. It can't be both.",
            )
        else:
            data["required"] = None

    def _post_clean(self) -> None:
        source, reference = self.datasets.pairs.get(self.cleaned_data.get("dataset", ""), ("", ""))
        if source:
            self.instance.dataset_source, self.instance.dataset_reference = source, reference
        super()._post_clean()  # type: ignore[misc]
        if "mode" in self.errors:
            return
        for each in field_problems(self.instance):
            if each.field in self.errors:
                continue
            if each.text in self.gone:
                # What the site took away stops nobody from saving, or from disabling, the target.
                self.standing.append(each.text)
            else:
                self.add_error(each.field if each.field in self.fields else None, each.text)

    def _told(self, stored: models.Model) -> str:
        told = super()._told(stored)
        assert isinstance(stored, Target)
        there = dataset_value(stored.dataset_source, stored.dataset_reference)
        differs = "dataset" in self.cleaned_data and self.cleaned_data["dataset"] != there
        return f"{told} Dataset is {one_line(there)} there." if differs else told

    @property
    def listing_problems(self) -> Iterable[tuple[str, str]]:
        """Fields whose choices could not be listed, each with the reason."""
        yield from (("dataset", text) for text in self.datasets.problems)
        yield from (("replies", text) for text in self.reply_problems)


class Preview(TargetForm):
    """The form in mid-edit, bound to a copy: it locks nothing, and what is unique is not looked up."""

    def validate_unique(self) -> None:
        pass
