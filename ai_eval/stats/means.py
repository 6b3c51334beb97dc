"""Mean scores over questions."""

import math
from collections.abc import Sequence

from ai_eval.stats.moments import mean, sample_variance
from ai_eval.stats.quantiles import t_95
from ai_eval.stats.ranges import within
from ai_eval.stats.thresholds import TOLERANCE
from ai_eval.stats.values import Figure


def mean_score(groups: Sequence[Sequence[float]], low: float = 0.0, high: float = 5.0) -> Figure:
    """Mean over questions of the mean over their scored trials, with a 95 % interval.

    `groups` has the scores of each question, on the scale `low` to `high`; the order of questions
    and of trials makes no difference. A question without scores is left out and counted. `n` is the
    number of questions.

    With s the standard deviation of Q question means, the standard error is s/√Q and the interval
    mean ± t·s/√Q, t with Q - 1 degrees of freedom, clipped to the scale. The value is undefined
    without any question. The interval is undefined with a single one, and when all question means
    are equal: it would have no width, as if the mean were known exactly.

    Raises ValueError for a scale without width and for a score that is no number of the scale.
    """
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(f"low, high: a scale needs low below high, both finite, not {low!r} to {high!r}")
    means = [mean([within("groups", score, low, high) for score in scores]) for scores in groups if scores]
    questions, left_out = len(means), len(groups) - len(means)
    if not means:
        return Figure(None, None, None, 0, "no question has a score", left_out=left_out)
    value = mean(means)
    if questions == 1:
        why = "no interval: a single question tells nothing about the spread between questions"
        return Figure(value, None, None, 1, why, left_out=left_out)
    error = math.sqrt(sample_variance(means) / questions)
    if max(means) - min(means) <= TOLERANCE:
        why = f"no interval: all {questions} questions have the same mean score"
        return Figure(value, None, None, questions, why, error, left_out)
    reach = t_95(questions - 1) * error
    return Figure(value, max(low, value - reach), min(high, value + reach), questions, "", error, left_out)
