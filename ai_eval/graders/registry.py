"""Which graders there are. `register` takes every declaration; the system checks judge it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ai_eval.conf import site_settings
from ai_eval.graders.base import AnyGrader, Grader, GradeResult
from ai_eval.graders.scale import describe_scale

CORRECTABLE = (
    "label",
    "description",
    "llm",
    "min_score",
    "max_score",
    "sees_tool_calls",
    "observes_actions",
    "needs_environment",
)
"""Attributes that `AI_EVAL["GRADERS"]` may set, beside `hidden`."""


@dataclass(frozen=True)
class GraderInfo:
    """A registered grader as this site has it: its declaration, corrected by the settings."""

    grader: type[Grader]
    id: str
    label: str
    description: str
    llm: bool
    min_score: float
    max_score: float
    sees_tool_calls: bool
    observes_actions: bool
    needs_environment: bool
    reads_metadata: tuple[str, ...]
    hidden: bool = False

    @property
    def choice_label(self) -> str:
        """Label of the checkbox: `Read-only run (binary, 0-1)`."""
        return f"{self.label} ({describe_scale(self.min_score, self.max_score)})"

    @property
    def dimension(self) -> str:
        """What gold labels and validations of a judge key on; empty for other graders."""
        return str(getattr(self.grader, "dimension", "")) if self.llm else ""

    def error(self, reason: str) -> GradeResult:
        """The error of this grade, without building the grader: it may be what is broken."""
        return GradeResult(self.id, None, self.min_score, self.max_score, reason, error=True)

    def build(self) -> Grader:
        """A fresh instance that knows the corrections."""
        grader = self.grader()
        for name in CORRECTABLE:
            if getattr(grader, name) != getattr(self, name):
                setattr(grader, name, getattr(self, name))
        return grader


class GraderRegistry:
    """Graders by id, in the order of their registration."""

    def __init__(self) -> None:
        self.declared: list[type[Grader]] = []

    def register(self, grader: AnyGrader) -> AnyGrader:
        """Class decorator. Another class under an id that is taken is kept, and told by the system checks."""
        if not (isinstance(grader, type) and issubclass(grader, Grader)):
            raise TypeError(f"register takes a subclass of Grader, not {grader!r}")
        if grader not in self.declared:
            self.declared.append(grader)
        return grader

    def unregister(self, grader: type[Grader]) -> None:
        self.declared.remove(grader)

    def all(self, include_hidden: bool = False) -> list[GraderInfo]:
        """Every usable grader: with an id, the first under that id."""
        corrections = site_settings().graders
        found: dict[str, GraderInfo] = {}
        for grader in self.declared:
            if grader.id and grader.id not in found:
                found[grader.id] = self._info(grader, corrections.get(grader.id, {}))
        return [info for info in found.values() if include_hidden or not info.hidden]

    def get(self, id: str) -> GraderInfo | None:
        """The grader, hidden or not: hiding takes it off the form, a stored target keeps running."""
        for grader in self.declared:
            if grader.id == id and id:
                return self._info(grader, site_settings().graders.get(id, {}))
        return None

    def missing(self, ids: Iterable[str]) -> list[str]:
        """Those of `ids` that no app registers."""
        return [id for id in ids if self.get(id) is None]

    def action_observing(self, ids: Iterable[str]) -> list[str]:
        """Those of `ids` whose verdict rests on what the agent did."""
        return [id for id in ids if (info := self.get(id)) is not None and info.observes_actions]

    @staticmethod
    def _info(grader: type[Grader], correction: Mapping[str, Any]) -> GraderInfo:
        values = {name: correction.get(name, getattr(grader, name)) for name in CORRECTABLE}
        return GraderInfo(
            grader=grader,
            id=grader.id,
            reads_metadata=tuple(grader.reads_metadata),
            hidden=bool(correction.get("hidden", False)),
            **values,
        )


registry = GraderRegistry()
register = registry.register
