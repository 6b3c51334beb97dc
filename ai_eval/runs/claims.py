"""Who works on which answer. The database is the queue of record, and its clock the only clock.

A worker claims a slice under a token of its own, renews its lease while it works, and may write only
what it still holds. A claim whose lease has run out is anybody's.
"""

import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.db.models import DateTimeField, Exists, ExpressionWrapper, F, OuterRef, Q, QuerySet
from django.db.models.functions import Now

from ai_eval.models import Answer, Grade, Run, WorkItem

MAX_STARTS = 3
"""An answer that was started so often without an end is a target error."""

WAITING, CLAIMED, DONE = WorkItem.State.WAITING, WorkItem.State.CLAIMED, WorkItem.State.DONE


def in_seconds(seconds: float) -> ExpressionWrapper:
    """A moment by the database's clock."""
    return ExpressionWrapper(Now() + timedelta(seconds=seconds), output_field=DateTimeField())


def _expired() -> Q:
    return Q(state=CLAIMED, lease_until__lt=Now())


def outstanding(run_id: int) -> QuerySet[WorkItem]:
    """Answers of the run that have no end yet."""
    return WorkItem.objects.filter(run_id=run_id).exclude(state=DONE)


def has_live_lease(run_id: int) -> bool:
    """Whether some worker is known to work on the run."""
    return WorkItem.objects.filter(run_id=run_id, state=CLAIMED, lease_until__gte=Now()).exists()


@dataclass(frozen=True)
class Claim:
    """One answer that this worker holds, with what is stored of it so far."""

    answer: Answer
    token: uuid.UUID
    starts: int
    grades: tuple[Grade, ...]


def claim_slice(run_id: int, size: int, lease_seconds: float, *, started_before: bool = False) -> list[Claim]:
    """Take up to `size` waiting or abandoned answers of a running run, in their order.

    Answers that were started before are taken only when asked for, and then as few as `size` says:
    one that kills its worker must not take others with it.
    """
    starts = Q(starts__gt=0) if started_before else Q(starts=0)
    for state in (Q(state=WAITING), _expired()):
        claims = _claim(run_id, starts & state, size, lease_seconds)
        if claims:
            return claims
    return []


def _claim(run_id: int, free: Q, size: int, lease_seconds: float) -> list[Claim]:
    token = uuid.uuid4()
    running = Exists(Run.objects.filter(pk=OuterRef("run_id"), state=Run.State.RUNNING))
    with transaction.atomic():
        # Chosen first and named then: as a subquery PostgreSQL may choose anew for each row that it
        # looks at, and take more than the limit (seen with 6 rows for a limit of 1).
        chosen = list(
            WorkItem.objects.filter(free, run_id=run_id)
            .order_by("answer_id")
            .select_for_update(skip_locked=True)
            .values_list("pk", flat=True)[:size]
        )
        if not chosen:
            return []
        # The condition is repeated: on SQLite nothing was locked by the choice alone, and the run may
        # have been stopped in between.
        taken = WorkItem.objects.filter(free, running, pk__in=chosen).update(
            state=CLAIMED, token=token, lease_until=in_seconds(lease_seconds)
        )
    return _load(run_id, token) if taken else []


def _load(run_id: int, token: uuid.UUID) -> list[Claim]:
    held = WorkItem.objects.filter(run_id=run_id, state=CLAIMED, token=token)
    items = list(held.select_related("answer").order_by("answer_id"))
    grades: dict[int, list[Grade]] = {}
    begun = [item.pk for item in items if item.answer.asked]
    for grade in Grade.objects.filter(answer_id__in=begun):
        grades.setdefault(grade.answer_id, []).append(grade)
    return [Claim(item.answer, token, item.starts, tuple(grades.get(item.pk, ()))) for item in items]


def still_held(tokens: Mapping[int, uuid.UUID]) -> set[int]:
    """Lock and return those answers (id to token) that are still claimed under their token.

    Call it in the transaction that writes: nothing else may be written.
    """
    rows = WorkItem.objects.filter(pk__in=list(tokens), state=CLAIMED).select_for_update()
    return {pk for pk, token in rows.values_list("pk", "token") if token == tokens[pk]}


def mark_started(held: Collection[int]) -> None:
    """Count a start of each, before it is begun, so that a start that kills its worker is known."""
    WorkItem.objects.filter(pk__in=held).update(starts=F("starts") + 1)


def renew(tokens: Mapping[int, uuid.UUID], lease_seconds: float) -> None:
    """Prolong the leases of those answers that are still held."""
    with transaction.atomic():
        held = still_held(tokens)
        WorkItem.objects.filter(pk__in=held).update(lease_until=in_seconds(lease_seconds))


def give_back(tokens: Mapping[int, uuid.UUID], *, started: bool) -> None:
    """Return answers that are still held; a start that was given back does not count."""
    with transaction.atomic():
        held = WorkItem.objects.filter(pk__in=still_held(tokens))
        if started:
            held.filter(starts__gt=0).update(
                state=WAITING, token=None, lease_until=None, starts=F("starts") - 1
            )
        held.update(state=WAITING, token=None, lease_until=None)
