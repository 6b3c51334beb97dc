"""Charts as SVG, drawn here on the server; each says in words what it shows."""

from collections.abc import Sequence
from typing import Any

from django import template

from ai_eval.admin import charts
from ai_eval.stats import Figure

register = template.Library()


@register.inclusion_tag("ai_eval/charts/sparkline.html")
def sparkline(
    points: Sequence[charts.SparkPoint], label: str, maximum: float = 1.0, threshold: Any = None
) -> dict[str, Any]:
    """Values of the last runs, oldest first, each with its interval; a run without a value is a gap."""
    return {"chart": charts.sparkline(points, label, maximum, _number(threshold))}


@register.inclusion_tag("ai_eval/charts/interval.html")
def interval(figure: Figure | None, maximum: float, threshold: Any, label: str) -> dict[str, Any]:
    """A figure with its interval on an axis from 0 to `maximum`, and the threshold where there is one."""
    return {"chart": charts.interval_chart(figure, maximum, _number(threshold), label)}


@register.inclusion_tag("ai_eval/charts/bar.html")
def bar(
    parts: Sequence[tuple[str, int, str]],
    total: int,
    label: str,
    legend: bool = False,
    rest: str = "to come",
) -> dict[str, Any]:
    """Parts (word, count, tone) of a total; with `legend` the words stand beneath for everybody."""
    return {"chart": charts.bar(parts, total, label, rest), "legend": legend, "rest": rest}


def _number(given: Any) -> float | None:
    """A template gives an empty text for what it does not find."""
    return float(given) if isinstance(given, int | float) and not isinstance(given, bool) else None
