"""Figures and intervals as values."""

import json
from dataclasses import FrozenInstanceError, asdict

import pytest

from ai_eval.stats import Figure, Interval


def test_a_figure_survives_json():
    figure = Figure(0.5, 0.2, 0.8, 6, "", 0.1, 2)

    assert Figure(**json.loads(json.dumps(asdict(figure)))) == figure


def test_an_undefined_figure_must_say_why():
    with pytest.raises(ValueError, match=r"^why: "):
        Figure(None, None, None, 0)


@pytest.mark.parametrize(("low", "high"), [(0.1, None), (None, 0.9)])
def test_half_an_interval_is_refused(low, high):
    with pytest.raises(ValueError, match=r"^low, high: "):
        Figure(0.5, low, high, 3)


def test_both_bounds_make_the_interval_of_a_figure():
    assert Figure(0.5, 0.0, 0.8, 6).interval == Interval(0.0, 0.8)


def test_a_figure_without_bounds_has_no_interval():
    assert Figure(0.5, None, None, 6).interval is None


def test_a_figure_can_not_be_changed():
    with pytest.raises(FrozenInstanceError):
        Figure(0.5, 0.2, 0.8, 6).value = 1.0
