"""One answer on its way through a worker, and what happens to it."""

import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

from ai_eval.agents import Recorder
from ai_eval.graders import GradeResult, JudgeTrace
from ai_eval.models import Grade
from ai_eval.runs.claims import Claim


@dataclass(frozen=True)
class Asked:
    """What the system under test gave. `failure` is empty, `target_error` or `provider_error`."""

    response: str | None = None
    tool_calls: list[dict[str, Any]] | None = None
    ended: str = ""
    failure: str = ""
    error: str = ""
    seconds: float = 0.0
    model: str = ""
    attempts: Sequence[Mapping[str, Any]] = ()
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float | None = None
    changes: Any = None
    notes: Sequence[str] = ()


def stored_result(grade: Grade) -> GradeResult:
    """A stored grade as scoring needs it."""
    trace = None if grade.clamped_from is None else JudgeTrace(clamped_from=grade.clamped_from)
    return GradeResult(
        grade.grader,
        grade.score,
        grade.min_score,
        grade.max_score,
        grade.reason,
        grade.outcome == Grade.Outcome.ERRORED,
        trace=trace,
    )


@dataclass
class Job:
    """One claimed answer. A worker thread owns it until it ends or until it is abandoned."""

    claim: Claim
    asked: Asked | None = None
    grades: dict[str, GradeResult] = field(default_factory=dict)
    phase: str = "ask"
    """`ask`, or the id of the grader that is at work."""
    deadline: float = float("inf")
    """Monotonic time at which the present phase has taken too long."""
    abandoned: bool = False
    recorder: Recorder = field(default_factory=Recorder)
    inside: Asked | None = None
    """What the agent gave while its environment is still open: not stored yet."""
    connections: Sequence[BaseDatabaseWrapper] = ()
    """The database connections of the thread that works on it."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def answer_id(self) -> int:
        return self.claim.answer.pk

    @property
    def token(self) -> uuid.UUID:
        return self.claim.token

    def begin(self, phase: str, limit: float) -> None:
        self.phase = phase
        self.deadline = time.monotonic() + limit

    @classmethod
    def of(cls, claim: Claim) -> "Job":
        """The job goes on from what is stored of the answer."""
        answer = claim.answer
        if not answer.asked:
            return cls(claim)
        asked = Asked(
            response=answer.response,
            tool_calls=answer.tool_calls,
            ended=answer.ended,
            failure=answer.ask_failure,
            error=answer.error,
        )
        return cls(claim, asked, {grade.grader: stored_result(grade) for grade in claim.grades})

    def overdue(self) -> bool:
        return time.monotonic() > self.deadline

    def continued(self) -> "Job":
        """The same answer for another thread, after this one was abandoned."""
        return Job(self.claim, self.asked, dict(self.grades))


@dataclass(frozen=True)
class AskedEvent:
    job: Job
    asked: Asked


@dataclass(frozen=True)
class GradedEvent:
    job: Job
    result: GradeResult


@dataclass(frozen=True)
class EndedEvent:
    job: Job


@dataclass(frozen=True)
class GivenBackEvent:
    """The answer waits again: its call was not made, or is ours to repeat."""

    job: Job


Event = AskedEvent | GradedEvent | EndedEvent | GivenBackEvent
