"""Where the marks of a chart stand: pure functions of numbers, in the units of the chart's viewBox.

What is undefined has no mark, and each chart has a sentence that tells all it shows in words. A number
that is no number counts as undefined; one beyond the axis stands at its end.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ai_eval.admin.words import Sign
from ai_eval.runs.wording import figure_text
from ai_eval.stats import Figure

STEP = 12
"""Width that one run takes in a sparkline."""
SPARK_HEIGHT = 34
SPARK_MARGIN = 5
INTERVAL_WIDTH = 220
INTERVAL_HEIGHT = 26
INTERVAL_MARGIN = 8
BAR_WIDTH = 100
LEAST_PART = 0.7
"""Width of a part that is not empty, however small: one failure among 20,000 answers is to be seen."""


@dataclass(frozen=True)
class SparkPoint:
    """One run in a sparkline. `value` None: it has none, and `sign` says why."""

    value: float | None
    sign: Sign
    title: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class SparkMark:
    """`y` None: a gap, marked on the ground. `low_y` is below `high_y` and so the larger number."""

    x: float
    y: float | None
    low_y: float | None
    high_y: float | None
    sign: Sign
    title: str


@dataclass(frozen=True)
class Sparkline:
    width: float
    height: float
    ground: float
    marks: Sequence[SparkMark]
    lines: Sequence[str]
    """Points of each polyline: neighbours that both have a value."""
    threshold_y: float | None
    words: str


def sparkline(
    points: Sequence[SparkPoint],
    label: str,
    maximum: float = 1.0,
    threshold: float | None = None,
    slots: int = 12,
) -> Sparkline:
    """The points from oldest to newest, the newest at the right end of at least `slots` places."""
    slots = max(slots, len(points))
    top, ground = SPARK_MARGIN, SPARK_HEIGHT - SPARK_MARGIN

    def height_of(value: float | None) -> float | None:
        share = _share(value, maximum)
        return None if share is None else round(ground - share * (ground - top), 2)

    marks = []
    for place, point in enumerate(points, slots - len(points)):
        low, high = height_of(point.low), height_of(point.high)
        marks.append(
            SparkMark(
                x=STEP * place + STEP / 2,
                y=height_of(point.value),
                low_y=None if high is None else low,
                high_y=None if low is None else high,
                sign=point.sign,
                title=point.title,
            )
        )
    return Sparkline(
        STEP * slots, SPARK_HEIGHT, ground, marks, _lines(marks), height_of(threshold), _told(points, label)
    )


def _lines(marks: Sequence[SparkMark]) -> list[str]:
    lines: list[list[str]] = [[]]
    for mark in marks:
        if mark.y is None:
            lines.append([])
        else:
            lines[-1].append(f"{mark.x:g},{mark.y:g}")
    return [" ".join(line) for line in lines if len(line) > 1]


def _told(points: Sequence[SparkPoint], label: str) -> str:
    if not points:
        return f"{label}: no run yet"
    values = [
        point.sign.word
        if (value := _finite(point.value)) is None
        else f"{value:.3g}{'' if point.sign.word in ('', 'no gate') else f' {point.sign.word}'}"
        for point in points
    ]
    runs = "the only run" if len(points) == 1 else f"the last {len(points)} runs, oldest first"
    return f"{label} of {runs}: {', '.join(values)}"


@dataclass(frozen=True)
class IntervalChart:
    """A figure on an axis from 0 to its maximum. `x` None: the figure is undefined."""

    width: float
    height: float
    left: float
    right: float
    middle: float
    x: float | None
    low_x: float | None
    high_x: float | None
    threshold_x: float | None
    words: str


def interval_chart(
    figure: Figure | None, maximum: float, threshold: float | None, label: str
) -> IntervalChart:
    """`figure` None is undefined too, and nobody knows why."""
    left, right = INTERVAL_MARGIN, INTERVAL_WIDTH - INTERVAL_MARGIN

    def place_of(value: float | None) -> float | None:
        share = _share(value, maximum)
        return None if share is None else round(left + share * (right - left), 2)

    x = low = high = None
    told = "undefined"
    if figure is not None:
        told = figure_text(figure)
        x, low, high = place_of(figure.value), place_of(figure.low), place_of(figure.high)
    if x is None or low is None or high is None:
        low = high = None
    mark = place_of(threshold)
    words = f"{label}: {told}, on an axis from 0 to {maximum:g}"
    if mark is not None:
        words += f"; the threshold is {threshold:g}"
    return IntervalChart(
        INTERVAL_WIDTH, INTERVAL_HEIGHT, left, right, INTERVAL_HEIGHT / 2, x, low, high, mark, words
    )


@dataclass(frozen=True)
class BarPart:
    x: float
    width: float
    word: str
    count: int
    tone: str


@dataclass(frozen=True)
class Bar:
    """Parts of a whole, in percent of its width. `rest` is what no part counts."""

    width: float
    parts: Sequence[BarPart]
    rest: int
    words: str


def bar(parts: Sequence[tuple[str, int, str]], total: int, label: str, rest: str = "to come") -> Bar:
    """(word, count, tone) of each part, of `total`. ValueError for a count below 0.

    Parts that come to more than the total share the whole width, and the words tell both numbers.
    """
    if total < 0 or any(count < 0 for _, count, _ in parts):
        raise ValueError(f"a count below 0 in {list(parts)} of {total}")
    counted = sum(count for _, count, _ in parts)
    whole = max(total, counted)
    given = [(word, count, tone) for word, count, tone in parts if count]
    widths = [max(LEAST_PART, BAR_WIDTH * (count / whole)) for _, count, _ in given]
    # The least widths may push the others over the end.
    squeeze = min(1.0, BAR_WIDTH / sum(widths)) if widths else 1.0
    found: list[BarPart] = []
    x = 0.0
    for (word, count, tone), width in zip(given, widths, strict=True):
        width = min(width * squeeze, BAR_WIDTH - x)
        found.append(BarPart(round(x, 3), round(width, 3), word, count, tone))
        x += width
    left = max(total - counted, 0)
    told = [f"{count} {word}" for word, count, _ in given] + ([f"{left} {rest}"] if left else [])
    return Bar(BAR_WIDTH, found, left, f"{label}: {counted} of {total}{_brackets(told)}")


def _brackets(told: Sequence[str]) -> str:
    return f" ({', '.join(told)})" if told else ""


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _share(value: float | None, maximum: float) -> float | None:
    """Where on an axis from 0 to `maximum` the value stands, 0 to 1."""
    finite = _finite(value)
    return None if finite is None else min(max(finite / maximum, 0.0), 1.0)
