"""pass@k and pass^k."""

import math
from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_eval.stats import Figure, clustered_proportion, pass_at_k, pass_hat_k

question = st.integers(0, 12).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))
outcomes_and_k = st.integers(1, 6).flatmap(
    lambda k: st.tuples(
        st.lists(question.filter(lambda each: each[0] >= k), min_size=1, max_size=20), st.just(k)
    )
)
both = pytest.mark.parametrize("statistic", [pass_at_k, pass_hat_k])


def by_drawing(n: int, c: int, k: int, wanted) -> float:
    """The share of all choices of k out of n trials, c of them passed, for which `wanted` holds."""
    draws = list(combinations([True] * c + [False] * (n - c), k))
    return float(Fraction(sum(wanted(draw) for draw in draws), len(draws)))


def test_two_of_five_passed_and_two_are_drawn():
    assert pass_at_k([(5, 2)], 2).value == 0.7
    assert pass_hat_k([(5, 2)], 2).value == 0.1


@pytest.mark.parametrize("n", range(1, 8))
def test_both_equal_counting_every_draw(n):
    for c in range(n + 1):
        for k in range(1, n + 1):
            assert pass_at_k([(n, c)], k).value == by_drawing(n, c, k, any)
            assert pass_hat_k([(n, c)], k).value == by_drawing(n, c, k, all)


@given(outcomes_and_k)
def test_one_trial_drawn_makes_both_the_pass_rate(pair):
    outcomes, _ = pair
    rate = clustered_proportion([(c, n) for n, c in outcomes]).value

    assert pass_at_k(outcomes, 1).value == pytest.approx(rate, abs=1e-12)
    assert pass_hat_k(outcomes, 1).value == pytest.approx(rate, abs=1e-12)


@given(outcomes_and_k)
def test_always_is_never_more_than_the_rate_and_once_never_less(pair):
    outcomes, k = pair
    always, once = pass_hat_k(outcomes, k).value, pass_at_k(outcomes, k).value
    rate = clustered_proportion([(c, n) for n, c in outcomes]).value

    assert always is not None
    assert once is not None
    assert rate is not None
    assert 0.0 <= always <= rate + 1e-12
    assert rate - 1e-12 <= once <= 1.0


@both
@given(pair=outcomes_and_k, data=st.data())
def test_one_pass_more_never_lowers_it(statistic, pair, data):
    outcomes, k = pair
    index = data.draw(st.integers(0, len(outcomes) - 1))
    n, c = outcomes[index]
    better = [*outcomes[:index], (n, min(n, c + 1)), *outcomes[index + 1 :]]

    before, after = statistic(outcomes, k).value, statistic(better, k).value

    assert before is not None
    assert after is not None
    assert before <= after


@both
@given(pair=outcomes_and_k, random=st.randoms(use_true_random=False))
def test_the_order_of_questions_makes_no_difference(statistic, pair, random):
    outcomes, k = pair
    shuffled = list(outcomes)
    random.shuffle(shuffled)

    assert statistic(shuffled, k) == statistic(outcomes, k)


@given(outcomes_and_k)
def test_failing_always_is_the_opposite_of_passing_once(pair):
    outcomes, k = pair
    once = pass_at_k(outcomes, k).value
    always_failed = pass_hat_k([(n, n - c) for n, c in outcomes], k).value

    assert once is not None
    assert always_failed == pytest.approx(1 - once, abs=1e-12)


@both
def test_a_question_with_fewer_trials_is_left_out_and_counted(statistic):
    figure = statistic([(3, 3), (2, 0), (0, 0)], 3)

    assert (figure.value, figure.n, figure.left_out) == (1.0, 1, 2)


@both
def test_one_failure_left_of_three_trials_is_not_a_pass_at_three(statistic):
    assert statistic([(1, 0)], 3).value is None


@both
@pytest.mark.parametrize("outcomes", [[], [(2, 2)], [(2, 2), (0, 0)]])
def test_without_enough_trials_it_is_undefined_and_says_why(statistic, outcomes):
    assert statistic(outcomes, 3) == Figure(
        None, None, None, 0, "no question has 3 trials that count", None, len(outcomes)
    )


@both
def test_it_has_no_interval(statistic):
    assert statistic([(3, 1), (3, 2)], 2).interval is None


def test_many_trials_neither_overflow_nor_lose_digits():
    assert pass_hat_k([(3000, 2999)], 1500).value == 0.5
    assert pass_at_k([(3000, 1)], 1500).value == 0.5
    assert pass_at_k([(100_000, 1)], 1).value == 1e-5


@both
@pytest.mark.parametrize(
    ("outcome", "argument"),
    [
        ((-1, 0), "n"),
        ((3.0, 1), "n"),
        ((math.nan, 1), "n"),
        ((3, -1), "c"),
        ((3, 4), "c"),
        ((3, math.nan), "c"),
        ((3, True), "c"),
        ((1, 2), "c"),
    ],
)
def test_outcomes_out_of_range_are_refused_by_name(statistic, outcome, argument):
    with pytest.raises(ValueError, match=rf"^{argument}: "):
        statistic([(3, 1), outcome], 2)


@both
@pytest.mark.parametrize("k", [0, -1, 1.0, math.nan, True, None])
def test_k_is_a_whole_number_of_at_least_one(statistic, k):
    with pytest.raises(ValueError, match=r"^k: "):
        statistic([(3, 1)], k)
