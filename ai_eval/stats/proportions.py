"""Shares with their intervals: of independent trials, and of questions that were asked repeatedly."""

import math
from collections.abc import Sequence

from ai_eval.stats.moments import mean, sample_variance
from ai_eval.stats.quantiles import Z_95, t_95
from ai_eval.stats.ranges import part_of_whole, within
from ai_eval.stats.values import Figure, Interval


def wilson(successes: float, n: float) -> Interval | None:
    """95 % score interval of the proportion `successes` / `n`, within 0 to 1.

    Both may be fractional, as an effective sample size is. `n` = 0: None. The interval contains the
    proportion itself. Raises ValueError unless 0 <= successes <= n, both finite.

    E. B. Wilson (1927), Journal of the American Statistical Association 22, 209 to 212:
    [p + z²/2n ± z√(p(1-p)/n + z²/4n²)] / (1 + z²/n), here multiplied through by n.
    """
    n = within("n", n, 0.0, math.inf)
    successes = within("successes", successes, 0.0, n)
    if n == 0:
        return None
    share = successes / n
    centre = successes + Z_95**2 / 2
    half_width = Z_95 * math.sqrt(successes * ((n - successes) / n) + Z_95**2 / 4)
    scale = n + Z_95**2
    # Rounding may push a bound past the proportion, or past 0 and 1.
    low = max(0.0, min((centre - half_width) / scale, share))
    high = min(1.0, max((centre + half_width) / scale, share))
    return Interval(low, high)


def clustered_proportion(groups: Sequence[tuple[int, int]]) -> Figure:
    """Mean over questions of the share of trials that passed, with a 95 % interval, 0 to 1.

    `groups` has (passed, trials) of each question; their order makes no difference. A question
    without trials is left out and counted. `n` is the number of questions. The value is undefined
    without any question, the interval with a single one that has several trials.

    Trials of one question are alike, so the interval is Wilson's with an effective sample size. It
    is the plain one when each question has one trial.

    Raises ValueError unless both are whole numbers with 0 <= passed <= trials.

    E. L. Korn and B. I. Graubard (1998), Survey Methodology 24, 193 to 201.
    """
    checked = part_of_whole(((trials, passed) for passed, trials in groups), "passed", "trials")
    counted = [(trials, passed) for trials, passed in checked if trials]
    left_out = len(checked) - len(counted)
    if not counted:
        return Figure(None, None, None, 0, "no question has a trial that counts", left_out=left_out)
    shares = [passed / trials for trials, passed in counted]
    questions, trials = len(counted), sum(trials for trials, _ in counted)
    value = mean(shares)
    if questions == 1 and trials > 1:
        why = "no interval: the trials of a single question tell nothing about other questions"
        return Figure(value, None, None, 1, why, left_out=left_out)
    effective = effective_sample_size(shares, trials)
    interval = wilson(value * effective, effective)
    assert interval is not None
    return Figure(value, interval.low, interval.high, questions, left_out=left_out)


def effective_sample_size(shares: Sequence[float], trials: int) -> float:
    """How many independent trials tell as much as these, above 0.

    `shares` has the share that passed of each question (0 to 1); `trials` is the number of all
    trials, at least one for each question, and more than one if there is one question only.

    With Q questions of mean p and variance of that mean v = s²/Q it is p(1-p)/v, held between Q and
    `trials`; Q where p is 0 or 1 or all shares are equal, since no spread is no evidence of
    independence; times (z/t)² with Q - 1 degrees for the estimated v. One trial each: Q.
    """
    questions = len(shares)
    if trials == questions:
        return float(questions)
    centre = mean(shares)
    if min(shares) == max(shares):
        size = float(questions)
    else:
        variance_of_mean = sample_variance(shares) / questions
        size = min(max(centre * (1 - centre) / variance_of_mean, float(questions)), float(trials))
    return size * (Z_95 / t_95(questions - 1)) ** 2
