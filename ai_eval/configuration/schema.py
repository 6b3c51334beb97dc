"""Which keys the document has, what each may be, and which field of a model it is."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Field as ModelField
from django.db.models import Model

from ai_eval.configuration.reading import Read, choice, flag, mapping, names, number, slug, text, whole
from ai_eval.models import Dataset, EvalSettings, JudgeSettings, Target

LARGEST = 2_147_483_647
"""What every database takes as an integer."""

SECTIONS = ("settings", "targets", "judges", "rubrics", "failure_modes", "datasets")
LATER_SECTIONS = ("rubrics", "failure_modes")


@dataclass(frozen=True)
class Key:
    """One key of an object. `default` is what an absent or null one means."""

    name: str
    read: Read
    default: Any = ""
    attribute: str = ""

    @property
    def field(self) -> str:
        return self.attribute or self.name


def _length(model: type[Model], name: str) -> int | None:
    field = model._meta.get_field(name)
    return field.max_length if isinstance(field, ModelField) else None


def _target_text(name: str) -> Key:
    return Key(name, text(_length(Target, name)))


TARGET_KEYS: tuple[Key, ...] = (
    Key("id", slug, attribute="slug"),
    Key("label", text(_length(Target, "label"))),
    Key("enabled", flag, True),
    Key("mode", choice(*Target.Mode.values)),
    _target_text("agent"),
    _target_text("environment"),
    _target_text("model"),
    _target_text("api_base"),
    Key("system_prompt", text()),
    Key("parameters", mapping, {}),
    _target_text("replies"),
    Key("graders", names, []),
    Key("required", names, None),
    Key("trials", whole(1, 100), 1),
    Key("pass_threshold", number(0, 5), None),
    Key("max_error_rate", number(0, 1), 0.1),
    Key("response_char_limit", whole(1, LARGEST), None),
    Key("time_limit", number(0.1), None),
    Key("demand_trust", choice(*(value for value in Target.DemandTrust.values if value)), ""),
)
"""Those with a field of their own; `dataset` and `gate` are mappings beside them."""

REQUIRED_TARGET_KEYS = ("id", "mode", "dataset", "graders")
TARGET_NESTED: Mapping[str, tuple[Key, ...]] = {
    "dataset": (
        Key("source", text(_length(Target, "dataset_source")), attribute="dataset_source"),
        Key("reference", text(_length(Target, "dataset_reference")), attribute="dataset_reference"),
    ),
    "gate": (
        Key("metric", choice(*Target.Metric.values), "pass_rate", "gate_metric"),
        Key("threshold", number(), None, "gate_threshold"),
        Key("type", choice(*Target.GateType.values), "hard", "gate_type"),
    ),
}
KEY_OF_FIELD = {
    **{key.field: key.name for key in TARGET_KEYS},
    **{key.field: f"{name}.{key.name}" for name, keys in TARGET_NESTED.items() for key in keys},
}
"""How the document calls a field of a target."""

REQUIRED_NESTED = {"dataset": ("source", "reference"), "gate": ("threshold",)}
TARGET_LATER = ("budget",)

JUDGE_KEYS: tuple[Key, ...] = (
    Key("grader", text(_length(JudgeSettings, "grader"))),
    Key("model", text(_length(JudgeSettings, "model"))),
    Key("api_base", text(_length(JudgeSettings, "api_base"))),
    Key("prompt", text()),
    Key("parameters", mapping, {}),
)

DATASET_KEYS: tuple[Key, ...] = (
    Key("id", slug, attribute="slug"),
    Key("label", text(_length(Dataset, "label"))),
    Key("fixtures", names, []),
)

SETTINGS_KEYS: tuple[Key, ...] = (
    Key("dataset_path", text(_length(EvalSettings, "dataset_path")), None),
    Key("judge_model", text(_length(EvalSettings, "judge_model")), None),
    Key("judge_api_base", text(_length(EvalSettings, "judge_api_base")), None),
    Key("question_pass_threshold", number(0, 5), None),
    Key("response_char_limit", whole(1, LARGEST), None),
    Key("rate_limit_max_retries", whole(0, 20), None),
    Key("rate_limit_base_delay", number(0), None),
    Key("rate_limit_delay_between_calls", number(0), None),
)

SETTINGS_LATER = (
    "results_path",
    "proposer_model",
    "proposer_api_base",
    "improvement_margin",
    "max_optimization_attempts",
    "optimizer_candidate_runs",
    "optimizer_min_dataset_size",
    "require_review",
    "cochran_confidence",
    "cochran_margin_of_error",
    "export_envelope_on_complete",
    "gold_target_n",
)
SETTINGS_OTHERWISE = {
    "judge_provider": "is not known: judge_model holds both, as provider/model",
    "proposer_provider": "is not known: proposer_model would hold both, and is not in this version",
    "judge_response_char_limit": "is not known: response_char_limit is what a judge sees",
}
