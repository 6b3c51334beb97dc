"""What a page tells of a dataset without keeping its questions; read once for each version of it."""

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Max

from ai_eval.datasets.base import registry
from ai_eval.datasets.files import DOCUMENT_ENDINGS, find_file
from ai_eval.datasets.loading import choose_rows
from ai_eval.datasets.readings import load
from ai_eval.datasets.sources import DatabaseSource, FileSource
from ai_eval.errors import DatasetError
from ai_eval.models import Dataset

QUICK_BYTES = 60_000
QUICK_QUESTIONS = 500
"""Up to these a dataset is read in about a quarter of a second."""

TOO_LARGE = {".json": 8_000_000, ".yaml": 3_000_000, ".yml": 3_000_000}
"""Bytes of a file that no page reads: it would take more than about ten seconds."""

KEPT = 16
LIFETIME = 60.0
"""Seconds after which a dataset that is no file is read again, whether it seems changed or not."""

QUICK, SLOW, NEVER = "quick", "slow", "never"


@dataclass(frozen=True)
class DatasetSummary:
    """`problems` says why it can't be used as it stands; without any, the rest holds."""

    questions: int = 0
    enabled: int = 0
    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    metadata: tuple[Mapping[str, Any], ...] = ()
    """Of each enabled question with metadata, `id` and `metadata`, the latter with its keys alone."""

    def has_metadata(self, key: str) -> bool:
        return any(key in row["metadata"] for row in self.metadata)


_kept: OrderedDict[tuple[str, str], tuple[object, float, DatasetSummary]] = OrderedDict()
_reading = threading.Lock()


def effort(source: str, reference: str) -> str:
    """Whether a summary is there at once (`QUICK`), takes seconds (`SLOW`), or too long (`NEVER`)."""
    try:
        stamp, cost = _look(source, reference)
    except DatasetError:
        return QUICK
    return QUICK if _found(source, reference, stamp) is not None else cost


def dataset_summary(source: str, reference: str) -> DatasetSummary:
    """The summary, read now unless this version of the dataset was read before."""
    try:
        stamp, _ = _look(source, reference)
    except DatasetError as error:
        return DatasetSummary(problems=tuple(error.problems))
    # One at a time: whoever asks for the same dataset meanwhile finds it read.
    with _reading:
        found = _found(source, reference, stamp)
        if found is None:
            found = _read(source, reference)
            _kept[source, reference] = (stamp, time.monotonic(), found)
            while len(_kept) > KEPT:
                _kept.popitem(last=False)
    return found


def _found(source: str, reference: str, stamp: object) -> DatasetSummary | None:
    kept = _kept.get((source, reference))
    if kept is None or kept[0] != stamp:
        return None
    fresh = registry.get(source) is FileSource or time.monotonic() - kept[1] < LIFETIME
    return kept[2] if fresh else None


def _look(source: str, reference: str) -> tuple[object, str]:
    """What changes when the dataset does, and the effort of reading it. DatasetError when it is not there."""
    found = registry.get(source)
    if found is FileSource:
        path = find_file(reference, DOCUMENT_ENDINGS)
        try:
            stat = path.stat()
        except OSError as error:
            raise DatasetError(f"{reference}: can't be read: {error.strerror}") from error
        stamp = (str(path), stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino)
        if stat.st_size > TOO_LARGE[path.suffix.lower()]:
            return stamp, NEVER
        return stamp, QUICK if stat.st_size <= QUICK_BYTES else SLOW
    if found is DatabaseSource:
        rows = Dataset.objects.filter(slug=reference).annotate(
            n=Count("questions"), last=Max("questions__pk")
        )
        row = rows.values_list("changed_at", "n", "last").first()
        return row, QUICK if row is None or row[1] <= QUICK_QUESTIONS else SLOW
    return found, QUICK if found is None else SLOW


def _read(source: str, reference: str) -> DatasetSummary:
    try:
        loaded = load(source, reference)
    except DatasetError as error:
        return DatasetSummary(problems=tuple(error.problems))
    enabled = choose_rows(loaded.rows, "")
    return DatasetSummary(
        questions=len(loaded.rows),
        enabled=len(enabled),
        problems=() if enabled else (f"the dataset {source}:{reference} has no enabled question",),
        warnings=tuple(loaded.warnings),
        metadata=tuple(_keys_alone(enabled)),
    )


def _keys_alone(rows: Iterable[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
    shared: dict[tuple[str, ...], dict[str, None]] = {}
    for row in rows:
        metadata = row.get("metadata")
        if isinstance(metadata, Mapping) and metadata:
            keys = tuple(metadata)
            yield {"id": row["id"], "metadata": shared.setdefault(keys, dict.fromkeys(keys))}
