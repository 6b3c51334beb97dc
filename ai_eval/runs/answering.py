"""One answer from asking to its last grade, on a worker's thread, without bookkeeping in the database."""

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from django.db import DatabaseError, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from ai_eval import environments
from ai_eval.failures import described, readable_traceback
from ai_eval.graders import Grader, GradeResult, GraderInfo
from ai_eval.graders.base import GradingStopped
from ai_eval.graders.context import ABSENT, build_context, question_text
from ai_eval.graders.execution import run_grader
from ai_eval.graders.judge import LLMJudge
from ai_eval.runs.ask import ask, failed
from ai_eval.runs.jobs import (
    Asked,
    AskedEvent,
    EndedEvent,
    Event,
    GivenBackEvent,
    GradedEvent,
    Job,
)
from ai_eval.runs.spec import RunSpec
from ai_eval.text import clean_json

logger = logging.getLogger(__name__)

STATE_IS_GONE = "the state that this answer left behind is gone, it can't be graded any more"


class Abandoned(Exception):
    """The job was taken from this thread: nothing that it still does counts."""


def leave_connections_clean() -> None:
    """Nothing that an agent or a grader left open may reach the next answer of this thread.

    A transaction that was begun and never ended is thrown away with its connection: Django's own
    `close` would leave a connection that can't be used again.
    """
    for connection in connections.all(initialized_only=True):
        if connection.in_atomic_block:
            logger.warning("a transaction was left open and is rolled back")
            close_raw(connection)
            del connections[connection.alias]
        else:
            connection.close_if_unusable_or_obsolete()


def close_raw(connection: BaseDatabaseWrapper) -> None:
    """Close the driver's connection, from whichever thread; what was not committed is rolled back."""
    if connection.connection is not None:
        try:
            connection.connection.close()
        except DatabaseError:
            logger.warning("a connection could not be closed\n%s", readable_traceback())


class Answering:
    """Works off one job. `emit` takes events that belong together and may be called from any thread."""

    def __init__(
        self, spec: RunSpec, job: Job, emit: Callable[..., None], should_stop: Callable[[], bool]
    ) -> None:
        self.spec = spec
        self.job = job
        self._emit = emit
        self.should_stop = should_stop
        self.row: dict[str, Any] = dict(job.claim.answer.question)

    def emit(self, *events: Event) -> None:
        """Note the events on the job and hand them on, as one act: an abandoned job does neither."""
        with self.job.lock:
            if self.job.abandoned:
                raise Abandoned
            for event in events:
                if isinstance(event, AskedEvent):
                    self.job.asked = event.asked
                elif isinstance(event, GradedEvent):
                    self.job.grades[event.result.grader] = event.result
            self._emit(*events)

    def run(self) -> None:
        """To the end, or until told to stop: then what is not done waits again."""
        try:
            self.job.connections = connections.all()
            if self.job.asked is None:
                self.stop_if_told()
                self.ask()
            self.grade_text()
            self.emit(EndedEvent(self.job))
        except GradingStopped:
            if not self.should_stop():
                raise  # nobody told it to stop: given back, it would come round again for ever
            self.emit(GivenBackEvent(self.job))
        finally:
            leave_connections_clean()

    def stop_if_told(self) -> None:
        if self.should_stop():
            raise GradingStopped("the run was stopped")

    def ask(self) -> None:
        self.job.begin("ask", self.spec.ask_limit)
        if self.spec.mode == "agent" and self.spec.environment:
            events = self.ask_in_environment()
        else:
            events = [AskedEvent(self.job, ask(self.spec, self.row, self.should_stop, self.job.recorder))]
        self.emit(*events)

    def ask_in_environment(self) -> list[Event]:
        """The answer and its environment grades, which are only stored together."""
        environment = environments.registry.get(self.spec.environment)
        if environment is None:
            problem = f"the environment {self.spec.environment} is registered by no app any more"
            return [AskedEvent(self.job, failed("provider_error", problem))]
        row = {**self.row, "fixtures": [*self.spec.fixtures, *self.row.get("fixtures", [])]}
        asked: Asked | None = None
        results: list[GradeResult] = []
        try:
            self.job.begin("environment", self.spec.time_limit)
            with environment().open(row) as session:
                self.job.begin("ask", self.spec.ask_limit)
                asked = ask(self.spec, self.row, self.should_stop, self.job.recorder)
                self.job.inside = asked
                self.job.begin("environment", self.spec.time_limit)
                if asked.failure != "provider_error":
                    results = [
                        self.grade(info, asked, session)
                        for info in self.spec.graders
                        if info.needs_environment
                    ]
                    self.job.begin("environment", self.spec.time_limit)
                    asked = replace(asked, changes=clean_json(session.changes()))
        except GradingStopped:
            raise
        except Exception as error:  # noqa: BLE001 - foreign code: whatever it raises is its own failure
            logger.error("the environment of answer %s failed\n%s", self.job.answer_id, readable_traceback())
            problem = f"the environment {self.spec.environment} failed: {described(error)}"
            known = {"response": asked.response, "tool_calls": asked.tool_calls} if asked else {}
            return [AskedEvent(self.job, failed("provider_error", problem, **known))]
        return [AskedEvent(self.job, asked), *(GradedEvent(self.job, result) for result in results)]

    def grade_text(self) -> None:
        """Every grade that is not there yet and needs no open environment."""
        asked = self.job.asked
        assert asked is not None
        for info in self.spec.graders:
            if info.id in self.job.grades or (asked.failure and not info.needs_environment):
                continue
            if asked.failure == "provider_error":
                continue
            self.stop_if_told()
            result = info.error(STATE_IS_GONE) if info.needs_environment else self.grade(info, asked, None)
            self.emit(GradedEvent(self.job, result))

    def grade(self, info: GraderInfo, asked: Asked, session: Any) -> GradeResult:
        """One grader's verdict on the answer."""
        self.job.begin(info.id, self.spec.grade_limit(info))
        context = build_context(
            self.row,
            response_char_limit=self.spec.response_char_limit,
            tool_calls=ABSENT if asked.tool_calls is None else asked.tool_calls,
            environment=session,
        )
        return run_grader(info, question_text(self.row), asked.response or "", context, self.prepare)

    def prepare(self, grader: Grader) -> None:
        if isinstance(grader, LLMJudge):
            grader.config = self.spec.judges.get(grader.id)
            grader.should_stop = self.should_stop
