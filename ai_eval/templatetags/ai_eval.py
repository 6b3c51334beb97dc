"""What templates of the admin need: signs, figures and charts."""

from typing import Any

from django import template

from ai_eval.admin import words
from ai_eval.models import Grade, Run

register = template.Library()


@register.inclusion_tag("ai_eval/badge.html")
def run_badge(run: Run, large: bool = False) -> dict[str, Any]:
    """The verdict of a complete run, else its state."""
    return {"sign": words.run_sign(run.state, run.verdict), "large": large}


@register.inclusion_tag("ai_eval/badge.html")
def state_badge(state: str) -> dict[str, Any]:
    return {"sign": words.STATES[Run.State(state)]}


@register.inclusion_tag("ai_eval/badge.html")
def verdict_badge(verdict: str, large: bool = False) -> dict[str, Any]:
    return {"sign": words.VERDICTS[verdict], "large": large}


@register.inclusion_tag("ai_eval/badge.html")
def answer_badge(outcome: str, passed: bool | None) -> dict[str, Any]:
    return {"sign": words.answer_sign(outcome, passed)}


@register.inclusion_tag("ai_eval/badge.html")
def grade_badge(outcome: str) -> dict[str, Any]:
    return {"sign": words.GRADES[Grade.Outcome(outcome)]}


@register.inclusion_tag("ai_eval/badge.html")
def badge(word: str, tone: str = "idle", shape: str = "dot") -> dict[str, Any]:
    """Any word with a tone and a shape."""
    return {"sign": words.Sign(word, tone, shape)}
