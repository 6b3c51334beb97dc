"""Where questions come from. An app's own sources stand in its `eval_datasets.py`."""

from ai_eval.datasets.base import DatasetSource, LoadedDataset, register, registry

__all__ = ["DatasetSource", "LoadedDataset", "register", "registry"]
