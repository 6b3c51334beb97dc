"""How a run ends. Each change of state is a compare-and-set, so that it happens once."""

import logging

from django.db import transaction
from django.utils import timezone

from ai_eval.failures import described, readable_traceback
from ai_eval.models import Run
from ai_eval.runs import claims
from ai_eval.runs.advisories import run_advisories
from ai_eval.runs.facts import answer_facts
from ai_eval.runs.signals import run_completed
from ai_eval.runs.spec import rules_of
from ai_eval.runs.verdict import decide

logger = logging.getLogger(__name__)


def start_if_pending(run_id: int) -> bool:
    """Set a pending run running. Whether it runs now."""
    now = timezone.now()
    Run.objects.filter(pk=run_id, state=Run.State.PENDING).update(state=Run.State.RUNNING, started_at=now)
    return Run.objects.filter(pk=run_id, state=Run.State.RUNNING).exists()


def finish_if_done(run_id: int) -> bool:
    """Give the run its verdict once nothing of it is outstanding. Whether this call did it.

    Call it outside a transaction, after the last flush was committed: counting inside one can leave
    two workers each waiting for the other's answers.
    """
    if claims.outstanding(run_id).exists():
        return False
    run = Run.objects.filter(pk=run_id, state=Run.State.RUNNING).first()
    if run is None:
        return False
    try:
        answers = answer_facts(run)
        verdict = decide(answers, rules_of(run.snapshot), run.planned)
        result = {"verdict": verdict.to_json(), "advisories": run_advisories(run, verdict)}
    except Exception as error:  # noqa: BLE001 - a run that can have no verdict must not stay running
        logger.error("run %s has all its answers but no verdict\n%s", run_id, readable_traceback())
        end_in_error(run_id, f"the verdict could not be computed: {described(error)}")
        return False
    won = Run.objects.filter(pk=run_id, state=Run.State.RUNNING).update(
        state=Run.State.COMPLETE, verdict=verdict.verdict, result=result, finished_at=timezone.now()
    )
    return bool(won)


def end_in_error(run_id: int, problem: str) -> None:
    """A run that can't go on, with the reason. What was answered is kept."""
    Run.objects.filter(pk=run_id, state__in=Run.ACTIVE).update(
        state=Run.State.ERROR, error=problem, finished_at=timezone.now()
    )


def announce(run_id: int) -> None:
    """Send `run_completed` for a complete run that was not announced yet.

    Marked after sending: a process that dies between makes the reaper send it again.
    """
    run = Run.objects.filter(pk=run_id, state=Run.State.COMPLETE, announced_at=None).first()
    if run is None:
        return
    for receiver, response in run_completed.send_robust(sender=Run, run=run):
        if isinstance(response, Exception):
            logger.error("run %s: the receiver %r failed", run_id, receiver, exc_info=response)
    Run.objects.filter(pk=run_id).update(announced_at=timezone.now())


def interrupt_if_dead(run_id: int, grace_seconds: float) -> bool:
    """Turn an active run that nobody works on into an interrupted one. Whether this call did it.

    Nobody works on it when no lease is live and the last waking is longer ago than `grace_seconds`.
    A run whose answers are all there is finished instead.
    """
    if finish_if_done(run_id):
        announce(run_id)
        return False
    with transaction.atomic():
        run = Run.objects.select_for_update().filter(pk=run_id, state__in=Run.ACTIVE).first()
        if run is None or claims.has_live_lease(run_id):
            return False
        waking = Run.objects.filter(pk=run_id, woken_at__gt=claims.in_seconds(-grace_seconds)).exists()
        if waking or not claims.outstanding(run_id).exists():
            return False
        return bool(Run.objects.filter(pk=run_id, state__in=Run.ACTIVE).update(state=Run.State.INTERRUPTED))


def reap(grace_seconds: float) -> list[int]:
    """Interrupt every active run without a live worker, and announce what was not. The interrupted ones."""
    active = Run.objects.filter(state__in=Run.ACTIVE).values_list("pk", flat=True)
    interrupted = [pk for pk in active if interrupt_if_dead(pk, grace_seconds)]
    for pk in Run.objects.filter(state=Run.State.COMPLETE, announced_at=None).values_list("pk", flat=True):
        announce(pk)
    return interrupted
