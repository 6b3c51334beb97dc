"""Comparing what is wanted with what is stored, and writing the difference."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from django.db.models import Model

from ai_eval.datasets.loading import canonical
from ai_eval.models import Dataset, Question


@dataclass(frozen=True)
class Change:
    """What happened, or would happen, to one object; `keys` are the fields that differ."""

    kind: str
    id: str
    action: Literal["created", "changed", "unchanged"]
    keys: tuple[str, ...] = ()


def write_object(model: type[Model], kind: str, key: str, values: dict[str, Any], check_only: bool) -> Change:
    """Make the row with this key have these values; only fields that differ are written."""
    id = "" if key == "pk" else str(values[key])
    rows = model._default_manager.select_for_update()
    stored = rows.filter(**{key: values[key]}).first()
    if stored is None:
        if not check_only:
            model._default_manager.create(**values)
        return Change(kind, id, "created")
    differ = [name for name, value in values.items() if not same(getattr(stored, name), value)]
    if not differ:
        return Change(kind, id, "unchanged")
    if not check_only:
        for name in differ:
            setattr(stored, name, values[name])
        stored.save(update_fields=[*differ, "changed_at"])
    return Change(kind, id, "changed", tuple(differ))


def same(stored: object, wanted: object) -> bool:
    """Whether two JSON values are equal; unlike Python, `1` is not `true`."""
    return canonical(stored) == canonical(wanted)


def write_dataset(values: dict[str, Any], rows: Sequence[dict[str, Any]], check_only: bool) -> Change:
    """Make the dataset have these values and exactly these questions, in this order."""
    change = write_object(Dataset, "dataset", "slug", values, check_only)
    dataset = Dataset.objects.filter(slug=values["slug"]).first()
    if dataset is None:
        return change
    stored = list(dataset.questions.all())
    if same([question.row() for question in stored], list(rows)):
        return change
    if not check_only:
        _write_questions(dataset, stored, rows)
        dataset.save(update_fields=["changed_at"])
    if change.action == "created":
        return change
    return Change("dataset", change.id, "changed", (*change.keys, "questions"))


def _write_questions(dataset: Dataset, stored: list[Question], rows: Sequence[dict[str, Any]]) -> None:
    by_key = {question.key: question for question in stored}
    wanted = {row["id"] for row in rows}
    gone = [question.pk for key, question in by_key.items() if key not in wanted]
    dataset.questions.filter(pk__in=gone).delete()
    fresh, kept = [], []
    for position, row in enumerate(rows, 1):
        fields = question_fields(row)
        question = by_key.get(row["id"])
        if question is None:
            fresh.append(Question(dataset=dataset, key=row["id"], position=position, **fields))
        elif question.position != position or not same(question.row(), row):
            for name, value in {**fields, "position": position}.items():
                setattr(question, name, value)
            kept.append(question)
    Question.objects.bulk_create(fresh, batch_size=1000)
    Question.objects.bulk_update(kept, ["position", "enabled", "input", "messages", "data"], batch_size=500)


def question_fields(row: dict[str, Any]) -> dict[str, Any]:
    """A valid row as the columns of `Question`, without `key` and `position`."""
    own = ("id", "input", "messages", "enabled")
    return {
        "input": row.get("input", ""),
        "messages": row.get("messages"),
        "enabled": row.get("enabled", True),
        "data": {key: value for key, value in row.items() if key not in own},
    }
