"""An environment in memory: a shelf of books, one for each answer and thread."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ai_eval.environments import Environment, register

_local = threading.local()


def current_shelf() -> list[str]:
    """The shelf of the answer that this thread works on."""
    shelf: list[str] = _local.shelf
    return shelf


class Session:
    def __init__(self) -> None:
        self.before = ["Emma", "Ulysses"]
        self.shelf = list(self.before)

    def changes(self) -> dict[str, Any]:
        return {"taken": [book for book in self.before if book not in self.shelf]}


@register
class Shelf(Environment):
    id = "shelf"
    label = "A shelf of books"

    @contextmanager
    def open(self, question: dict[str, Any]) -> Iterator[Session]:
        session = Session()
        _local.shelf = session.shelf
        try:
            yield session
        finally:
            del _local.shelf


@register
class SlowShelf(Environment):
    id = "slow_shelf"
    label = "A shelf that takes for ever to set up"

    @contextmanager
    def open(self, question: dict[str, Any]) -> Iterator[Session]:
        time.sleep(60)
        yield Session()


@register
class BrokenShelf(Environment):
    id = "broken_shelf"
    label = "A shelf that can't be set up"

    @contextmanager
    def open(self, question: dict[str, Any]) -> Iterator[Session]:
        raise OSError("the shelf has no boards")
        yield Session()
