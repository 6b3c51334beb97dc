"""New runs out of the stored answers of an old one, which stays as it is."""

from collections import defaultdict
from typing import Any

from django.db import transaction

from ai_eval.errors import StateError
from ai_eval.models import Answer, Grade, Run, WorkItem
from ai_eval.runs.claims import DONE
from ai_eval.runs.jobs import Asked
from ai_eval.runs.launch import Plan, PlannedAnswer, launch, prepare
from ai_eval.runs.spec import read_spec
from ai_eval.runs.writer import ENDED_FIELDS


def _stored(answer: Answer) -> Asked:
    return Asked(
        response=answer.response,
        tool_calls=answer.tool_calls,
        ended=answer.ended,
        failure=answer.ask_failure,
        error=answer.error,
        seconds=answer.seconds or 0.0,
        model=answer.model,
        attempts=answer.attempts,
        prompt_tokens=answer.prompt_tokens,
        completion_tokens=answer.completion_tokens,
        cost=answer.cost,
        changes=answer.changes,
        notes=answer.notes,
    )


def _ended(run_id: int) -> Run:
    run = Run.objects.select_related("target").get(pk=run_id)
    if run.state != Run.State.COMPLETE:
        raise StateError(f"run {run_id} is {run.state}: only a complete run has results to start from")
    if run.target is None:
        raise StateError(f"the target of run {run_id} was deleted")
    return run


def regrade(run_id: int) -> Run:
    """Grade the stored responses anew with the target's graders of today, as a new run.

    The state that the agent left is gone: graders that need an environment say so.
    """
    source = _ended(run_id)
    assert source.target is not None
    plan = prepare_regrade(source)
    return launch(plan)


def prepare_regrade(source: Run) -> Plan:
    """The checked plan of a re-grading."""
    assert source.target is not None
    today = prepare(source.target, split=source.split, trials=source.snapshot["target"]["trials"])
    answers = [
        PlannedAnswer(
            answer.question_id,
            answer.trial,
            answer.question,
            _stored(answer),
        )
        for answer in source.answers.order_by("position").iterator(chunk_size=500)
    ]
    # Who was asked, and what, stays as it was; only what is done with the answers is today's.
    grading = ("graders", "required", "gate", "max_error_rate", "demand_trust")
    target = {**source.snapshot["target"], **{key: today.snapshot["target"][key] for key in grading}}
    snapshot: dict[str, Any] = {
        **today.snapshot,
        "target": target,
        "dataset": source.snapshot["dataset"],
        "advisories": [
            *source.snapshot["advisories"],
            f"the responses are those of run {source.pk}, graded anew; nobody was asked again",
        ],
    }
    return Plan(source.target, snapshot, answers, source.split, Run.Kind.REGRADE, source)


def retry_missing(run_id: int) -> Run:
    """Ask again only what is missing through no fault of the system under test, as a new run.

    Provider failures are asked again, errored and clamped grades are graded again; everything else,
    an agent's own failures among it, is taken over. The frozen configuration is the old one.
    """
    source = _ended(run_id)
    assert source.target is not None
    answers = list(source.answers.order_by("position"))
    grades: dict[int, list[Grade]] = defaultdict(list)
    for grade in Grade.objects.filter(answer__run=source).order_by("pk"):
        grades[grade.answer_id].append(grade)
    read_spec(source)
    missing = [answer for answer in answers if is_missing(answer, grades[answer.pk])]
    if not missing:
        raise StateError(f"nothing is missing in run {run_id}")
    # What an open environment showed is gone: such an answer is asked again as a whole.
    within = {each["id"] for each in source.snapshot["graders"] if each["needs_environment"]}
    again = {
        answer.pk
        for answer in missing
        if answer.ask_failure == "provider_error"
        or any(grade.grader in within and is_missing_grade(grade) for grade in grades[answer.pk])
    }
    planned = [
        PlannedAnswer(
            answer.question_id,
            answer.trial,
            answer.question,
            None if answer.pk in again else _stored(answer),
        )
        for answer in answers
    ]
    plan = Plan(source.target, source.snapshot, planned, source.split, Run.Kind.RETRY_MISSING, source)
    with transaction.atomic():
        run = launch(plan)
        _take_over(run, [answer for answer in answers if answer.pk not in again], grades)
    return run


def is_missing(answer: Answer, grades: list[Grade]) -> bool:
    """Whether something of the answer is unknown through no fault of the system under test."""
    if answer.ask_failure == "target_error":
        return False
    return answer.ask_failure == "provider_error" or any(is_missing_grade(grade) for grade in grades)


def is_missing_grade(grade: Grade) -> bool:
    return grade.outcome == Grade.Outcome.ERRORED or grade.clamped_from is not None


def _take_over(run: Run, sources: list[Answer], grades: dict[int, list[Grade]]) -> None:
    """Copy the grades that stand, and the ends of answers of which nothing is missing."""
    copies = {(row.question_id, row.trial): row for row in run.answers.all()}
    kept: list[Grade] = []
    done: list[Answer] = []
    for source in sources:
        copy = copies[source.question_id, source.trial]
        for grade in grades[source.pk]:
            if source.ask_failure == "target_error" or not is_missing_grade(grade):
                grade.pk = None
                grade.answer = copy
                kept.append(grade)
        if not is_missing(source, grades[source.pk]):
            for name in ENDED_FIELDS:
                setattr(copy, name, getattr(source, name))
            done.append(copy)
    Grade.objects.bulk_create(kept, batch_size=2000)
    Answer.objects.bulk_update(done, ENDED_FIELDS, batch_size=500)
    for start in range(0, len(done), 500):
        WorkItem.objects.filter(pk__in=[row.pk for row in done[start : start + 500]]).update(state=DONE)
