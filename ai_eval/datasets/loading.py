"""From a source and a reference to the questions of one run."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from ai_eval.datasets.base import LoadedDataset, registry
from ai_eval.datasets.rows import validate_rows
from ai_eval.datasets.sources import DatabaseSource, FileSource
from ai_eval.errors import DatasetError
from ai_eval.text import clean_json
from ai_eval.wording import bounded, hint, listed, near, quoted


def load_dataset(source: str, reference: str) -> LoadedDataset:
    """The dataset that a target names. DatasetError for an unknown source too.

    What an app's own source returns is checked as a file is.
    """
    found = registry.get(source)
    if found is None:
        raise DatasetError(source_problem(source))
    loaded = found().load(reference)
    if not isinstance(loaded, LoadedDataset):
        raise DatasetError(
            f"the dataset source {source} returned {type(loaded).__name__}, not a LoadedDataset"
        )
    if found in (FileSource, DatabaseSource):
        return loaded
    document = {"questions": list(loaded.rows), "fixtures": list(loaded.fixtures), "label": loaded.label}
    checked = validate_rows(document, f"{source}:{reference}")
    return LoadedDataset(
        rows=checked.rows,
        fixtures=checked.fixtures,
        label=checked.label,
        warnings=tuple(dict.fromkeys([*loaded.warnings, *checked.warnings])),
    )


def source_problem(source: str) -> str:
    """That no app registers this source, and which there are."""
    known = list(registry.all())
    meant = hint(source, known) or f"; there are {listed(known)}"
    return f"there is no dataset source {quoted(source)}{meant}"


def canonical(value: Any) -> str:
    """JSON text that equal values share: keys in order, `1` and `1.0` alike."""
    return json.dumps(
        _canonical(clean_json(value)), sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )


def _canonical(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        # By its digits: PostgreSQL gives 1e300 back as the whole number of that name.
        return int(Decimal(repr(value)))
    if isinstance(value, dict):
        return {key: _canonical(item) for key, item in value.items()}
    return [_canonical(item) for item in value] if isinstance(value, list) else value


def dataset_hash(rows: Sequence[Mapping[str, Any]]) -> str:
    """SHA-256 (hex) of the rows in their order; the order of a row's keys does not count."""
    return hashlib.sha256(canonical([dict(row) for row in rows]).encode()).hexdigest()


def choose_rows(rows: Iterable[dict[str, Any]], split: str) -> list[dict[str, Any]]:
    """The enabled rows of a split, of all where `split` is empty.

    DatasetError when no row is of that split, or none of it is enabled; it names the splits there are.
    """
    rows = list(rows)
    if split:
        splits = list(dict.fromkeys(row["split"] for row in rows if row.get("split")))
        if split not in splits:
            there = f"there are {listed(splits)}" if splits else "no question has one"
            raise DatasetError(f"there is no split {quoted(split)}: {there}")
        rows = [row for row in rows if row.get("split") == split]
    enabled = [row for row in rows if row.get("enabled", True)]
    if split and not enabled:
        raise DatasetError(f"the split {quoted(split)} has no enabled question")
    return enabled


def metadata_warnings(rows: Iterable[Mapping[str, Any]], reads_metadata_keys: Iterable[str]) -> list[str]:
    """Near misses of the keys under `metadata` that the ticked graders read, each with its questions."""
    read = sorted(set(reads_metadata_keys))
    missed: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in rows:
        metadata = row.get("metadata")
        for key in metadata if isinstance(metadata, Mapping) else ():
            if key not in read and (meant := near(key, read)):
                missed[key, meant].append(str(row.get("id", "")))
    return bounded(
        [
            f"question {quoted(ids[0])}{f' and {len(ids) - 1} more' if len(ids) > 1 else ''}, "
            f"key {quoted(f'metadata.{key}')}: no ticked grader reads it, did you mean metadata.{meant}?"
            for (key, meant), ids in missed.items()
        ]
    )
