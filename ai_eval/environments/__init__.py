"""What an agent acts on. An app's own environments stand in its `eval_environments.py`."""

from contextlib import AbstractContextManager
from typing import Any, Protocol

from ai_eval.registries import ClassRegistry


class EnvironmentSession(Protocol):
    """The environment of one answer while it is open; graders find it as `context["environment"]`."""

    def changes(self) -> Any:
        """The difference to the start state as JSON, or None where it can't be told."""


class Environment:
    """Puts what the agent acts on into a known start state for each answer.

    A fresh instance serves each answer. `open` is entered before the agent runs, in the thread in
    which it runs, and left after the graders that need the environment. An exception from `open`
    or on leaving is a fault of ours, never of the agent: the answer counts as missing.
    """

    id: str = ""
    label: str = ""

    def open(self, question: dict[str, Any]) -> AbstractContextManager[EnvironmentSession]:
        """A context manager for the answer to this question row (`fixtures` among its keys, if any)."""
        raise NotImplementedError


registry: ClassRegistry[Environment] = ClassRegistry("environment")


def register(environment: type[Environment]) -> type[Environment]:
    """Class decorator: makes an environment selectable on targets."""
    return registry.register(environment)


__all__ = ["Environment", "EnvironmentSession", "register", "registry"]
