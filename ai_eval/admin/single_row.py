"""The form of a row that need not exist: settings that are made by saving, and may go meanwhile."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db import models
from django.http import HttpRequest

from ai_eval.admin.base import EvalAdmin
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
        for name, field in form.fields.items():
            text = values.get(name, typed.get(name, ""))
            form.initial[name] = bool(text) if isinstance(field, forms.BooleanField) else text
        return form

    def changed_fields(self, before: models.Model) -> list[str]:
        """Labels of the fields in which the instance differs from the row as it was."""
        names = [name for name in self._meta.fields or () if name in self.fields]
        return [
            str(self.fields[name].label)
            for name in names
            if getattr(before, name) != getattr(self.instance, name)
        ]


class SingleRowPage(EvalAdmin):
    """A page whose form writes a row that need not exist."""

    def write_row(self, request: HttpRequest, form: SingleRowForm, before: models.Model) -> list[str]:
        """Store and log what the valid form changes of the row as it was; the labels of what changed."""
        changed, made = form.changed_fields(before), before.pk is None
        if changed:
            # A row that somebody made meanwhile is not to be overwritten.
            form.instance.save(force_insert=made)
            if made:
                self.log_addition(request, form.instance, [{"added": {}}])
            else:
                self.log_change(request, form.instance, [{"changed": {"fields": changed}}])
        return changed
