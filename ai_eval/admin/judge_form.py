"""The form of one judge: its own model, address, parameters and prompt, and what is wrong with them."""

from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib.admin.widgets import AdminTextareaWidget, AdminTextInputWidget
from django.core.exceptions import ValidationError

from ai_eval.admin.single_row import SingleRowForm
from ai_eval.admin.target_fields import ParametersField
from ai_eval.configuration.endpoints import address_problem, model_problem, parameter_problems
from ai_eval.configuration.judge_catalogue import built_in_template
from ai_eval.graders.prompts import TemplateProblem, template_problems
from ai_eval.graders.registry import GraderInfo
from ai_eval.models import JudgeSettings
from ai_eval.text import is_blank
from ai_eval.wording import bounded, listed, one_line

PROMPT_LIMIT = 100_000
"""Characters of a prompt that the form takes: it is sent with each answer."""

AROUND = 40
"""Characters of a line that are shown on either side of a fault."""


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
        return [
            Fault(
                f"it has {len(template):,} characters, and the form takes {PROMPT_LIMIT:,}: "
                "a prompt is sent with each answer"
            )
        ]
    problems, lines = template_problems(template), template.split("\n")
    sentences = bounded([str(problem) for problem in problems])
    placed = [_fault(problem, lines) for problem in problems[: len(sentences)]]
    return placed if len(sentences) == len(problems) else [*placed[:-1], Fault(sentences[-1])]


def _fault(problem: TemplateProblem, lines: list[str]) -> Fault:
    if not problem.line:
        return Fault(str(problem))
    line, start = lines[problem.line - 1], problem.column - 1
    end = start + min(problem.length, AROUND)
    return Fault(
        str(problem),
        before=("…" if start > AROUND else "") + line[max(0, start - AROUND) : start],
        at=line[start:end],
        after=line[end : end + AROUND] + ("…" if len(line) > end + AROUND else ""),
    )


def prompt_as_written(text: str) -> str:
    """Browsers send line ends of their own; a template has the ones that files have."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


class JudgeForm(SingleRowForm):
    """What one judge has of its own. `info` is the judge; `same_prompt` tells that the built-in was typed."""

    parameters = ParametersField(
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

    def clean_model(self) -> str:
        model = str(self.cleaned_data["model"]).strip()
        if problem := model_problem(model):
            raise ValidationError(problem)
        return model

    def clean_api_base(self) -> str:
        address = str(self.cleaned_data["api_base"]).strip()
        if problem := address_problem(address):
            raise ValidationError(f"This address {problem}.")
        return address

    def clean_parameters(self) -> dict[str, Any]:
        parameters: dict[str, Any] = self.cleaned_data["parameters"]
        if problems := parameter_problems(parameters):
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
