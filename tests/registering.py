"""Graders that a test declares, and that are gone after it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ai_eval.graders import Grader, registry

Register = Callable[..., type[Grader]]


@pytest.fixture
def registered() -> Iterator[Register]:
    """Registers a class made of these attributes, for this test alone."""
    made: list[type[Grader]] = []

    def register(base: type[Grader] = Grader, **attributes: Any) -> type[Grader]:
        found = type("Made", (base,), {"__module__": "tests.dummy.graders", **attributes})
        registry.register(found)
        made.append(found)
        return found

    yield register
    for each in made:
        registry.unregister(each)
