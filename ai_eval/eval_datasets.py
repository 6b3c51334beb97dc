"""The dataset sources that come along; imported at start-up, as every app's module of this name is."""

from ai_eval.datasets import register
from ai_eval.datasets.sources import DatabaseSource, FileSource

register(FileSource)
register(DatabaseSource)
