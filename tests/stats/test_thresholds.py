"""The comparison with a threshold."""

import math

import pytest

from ai_eval.stats import TOLERANCE, reaches


@pytest.mark.parametrize(
    ("value", "threshold"),
    [
        (0.3, 0.1 + 0.2),
        (0.1 * 3, 0.3),
        (7 / 10, 0.7),
        (1 - 0.9, 0.1),
        (0.0, 0.0),
        (5.0, 3.5),
        (0.7, 0.7 + 9e-10),
    ],
)
def test_rounding_does_not_keep_a_value_from_its_threshold(value, threshold):
    assert reaches(value, threshold)


@pytest.mark.parametrize(
    ("value", "threshold"), [(0.699999, 0.7), (0.0, 1e-8), (3.4999, 3.5), (0.7, 0.7 + 1.1e-9), (-1.0, 0.0)]
)
def test_what_is_really_below_does_not_reach(value, threshold):
    assert not reaches(value, threshold)


def test_the_tolerance_is_a_thousand_millionth():
    assert TOLERANCE == 1e-9


def test_a_value_that_is_no_number_is_an_error_and_not_a_failure():
    with pytest.raises(ValueError, match=r"^value: "):
        reaches(math.nan, 0.5)


def test_a_threshold_that_is_no_number_is_an_error():
    with pytest.raises(ValueError, match=r"^threshold: "):
        reaches(0.5, math.nan)
