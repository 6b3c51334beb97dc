"""Targets and documents for tests of the configuration."""

from typing import Any

import pytest

from ai_eval.configuration.importing import Report, import_configuration
from ai_eval.datasets.yaml_text import read_yaml
from ai_eval.errors import ConfigurationError
from ai_eval.models import Dataset, EvalSettings, JudgeSettings, Question, Target


def target(**fields: Any) -> Target:
    """A chat target that nothing is wrong with, not saved."""
    defaults: dict[str, Any] = {
        "slug": "help_desk",
        "label": "Help desk",
        "mode": "chat",
        "model": "openai/some-model",
        "graders": ["config_plain"],
        "dataset_source": "file",
        "dataset_reference": "riverside.yaml",
    }
    return Target(**{**defaults, **fields})


def entry(**keys: Any) -> dict[str, Any]:
    """The same as an entry of a document."""
    defaults: dict[str, Any] = {
        "id": "help_desk",
        "mode": "chat",
        "model": "openai/some-model",
        "graders": ["config_plain"],
        "dataset": {"source": "file", "reference": "riverside.yaml"},
    }
    return {key: value for key, value in {**defaults, **keys}.items() if value is not ...}


def bring_in(document: object, check_only: bool = False) -> Report:
    """Import one document, as YAML text or as data."""
    read = read_yaml(document, "c.yaml") if isinstance(document, str) else document
    return import_configuration([("c.yaml", read)], check_only)


def problems(document: object) -> list[str]:
    """Of a document that is refused; nothing of it is stored."""
    with pytest.raises(ConfigurationError) as caught:
        bring_in(document)
    models = (Target, Dataset, Question, JudgeSettings, EvalSettings)
    assert not any(model.objects.exists() for model in models)
    return caught.value.problems
