"""Every dataset there is: of all sources, with the targets that use them, and those that went missing."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ai_eval.datasets.base import DatasetSource, registry
from ai_eval.datasets.loading import source_problem
from ai_eval.datasets.sources import DatabaseSource, FileSource
from ai_eval.errors import DatasetError, EvalError
from ai_eval.failures import described
from ai_eval.models import Target
from ai_eval.text import clean_text
from ai_eval.wording import hint, quoted

Name = tuple[str, str]
"""Source and reference, as a target names a dataset."""


@dataclass(frozen=True)
class Entry:
    """One dataset. `missing` says why it is nowhere to be found, though a target names it.

    `listed` tells whether its source offers it.
    """

    source: str
    reference: str
    label: str = ""
    targets: Sequence[Target] = ()
    missing: str = ""
    listed: bool = True


@dataclass(frozen=True)
class Group:
    """The datasets of one source. `problem` says why the source can't tell which it has."""

    source: str
    label: str
    entries: Sequence[Entry] = field(default_factory=tuple)
    problem: str = ""


@dataclass(frozen=True)
class Catalogue:
    """All sources in the order of their registration, and what targets name in vain."""

    groups: Sequence[Group]
    missing: Sequence[Entry]


def dataset_catalogue() -> Catalogue:
    """Every dataset of every registered source. None of them is read; a source that fails is told."""
    used = _targets_by_dataset()
    groups: list[Group] = []
    missing: list[Entry] = []
    for id, source in registry.all().items():
        label = str(source.label or id)
        asked = [reference for name, reference in used if name == id]
        try:
            listed = _references(source())
        except Exception as error:  # noqa: BLE001 - a source of another app: it must not break the others
            entries = [Entry(id, each, each, used[id, each], listed=False) for each in asked]
            groups.append(Group(id, label, entries, _why(error)))
            continue
        entries = [Entry(id, each, name, used.get((id, each), ())) for each, name in listed.items()]
        for reference in asked:
            if reference in listed:
                continue
            lost = _lost(source, reference, listed)
            entry = Entry(id, reference, reference, used[id, reference], lost, listed=False)
            (missing if lost else entries).append(entry)
        groups.append(Group(id, label, entries))
    for (id, reference), targets in used.items():
        if registry.get(id) is None:
            missing.append(Entry(id, reference, reference, targets, source_problem(id), listed=False))
    return Catalogue(groups, missing)


def dataset_entry(source: str, reference: str) -> Entry:
    """One dataset, which is not read. DatasetError for a source that is not registered.

    `listed` tells whether its source offers it; one that can't tell offers nothing.
    """
    found = registry.get(source)
    if found is None:
        raise DatasetError(source_problem(source))
    try:
        listed = _references(found())
    except Exception:  # noqa: BLE001 - as above
        listed = {}
    targets = list(Target.objects.filter(dataset_source=source, dataset_reference=reference))
    return Entry(
        source, reference, listed.get(reference, reference), targets=targets, listed=reference in listed
    )


def _targets_by_dataset() -> dict[Name, list[Target]]:
    targets: dict[Name, list[Target]] = defaultdict(list)
    named = Target.objects.only("slug", "label", "dataset_source", "dataset_reference")
    for target in named:
        targets[target.dataset_source, target.dataset_reference].append(target)
    return dict(targets)


def _references(source: DatasetSource) -> dict[str, str]:
    # Names of files may hold bytes that are no text.
    return {clean_text(str(each)): clean_text(str(label)) for each, label in source.references()}


def _lost(source: type[DatasetSource], reference: str, listed: Iterable[str]) -> str:
    """Why a reference that its source does not list is missing; nothing where it may be there all the same.

    Hidden files can be read though they are not listed, and an app's own source may load more than it
    lists: reading tells.
    """
    if source is FileSource and not reference.startswith("."):
        return f"there is no file {quoted(reference)} in the dataset directory{hint(reference, listed)}"
    if source is DatabaseSource:
        return f"there is no dataset {quoted(reference)} in the database{hint(reference, listed)}"
    return ""


def _why(error: Exception) -> str:
    return str(error) if isinstance(error, EvalError) else f"it failed: {described(error)}"
