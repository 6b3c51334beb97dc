"""The one place that stores what workers find out. It writes only what is still held."""

import logging
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from django.db import InterfaceError, OperationalError, transaction
from django.db.models.functions import Now

from ai_eval.failures import readable_traceback
from ai_eval.graders import GradeResult
from ai_eval.graders.scale import composite
from ai_eval.llm_types import Attempt, total, total_cost
from ai_eval.models import Answer, Grade, WorkItem
from ai_eval.runs.bulk import update_each
from ai_eval.runs.claims import DONE, give_back, mark_started, still_held
from ai_eval.runs.jobs import (
    Asked,
    AskedEvent,
    EndedEvent,
    Event,
    GivenBackEvent,
    GradedEvent,
    Job,
)
from ai_eval.runs.scoring import AnswerScore, GradeFacts, score_answer
from ai_eval.runs.verdict import Rules
from ai_eval.text import clean_json, is_blank

ASKED_FIELDS = (
    "asked",
    "response",
    "tool_calls",
    "ended",
    "ask_failure",
    "error",
    "seconds",
    "model",
    "attempts",
    "prompt_tokens",
    "completion_tokens",
    "cost",
    "changes",
    "notes",
)
logger = logging.getLogger(__name__)

MODEL_LENGTH = 200
ENDED_FIELDS = ("outcome", "score", "passed", "failed_required", "degraded")


class Inbox:
    """Events that wait to be stored, in the order in which they came."""

    def __init__(self) -> None:
        self._groups: deque[tuple[Event, ...]] = deque()
        self.arrived = threading.Event()

    def put(self, *events: Event) -> None:
        """Events that are stored together or not at all."""
        self._groups.append(events)
        self.arrived.set()

    def drain(self) -> list[Event]:
        self.arrived.clear()
        drained: list[Event] = []
        while self._groups:
            drained.extend(self._groups.popleft())
        return drained

    def __len__(self) -> int:
        return len(self._groups)


def asked_values(asked: Asked) -> list[Any]:
    """In the order of ASKED_FIELDS."""
    return [
        True,
        asked.response,
        clean_json(asked.tool_calls),
        asked.ended,
        asked.failure,
        asked.error,
        asked.seconds,
        asked.model[:MODEL_LENGTH],
        clean_json(list(asked.attempts)),
        asked.prompt_tokens,
        asked.completion_tokens,
        asked.cost,
        asked.changes,
        clean_json(list(asked.notes)),
    ]


def grade_row(answer_id: int, result: GradeResult) -> Grade:
    """The row of one grade."""
    trace = result.trace
    score = result.score
    row = Grade(
        answer_id=answer_id,
        grader=result.grader,
        outcome=result.outcome,
        score=score,
        min_score=result.min_score,
        max_score=result.max_score,
        composite=None if score is None else composite(score, result.min_score, result.max_score),
        reason=result.reason,
        details=clean_json(dict(result.details)),
    )
    if trace is not None:
        row.model = trace.model[:MODEL_LENGTH]
        row.prompt_hash = trace.prompt_hash
        row.sent = clean_json(trace.sent)
        row.raw_reply = clean_json(trace.raw_reply)
        row.response_format = trace.response_format
        row.attempts = clean_json(trace.attempts)
        attempts = [Attempt.from_json(each) for each in trace.attempts]
        row.prompt_tokens = total([each.usage.prompt_tokens for each in attempts])
        row.completion_tokens = total([each.usage.completion_tokens for each in attempts])
        row.cost = total_cost(attempts)
        row.clamped_from = trace.clamped_from
        row.truncated = trace.truncated
    return row


def result_facts(result: GradeResult) -> GradeFacts:
    """What scoring needs of a fresh grade."""
    scored = None if result.score is None else composite(result.score, result.min_score, result.max_score)
    clamped = result.trace is not None and result.trace.clamped_from is not None
    return GradeFacts(result.grader, result.outcome, scored, clamped)


def row_facts(grade: Grade) -> GradeFacts:
    """What scoring needs of a stored grade."""
    return GradeFacts(grade.grader, grade.outcome, grade.composite, grade.clamped_from is not None)


def score_job(job: Job, rules: Rules) -> AnswerScore:
    """The answer's score from all of its grades."""
    asked = job.asked
    assert asked is not None
    return score_answer(
        [result_facts(result) for result in job.grades.values()],
        required=rules.required,
        threshold=rules.pass_threshold,
        ask_failure=asked.failure,
        blank=is_blank(asked.response or ""),
    )


def flush(events: Sequence[Event], starting: Iterable[Job], rules: Rules) -> list[Job]:
    """Store the events and count the starts, in one transaction. Returns the jobs that may start.

    What is no longer held under its token is dropped: somebody else has it.
    """
    jobs = {event.job.answer_id: event.job for event in events}
    starting = list(starting)
    tokens = {job.answer_id: job.token for job in [*jobs.values(), *starting]}
    with transaction.atomic():
        held = still_held(tokens)
        kept = [event for event in events if event.job.answer_id in held]
        _store(kept, rules)
        begun = [job for job in starting if job.answer_id in held]
        if begun:
            mark_started([job.answer_id for job in begun])
    return begun


def _store(events: Sequence[Event], rules: Rules) -> None:
    asked = [
        (event.job.answer_id, asked_values(event.asked)) for event in events if isinstance(event, AskedEvent)
    ]
    graded = [event for event in events if isinstance(event, GradedEvent)]
    ended = [event.job for event in events if isinstance(event, EndedEvent)]
    returned = [event.job for event in events if isinstance(event, GivenBackEvent)]
    update_each(Answer, ASKED_FIELDS, asked)
    # A commit whose confirmation was lost is sent again: the grade that is there is the same one. Not
    # `ignore_conflicts`, by which SQLite passes over whatever else is wrong with a row in silence.
    Grade.objects.bulk_create(
        [grade_row(event.job.answer_id, event.result) for event in graded],
        update_conflicts=True,
        unique_fields=["answer", "grader"],
        update_fields=["grader"],
    )
    if ended:
        scores = [(job.answer_id, score_job(job, rules)) for job in ended]
        update_each(
            Answer,
            ENDED_FIELDS,
            [
                (pk, [score.outcome, score.score, score.passed, list(score.failed_required), score.degraded])
                for pk, score in scores
            ],
        )
        WorkItem.objects.filter(pk__in=[pk for pk, _ in scores]).update(
            state=DONE, token=None, lease_until=None, ended_at=Now()
        )
    if returned:
        give_back({job.answer_id: job.token for job in returned}, started=True)


def store_apart(events: Sequence[Event], rules: Rules) -> None:
    """Store answer by answer what could not be stored together.

    Of an answer that still can't be stored the grades become errors; when that is not enough, the whole
    answer is missing, with the reason. Database errors that may pass are raised.
    """
    by_job: dict[int, list[Event]] = {}
    for event in events:
        by_job.setdefault(event.job.answer_id, []).append(event)
    for group in by_job.values():
        for attempt in (list, _without_grades, _as_missing):
            try:
                flush(attempt(group), [], rules)
                break
            except (OperationalError, InterfaceError):
                raise
            except Exception:
                if attempt is _as_missing:
                    raise
                logger.error("answer %s can't be stored\n%s", group[0].job.answer_id, readable_traceback())


def _without_grades(group: list[Event]) -> list[Event]:
    """The same events with each grade as an error that says why."""
    kept: list[Event] = []
    for event in group:
        if isinstance(event, GradedEvent):
            result = GradeResult(
                event.result.grader, None, 0.0, 5.0, "what the grader gave can't be stored", error=True
            )
            event.job.grades[result.grader] = result
            kept.append(GradedEvent(event.job, result))
        else:
            kept.append(event)
    return kept


def _as_missing(group: list[Event]) -> list[Event]:
    """The answer as a provider error."""
    job = group[-1].job
    job.asked = Asked(failure="provider_error", error="what came for this answer can't be stored")
    return [AskedEvent(job, job.asked), EndedEvent(job)]
