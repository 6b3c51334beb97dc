"""The form of a row that need not exist: settings that are made by saving, and may go meanwhile."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db import models

from ai_eval.admin.lost_update import GuardedForm

REMOVED = "removed"
"""The state of a row that went after the form was opened on it, for `overwrite`."""


class SingleRowForm(GuardedForm):
    """Opened on the row as it is stored, or on a new one where there is none.

    A row that somebody made meanwhile is found since it is there now; one that went meanwhile is told
    here.
    """

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        gone = self.instance.pk is None and self.cleaned_data.get("seen")
        if gone and self.cleaned_data.get("overwrite") != REMOVED:
            self.conflict = REMOVED
            raise ValidationError(
                "Somebody removed these settings after you opened them, and nothing of yours is saved yet.",
                code="lost_update",
            )
        return cleaned

    @classmethod
    def refilled(cls, typed: Any, instance: models.Model, **values: str) -> "SingleRowForm":
        """What was typed, with `values` instead where given: not checked, nothing saved."""
        form = cls(instance=instance)
        for name in form.fields:
            text = values.get(name, typed.get(name, ""))
            form.initial[name] = form.as_typed(name, text)
        return form

    def as_typed(self, name: str, text: str) -> Any:
        """The text that was typed into a field, as an initial value of it."""
        if isinstance(self.fields[name], forms.JSONField):
            return forms.fields.InvalidJSONInput(text)
        return bool(text) if isinstance(self.fields[name], forms.BooleanField) else text

    def changed_fields(self, before: models.Model) -> list[str]:
        """Labels of the fields in which the instance differs from the row as it was."""
        names = [name for name in self._meta.fields or () if name in self.fields]
        return [
            str(self.fields[name].label)
            for name in names
            if getattr(before, name) != getattr(self.instance, name)
        ]
