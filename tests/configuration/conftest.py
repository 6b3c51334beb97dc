from collections.abc import Iterator

import pytest

from ai_eval.graders import Grader, registry


@pytest.fixture(autouse=True)
def graders() -> Iterator[None]:
    """A deterministic grader and a judge, whatever else the site has."""

    class Plain(Grader):
        id = "config_plain"
        label = "Plain"

    class Judge(Grader):
        id = "config_judge"
        label = "Judge"
        llm = True

    registry.register(Plain)
    registry.register(Judge)
    yield
    registry.unregister(Plain)
    registry.unregister(Judge)
