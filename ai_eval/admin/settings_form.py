"""The form of the settings row: each field with what holds when it is left empty, its unit and its range."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib.admin.widgets import AdminTextInputWidget

from ai_eval.admin.single_row import SingleRowForm
from ai_eval.checks import VALUES
from ai_eval.conf import SiteSettings, site_settings
from ai_eval.configuration.endpoints import WHERE, address_problem, holds_key, model_problem
from ai_eval.models import EvalSettings
from ai_eval.wording import one_line

NOTHING = {
    "dataset_path": "No directory, whatever AI_EVAL says",
    "judge_model": "No model, whatever AI_EVAL says",
    "judge_api_base": "The provider’s own address, whatever AI_EVAL says",
}
"""Texts that may be set to nothing, which is another thing than leaving them to `AI_EVAL`."""

UNITS = {
    "question_pass_threshold": "of the composite scale",
    "response_char_limit": "characters",
    "rate_limit_max_retries": "retries",
    "rate_limit_base_delay": "seconds",
    "rate_limit_delay_between_calls": "seconds",
}


def value_of(site: SiteSettings, name: str) -> Any:
    """A setting as the site has it; a path as text."""
    value = getattr(site, name)
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def source_of(name: str) -> str:
    """Where the value comes from that holds without the row."""
    from django.conf import settings

    return "AI_EVAL" if name.upper() in getattr(settings, "AI_EVAL", {}) else "the default"


def written(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def directory_problem(path: str) -> str:
    """Why a directory can't be that of the datasets, or nothing."""
    if not os.path.isabs(path):
        return "is not written from the root on, so that each process might find another one"
    try:
        with os.scandir(path):
            return ""
    except FileNotFoundError:
        return "is not there"
    except NotADirectoryError:
        return "is no folder"
    except (OSError, ValueError) as error:
        return f"can't be read: {getattr(error, 'strerror', None) or error}"


class SettingsForm(SingleRowForm):
    """Empty fields are null: `AI_EVAL`, or its default, has the say."""

    class Meta:
        model = EvalSettings
        fields = EvalSettings.FIELDS
        labels = {
            "dataset_path": "Dataset directory",
            "judge_model": "Model of the judges",
            "judge_api_base": "Its address",
            "question_pass_threshold": "Pass threshold",
            "response_char_limit": "Response limit",
            "rate_limit_max_retries": "Retries",
            "rate_limit_base_delay": "Delay before the first retry",
            "rate_limit_delay_between_calls": "Delay between calls",
        }
        help_texts = {
            "dataset_path": "A folder on the machine of the site and of every worker, from / on: its YAML, "
            "JSON, JSONL and CSV files are datasets and recorded replies.",
            "judge_model": "A LiteLLM model string, such as openai/gpt-4.1-mini, for judges without a model "
            "of their own.",
            "judge_api_base": "http:// or https://, the endpoint of that model. Never a key: those come from "
            "the environment.",
            "question_pass_threshold": "The composite score from which an answer passes; a target may say "
            "otherwise.",
            "response_char_limit": "How much of a response a judge sees: three quarters from its head, the "
            "rest from its tail. What is stored is never cut.",
            "rate_limit_max_retries": "How often a call is repeated that a provider refused for now.",
            "rate_limit_base_delay": "Doubled with each further retry.",
            "rate_limit_delay_between_calls": "Between two calls of one worker process.",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        site = site_settings()
        for name in EvalSettings.FIELDS:
            self._lay_out(name, written(value_of(site, name)), getattr(self.instance, name) == "")

    def _lay_out(self, name: str, without: str, set_to_nothing: bool) -> None:
        field = self.fields[name]
        is_text = isinstance(field, forms.CharField)
        # A browser sends nothing at all for a number field in which it found no number.
        attributes = {"placeholder": one_line(without) if without else "not set"}
        attributes |= {} if is_text else {"class": "judge-number", "inputmode": "decimal"}
        field.widget = (
            AdminTextInputWidget(attrs=attributes) if is_text else forms.TextInput(attrs=attributes)
        )
        field.help_text = f"{field.help_text} {_range(name)}".strip()
        field.validators = [each for each in field.validators if not hasattr(each, "limit_value")]
        for code in ("invalid", "max_value", "min_value"):
            field.error_messages[code] = f"It must be {VALUES[name.upper()][1]}."
        if name in NOTHING and (without or set_to_nothing):
            self.fields[f"{name}_nothing"] = forms.BooleanField(
                label=NOTHING[name], required=False, initial=set_to_nothing
            )

    def clean(self) -> dict[str, Any] | None:
        data = self.cleaned_data
        for name in EvalSettings.FIELDS:
            if name in data:
                self._clean_one(name, data)
        return super().clean()

    def _clean_one(self, name: str, data: dict[str, Any]) -> None:
        value = data[name].strip() if isinstance(data[name], str) else data[name]
        data[name] = None if value == "" else value
        nothing = bool(data.get(f"{name}_nothing"))
        if data[name] is None:
            data[name] = "" if nothing else None
        elif nothing:
            self.add_error(name, f"Empty the field, or untick “{NOTHING[name]}”: it can't be both.")
        elif problem := setting_problem(name, data[name]):
            self.add_error(name, problem)


def setting_problem(name: str, value: Any) -> str:
    """Why a setting can't have this value, or nothing."""
    fits, wanted = VALUES[name.upper()]
    if not fits(value):
        return f"It is {one_line(written(value))}, and must be {wanted}."
    if name == "dataset_path" and (problem := directory_problem(value)):
        return f"This directory {problem}."
    if name == "judge_api_base" and (problem := address_problem(value)):
        return f"This address {problem}."
    if name == "judge_model":
        return model_problem(value)
    return f"This looks like a key: {WHERE}." if name == "dataset_path" and holds_key(value) else ""


def _range(name: str) -> str:
    """The range in words, with its unit."""
    wanted, unit = VALUES[name.upper()][1], UNITS.get(name)
    if not unit:
        return ""
    told = wanted.replace("number", f"number {unit if unit.startswith('of ') else f'of {unit}'}", 1)
    return f"{told[:1].upper()}{told[1:]}."


@dataclass(frozen=True)
class InForce:
    """A setting as it holds now, and where it comes from."""

    label: str
    value: str
    source: str


def in_force(row: EvalSettings | None, effective: SiteSettings) -> list[InForce]:
    """Every setting of the form, with its value now."""
    given: Mapping[str, Any] = row.given() if row else {}
    labels = SettingsForm.Meta.labels
    return [
        InForce(
            labels[name],
            " ".join(part for part in (written(value_of(effective, name)), UNITS.get(name, "")) if part),
            "set here" if name in given else source_of(name),
        )
        for name in EvalSettings.FIELDS
    ]


def standing_problems(row: EvalSettings | None, effective: SiteSettings) -> list[str]:
    """What is wrong, or worth knowing, with the settings as they hold now."""
    found = []
    path = value_of(effective, "dataset_path")
    if path and (problem := directory_problem(path)):
        found.append(f"The dataset directory {one_line(path)} {problem}.")
    here = row.given() if row else {}
    if here.get("judge_model") and "judge_api_base" not in here and effective.judge_api_base:
        found.append(
            f"The model {one_line(effective.judge_model)} is set here and its address is not: it is asked at "
            f"{one_line(effective.judge_api_base)}, which AI_EVAL names. Set the address here, too, or tick "
            f"“{NOTHING['judge_api_base']}”."
        )
    return found
