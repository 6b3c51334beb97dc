"""What templates of the admin need: signs, figures and charts."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from ai_eval.admin import words
from ai_eval.llm_prices import dollars
from ai_eval.models import Run
from ai_eval.runs.wording import duration_text, figure_text
from ai_eval.stats import Figure

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
def grade_badge(outcome: str, reached: bool | None = None) -> dict[str, Any]:
    """Whether a scored grade reaches the run's pass threshold, else the grade's outcome."""
    return {"sign": words.grade_sign(outcome, reached)}


@register.inclusion_tag("ai_eval/badge.html")
def badge(word: str, tone: str = "idle", shape: str = "dot") -> dict[str, Any]:
    """Any word with a tone and a shape."""
    return {"sign": words.Sign(word, tone, shape)}


@register.simple_tag
def run_tone(run: Run) -> str:
    """The tone of the run's badge, for what stands round it."""
    return words.run_sign(run.state, run.verdict).tone


@register.simple_tag
def figure(given: Figure, digits: int = 3) -> SafeString:
    """A figure with its interval and denominator, and beneath it what is undefined of it."""
    why = format_html("<small>{}</small>", given.why) if given.why else ""
    return format_html('<span class="ae-figure">{}</span>{}', figure_text(given, digits, reasons=False), why)


@register.simple_tag
def label_of(labels: Mapping[str, str], name: str) -> str:
    """The label of a grader; its id where nobody knows one."""
    return labels.get(name, name)


@register.filter
def money(cost: float | None) -> str:
    """US dollars, or `unknown`."""
    return dollars(cost) if isinstance(cost, int | float) else "unknown"


@register.filter
def plain(number: float | None) -> str:
    """A number with up to four digits and no trailing zeros; `unknown` for None."""
    return f"{number:.4g}" if isinstance(number, int | float) else "unknown"


@register.filter
def duration(seconds: float | timedelta | None) -> str:
    """As `duration_text` tells it."""
    return duration_text(seconds.total_seconds() if isinstance(seconds, timedelta) else seconds)
