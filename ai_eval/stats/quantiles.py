"""Quantiles behind every two-sided 95 % interval."""

from functools import cache
from statistics import NormalDist

UPPER = 0.975
"""The level whose quantile bounds a two-sided 95 % interval."""

Z_95 = NormalDist().inv_cdf(UPPER)
"""Φ⁻¹(0.975), 1.95996…, not rounded."""


@cache
def t_95(degrees: int) -> float:
    """0.975 quantile of Student's t with `degrees` (at least 1) degrees of freedom."""
    if degrees < 1:
        raise ValueError(f"degrees: expected at least 1, not {degrees!r}")
    from scipy.special import stdtrit  # slow to import: only who needs a quantile waits for it

    return float(stdtrit(degrees, UPPER))
