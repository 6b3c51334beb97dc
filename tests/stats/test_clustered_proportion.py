"""The pass rate of questions that are asked repeatedly."""

import math
from statistics import variance

import numpy
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import t
from statsmodels.stats.proportion import proportion_confint

from ai_eval.stats import Figure, clustered_proportion, wilson
from ai_eval.stats.proportions import effective_sample_size
from ai_eval.stats.quantiles import Z_95, t_95

question = st.integers(1, 12).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
groups_of_trials = st.lists(question, min_size=2, max_size=40)


def shrunk(questions: int) -> float:
    return (Z_95 / t.ppf(0.975, questions - 1)) ** 2


def test_the_value_is_the_mean_over_questions_and_not_over_trials():
    assert clustered_proportion([(10, 10), (0, 1)]).value == 0.5


def test_the_denominator_is_the_number_of_questions():
    assert clustered_proportion([(3, 4), (1, 4), (2, 2)]).n == 3


def test_an_interval_worked_out_by_hand():
    shares = [1, 0.5, 0.5, 0]
    effective = max(4, min(8, 0.25 / (variance(shares) / 4))) * shrunk(4)
    low, high = proportion_confint(0.5 * effective, effective, alpha=0.05, method="wilson")

    figure = clustered_proportion([(2, 2), (1, 2), (1, 2), (0, 2)])

    assert figure.value == 0.5
    assert figure.low == pytest.approx(low, abs=1e-9)
    assert figure.high == pytest.approx(high, abs=1e-9)


def test_trials_that_always_agree_count_as_one_for_each_question():
    assert effective_sample_size([1.0, 1.0, 1.0, 0.0], 40) == pytest.approx(4 * shrunk(4))


def test_trials_that_vary_as_if_independent_count_fully():
    assert effective_sample_size([0.5, 0.5, 0.5, 0.6], 40) == pytest.approx(40 * shrunk(4))


@pytest.mark.parametrize("share", [0.0, 1.0, 0.5])
def test_without_any_spread_only_questions_count(share):
    assert effective_sample_size([share] * 5, 20) == pytest.approx(5 * shrunk(5))


def test_between_its_limits_the_effective_size_follows_the_spread():
    shares = [0.2, 0.4, 0.6, 0.8, 0.9]
    centre = sum(shares) / 5

    size = effective_sample_size(shares, 50)

    assert size == pytest.approx(centre * (1 - centre) / (variance(shares) / 5) * shrunk(5))
    assert 5 * shrunk(5) < size < 50 * shrunk(5)


def test_all_passed_is_not_known_to_be_perfect():
    figure = clustered_proportion([(4, 4)] * 5)

    assert (figure.value, figure.high) == (1.0, 1.0)
    assert figure.low is not None
    assert figure.low < 0.5


@given(st.lists(st.booleans(), min_size=1, max_size=200))
def test_one_trial_each_is_plain_wilson(passed):
    figure = clustered_proportion([(int(each), 1) for each in passed])

    assert figure.value == sum(passed) / len(passed)
    assert figure.interval is not None
    plain = wilson(sum(passed), len(passed))
    assert plain is not None
    assert figure.low == pytest.approx(plain.low, abs=1e-12)
    assert figure.high == pytest.approx(plain.high, abs=1e-12)


@given(groups_of_trials)
def test_the_interval_contains_the_value_and_lies_in_0_to_1(groups):
    figure = clustered_proportion(groups)

    assert figure.value is not None
    assert figure.low is not None
    assert figure.high is not None
    assert 0.0 <= figure.low <= figure.value <= figure.high <= 1.0
    assert figure.low < figure.high
    assert figure.why == ""


@given(groups_of_trials, st.randoms(use_true_random=False))
def test_the_order_of_questions_makes_no_difference(groups, random):
    shuffled = list(groups)
    random.shuffle(shuffled)

    assert clustered_proportion(shuffled) == clustered_proportion(groups)


@given(groups_of_trials, st.data())
def test_one_trial_more_that_passed_raises_the_value(groups, data):
    index = data.draw(st.integers(0, len(groups) - 1))
    passed, trials = groups[index]
    assume(passed < trials)
    better = [*groups[:index], (passed + 1, trials), *groups[index + 1 :]]

    before, after = clustered_proportion(groups).value, clustered_proportion(better).value

    assert before is not None
    assert after is not None
    assert before < after


@given(groups_of_trials)
def test_failures_are_the_mirror_image_of_passes(groups):
    figure = clustered_proportion(groups)
    mirrored = clustered_proportion([(trials - passed, trials) for passed, trials in groups])

    assert figure.value is not None
    assert figure.low is not None
    assert mirrored.value == pytest.approx(1 - figure.value, abs=1e-9)
    assert mirrored.high == pytest.approx(1 - figure.low, abs=1e-9)


@given(st.lists(st.booleans(), min_size=2, max_size=30), st.integers(2, 20))
def test_asking_again_without_a_new_result_does_not_narrow_the_interval(passed, trials):
    once = clustered_proportion([(int(each), 1) for each in passed])
    often = clustered_proportion([(trials * each, trials) for each in passed])

    assert once.interval is not None
    assert often.interval is not None
    assert often.interval.high - often.interval.low >= once.interval.high - once.interval.low


@pytest.mark.parametrize("groups", [[], [(0, 0)], [(0, 0), (0, 0)]])
def test_without_a_trial_the_rate_is_undefined_and_not_zero(groups):
    figure = clustered_proportion(groups)

    assert figure == Figure(None, None, None, 0, "no question has a trial that counts", None, len(groups))


def test_a_single_question_with_several_trials_has_a_value_without_interval():
    figure = clustered_proportion([(2, 3)])

    assert figure.value == 2 / 3
    assert figure.interval is None
    assert figure.n == 1
    assert figure.why


def test_a_question_without_trials_is_left_out_and_counted():
    figure = clustered_proportion([(1, 2), (0, 0), (2, 2)])
    without = clustered_proportion([(1, 2), (2, 2)])

    assert figure.left_out == 1
    assert (figure.value, figure.interval, figure.n) == (without.value, without.interval, 2)


@pytest.mark.parametrize(
    ("group", "argument"),
    [
        ((-1, 3), "passed"),
        ((4, 3), "passed"),
        ((1.5, 3), "passed"),
        ((math.nan, 3), "passed"),
        ((True, 3), "passed"),
        ((0, -1), "trials"),
        ((0, math.nan), "trials"),
        ((0, 2.0), "trials"),
    ],
)
def test_arguments_out_of_range_are_refused_by_name(group, argument):
    with pytest.raises(ValueError, match=rf"^{argument}: "):
        clustered_proportion([(1, 2), group])


@pytest.mark.parametrize("degrees", [1, 2, 5, 29, 100, 100_000])
def test_the_t_quantile_equals_the_reference(degrees):
    assert t_95(degrees) == pytest.approx(t.ppf(0.975, degrees), rel=1e-9)


def test_there_is_no_t_distribution_without_a_degree_of_freedom():
    with pytest.raises(ValueError, match=r"^degrees: "):
        t_95(0)


def simulate(rate: float, alike: float, questions: int, trials: int, repetitions: int) -> tuple[float, float]:
    """Shares of runs whose clustered, and whose plain Wilson interval covers the true rate.

    The rates of questions come from a beta distribution with mean `rate` and intraclass correlation
    `alike`.
    """
    random = numpy.random.default_rng([int(rate * 100), int(alike * 100), questions, trials])
    weight = (1 - alike) / alike
    rates = random.beta(rate * weight, (1 - rate) * weight, size=(repetitions, questions))
    clustered = plain = 0
    for row in random.binomial(trials, rates).tolist():
        figure = clustered_proportion([(passed, trials) for passed in row])
        naive = wilson(sum(row), questions * trials)
        assert figure.interval is not None
        assert naive is not None
        clustered += figure.interval.low <= rate <= figure.interval.high
        plain += naive.low <= rate <= naive.high
    return clustered / repetitions, plain / repetitions


@pytest.mark.slow
@pytest.mark.parametrize("alike", [0.05, 0.3, 0.6, 0.9])
@pytest.mark.parametrize("rate", [0.5, 0.7, 0.9])
@pytest.mark.parametrize(("questions", "trials"), [(10, 3), (20, 5), (50, 3), (30, 10)])
def test_coverage_is_between_90_and_99_percent(rate, alike, questions, trials):
    covered, _ = simulate(rate, alike, questions, trials, repetitions=4000)

    assert 0.90 <= covered <= 0.99


@pytest.mark.slow
def test_the_plain_interval_would_be_far_too_narrow():
    covered, plain = simulate(0.7, 0.9, 30, 10, repetitions=2000)

    assert plain < 0.6
    assert covered > 0.9
