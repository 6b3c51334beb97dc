"""Mean and variance, exact enough that the order of the values makes no difference."""

import math
from collections.abc import Sequence


def mean(values: Sequence[float]) -> float:
    """Arithmetic mean of at least one value, never outside their range.

    Without the clip the mean of three times 0.1 is above 0.1.
    """
    return min(max(math.fsum(values) / len(values), min(values)), max(values))


def sample_variance(values: Sequence[float]) -> float:
    """Variance with divisor n - 1, of at least two values."""
    centre = mean(values)
    return math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1)
