"""What is in a dataset, read once for each state of it.

A file is known again by its path, times and size, a dataset of the database by its time of change, and
the number and lengths of its questions. What an app's own source holds can't be known again: it is
read each time.
"""

import logging
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Generic, TypeVar

from django.db.models import Count, Max, Q, Sum, TextField
from django.db.models.functions import Cast, Coalesce, Length

from ai_eval.datasets.base import LoadedDataset, registry
from ai_eval.datasets.files import DOCUMENT_ENDINGS, dataset_directory, find_file, read_document
from ai_eval.datasets.loading import load_dataset
from ai_eval.datasets.rows import validate_rows
from ai_eval.datasets.sources import DatabaseSource, FileSource, dataset_document
from ai_eval.errors import DatasetError, EvalError
from ai_eval.failures import described, readable_traceback
from ai_eval.models import Dataset
from ai_eval.wording import quoted

logger = logging.getLogger(__name__)

Name = tuple[str, str]
"""Source and reference."""

AT_ONCE = 500_000
"""Bytes of YAML that are read while a page waits (about a second); JSON and the database are quicker."""

QUICKER = 4
"""How much quicker a byte of those is."""

SETTLED = 2.0
"""Seconds: a file that is younger when it is looked at may change again within the same tick of its time."""

READINGS_KEPT = 5000
ROWS_KEPT = 12_000_000
"""Bytes of files whose questions stay in memory, so that turning pages reads nothing again."""


@dataclass(frozen=True)
class Reading:
    """What reading a dataset gave: its figures, or the problems for which it has none."""

    label: str = ""
    questions: int = 0
    disabled: int = 0
    several_turns: int = 0
    warnings: Sequence[str] = ()
    problems: Sequence[str] = ()


Kept = TypeVar("Kept")


class _Memory(Generic[Kept]):
    """The things last used, each with the mark of the state for which it holds; `room` for all sizes."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.taken = 0
        self.kept: OrderedDict[Name, tuple[object, Kept, int]] = OrderedDict()
        self.lock = Lock()

    def get(self, name: Name, mark: object) -> Kept | None:
        with self.lock:
            found = self.kept.get(name)
            if found is None or found[0] != mark:
                return None
            self.kept.move_to_end(name)
            return found[1]

    def put(self, name: Name, mark: object, thing: Kept, size: int = 1) -> None:
        with self.lock:
            if name in self.kept:
                self.taken -= self.kept.pop(name)[2]
            self.kept[name] = (mark, thing, size)
            self.taken += size
            while self.taken > self.room and len(self.kept) > 1:
                self.taken -= self.kept.popitem(last=False)[1][2]


_READINGS: _Memory[Reading] = _Memory(READINGS_KEPT)
_ROWS: _Memory[LoadedDataset] = _Memory(ROWS_KEPT)


@dataclass(frozen=True)
class _State:
    """One state of a dataset: `mark` tells it from others, `cost` is its size as bytes of YAML.

    One that is not `settled` may change without changing its mark.
    """

    mark: object
    cost: int
    settled: bool = True


def read(source: str, reference: str) -> Reading:
    """What is in the dataset as it is now."""
    state = None
    try:
        state = _state(source, reference)
        known = _READINGS.get((source, reference), state.mark) if state else None
        return known or _keep((source, reference), state, _summary(load(source, reference)))
    except EvalError as error:
        return _keep((source, reference), state, Reading(problems=tuple(error.problems)))


def read_rows(source: str, reference: str) -> tuple[Reading, Sequence[Mapping[str, Any]]]:
    """The same with the questions; there are none where there are problems."""
    try:
        loaded = load(source, reference)
    except EvalError as error:
        return Reading(problems=tuple(error.problems)), ()
    return _summary(loaded), loaded.rows


def read_at_once(names: Iterable[Name]) -> dict[Name, Reading]:
    """Of many datasets what is known, or can be read while somebody waits; the others are left out.

    The number of queries does not grow with that of the datasets.
    """
    names = list(names)
    files = [name for name in names if registry.get(name[0]) is FileSource]
    stored = [name for name in names if registry.get(name[0]) is DatabaseSource]
    found, left = _files_at_once(files, AT_ONCE) if files else ({}, AT_ONCE)
    return {**found, **(_stored_at_once(stored, left) if stored else {})}


def load(source: str, reference: str) -> LoadedDataset:
    """The questions of a dataset as they are now, for pages: whatever goes wrong is a DatasetError.

    Unlike a run, a page follows no link that leads out of the dataset directory.
    """
    with _told(f"{source}:{reference}"):
        if registry.get(source) is FileSource:
            return _load_file((source, reference), find_file(reference, DOCUMENT_ENDINGS))
        return load_dataset(source, reference)


@contextmanager
def _told(place: str) -> Iterator[None]:
    """One dataset that breaks its source must not break a page that shows others."""
    try:
        yield
    except EvalError:
        raise
    except Exception as error:
        logger.error("reading %s failed: %s", place, readable_traceback())
        raise DatasetError(f"{place}: reading it failed: {described(error)}") from error


def _state(source: str, reference: str) -> _State | None:
    """None where states can't be told apart."""
    found = registry.get(source)
    if found is FileSource:
        return _file_state(find_file(reference, DOCUMENT_ENDINGS))
    return _stored_states([reference]).get(reference) if found is DatabaseSource else None


def _keep(name: Name, state: _State | None, reading: Reading) -> Reading:
    # The state was taken before the reading: after a change in between it fits nothing any more.
    if state is not None and state.settled:
        _READINGS.put(name, state.mark, reading)
    return reading


def _summary(loaded: LoadedDataset) -> Reading:
    return Reading(
        label=loaded.label,
        questions=len(loaded.rows),
        disabled=sum(row.get("enabled", True) is False for row in loaded.rows),
        several_turns=sum("messages" in row for row in loaded.rows),
        warnings=tuple(loaded.warnings),
    )


def _load_file(name: Name, path: Path) -> LoadedDataset:
    if not path.resolve().is_relative_to(path.parent.resolve()):
        raise DatasetError(
            f"{path.name}: is a link that leads out of the dataset directory, and pages show nothing of it"
        )
    state = _file_state(path)
    loaded = _ROWS.get(name, state.mark)
    if loaded is None:
        loaded = validate_rows(read_document(path), path.name)
        if state.settled:
            _ROWS.put(name, state.mark, loaded, path.stat().st_size)
    return loaded


def _file_state(path: Path) -> _State:
    try:
        stat = path.stat()
    except OSError as error:
        raise DatasetError(f"{path.name}: can't be looked up: {error.strerror}") from error
    quicker = QUICKER if path.suffix.lower() == ".json" else 1
    return _State(
        mark=(str(path.resolve()), stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino),
        cost=stat.st_size // quicker,
        settled=time.time() - stat.st_mtime > SETTLED,
    )


def _files_at_once(names: Sequence[Name], left: int) -> tuple[dict[Name, Reading], int]:
    """The readings, and how much room they left. The names are those that the source lists."""
    found = {}
    try:
        directory = dataset_directory()
    except DatasetError:
        return {}, left
    for name in names:
        state = None
        try:
            state = _file_state(directory / name[1])
            reading = _READINGS.get(name, state.mark)
            if reading is None:
                if state.cost > left:
                    continue
                left -= state.cost
                with _told(name[1]):
                    reading = _keep(name, state, _summary(_load_file(name, directory / name[1])))
        except EvalError as error:
            reading = _keep(name, state, Reading(problems=tuple(error.problems)))
        found[name] = reading
    return found, left


def _stored_states(references: Sequence[str]) -> dict[str, _State]:
    """By reference. A change that bypasses forms and imports and keeps every length goes unnoticed."""
    sized = Dataset.objects.filter(slug__in=references).annotate(
        count=Count("questions"),
        newest=Max("questions__pk"),
        enabled=Count("questions", filter=Q(questions__enabled=True)),
        inputs=_length("input"),
        turns=_length("messages"),
        others=_length("data"),
        keys=_length("key"),
    )
    return {
        each.slug: _State(
            mark=(
                *(each.pk, each.changed_at, each.count, each.newest, each.enabled),
                *(each.inputs, each.turns, each.others, each.keys),
            ),
            cost=(each.inputs + each.turns + each.others + each.keys) // QUICKER,
        )
        for each in sized
    }


def _length(name: str) -> Coalesce:
    return Coalesce(Sum(Length(Cast(f"questions__{name}", TextField()))), 0)


def _stored_at_once(names: Sequence[Name], left: int) -> dict[Name, Reading]:
    states = _stored_states([reference for _, reference in names])
    found, chosen = {}, []
    for name in names:
        state = states.get(name[1])
        if state is None:
            continue
        reading = _READINGS.get(name, state.mark)
        if reading is not None:
            found[name] = reading
        elif state.cost <= left:
            left -= state.cost
            chosen.append(name)
    if not chosen:
        return found
    datasets = Dataset.objects.filter(slug__in=[slug for _, slug in chosen]).prefetch_related("questions")
    by_slug = {dataset.slug: dataset for dataset in datasets}
    for name in chosen:
        if dataset := by_slug.get(name[1]):
            place = stored_place(name[1])
            try:
                with _told(place):
                    reading = _summary(validate_rows(dataset_document(dataset), place))
            except DatasetError as error:
                reading = Reading(problems=tuple(error.problems))
            found[name] = _keep(name, states[name[1]], reading)
    return found


def stored_place(slug: str) -> str:
    """How messages name a dataset of the database."""
    return f"dataset {quoted(slug)}"
