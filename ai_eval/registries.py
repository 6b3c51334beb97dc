"""One registry for what an app declares by class: agents, environments, dataset sources."""

from typing import Generic, TypeVar

Kind = TypeVar("Kind")


class ClassRegistry(Generic[Kind]):
    """Classes with an `id` and a `label`, in the order of their registration.

    `register` takes every declaration; the system checks say what is wrong with it, so that one
    bad class is told beside all others instead of breaking start-up by itself.
    """

    def __init__(self, noun: str) -> None:
        self.noun = noun
        self.declared: list[type[Kind]] = []

    def register(self, declared: type[Kind]) -> type[Kind]:
        """Class decorator."""
        if declared not in self.declared:
            self.declared.append(declared)
        return declared

    def unregister(self, declared: type[Kind]) -> None:
        self.declared.remove(declared)

    def all(self) -> dict[str, type[Kind]]:
        """The first class under each id."""
        found: dict[str, type[Kind]] = {}
        for declared in self.declared:
            id = getattr(declared, "id", "")
            if id:
                found.setdefault(id, declared)
        return found

    def get(self, id: str) -> type[Kind] | None:
        return self.all().get(id)
