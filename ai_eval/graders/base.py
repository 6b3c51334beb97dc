"""The contract for graders.

    from ai_eval.graders import Grader, GradeResult, register

    @register
    class ReadOnlyRun(Grader):
        id = "read_only_run"
        label = "Read-only run"
        ...

A grader gets one question and one response, and returns one `GradeResult`. Built-in graders import
the contract from here, so that the package can import them.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeVar

from ai_eval.text import clean_text


@dataclass(frozen=True)
class JudgeTrace:
    """What a judge was sent and what came back; stored with the grade."""

    model: str = ""
    """The model as served, else as asked for."""
    prompt_hash: str = ""
    """SHA-256 of the prompt template, the retry text and the reply schema; hex."""
    sent: list[dict[str, Any]] = field(default_factory=list)
    """The messages of the last attempt, without keys."""
    raw_reply: str | None = None
    response_format: str = ""
    """`json_schema`, `json_object` or `plain`."""
    attempts: list[dict[str, Any]] = field(default_factory=list)
    """One for each call, failed ones too: kind, error, status, tokens, cost, seconds, finish reason."""
    clamped_from: float | None = None
    """The score that the judge gave, where it was outside the scale."""
    truncated: int = 0
    """Characters of the response that the judge did not see."""


@dataclass(frozen=True)
class GradeResult:
    """One grader's verdict on one answer.

    `score` lies between `min_score` and `max_score`; None is a skip, or with `error` an error.
    """

    grader: str
    score: float | None
    min_score: float
    max_score: float
    reason: str
    error: bool = False
    details: Mapping[str, Any] = field(default_factory=dict)
    """JSON, for whoever wants more than the reason."""
    trace: JudgeTrace | None = None

    @property
    def outcome(self) -> str:
        """`scored`, `skipped` or `errored`."""
        if self.error:
            return "errored"
        return "skipped" if self.score is None else "scored"


def readable_score(score: object) -> float | None:
    """`score` as a finite float, or None where it is none: a boolean, a text, NaN, an infinity."""
    if isinstance(score, bool) or not isinstance(score, int | float):
        return None
    try:
        number = float(score)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


class GradingStopped(Exception):
    """The run was told to stop while a grader was at work: no grade, and nobody's error."""


class Grader:
    """Scores a response on one dimension. Subclass it, declare what it is, and define `grade`.

    A fresh instance, built without arguments, grades each answer.
    """

    id: str = ""
    """Stored by targets and grades: pick it once."""
    label: str = ""
    description: str = ""
    llm: bool = False
    """It asks a model; drives the judges' pages and validation."""
    min_score: float = 0.0
    max_score: float = 5.0
    sees_tool_calls: bool = False
    """A judge that is shown the tool-call record."""
    observes_actions: bool = False
    """The verdict rests on what the agent did: it reads the tool-call record or real state."""
    needs_environment: bool = False
    """It is called while the answer's environment is open, as `context["environment"]`."""
    reads_metadata: ClassVar[tuple[str, ...]] = ()
    """Keys under the question's `metadata` that it reads, so that near misses can be told."""

    def grade(self, question: str, response: str, context: dict[str, Any]) -> GradeResult:
        """The verdict on `response`.

        `question` is the question's text, for several turns the flattened transcript. `context` is
        the question row under its own keys and the reserved ones: `response_char_limit`, `messages`,
        and where they exist `criteria`, `tool_calls` (absent: nobody knows; empty: it called nothing)
        and `environment`. It is a copy: change it as you like.
        """
        raise NotImplementedError

    def result(self, score: float | None, reason: str, error: bool = False, **extra: Any) -> GradeResult:
        """A `GradeResult` with this grader's id and scale; the score is clamped to the scale.

        None skips: the grader does not apply. `error=True` says that the grader could not do its
        job; any score is dropped. What is no finite number is an error, before any clamping.
        """
        shown = clean_text(str(reason))
        if score is not None and not error:
            number = readable_score(score)
            if number is None:
                error, shown = True, f"the grader gave no finite number but {score!r}: {shown}"
            score = number
        if score is None or error:
            return GradeResult(self.id, None, self.min_score, self.max_score, shown, bool(error), **extra)
        clamped = max(self.min_score, min(self.max_score, score))
        return GradeResult(self.id, clamped, self.min_score, self.max_score, shown, False, **extra)


AnyGrader = TypeVar("AnyGrader", bound=type[Grader])


def errored(grader: Grader, reason: str) -> GradeResult:
    """The error of this grade alone."""
    return grader.result(None, reason, error=True)


def checked(grader: Grader, result: object) -> GradeResult:
    """What a grader returned, as a result that can be stored; anything unfit becomes its error."""
    if not isinstance(result, GradeResult):
        return errored(grader, f"returned {type(result).__name__} instead of a GradeResult")
    bounds = readable_score(result.min_score), readable_score(result.max_score)
    if bounds[0] is None or bounds[1] is None:
        scale = f"{result.min_score!r} to {result.max_score!r}"
        return errored(grader, f"returned a result on the scale {scale}: {result.reason}")
    if result.error or result.score is None:
        return replace(result, grader=grader.id, score=None, reason=clean_text(str(result.reason)))
    number = readable_score(result.score)
    if number is None or not bounds[0] <= number <= bounds[1]:
        return errored(
            grader,
            f"returned the score {result.score!r} on the scale {result.min_score!r} to {result.max_score!r}",
        )
    if not bounds[0] < bounds[1]:
        return errored(
            grader, f"returned a scale without extent: {result.min_score!r} to {result.max_score!r}"
        )
    return replace(result, grader=grader.id, score=number, reason=clean_text(str(result.reason)))
