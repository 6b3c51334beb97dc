from typing import Any

from django.db import models
from django.db.models import Q

from ai_eval.models.targets import Target


class Run(models.Model):
    """One execution of a target. `snapshot` freezes all that produced it; `result` is the verdict."""

    class State(models.TextChoices):
        PENDING = "pending", "Pending"
        RUNNING = "running", "Running"
        INTERRUPTED = "interrupted", "Interrupted"
        CANCELLED = "cancelled", "Cancelled"
        COMPLETE = "complete", "Complete"
        ERROR = "error", "Error"

    class Kind(models.TextChoices):
        FULL = "full", "Full"
        RETRY_MISSING = "retry_missing", "Retry of what was missing"
        REGRADE = "regrade", "Re-grading"

    class Verdict(models.TextChoices):
        PASSED = "passed", "Passed"
        FAILED = "failed", "Failed"
        UNDECIDED = "undecided", "Undecided"

    ACTIVE = (State.PENDING, State.RUNNING)
    RESUMABLE = (State.INTERRUPTED, State.CANCELLED)

    target = models.ForeignKey(Target, null=True, on_delete=models.SET_NULL, related_name="runs")
    target_slug = models.CharField(max_length=100)
    target_label = models.CharField(max_length=200)
    state = models.CharField(max_length=12, choices=State.choices, default=State.PENDING)
    kind = models.CharField(max_length=14, choices=Kind.choices, default=Kind.FULL)
    source = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="derived"
    )
    split = models.CharField(max_length=100, blank=True)
    planned = models.PositiveIntegerField(default=0)
    snapshot = models.JSONField(default=dict)
    verdict = models.CharField(max_length=10, choices=Verdict.choices, blank=True)
    result = models.JSONField(null=True, blank=True)
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    woken_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    announced_at = models.DateTimeField(
        null=True, blank=True, help_text="When every receiver of run_completed had been told."
    )

    class Meta:
        ordering = ["-pk"]
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(
                fields=["target"],
                condition=Q(state__in=["pending", "running"]),
                name="ai_eval_one_active_run_a_target",
            )
        ]
        indexes = [
            models.Index(fields=["target", "-id"], name="ai_eval_run_by_target"),
            models.Index(fields=["state"], name="ai_eval_run_by_state"),
        ]

    def __str__(self) -> str:
        return f"Run {self.pk} of {self.target_label}"

    @property
    def advisories(self) -> list[str]:
        """What a reader has to know beside the verdict; empty without one."""
        return list(self.result["advisories"]) if self.result else []

    @property
    def target_snapshot(self) -> dict[str, Any]:
        return dict(self.snapshot["target"])
