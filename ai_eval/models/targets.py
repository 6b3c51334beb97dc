from typing import Any

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from ai_eval.conf import site_settings


class Target(models.Model):
    """What is evaluated and how. A run freezes it, so an edit never changes a stored result."""

    class Mode(models.TextChoices):
        AGENT = "agent", "Agent"
        CHAT = "chat", "Chat"
        RECORDED = "recorded", "Recorded"

    class Metric(models.TextChoices):
        PASS_RATE = "pass_rate", "Pass rate"
        AVG_SCORE = "avg_score", "Average score"

    class GateType(models.TextChoices):
        HARD = "hard", "Hard"
        SOFT = "soft", "Soft"

    class DemandTrust(models.TextChoices):
        NONE = "", "Nothing"
        PROVISIONAL = "provisional", "Provisional or better"
        TRUSTED = "trusted", "Trusted"

    slug = models.SlugField("id", max_length=100, unique=True, help_text="The public identifier.")
    label = models.CharField(max_length=200)
    enabled = models.BooleanField(default=True)
    mode = models.CharField(max_length=10, choices=Mode.choices)

    agent = models.CharField(
        max_length=200, blank=True, help_text="Agent mode: the id of a registered agent."
    )
    environment = models.CharField(
        max_length=200, blank=True, help_text="Agent mode: what the agent acts on."
    )
    model = models.CharField(max_length=200, blank=True, help_text="Chat mode: a LiteLLM model string.")
    # No URLField: it refuses hosts without a dot, such as `http://llm:8000`.
    api_base = models.CharField(max_length=500, blank=True)
    system_prompt = models.TextField(blank=True)
    parameters = models.JSONField(default=dict, blank=True, help_text="Decoding parameters of the model.")
    replies = models.CharField(
        max_length=200, blank=True, help_text="Recorded mode: a JSONL or CSV file in the dataset directory."
    )

    dataset_source = models.CharField(max_length=100)
    dataset_reference = models.CharField(max_length=200)
    graders = models.JSONField(default=list, help_text="Ids of the ticked graders, in order.")
    required = models.JSONField(
        null=True,
        blank=True,
        help_text="Graders that an answer must pass by themselves; empty: those that observe actions.",
    )
    trials = models.PositiveSmallIntegerField(
        default=1, validators=[MinValueValidator(1), MaxValueValidator(100)]
    )
    pass_threshold = models.FloatField(
        null=True, blank=True, validators=[MinValueValidator(0), MaxValueValidator(5)]
    )
    max_error_rate = models.FloatField(default=0.1, validators=[MinValueValidator(0), MaxValueValidator(1)])
    response_char_limit = models.PositiveIntegerField(
        null=True, blank=True, validators=[MinValueValidator(1)]
    )
    time_limit = models.FloatField(
        null=True,
        blank=True,
        validators=[MinValueValidator(0.1)],
        help_text="Seconds that an answer may take.",
    )
    gate_metric = models.CharField(max_length=10, choices=Metric.choices, default=Metric.PASS_RATE)
    gate_threshold = models.FloatField(null=True, blank=True, help_text="Empty: no gate.")
    gate_type = models.CharField(max_length=4, choices=GateType.choices, default=GateType.HARD)
    demand_trust = models.CharField(
        max_length=12, choices=DemandTrust.choices, default=DemandTrust.NONE, blank=True
    )
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["label", "slug"]
        default_permissions = ()

    def __str__(self) -> str:
        return self.label or self.slug

    def effective_required(self, action_observing: list[str]) -> list[str]:
        """Graders that an answer must pass by themselves. None in the row means the default."""
        if self.required is None:
            return [id for id in self.graders if id in action_observing]
        return [str(id) for id in self.required]

    def effective_time_limit(self) -> float:
        """Seconds that one answer may take."""
        return self.time_limit if self.time_limit is not None else site_settings().time_limit

    def gate(self) -> dict[str, Any] | None:
        """`{metric, threshold, type}`, or None without a gate."""
        if self.gate_threshold is None:
            return None
        return {"metric": self.gate_metric, "threshold": self.gate_threshold, "type": self.gate_type}
