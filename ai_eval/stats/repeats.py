"""What repeating a question tells: does it work at least once, does it work every time."""

from collections.abc import Callable, Sequence
from math import comb

from ai_eval.stats.moments import mean
from ai_eval.stats.ranges import part_of_whole, whole
from ai_eval.stats.values import Figure


def pass_at_k(outcomes: Sequence[tuple[int, int]], k: int) -> Figure:
    """Chance that at least one of `k` trials of a question passes, mean over questions, 0 to 1.

    `outcomes` has (n, c) of each question: n trials that count, c of them passed. Missing and
    unscored trials are no part of n; an agent's own failures are. A question with fewer than `k`
    trials is left out and counted. The figure's `n` is the number of questions that are not; with
    none it is undefined. There is no interval.

    Raises ValueError unless k is a whole number of at least 1, and n and c are whole numbers with
    0 <= c <= n.

    M. Chen and others (2021), "Evaluating large language models trained on code",
    arXiv:2107.03374: 1 - C(n-c, k) / C(n, k), without bias for each question.
    """
    return _mean_over_questions(outcomes, k, _at_least_one_passes)


def pass_hat_k(outcomes: Sequence[tuple[int, int]], k: int) -> Figure:
    """Chance that all of `k` trials of a question pass (pass^k), mean over questions, 0 to 1.

    Arguments, what is left out, and errors are those of `pass_at_k`.

    S. Yao and others (2024), "τ-bench", arXiv:2406.12045: C(c, k) / C(n, k).
    """
    return _mean_over_questions(outcomes, k, _all_pass)


def _at_least_one_passes(n: int, c: int, k: int) -> float:
    # Whole numbers up to the one division: nothing cancels, and no binomial is too large for a float.
    return (comb(n, k) - comb(n - c, k)) / comb(n, k)


def _all_pass(n: int, c: int, k: int) -> float:
    return comb(c, k) / comb(n, k)


def _mean_over_questions(
    outcomes: Sequence[tuple[int, int]], k: int, chance: Callable[[int, int, int], float]
) -> Figure:
    k = whole("k", k, at_least=1)
    checked = part_of_whole(outcomes, part_name="c", whole_name="n")
    chances = [chance(n, c, k) for n, c in checked if n >= k]
    left_out = len(checked) - len(chances)
    if not chances:
        why = f"no question has {k} trials that count" if k > 1 else "no question has a trial that counts"
        return Figure(None, None, None, 0, why, left_out=left_out)
    return Figure(mean(chances), None, None, len(chances), left_out=left_out)
