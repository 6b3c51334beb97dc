"""Two people, one form: whoever saves second is told what the first one changed, and loses nothing."""

from collections.abc import Callable
from typing import Any, TypeVar

from django import forms
from django.contrib.admin.models import LogEntry
from django.core.exceptions import ValidationError
from django.db import IntegrityError, models, router
from django.utils.timesince import timesince

from ai_eval.wording import listed, one_line

Saved = TypeVar("Saved")


def or_told(save: Callable[[], Saved]) -> Saved:
    """Save, and once more where somebody made the same row between the look and the write.

    The second time the row is there, and the form tells it.
    """
    try:
        return save()
    except IntegrityError:
        return save()


class GuardedForm(forms.ModelForm):
    """A form of a model with `changed_at` that refuses to overwrite what it did not show.

    `seen` holds the state that the form was opened on. After a refusal `overwrite` offers the state
    that would be lost, so that a third change in between is told as well. Validate it in a
    transaction: the row is locked until that ends.
    """

    seen = forms.CharField(required=False, widget=forms.HiddenInput)
    overwrite = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk is not None:
            self.initial["seen"] = _token(self.instance)

    conflict = ""
    """The state that would be overwritten, once validation has found one."""

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        if self.instance.pk is None:
            return cleaned
        stored = _locked(self.instance)
        if stored is None:
            raise ValidationError("It was deleted meanwhile, and can't be saved.", code="deleted")
        given = self.cleaned_data
        if _token(stored) not in (given.get("seen"), given.get("overwrite")):
            self.conflict = _token(stored)
            raise ValidationError(self._told(stored), code="lost_update")
        return cleaned

    def _told(self, stored: models.Model) -> str:
        differing = [
            f"{self.fields[name].label or name} is {one_line(str(value)) or 'empty'} there"
            for name in self.fields
            if name in self.cleaned_data
            and hasattr(stored, name)
            and (value := getattr(stored, name)) != self.cleaned_data[name]
        ]
        what = f" What differs from yours: {listed(differing, 8)}." if differing else ""
        return f"{_who(stored)} saved this after you opened it, and nothing of yours is saved yet.{what}"


def _token(instance: models.Model) -> str:
    return str(instance.changed_at.isoformat())  # type: ignore[attr-defined]


def _locked(instance: models.Model) -> models.Model | None:
    """The row as it is stored now, locked against whoever saves at the same moment."""
    manager = type(instance)._base_manager.using(router.db_for_write(type(instance)))
    return manager.select_for_update().filter(pk=instance.pk).first()


def _who(stored: models.Model) -> str:
    from django.contrib.contenttypes.models import ContentType

    entry = (
        LogEntry.objects.filter(
            content_type=ContentType.objects.get_for_model(stored), object_id=str(stored.pk)
        )
        .select_related("user")
        .order_by("-action_time")
        .first()
    )
    if entry is None:
        return "Somebody"
    return f"{entry.user.get_username()} ({timesince(entry.action_time)} ago)"
