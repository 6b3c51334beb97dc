"""The mean score over questions."""

import math
from statistics import fmean, stdev

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t

from ai_eval.stats import Figure, mean_score

score = st.floats(0, 5)
scored_questions = st.lists(st.lists(score, min_size=1, max_size=6), min_size=2, max_size=40)


def test_the_value_is_the_mean_over_questions_and_not_over_trials():
    assert mean_score([[5.0, 5.0, 5.0], [1.0]]).value == 3.0


def test_error_and_interval_worked_out_by_hand():
    figure = mean_score([[1.0, 3.0], [3.0], [4.0]])
    error = stdev([2.0, 3.0, 4.0]) / math.sqrt(3)

    assert figure.value == 3.0
    assert figure.standard_error == pytest.approx(error, abs=1e-12)
    assert figure.low == pytest.approx(3 - t.ppf(0.975, 2) * error, abs=1e-9)
    assert figure.high == 5.0
    assert figure.n == 3
    assert figure.why == ""


@given(scored_questions)
def test_it_equals_the_reference(groups):
    means = [fmean(group) for group in groups]
    error = stdev(means) / math.sqrt(len(means))

    figure = mean_score(groups)

    assert figure.value == pytest.approx(fmean(means), abs=1e-9)
    assert figure.standard_error == pytest.approx(error, abs=1e-9)
    if max(means) - min(means) > 1e-8:
        low, high = t.interval(0.95, len(means) - 1, loc=fmean(means), scale=error)
        assert figure.low == pytest.approx(max(0.0, low), abs=1e-8)
        assert figure.high == pytest.approx(min(5.0, high), abs=1e-8)


@given(scored_questions)
def test_the_interval_contains_the_value_and_lies_on_the_scale(groups):
    figure = mean_score(groups)

    assert figure.value is not None
    assert 0.0 <= figure.value <= 5.0
    if figure.low is not None and figure.high is not None:
        assert 0.0 <= figure.low <= figure.value <= figure.high <= 5.0
        assert figure.low < figure.high
    else:
        assert figure.why


@given(scored_questions, st.randoms(use_true_random=False))
def test_the_order_of_questions_and_trials_makes_no_difference(groups, random):
    shuffled = [random.sample(group, len(group)) for group in groups]
    random.shuffle(shuffled)

    assert mean_score(shuffled) == mean_score(groups)


@given(score, st.integers(1, 50))
def test_the_mean_of_equal_scores_is_exactly_that_score(value, count):
    assert mean_score([[value] * count, [value]]).value == value


def test_bounds_are_those_of_the_scale_that_was_given():
    figure = mean_score([[0.0], [0.2], [1.0]], low=0.0, high=1.0)

    assert (figure.low, figure.high) == (0.0, 1.0)


def test_a_scale_may_lie_below_zero():
    assert mean_score([[-1.0], [-0.5]], low=-1.0, high=0.0).value == -0.75


@pytest.mark.parametrize("groups", [[], [[]], [[], []]])
def test_without_a_score_the_mean_is_undefined_and_not_zero(groups):
    assert mean_score(groups) == Figure(None, None, None, 0, "no question has a score", None, len(groups))


def test_a_single_question_has_a_mean_without_error_and_interval():
    figure = mean_score([[2.0, 4.0]])

    assert (figure.value, figure.n) == (3.0, 1)
    assert figure.interval is None
    assert figure.standard_error is None
    assert figure.why


def test_questions_that_all_score_alike_have_no_interval_of_no_width():
    figure = mean_score([[5.0], [5.0], [5.0]])

    assert (figure.value, figure.standard_error) == (5.0, 0.0)
    assert figure.interval is None
    assert "all 3 questions" in figure.why


def test_question_means_that_differ_by_rounding_alone_are_alike():
    assert mean_score([[0.1, 0.2], [0.15]]).interval is None


def test_a_question_without_scores_is_left_out_and_counted():
    figure = mean_score([[1.0], [], [3.0]])

    assert (figure.value, figure.n, figure.left_out) == (2.0, 2, 1)


@pytest.mark.parametrize("wrong", [-0.1, 5.1, math.nan, math.inf, -math.inf])
def test_a_score_off_the_scale_is_refused_by_name(wrong):
    with pytest.raises(ValueError, match=r"^groups: "):
        mean_score([[1.0], [2.0, wrong]])


@pytest.mark.parametrize(("low", "high"), [(5.0, 0.0), (1.0, 1.0), (math.nan, 5.0), (0.0, math.inf)])
def test_a_scale_without_width_is_refused_by_name(low, high):
    with pytest.raises(ValueError, match=r"^low, high: "):
        mean_score([[1.0]], low=low, high=high)


@pytest.mark.slow
@pytest.mark.parametrize("questions", [5, 20, 80])
def test_the_interval_of_scores_inside_the_scale_covers_95_percent(questions):
    random = numpy.random.default_rng(questions)
    samples = random.uniform(1, 4, size=(4000, questions, 2))

    covered = 0
    for sample in samples.tolist():
        figure = mean_score(sample)
        assert figure.interval is not None
        covered += figure.interval.low <= 2.5 <= figure.interval.high

    assert 0.935 <= covered / 4000 <= 0.965
