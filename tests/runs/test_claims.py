import uuid
from datetime import timedelta

import pytest
from django.db.models.functions import Now

from ai_eval.models import Answer, Run, WorkItem
from ai_eval.runs import claims
from ai_eval.runs.finish import interrupt_if_dead, reap, start_if_pending
from ai_eval.runs.jobs import Asked, AskedEvent, EndedEvent, GradedEvent, Job
from ai_eval.runs.launch import launch, prepare
from ai_eval.runs.spec import read_spec
from ai_eval.runs.worker import Worker
from ai_eval.runs.writer import flush
from tests.runs.making import make_target

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def run() -> Run:
    run = launch(prepare(make_target([f"question {i}" for i in range(1, 7)])))
    start_if_pending(run.pk)
    return run


def claimed(run: Run, size: int, **more) -> list[str]:
    return [claim.answer.question_id for claim in claims.claim_slice(run.pk, size, 30, **more)]


def expire(run: Run) -> None:
    run.work_items.update(lease_until=Now() - timedelta(seconds=1))


def test_slices_are_taken_in_order_and_never_twice(run: Run):
    assert claimed(run, 4) == ["q1", "q2", "q3", "q4"]
    assert claimed(run, 4) == ["q5", "q6"]
    assert claimed(run, 4) == []


def test_a_claim_whose_lease_ran_out_is_anybodys(run: Run):
    claimed(run, 6)
    expire(run)
    assert claimed(run, 2) == ["q1", "q2"]


def test_a_run_that_does_not_run_gives_no_work(run: Run):
    Run.objects.filter(pk=run.pk).update(state=Run.State.CANCELLED)
    assert claimed(run, 6) == []


def test_answers_that_were_started_before_are_taken_only_when_asked_for(run: Run):
    run.work_items.filter(answer__question_id="q2").update(starts=1)
    assert claimed(run, 6) == ["q1", "q3", "q4", "q5", "q6"]
    assert claimed(run, 6, started_before=True) == ["q2"]


def test_what_was_given_back_waits_again_and_its_start_does_not_count(run: Run):
    (claim,) = claims.claim_slice(run.pk, 1, 30)
    claims.mark_started([claim.answer.pk])
    claims.give_back({claim.answer.pk: claim.token}, started=True)
    item = WorkItem.objects.get(pk=claim.answer.pk)
    assert (item.state, item.starts, item.token) == ("waiting", 0, None)


def taken_over(run: Run) -> tuple[claims.Claim, claims.Claim]:
    """The first answer as its first worker holds it, and as the one that took it over does."""
    mine = claims.claim_slice(run.pk, 6, 30)[0]
    expire(run)
    theirs = claims.claim_slice(run.pk, 6, 30)[0]
    assert mine.answer.pk == theirs.answer.pk
    return mine, theirs


def test_giving_back_what_somebody_else_took_changes_nothing(run: Run):
    mine, theirs = taken_over(run)
    claims.give_back({mine.answer.pk: mine.token}, started=False)
    assert WorkItem.objects.get(pk=mine.answer.pk).token == theirs.token


def test_a_lease_is_renewed_by_its_holder_only(run: Run):
    (mine,) = claims.claim_slice(run.pk, 1, 30)
    expire(run)
    claims.renew({mine.answer.pk: uuid.uuid4()}, 30)
    assert not claims.has_live_lease(run.pk)
    claims.renew({mine.answer.pk: mine.token}, 30)
    assert claims.has_live_lease(run.pk)


def test_a_worker_that_lost_its_claim_writes_nothing(run: Run):
    claim, theirs = taken_over(run)
    late = Job(claim, Asked(response="late"))
    flush([AskedEvent(late, late.asked), EndedEvent(late)], [], read_spec(run).rules)
    answer = Answer.objects.get(pk=claim.answer.pk)
    assert (answer.response, answer.outcome) == (None, "")
    assert WorkItem.objects.get(pk=claim.answer.pk).token == theirs.token


def test_a_flush_that_is_sent_again_stores_one_grade(run: Run):
    from ai_eval.graders import registry

    (claim,) = claims.claim_slice(run.pk, 1, 30)
    job = Job(claim, Asked(response="done"))
    result = registry.get("contains_done").build().result(5.0, "said so")
    job.grades["contains_done"] = result
    for _ in range(2):
        flush([GradedEvent(job, result)], [], read_spec(run).rules)
    assert claim.answer.grades.count() == 1


def test_a_run_without_a_live_lease_is_interrupted_and_with_one_is_not(run: Run):
    Run.objects.filter(pk=run.pk).update(woken_at=Now() - timedelta(minutes=5))
    claimed(run, 2)
    assert interrupt_if_dead(run.pk, 30) is False
    expire(run)
    assert interrupt_if_dead(run.pk, 30) is True
    run.refresh_from_db()
    assert run.state == "interrupted"


def test_a_run_that_was_just_woken_is_not_interrupted(run: Run):
    assert interrupt_if_dead(run.pk, 30) is False


def test_a_run_whose_answers_are_all_there_is_finished_by_the_reaper_not_interrupted(run: Run):
    Run.objects.filter(pk=run.pk).update(woken_at=Now() - timedelta(minutes=5))
    run.answers.update(
        asked=True, ask_failure="target_error", outcome="target_error", score=0.0, passed=False
    )
    run.work_items.update(state=WorkItem.State.DONE)
    assert reap(30) == []
    run.refresh_from_db()
    assert run.state == "complete"
    assert run.announced_at is not None


def test_the_reaper_announces_a_run_whose_process_died_before_it_could(run: Run):
    Worker(run.pk).run()
    Run.objects.filter(pk=run.pk).update(announced_at=None)
    reap(30)
    run.refresh_from_db()
    assert run.announced_at is not None
