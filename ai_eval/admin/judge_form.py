"""The form of one judge: its own model, address, parameters and prompt, and what is wrong with them."""

import re
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib.admin.widgets import AdminTextareaWidget, AdminTextInputWidget
from django.core.exceptions import ValidationError
from django.forms.fields import InvalidJSONInput

from ai_eval.admin.single_row import SingleRowForm
from ai_eval.admin.target_fields import ParametersField
from ai_eval.configuration.judge_catalogue import built_in_template
from ai_eval.configuration.pasted_keys import WHERE, endpoint_problem, holds_key, parameter_key_problems
from ai_eval.graders.prompts import check_template
from ai_eval.graders.registry import GraderInfo
from ai_eval.llm import check_parameters
from ai_eval.models import JudgeSettings
from ai_eval.text import is_blank
from ai_eval.wording import bounded, listed, one_line

PROMPT_LIMIT = 100_000
"""Characters of a prompt that the form takes: it is sent with each answer."""

AROUND = 40
"""Characters of a line that are shown on either side of a fault."""

_PLACE = re.compile(r"line (\d+), column (\d+): ")
_UNSEEN = re.compile(r"[^\x20-\x7e\xa0-\U0010ffff]")


@dataclass(frozen=True)
class Fault:
    """What is wrong with a template; where that has a place, the line round it."""

    sentence: str
    before: str = ""
    at: str = ""
    after: str = ""


def template_faults(template: str, limit: int | None = PROMPT_LIMIT) -> list[Fault]:
    """What a prompt can't be stored with. `limit` None: one that is stored, or built in, however long."""
    if limit is not None and len(template) > limit:
        return [Fault(_too_long(template))]
    problems = check_template(template)
    lines = template.split("\n")
    return [_fault(sentence, lines) for sentence in bounded(problems)]


def _too_long(template: str) -> str:
    return (
        f"it has {len(template):,} characters, and the form takes {PROMPT_LIMIT:,}: "
        "a prompt is sent with each answer"
    )


def _fault(sentence: str, lines: list[str]) -> Fault:
    place = _PLACE.match(sentence)
    if place is None:
        return Fault(sentence)
    line, start = lines[int(place[1]) - 1], int(place[2]) - 1
    slot = re.match(r"\$(\w{1,40}|\{[^{}\s]{0,40}\})?", line[start:])
    end = start + (slot.end() if slot else 1)
    return Fault(
        sentence,
        before=("…" if start > AROUND else "") + line[max(0, start - AROUND) : start],
        at=line[start:end],
        after=line[end : end + AROUND] + ("…" if len(line) > end + AROUND else ""),
    )


def prompt_as_written(text: str) -> str:
    """Browsers send line ends of their own; a template has the ones that files have."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


class JudgeParametersField(ParametersField):
    """Shows a refused text as it was typed."""

    def bound_data(self, data: Any, initial: Any) -> Any:
        return InvalidJSONInput(data or "")


class JudgeForm(SingleRowForm):
    """What one judge has of its own. `info` is the judge; `same_prompt` tells that the built-in was typed."""

    parameters = JudgeParametersField(
        label="Parameters",
        required=False,
        help_text='How the model decodes, as a JSON object. {"temperature": null} sends no temperature, for '
        "models that refuse one; without it a judge is asked at temperature 0.",
    )

    class Meta:
        model = JudgeSettings
        fields = ("model", "api_base", "parameters", "prompt")
        widgets = {
            "model": AdminTextInputWidget,
            "api_base": AdminTextInputWidget,
            "prompt": AdminTextareaWidget,
        }
        labels = {"model": "Model", "api_base": "Address", "prompt": "Prompt"}
        help_texts = {
            "model": "A LiteLLM model string, such as openai/gpt-4.1-mini.",
            "api_base": "http:// or https://, the endpoint of this model. Empty with a model of its own: the "
            "provider's. Never a key: those come from the environment.",
            "prompt": "",
        }

    def __init__(self, *args: Any, info: GraderInfo | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.info = info
        self.same_prompt = False
        prompt = self.fields["prompt"]
        assert isinstance(prompt, forms.CharField)
        prompt.strip = False
        prompt.widget.attrs |= {"rows": 20, "class": "vLargeTextField judge-prompt", "spellcheck": "true"}
        self.fields["parameters"].widget.attrs |= {"rows": 3, "class": "vLargeTextField ae-code"}
        if not self.instance.parameters:
            self.initial["parameters"] = InvalidJSONInput("")

    def clean_model(self) -> str:
        model = str(self.cleaned_data["model"]).strip()
        if _UNSEEN.search(model) or not model.isprintable() or any(sign.isspace() for sign in model):
            raise ValidationError("A model's name has no space and no character that can't be seen.")
        if holds_key(model):
            raise ValidationError(f"This looks like a key: {WHERE}.")
        return model

    def clean_api_base(self) -> str:
        address = str(self.cleaned_data["api_base"]).strip()
        if problem := endpoint_problem(address):
            raise ValidationError(f"This address {problem}.")
        return address

    def clean_parameters(self) -> dict[str, Any]:
        parameters: dict[str, Any] = self.cleaned_data["parameters"]
        keys = parameter_key_problems(parameters)
        problems = keys + [each for each in check_parameters(parameters) if not _told(each, keys)]
        if problems:
            raise ValidationError(bounded([f"{each[:1].upper()}{each[1:]}." for each in problems]))
        return parameters

    def clean_prompt(self) -> str:
        prompt = prompt_as_written(str(self.cleaned_data["prompt"]))
        if is_blank(prompt):
            return ""
        kept = prompt == self.initial.get("prompt")
        faults = template_faults(prompt, None if kept else PROMPT_LIMIT)
        if faults:
            raise ValidationError([f"{each.sentence[:1].upper()}{each.sentence[1:]}." for each in faults])
        if self.info is not None and prompt == built_in_template(self.info):
            self.same_prompt = True
            return ""
        return prompt

    def clean(self) -> dict[str, Any] | None:
        longest = JudgeSettings._meta.get_field("grader").max_length or 0
        if len(self.instance.grader) > longest:
            raise ValidationError(
                f"The id of this grader has {len(self.instance.grader)} characters, and settings can be kept "
                f"for ids of at most {longest}: {one_line(self.instance.grader)}."
            )
        return super().clean()

    @property
    def is_empty(self) -> bool:
        """Whether nothing of its own is left: then the row goes."""
        row = self.instance
        return not (row.model or row.api_base or row.parameters or row.prompt)


def _told(problem: str, keys: list[str]) -> bool:
    return any(problem.split(" is not allowed")[0] == key.split(" looks like")[0] for key in keys)


def saved_sentence(label: str, form: JudgeForm, changed: list[str], removed: bool) -> str:
    """What a save did, in one or two sentences."""
    same = " The prompt typed was the built-in one, word for word: it stays that." if form.same_prompt else ""
    if removed:
        return (
            f"{label} has nothing of its own any more: its settings row is removed, and the site's model "
            f"and its built-in prompt hold.{same}"
        )
    if not changed:
        return f"Nothing was changed of {label}.{same}"
    return (
        f"{label} is saved: {listed(changed)}. Its fingerprint is a new one for runs from now on; "
        f"stored results stay as they are.{same}"
    )
