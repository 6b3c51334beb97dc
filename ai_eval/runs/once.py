"""One decision makes one run, however often its button is pressed and by how many people."""

from collections.abc import Callable

from django.db import transaction

from ai_eval.conf import site_settings
from ai_eval.errors import StateError
from ai_eval.models import Run, Target
from ai_eval.runs.finish import interrupt_if_dead


class LaunchedMeanwhile(StateError):
    """The target has a run that whoever decided did not know of."""

    def __init__(self, problem: str, run_id: int, active: bool) -> None:
        super().__init__(problem)
        self.run_id = run_id
        self.active = active


def newest_run(target_id: int) -> tuple[int, str]:
    """Id and state of the target's newest run, after one that nobody works on was called interrupted.

    `(0, "")` when it has none. The id is what a page keeps as `last_seen`.
    """
    active = Run.objects.filter(target_id=target_id, state__in=Run.ACTIVE)
    for run_id in active.values_list("pk", flat=True):
        interrupt_if_dead(run_id, site_settings().lease_seconds)
    newest = Run.objects.filter(target_id=target_id).order_by("-pk").values_list("pk", "state").first()
    return newest or (0, "")


def begin_once(target_id: int, last_seen: int, begin: Callable[[], Run]) -> Run:
    """Begin a run of the target, unless it has one newer than `last_seen` or one that is active.

    LaunchedMeanwhile names that run. A run that has come and gone since counts as well: the partial
    unique constraint, which lets one run be active, can't see it.
    """
    newest_run(target_id)
    with transaction.atomic():
        target = Target.objects.select_for_update().filter(pk=target_id).first()
        if target is None:
            raise StateError("the target was deleted")
        runs = Run.objects.filter(target_id=target_id).order_by("-pk")
        active = runs.filter(state__in=Run.ACTIVE).values_list("pk", flat=True).first()
        if active is not None:
            raise LaunchedMeanwhile(f"run {active} of it is active already", active, True)
        newest = runs.values_list("pk", flat=True).first()
        if newest is not None and newest > last_seen:
            problem = f"run {newest} of it was launched since this page was opened"
            raise LaunchedMeanwhile(problem, newest, False)
        return begin()
