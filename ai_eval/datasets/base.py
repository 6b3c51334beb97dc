"""The contract for dataset sources.

from ai_eval.datasets import DatasetSource, LoadedDataset, register
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ai_eval.registries import ClassRegistry


@dataclass(frozen=True)
class LoadedDataset:
    """Valid question rows, in order, the disabled ones among them.

    Each row is JSON with `id` (text), `messages` (a list of role and content) where the question has
    several turns, else `input` (text), and whatever other keys it brought.
    """

    rows: Sequence[dict[str, Any]]
    fixtures: Sequence[str] = ()
    label: str = ""
    warnings: Sequence[str] = field(default_factory=tuple)


class DatasetSource:
    """Where questions come from. A fresh instance serves each call."""

    id: str = ""
    label: str = ""

    def references(self) -> list[tuple[str, str]]:
        """What can be chosen: pairs of reference and label."""
        raise NotImplementedError

    def load(self, reference: str) -> LoadedDataset:
        """The dataset. `DatasetError` says what is wrong: the place, and what would be right."""
        raise NotImplementedError


registry: ClassRegistry[DatasetSource] = ClassRegistry("dataset source")


def register(source: type[DatasetSource]) -> type[DatasetSource]:
    """Class decorator: makes a source selectable on targets."""
    return registry.register(source)
