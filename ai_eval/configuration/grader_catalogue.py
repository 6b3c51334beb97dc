"""Every grader of this site, with what there is to say about it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.apps import apps
from django.conf import settings
from django.core.checks import CheckMessage

from ai_eval.checks import check_corrections, check_graders
from ai_eval.graders.base import Grader
from ai_eval.graders.judge import LLMJudge
from ai_eval.graders.registry import CORRECTABLE, GraderInfo, registry
from ai_eval.models import Target
from ai_eval.wording import shown


def is_judge(info: GraderInfo) -> bool:
    return info.llm or issubclass(info.grader, LLMJudge)


def asks_by_itself(info: GraderInfo) -> bool:
    """Whether it asks its model by code of its own, which reads no judge settings."""
    return info.llm and not issubclass(info.grader, LLMJudge)


def choice_label(info: GraderInfo) -> str:
    """Label and scale; the label alone where the declared scale is none."""
    try:
        return info.choice_label
    except (TypeError, ValueError):
        return str(info.label or info.id)


def targets_by_grader() -> dict[str, list[Target]]:
    """One query, whatever the number of graders."""
    found: dict[str, list[Target]] = defaultdict(list)
    for target in Target.objects.only("slug", "label", "graders"):
        for id in dict.fromkeys(target.graders if isinstance(target.graders, list) else ()):
            found[str(id)].append(target)
    return found


@dataclass(frozen=True)
class GraderEntry:
    """A grader as declared and corrected. `problems` are what the system checks say of its class."""

    info: GraderInfo
    targets: Sequence[Target] = ()
    corrections: Sequence[str] = ()
    problems: Sequence[str] = ()

    @property
    def label(self) -> str:
        return choice_label(self.info)

    @property
    def is_judge(self) -> bool:
        return is_judge(self.info)

    @property
    def is_configurable(self) -> bool:
        return issubclass(self.info.grader, LLMJudge)

    @property
    def module(self) -> str:
        return self.info.grader.__module__

    @property
    def app(self) -> str:
        return app_of(self.info.grader)

    @property
    def metadata_keys(self) -> list[str]:
        return [f"metadata.{key}" for key in self.info.reads_metadata]


@dataclass(frozen=True)
class UnusableClass:
    """A registered class that no target can tick: it has no id, or one that is taken."""

    class_path: str
    id: str
    problems: Sequence[str]


@dataclass(frozen=True)
class GraderCatalogue:
    judges: Sequence[GraderEntry]
    deterministic: Sequence[GraderEntry]
    unusable: Sequence[UnusableClass] = ()
    problems: Sequence[str] = ()
    """What is wrong with `AI_EVAL["GRADERS"]`."""
    gone: Mapping[str, Sequence[Target]] = field(default_factory=dict)
    """Ids that targets tick and no app registers."""


def grader_catalogue() -> GraderCatalogue:
    """Every declared grader, hidden ones too."""
    used = targets_by_grader()
    told: dict[object, list[str]] = defaultdict(list)
    for message in check_graders(None):
        told[message.obj].append(_sentence(message))
    infos = registry.all(include_hidden=True)
    entries = [
        GraderEntry(info, used.get(info.id, ()), corrections_of(info), told.get(info.grader, ()))
        for info in infos
    ]
    usable = {info.grader for info in infos}
    return GraderCatalogue(
        judges=[entry for entry in entries if entry.is_judge],
        deterministic=[entry for entry in entries if not entry.is_judge],
        unusable=[
            UnusableClass(_path(each), str(each.id or ""), told.get(each, ()))
            for each in registry.declared
            if each not in usable
        ],
        problems=[_sentence(message) for message in check_corrections(None)],
        gone={id: used[id] for id in used if registry.get(id) is None},
    )


def _sentence(message: CheckMessage) -> str:
    return f"{message.msg} {message.hint}" if message.hint else str(message.msg)


def _path(grader: type[Grader]) -> str:
    return f"{grader.__module__}.{grader.__qualname__}"


def app_of(declared: type) -> str:
    """The installed app that a class stands in; empty where it is none."""
    app = apps.get_containing_app_config(declared.__module__)
    return str(app.verbose_name) if app else ""


def corrections_of(info: GraderInfo) -> list[str]:
    """What `AI_EVAL["GRADERS"]` says otherwise than the class, one phrase each."""
    given = getattr(settings, "AI_EVAL", {}).get("GRADERS", {}).get(info.id, {})
    found = ["hidden from the target form"] if given.get("hidden") else []
    return found + [
        f"{name} is {shown(given[name])}, declared as {shown(getattr(info.grader, name))}"
        for name in CORRECTABLE
        if name in given and given[name] != getattr(info.grader, name)
    ]
