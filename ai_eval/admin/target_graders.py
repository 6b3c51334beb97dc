"""The graders as a target's pages show them: grouped, marked, those that are gone among them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ai_eval.admin.words import Sign
from ai_eval.graders import GraderInfo, registry
from ai_eval.wording import one_line

OBSERVES = Sign("observes actions", "good", "check")
SEES_CALLS = Sign("sees tool calls", "busy", "play")
NEEDS_ENVIRONMENT = Sign("needs an environment", "unsure", "square")
MISSING = Sign("missing", "bad", "triangle")
HIDDEN = Sign("hidden by the site", "idle", "dash")


@dataclass(frozen=True)
class GraderRow:
    """One grader; `number` tells it apart on the page, since an id may hold any character."""

    number: int
    id: str
    label: str
    description: str = ""
    marks: Sequence[Sign] = ()
    ticked: bool = False
    required: bool = False
    observes_actions: bool = False


@dataclass(frozen=True)
class GraderGroup:
    title: str
    explanation: str
    rows: Sequence[GraderRow]


def grader_groups(ticked: Sequence[str], required: Sequence[str]) -> list[GraderGroup]:
    """All graders on offer, and those that are ticked though they are hidden or gone."""
    shown = {info.id: info for info in registry.all()}
    hidden = {id: info for id in ticked if id not in shown and (info := registry.get(id)) is not None}
    infos = [*shown.values(), *hidden.values()]
    gone = [id for id in dict.fromkeys([*ticked, *required]) if id not in shown and id not in hidden]
    rows = list(_rows(infos, gone, set(ticked), set(required)))
    judges = {info.id for info in infos if info.llm}
    groups = [
        GraderGroup(
            "Missing",
            "Ticked, but no app registers them any more: untick them, or install their app again.",
            [row for row in rows if row.id in gone],
        ),
        GraderGroup("Judges", "Ask a model.", [row for row in rows if row.id in judges]),
        GraderGroup(
            "Deterministic",
            "Compute their verdict, without a model.",
            [row for row in rows if row.id not in judges and row.id not in gone],
        ),
    ]
    return [group for group in groups if group.rows]


def _rows(
    infos: Sequence[GraderInfo], gone: Iterable[str], ticked: set[str], required: set[str]
) -> Iterator[GraderRow]:
    for number, info in enumerate(infos, 1):
        yield GraderRow(
            number,
            info.id,
            info.choice_label,
            info.description,
            marks(info),
            info.id in ticked,
            info.id in required,
            info.observes_actions,
        )
    for number, id in enumerate(gone, len(infos) + 1):
        yield GraderRow(number, id, one_line(id), "", [MISSING], id in ticked, id in required)


def marks(info: GraderInfo) -> list[Sign]:
    """What tells this grader from the others, as words with shapes."""
    found = [OBSERVES] if info.observes_actions else []
    found += [SEES_CALLS] if info.sees_tool_calls else []
    found += [NEEDS_ENVIRONMENT] if info.needs_environment else []
    return found + ([HIDDEN] if info.hidden else [])
