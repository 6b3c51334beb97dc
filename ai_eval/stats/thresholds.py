"""The one comparison of a figure with a threshold."""

import math

TOLERANCE = 1e-9
"""Differences up to this are rounding: 0.1 + 0.2 reaches 0.3, and 0.699999 does not reach 0.7."""


def reaches(value: float, threshold: float) -> bool:
    """Whether `value` is at least `threshold`, up to `TOLERANCE`.

    Raises ValueError for NaN, which would count as below every threshold without a word.
    """
    for name, number in (("value", value), ("threshold", threshold)):
        if math.isnan(number):
            raise ValueError(f"{name}: NaN can't be compared with anything")
    return value >= threshold - TOLERANCE
