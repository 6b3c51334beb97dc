from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from ai_eval.conf import SiteSettings, site_settings


class EvalSettings(models.Model):
    """One row. A field that is empty (null) leaves the say to `AI_EVAL` in the site's settings."""

    FIELDS = (
        "dataset_path",
        "judge_model",
        "judge_api_base",
        "question_pass_threshold",
        "response_char_limit",
        "rate_limit_max_retries",
        "rate_limit_base_delay",
        "rate_limit_delay_between_calls",
    )

    dataset_path = models.CharField(max_length=500, null=True, blank=True)  # noqa: DJ001 - null: not set here
    judge_model = models.CharField(max_length=200, null=True, blank=True)  # noqa: DJ001
    judge_api_base = models.CharField(max_length=500, null=True, blank=True)  # noqa: DJ001
    question_pass_threshold = models.FloatField(
        null=True, blank=True, validators=[MinValueValidator(0), MaxValueValidator(5)]
    )
    response_char_limit = models.PositiveIntegerField(
        null=True, blank=True, validators=[MinValueValidator(1)]
    )
    rate_limit_max_retries = models.PositiveSmallIntegerField(
        null=True, blank=True, validators=[MaxValueValidator(20)]
    )
    rate_limit_base_delay = models.FloatField(null=True, blank=True, validators=[MinValueValidator(0)])
    rate_limit_delay_between_calls = models.FloatField(
        null=True, blank=True, validators=[MinValueValidator(0)]
    )
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = verbose_name_plural = "settings"
        default_permissions = ()
        permissions = [
            ("operate", "Operate AI Eval: see targets and results, run evaluations"),
            ("administer", "Administer AI Eval: settings, targets, datasets"),
            ("annotate", "Annotate AI Eval results: label answers"),
            ("validate_judges", "Validate AI Eval judges: their models, prompts and validation"),
        ]
        constraints = [models.CheckConstraint(condition=models.Q(pk=1), name="ai_eval_settings_has_one_row")]

    def __str__(self) -> str:
        return "Settings"

    def save(self, *args: Any, **kwargs: Any) -> None:
        self.pk = 1
        super().save(*args, **kwargs)

    def given(self) -> Mapping[str, Any]:
        """The fields that are set here."""
        return {name: value for name in self.FIELDS if (value := getattr(self, name)) is not None}


class JudgeSettings(models.Model):
    """What one judge has of its own. Empty fields fall back to the settings and to its class."""

    grader = models.CharField(max_length=200, unique=True)
    model = models.CharField(max_length=200, blank=True)
    api_base = models.CharField(max_length=500, blank=True)
    prompt = models.TextField(
        blank=True, help_text="Template with $dimension, $question, $criteria, $response."
    )
    parameters = models.JSONField(default=dict, blank=True)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["grader"]
        verbose_name_plural = "judge settings"
        default_permissions = ()

    def __str__(self) -> str:
        return self.grader


def effective_settings() -> SiteSettings:
    """The site's settings with those of the settings row in front."""
    row = EvalSettings.objects.filter(pk=1).first()
    return replace(site_settings(), **row.given()) if row else site_settings()
