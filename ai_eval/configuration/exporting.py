"""What the admin configures, as one YAML document."""

from collections.abc import Iterable
from typing import Any

from ai_eval.configuration.schema import (
    DATASET_KEYS,
    JUDGE_KEYS,
    SETTINGS_KEYS,
    TARGET_KEYS,
    TARGET_NESTED,
    Key,
)
from ai_eval.configuration.yaml_writing import write_yaml
from ai_eval.datasets.schema import KNOWN_KEYS
from ai_eval.models import Dataset, EvalSettings, JudgeSettings, Target
from ai_eval.text import clean_json

ORDER = (
    *("id", "label", "enabled", "mode", "agent", "environment", "model", "api_base", "system_prompt"),
    *("parameters", "replies", "dataset", "graders", "required", "trials", "gate"),
)
"""Of a target's keys; the others follow."""


def export_configuration() -> str:
    """The whole configuration as YAML, without what has its default, and without any key of a provider."""
    return write_yaml(configuration_document())


def configuration_document() -> dict[str, Any]:
    """The same as data. Sections without content are left out."""
    row = EvalSettings.objects.filter(pk=1).first()
    sections = {
        "settings": _entry(SETTINGS_KEYS, row) if row else {},
        "targets": [_target(target) for target in Target.objects.order_by("slug")],
        "judges": [_entry(JUDGE_KEYS, judge) for judge in JudgeSettings.objects.order_by("grader")],
        "datasets": [
            _dataset(dataset) for dataset in Dataset.objects.order_by("slug").prefetch_related("questions")
        ],
    }
    return {name: clean_json(content) for name, content in sections.items() if content}


def _entry(keys: Iterable[Key], instance: object) -> dict[str, Any]:
    values = {key.name: (getattr(instance, key.field), key.default) for key in keys}
    return {name: value for name, (value, default) in values.items() if value != default}


def _target(target: Target) -> dict[str, Any]:
    entry = _entry(TARGET_KEYS, target)
    if entry.get("label") == target.slug:
        del entry["label"]
    entry["dataset"] = {key.name: getattr(target, key.field) for key in TARGET_NESTED["dataset"]}
    gate = target.gate()
    if gate is not None:
        entry["gate"] = gate
    return {key: entry[key] for key in sorted(entry, key=lambda key: (key not in ORDER, _position(key)))}


def _position(key: str) -> int:
    return ORDER.index(key) if key in ORDER else 0


def _dataset(dataset: Dataset) -> dict[str, Any]:
    questions = [question.row() for question in dataset.questions.all()]
    return {**_entry(DATASET_KEYS, dataset), "questions": [_in_order(row) for row in questions]}


def _in_order(row: dict[str, Any]) -> dict[str, Any]:
    """Known keys as the documentation lists them, the others by name: databases keep JSON in any order."""
    known = [key for key in KNOWN_KEYS if key in row]
    return {key: row[key] for key in [*known, *sorted(key for key in row if key not in KNOWN_KEYS)]}
