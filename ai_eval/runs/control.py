"""Cancelling, resuming and deleting."""

from django.db import IntegrityError, router, transaction
from django.db.models.functions import Now
from django.utils import timezone

from ai_eval.conf import site_settings
from ai_eval.errors import StateError
from ai_eval.models import Answer, AnswerTag, Grade, Run, WorkItem
from ai_eval.runs.finish import interrupt_if_dead
from ai_eval.runs.spec import read_spec


def cancel(run_id: int) -> bool:
    """Stop the run: no further call is begun. Whether this call cancelled it.

    What was answered is kept, there is no verdict, and the run can be resumed. A run that has ended
    is left as it is.
    """
    stoppable = (*Run.ACTIVE, Run.State.INTERRUPTED)
    return bool(
        Run.objects.filter(pk=run_id, state__in=stoppable).update(
            state=Run.State.CANCELLED, finished_at=timezone.now()
        )
    )


def resume(run_id: int) -> Run:
    """Set an interrupted or cancelled run running again; whoever calls this wakes workers.

    A running run that nobody works on any more is an interrupted one.
    StateError when it is in another state, or when its target has an active run.
    """
    interrupt_if_dead(run_id, site_settings().lease_seconds)
    run = Run.objects.get(pk=run_id)
    if run.state not in Run.RESUMABLE:
        raise StateError(f"run {run_id} is {run.state}: only an interrupted or cancelled run can be resumed")
    read_spec(run)
    try:
        resumed = Run.objects.filter(pk=run_id, state__in=Run.RESUMABLE).update(
            state=Run.State.RUNNING, finished_at=None, woken_at=Now()
        )
    except IntegrityError as error:
        raise StateError(f"another run of {run.target_slug} is active") from error
    if not resumed:
        raise StateError(f"run {run_id} was resumed by somebody else just now")
    run.refresh_from_db()
    return run


def delete(run_id: int) -> None:
    """Delete the run with its answers, without loading them; runs made out of it stay.

    StateError while it is active: whoever works on it would write into nothing. Run.DoesNotExist when
    it is gone already.
    """
    interrupt_if_dead(run_id, site_settings().lease_seconds)
    with transaction.atomic():
        run = Run.objects.select_for_update().get(pk=run_id)
        if run.state in Run.ACTIVE:
            raise StateError(f"run {run_id} is {run.state}: cancel it first")
        Grade.objects.filter(answer__run=run).delete()
        AnswerTag.objects.filter(run=run).delete()
        WorkItem.objects.filter(run=run).delete()
        # Nothing refers to the answers any more: Django would load every one of them to look.
        Answer.objects.filter(run=run)._raw_delete(router.db_for_write(Answer))
        run.delete()
