"""Every figure that is shown, as pure functions of numbers: no model, no query, no Django.

An interval is two-sided with 95 %. What is undefined is a value of its own (`Figure.why`), never 0
and never NaN. Arguments out of range raise a ValueError that names the argument.
"""

from ai_eval.stats.means import mean_score
from ai_eval.stats.proportions import clustered_proportion, wilson
from ai_eval.stats.repeats import pass_at_k, pass_hat_k
from ai_eval.stats.thresholds import TOLERANCE, reaches
from ai_eval.stats.values import Figure, Interval

__all__ = [
    "TOLERANCE",
    "Figure",
    "Interval",
    "clustered_proportion",
    "mean_score",
    "pass_at_k",
    "pass_hat_k",
    "reaches",
    "wilson",
]
