"""Bringing a configuration in: all of it, or nothing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.db import IntegrityError, transaction

from ai_eval.configuration.entries import (
    Entry,
    Values,
    read_dataset,
    read_judge,
    read_settings,
    read_target,
)
from ai_eval.configuration.reading import not_in_this_version, place, unknown_key
from ai_eval.configuration.schema import KEY_OF_FIELD, LATER_SECTIONS, SECTIONS
from ai_eval.configuration.writing import Change, write_dataset, write_object
from ai_eval.datasets.base import LoadedDataset
from ai_eval.datasets.placed import line_of, written
from ai_eval.errors import ConfigurationError
from ai_eval.models import Dataset, EvalSettings, JudgeSettings, Target
from ai_eval.wording import bounded, join, ordinal, quoted, shown

IDS = {"targets": ("target", "id"), "judges": ("judge", "grader"), "datasets": ("dataset", "id")}
"""Of each section that is a list: what one entry is called, and the key that names it."""


@dataclass(frozen=True)
class Report:
    """What an import did, or would do. `warnings` holds what may be a mistake and stops nothing."""

    changes: Sequence[Change] = ()
    warnings: Sequence[str] = field(default_factory=tuple)

    def named(self, action: str) -> list[str]:
        """`target help_desk` and so on, for `created`, `changed` or `unchanged`."""
        return [f"{change.kind} {change.id}".strip() for change in self.changes if change.action == action]

    @property
    def created(self) -> list[str]:
        return self.named("created")

    @property
    def changed(self) -> list[str]:
        return self.named("changed")

    @property
    def unchanged(self) -> list[str]:
        return self.named("unchanged")


@dataclass
class _Wanted:
    """What all documents together ask for."""

    settings: Values = field(default_factory=dict)
    targets: list[Values] = field(default_factory=list)
    judges: list[Values] = field(default_factory=list)
    datasets: list[tuple[Values, LoadedDataset]] = field(default_factory=list)


def import_configuration(documents: Sequence[tuple[str, Any]], check_only: bool = False) -> Report:
    """Create and change what the documents describe, in one transaction.

    `documents` are pairs of the name that stands for a document in messages (`targets.yaml`) and its
    content, as `ai_eval.datasets.files.read_document` reads it. An object that is mentioned becomes
    what its entry says, with the default for each key that is absent; an object and a setting that no
    document mentions are left alone. With `check_only` nothing is written.

    ConfigurationError tells up to 20 problems; then nothing was written.
    """
    reading = _Reading()
    for file, document in documents:
        reading.take(file, document)
    if reading.problems:
        raise ConfigurationError(bounded(reading.problems))
    try:
        with transaction.atomic():
            changes = list(_write(reading.wanted, check_only))
            warnings = [*reading.warnings, *_missing_datasets(reading.wanted)]
    except IntegrityError as error:
        raise ConfigurationError(
            "somebody else changed the configuration at the same time, and nothing was imported: try again"
        ) from error
    return Report(changes, warnings)


class _Reading:
    def __init__(self) -> None:
        self.wanted = _Wanted()
        self.problems: list[str] = []
        self.warnings: list[str] = []
        self.seen: dict[tuple[str, str], str] = {}

    def take(self, file: str, document: object) -> None:
        if not isinstance(document, Mapping):
            self.problems.append(
                f"{file}: is {shown(document)}, must be a mapping with any of {join(*SECTIONS)}"
            )
            return
        for key, content in document.items():
            line = f" (line {line_of(document, key)})" if line_of(document, key) else ""
            if key not in SECTIONS:
                self.problems.append(f"{file}, key {quoted(key)}: {unknown_key(key, SECTIONS)}{line}")
            elif key in LATER_SECTIONS:
                if refusal := not_in_this_version(content):
                    self.problems.append(f"{file}, key {quoted(key)}: {refusal}{line}")
            elif content is not None:
                kind = Mapping if key == "settings" else list
                if isinstance(content, kind):
                    self.section(file, key, content)
                else:
                    form = "a mapping" if key == "settings" else "a list"
                    self.problems.append(
                        f"{file}, key {quoted(key)}: is {shown(content)}, must be {form}{line}"
                    )

    def section(self, file: str, key: str, content: Any) -> None:
        if key == "settings":
            self.settings(Entry(file, "settings", content))
            return
        kind, id_key = IDS[key]
        for number, given in enumerate(content, 1):
            if not isinstance(given, Mapping):
                self.problems.append(
                    f"{file}, {ordinal(number)} {kind}: is {shown(given)}, must be a mapping with {id_key}"
                )
                continue
            id = written(given.get(id_key))
            entry = Entry(file, kind if id else f"{ordinal(number)} {kind}", given, id)
            self.once(entry, kind, id, id_key)
            self.entry(key, entry)
            self.problems += entry.problems

    def once(self, entry: Entry, kind: str, id: object, key: str) -> None:
        if not isinstance(id, str):
            return
        here = place(entry.file, "", "", line=line_of(entry.given, key))
        if (kind, id) in self.seen:
            entry.problem(key, f"is taken already, in {self.seen[kind, id]}")
        self.seen.setdefault((kind, id), here)

    def entry(self, section: str, entry: Entry) -> None:
        if section == "targets":
            self.wanted.targets.append(read_target(entry))
        elif section == "judges":
            self.wanted.judges.append(read_judge(entry))
        else:
            values, loaded = read_dataset(entry)
            if loaded is not None:
                self.wanted.datasets.append((values, loaded))
                self.warnings += loaded.warnings

    def settings(self, entry: Entry) -> None:
        values = read_settings(entry)
        for name in values:
            if name in self.wanted.settings:
                entry.problem(name, "is given in another document already")
        self.wanted.settings |= values
        self.problems += entry.problems


def _write(wanted: _Wanted, check_only: bool) -> Iterator[Change]:
    if wanted.settings:
        yield write_object(EvalSettings, "settings", "pk", {"pk": 1, **wanted.settings}, check_only)
    for values, loaded in wanted.datasets:
        yield write_dataset(values, loaded.rows, check_only)
    for values in wanted.judges:
        yield write_object(JudgeSettings, "judge", "grader", values, check_only)
    for values in wanted.targets:
        change = write_object(Target, "target", "slug", values, check_only)
        yield replace(change, keys=tuple(KEY_OF_FIELD[name] for name in change.keys))


def _missing_datasets(wanted: _Wanted) -> Iterator[str]:
    """Targets whose dataset is to be in the database and is neither there nor in the documents."""
    asked = {
        values["dataset_reference"]: values["slug"]
        for values in wanted.targets
        if values["dataset_source"] == "database"
    }
    there = set(Dataset.objects.filter(slug__in=asked).values_list("slug", flat=True))
    there |= {values["slug"] for values, _ in wanted.datasets}
    for reference, target in asked.items():
        if reference not in there:
            yield f"target {target}: there is no dataset {quoted(reference)} in the database yet"
