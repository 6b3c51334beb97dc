import re
from xml.etree import ElementTree

import pytest
from django.template import Context, Template
from django.utils import translation
from hypothesis import given
from hypothesis import strategies as st

from ai_eval.admin.charts import SparkPoint, bar, interval_chart, sparkline
from ai_eval.admin.words import STATES, VERDICTS
from ai_eval.models import Run
from ai_eval.stats import Figure

PASSED, FAILED, CANCELLED = VERDICTS["passed"], VERDICTS["failed"], STATES[Run.State.CANCELLED]
SIGNS = st.sampled_from([*VERDICTS.values(), *STATES.values()])
NUMBERS = st.none() | st.floats() | st.floats(0, 5)
POINTS = st.lists(st.builds(SparkPoint, NUMBERS, SIGNS, st.text(), NUMBERS, NUMBERS), max_size=20)
FIGURES = st.builds(lambda value, low, high: Figure(value, low, high, 3), st.floats(), *[st.floats()] * 2)
HOSTILE = "<script>alert(1)</script> {{ 7*7 }} %s \u202e"


def point(value: float | None, sign=PASSED, low=None, high=None) -> SparkPoint:
    return SparkPoint(value, sign, "Run 1", low, high)


def drawn(source: str, **context: object) -> ElementTree.Element:
    html = Template("{% load ai_eval_charts %}" + source).render(Context(context))
    return ElementTree.fromstring(html[html.index("<svg") : html.index("</svg>") + 6])


@given(POINTS, st.sampled_from([1.0, 5.0]), NUMBERS)
def test_no_mark_of_a_sparkline_stands_outside_of_it(points, maximum, threshold):
    chart = sparkline(points, "Pass rate", maximum, threshold)
    assert len(chart.marks) == len(points)
    for mark in chart.marks:
        assert 0 < mark.x < chart.width
        for y in (mark.y, mark.low_y, mark.high_y):
            assert y is None or 0 < y < chart.height
    assert chart.threshold_y is None or 0 < chart.threshold_y < chart.height
    assert not re.search(r"nan|inf", " ".join(chart.lines))


@given(FIGURES, st.sampled_from([1.0, 5.0]), NUMBERS)
def test_no_mark_of_an_interval_stands_outside_of_it(figure, maximum, threshold):
    chart = interval_chart(figure, maximum, threshold, "pass rate")
    for x in (chart.x, chart.low_x, chart.high_x, chart.threshold_x):
        assert x is None or chart.left <= x <= chart.right


@given(st.lists(st.tuples(st.text(), st.integers(0, 10**30), st.just("good")), max_size=300), st.integers(0))
def test_the_parts_of_a_bar_stand_side_by_side_within_it(parts, total):
    chart = bar(parts, total, "Answers")
    end = 0.0
    for part in chart.parts:
        assert part.x == pytest.approx(end, abs=0.01)
        assert part.width > 0
        end = part.x + part.width
    assert end <= chart.width + 0.01


def test_a_higher_value_stands_higher():
    low, high = sparkline([point(0.2), point(0.9)], "Pass rate").marks
    assert low.y > high.y


def test_a_run_without_a_value_is_a_gap_and_no_zero():
    chart = sparkline([point(0.5), point(0.5), point(None, CANCELLED), point(0.5), point(1.0)], "Pass rate")
    assert chart.marks[2].y is None
    assert len(chart.lines) == 2
    assert "0.5 passed, 0.5 passed, cancelled, 0.5 passed, 1 passed" in chart.words


def test_a_value_that_is_no_number_is_a_gap():
    assert sparkline([point(float("nan"))], "Pass rate").marks[0].y is None


def test_a_single_run_draws_no_line_and_is_called_the_only_one():
    chart = sparkline([point(0.5)], "Pass rate")
    assert chart.lines == []
    assert chart.words == "Pass rate of the only run: 0.5 passed"


def test_the_newest_run_stands_at_the_right_end():
    chart = sparkline([point(0.5), point(0.6)], "Pass rate")
    assert chart.width - chart.marks[-1].x < chart.marks[0].x


def test_a_sparkline_shows_how_uncertain_each_value_is():
    mark = sparkline([point(0.83, low=0.44, high=0.97)], "Pass rate").marks[0]
    assert mark.high_y < mark.y < mark.low_y


def test_an_undefined_figure_says_so_and_has_no_mark():
    chart = interval_chart(Figure(None, None, None, 0, "no question has a score"), 5, 3.5, "average score")
    assert chart.x is None
    assert chart.words == (
        "average score: undefined: no question has a score, on an axis from 0 to 5; the threshold is 3.5"
    )
    figure = Figure(None, None, None, 0, "no question has a score")
    svg = drawn("{% interval figure 5 None 'average score' %}", figure=figure)
    assert "undefined" in "".join(svg.itertext())
    assert not svg.findall(".//circle")


def test_a_figure_without_an_interval_says_why():
    figure = Figure(0.5, None, None, 1, "no interval: a single question")
    chart = interval_chart(figure, 1, None, "pass rate")
    assert chart.low_x is None
    assert chart.words == "pass rate: 0.5, n 1 (no interval: a single question), on an axis from 0 to 1"


def test_an_interval_tells_its_bounds_and_its_denominator():
    figure = Figure(0.833, 0.436, 0.97, 6)
    svg = drawn("{% interval figure 1 0.9 'pass rate' %}", figure=figure)
    assert svg.attrib["aria-label"] == (
        "pass rate: 0.833 (0.436 to 0.97), n 6, on an axis from 0 to 1; the threshold is 0.9"
    )


def test_an_interval_without_a_threshold_takes_what_a_template_does_not_find():
    svg = drawn("{% interval figure 1 nothing.there 'pass rate' %}", figure=Figure(0.5, 0.1, 0.9, 6))
    assert "threshold" not in svg.attrib["aria-label"]


def test_one_failure_among_many_is_to_be_seen():
    chart = bar([("passed", 19_999, "good"), ("failed", 1, "bad")], 20_000, "Answers")
    assert chart.parts[1].width > 0.5
    assert chart.words == "Answers: 20000 of 20000 (19999 passed, 1 failed)"


def test_a_bar_tells_what_is_still_to_come():
    chart = bar([("passed", 3, "good"), ("failed", 0, "bad")], 12, "Answers")
    assert chart.words == "Answers: 3 of 12 (3 passed, 9 to come)"
    assert [part.word for part in chart.parts] == ["passed"]


def test_an_empty_bar_says_so():
    assert bar([], 0, "Answers").words == "Answers: 0 of 0"


def test_parts_that_are_more_than_their_total_are_told_as_they_are():
    assert bar([("passed", 5, "good")], 3, "Answers").words == "Answers: 5 of 3 (5 passed)"


def test_a_count_below_zero_is_refused():
    with pytest.raises(ValueError, match="below 0"):
        bar([("passed", -1, "good")], 3, "Answers")


def test_states_differ_by_shape_and_not_by_colour_alone():
    points = [point(0.5, sign) for sign in VERDICTS.values()]
    svg = drawn("{% sparkline points 'Pass rate' %}", points=points)
    shapes = [
        re.sub(r"M[\d.]+ [\d.]+", "", ElementTree.tostring(mark[-1], "unicode")) for mark in svg.findall("g")
    ]
    assert len({re.sub(r'c[xy]="[\d.]+"', "", shape) for shape in shapes}) == len(VERDICTS)


def test_charts_hold_no_script_and_no_style_and_escape_what_they_are_given():
    points = [SparkPoint(0.5, PASSED, HOSTILE)]
    template = "{% sparkline points label %}{% interval figure 1 0.5 label %}{% bar parts 3 label True %}"
    html = Template("{% load ai_eval_charts %}" + template).render(
        Context(
            {
                "points": points,
                "figure": Figure(None, None, None, 0, HOSTILE),
                "parts": [(HOSTILE, 2, "good")],
                "label": HOSTILE,
            }
        )
    )
    assert "<script" not in html
    assert "style=" not in html
    assert html.count("{{ 7*7 }}") == html.count("&lt;script&gt;") == 8


def test_charts_are_numbers_in_every_language():
    source = "{% sparkline points 'x' %}{% interval figure 1 0.5 'x' %}{% bar parts 3 'x' %}"
    with translation.override("de"):
        html = Template("{% load ai_eval_charts %}" + source).render(
            Context(
                {
                    "points": [point(0.333, low=0.1234, high=0.9)],
                    "figure": Figure(0.333, 0.1, 0.777, 3),
                    "parts": [("a", 1, "good")],
                }
            )
        )
    assert not re.search(r'(?:x|y|width|d|cx|cy)="[^"]*\d,\d', html)
