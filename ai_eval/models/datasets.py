from typing import Any

from django.db import models


class Dataset(models.Model):
    """A list of questions kept in the database."""

    slug = models.SlugField("id", max_length=100, unique=True, help_text="The public identifier.")
    label = models.CharField(max_length=200, blank=True)
    fixtures = models.JSONField(
        default=list, blank=True, help_text="Names that an environment loads before each answer."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["label", "slug"]
        default_permissions = ()

    def __str__(self) -> str:
        return self.label or self.slug


class Question(models.Model):
    """One question. `data` holds the keys of the row that have no column of their own."""

    dataset = models.ForeignKey(Dataset, on_delete=models.CASCADE, related_name="questions")
    key = models.CharField("id", max_length=200)
    position = models.PositiveIntegerField(default=0)
    enabled = models.BooleanField(default=True)
    input = models.TextField(blank=True)
    messages = models.JSONField(null=True, blank=True, help_text="Several turns: a list of role and content.")
    data = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ["position", "pk"]
        default_permissions = ()
        constraints = [
            models.UniqueConstraint(fields=["dataset", "key"], name="ai_eval_question_key_unique_in_dataset")
        ]

    def __str__(self) -> str:
        return self.key

    def row(self) -> dict[str, Any]:
        """The question as a dataset file would write it."""
        asked = {"input": self.input} if self.messages is None else {"messages": self.messages}
        row = {"id": self.key, **asked, **self.data}
        return row if self.enabled else {**row, "enabled": False}
