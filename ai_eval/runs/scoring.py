"""What the grades of one answer mean together. Pure functions."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ai_eval.stats import reaches

SCORED, SKIPPED, ERRORED = "scored", "skipped", "errored"


@dataclass(frozen=True)
class GradeFacts:
    """Of a grade, what scoring needs. `composite` (0 to 5) is None unless it was scored."""

    grader: str
    outcome: str
    composite: float | None
    clamped: bool = False

    @property
    def missing(self) -> bool:
        """Whether we do not know it, through no fault of the system under test."""
        return self.outcome == ERRORED or self.clamped


@dataclass(frozen=True)
class AnswerScore:
    """Outcome and score (0 to 5) of one answer; `passed` None where nothing is known or asked."""

    outcome: str
    score: float | None
    passed: bool | None
    failed_required: tuple[str, ...] = ()
    degraded: bool = False


@dataclass(frozen=True)
class Bound:
    """Score (0 to 5) and passing of an answer once everything missing is taken for one value."""

    score: float
    passed: bool


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _failed_required(
    values: dict[str, float | None], required: Collection[str], threshold: float
) -> list[str]:
    """Required graders among `values` (those that did not skip) that do not reach the threshold."""
    return [
        grader
        for grader in required
        if grader in values and ((value := values[grader]) is None or not reaches(value, threshold))
    ]


def score_answer(
    grades: Sequence[GradeFacts],
    *,
    required: Collection[str],
    threshold: float,
    ask_failure: str = "",
    blank: bool = False,
) -> AnswerScore:
    """Outcome, score and passing of an answer.

    `ask_failure` is `target_error`, `provider_error` or empty; `blank` says that the response shows
    nothing. The score is the mean of the scored grades' composites. The answer passes when it
    reaches `threshold` (0 to 5), also with every errored grade taken for 0, and each required grader
    that did not skip was scored and reaches it by itself.
    """
    degraded = any(grade.outcome == ERRORED for grade in grades)
    counted = {grade.grader: grade.composite for grade in grades if grade.outcome != SKIPPED}
    failed = tuple(_failed_required(counted, required, threshold))
    if ask_failure == "provider_error":
        return AnswerScore("provider_error", None, None, (), degraded)
    if ask_failure:
        return AnswerScore("target_error", 0.0, False, failed, degraded)
    if not counted:
        return AnswerScore("unscored", None, None)
    scored = [value for value in counted.values() if value is not None]
    if not scored:
        return AnswerScore("grade_error", None, None, failed, True)
    score = _mean(scored)
    pessimistic = sum(scored) / len(counted)
    passed = not failed and reaches(score, threshold) and reaches(pessimistic, threshold)
    return AnswerScore("empty" if blank else "scored", score, passed, failed, degraded)


def bound_answer(
    grades: Sequence[GradeFacts],
    *,
    required: Collection[str],
    threshold: float,
    outcome: str,
    missing_as: float,
) -> Bound | None:
    """The answer once each missing part is taken for the composite `missing_as` (0 or 5).

    None for an answer that stands outside every figure.
    """
    if outcome == "unscored":
        return None
    if outcome == "target_error":
        return Bound(0.0, False)
    if outcome in ("provider_error", ""):
        return Bound(missing_as, missing_as > 0)
    values = {
        grade.grader: missing_as if grade.missing or grade.composite is None else grade.composite
        for grade in grades
        if grade.outcome != SKIPPED
    }
    score = _mean(list(values.values()))
    return Bound(score, reaches(score, threshold) and not _failed_required(dict(values), required, threshold))
