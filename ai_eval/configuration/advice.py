"""What somebody who configures a target should know in time: advice, and where problems belong."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ai_eval import agents, environments
from ai_eval.configuration.dataset_summary import NEVER, SLOW, dataset_summary, effort
from ai_eval.configuration.validation import target_problems, unregistered
from ai_eval.datasets.loading import metadata_warnings
from ai_eval.graders import GraderInfo, registry
from ai_eval.graders.judge import LLMJudge
from ai_eval.models import JudgeSettings, Target, effective_settings
from ai_eval.wording import bounded, listed

BLIND_AGENT_TARGET = (
    "no ticked grader observes actions: an agent that reports work it never did scores like one that did it"
)

NOTES_SHOWN = 5


@dataclass(frozen=True)
class Advice:
    """`field` is a field of the target's form; `tone` is `bad` where a launch would be refused."""

    field: str
    text: str
    tone: str = "unsure"


def target_advice(target: Target, *, wait: bool = True) -> list[Advice]:
    """What is no fault of the target by itself, but is worth knowing before it runs.

    Without `wait`, a dataset that takes seconds to read is not read, and a note of the tone `busy`
    says so.
    """
    ids = [id for id in target.graders if isinstance(id, str)] if isinstance(target.graders, list) else []
    infos = [info for id in dict.fromkeys(ids) if (info := registry.get(id)) is not None]
    observing = [info.id for info in infos if info.observes_actions]
    found: list[Advice] = []
    if infos:
        found += [Advice("graders", text) for text in observing_advisory(target.mode, observing)]
    found += [Advice("graders", text, "bad") for text in judges_without_model(infos)]
    found += _environment_advice(target, infos)
    if target.dataset_source or target.dataset_reference:
        found += _dataset_advice(target, infos, wait)
    return found


def observing_advisory(mode: str, action_observing: Iterable[str]) -> list[str]:
    """For an agent target that is scored by nothing that can see what the agent does."""
    return [BLIND_AGENT_TARGET] if mode == "agent" and not list(action_observing) else []


def judges_without_model(infos: Iterable[GraderInfo]) -> list[str]:
    """One sentence for each judge that has no model, of its own or in the settings."""
    judges = [info.id for info in infos if issubclass(info.grader, LLMJudge)]
    if not judges or effective_settings().judge_model:
        return []
    own = JudgeSettings.objects.filter(grader__in=judges).exclude(model="").values_list("grader", flat=True)
    with_model = set(own)
    return [
        f"the judge {id} has no model: set judge_model in the settings, or a model of its own"
        for id in judges
        if id not in with_model
    ]


def _environment_advice(target: Target, infos: Iterable[GraderInfo]) -> Iterator[Advice]:
    needing = [info.id for info in infos if info.needs_environment]
    if not needing or target.environment:
        return
    graders = f"the grader {needing[0]} needs" if len(needing) == 1 else f"the graders {listed(needing)} need"
    if target.mode == Target.Mode.AGENT:
        yield Advice("environment", f"{graders} an environment, and the target names none", "bad")
    else:
        yield Advice("graders", f"{graders} an environment, and only agent mode has one", "bad")


def _dataset_advice(target: Target, infos: Iterable[GraderInfo], wait: bool) -> Iterator[Advice]:
    source, reference = target.dataset_source, target.dataset_reference
    cost = effort(source, reference)
    if cost == NEVER:
        yield Advice("dataset", "This file is too large to be read for a page; a launch reads and checks it.")
        return
    if cost == SLOW and not wait:
        yield Advice(
            "dataset", "This dataset takes some seconds to read; it was not read for this page.", "busy"
        )
        return
    summary = dataset_summary(source, reference)
    if summary.problems:
        yield from (Advice("dataset", text, "bad") for text in bounded(summary.problems, NOTES_SHOWN))
        return
    counted = f"{summary.questions} question{'' if summary.questions == 1 else 's'}"
    disabled = summary.questions - summary.enabled
    yield Advice("dataset", f"{counted}, {disabled} of them disabled" if disabled else counted, "idle")
    yield from (Advice("dataset", text) for text in bounded(summary.warnings, NOTES_SHOWN))
    reads = sorted({key for info in infos for key in info.reads_metadata})
    near_misses = metadata_warnings(summary.metadata, reads)
    yield from (Advice("dataset", text) for text in bounded(near_misses, NOTES_SHOWN))
    for info in infos:
        unread = [f"metadata.{key}" for key in info.reads_metadata if not summary.has_metadata(key)]
        if unread:
            yield Advice("graders", f"the grader {info.id} reads {listed(unread)}: no question has that")


# Where the sentences of `target_problems` belong.

_BEGINNINGS = (
    ("the gate's metric ", "gate_metric"),
    ("the gate's threshold ", "gate_threshold"),
    ("the gate's type ", "gate_type"),
    ("agent mode needs an agent", "agent"),
    ("there is no agent ", "agent"),
    ("there is no environment ", "environment"),
    ("chat mode needs a model", "model"),
    ("recorded mode needs replies", "replies"),
    ("parameter ", "parameters"),
    ("no grader ", "graders"),
    ("the grader ", "graders"),
    ("there is no grader ", "graders"),
)
_NAMES = frozenset(field.name for field in Target._meta.get_fields() if not field.is_relation)


def problem_field(sentence: str) -> str:
    """The field that a sentence of `target_problems` is about; empty where it is about the whole."""
    for beginning, field in _BEGINNINGS:
        if sentence.startswith(beginning):
            return field
    first = sentence.partition(" ")[0]
    return first if first in _NAMES else ""


def field_problems(target: Target) -> list[Advice]:
    """All that `target_problems` finds, each at its field."""
    return [Advice(problem_field(text), text, "bad") for text in target_problems(target)]


def vanished(target: Target) -> list[str]:
    """Of the problems of a target, those that the site made by no longer registering what it names."""
    found = []
    if target.agent and agents.registry.get(target.agent) is None:
        found.append(unregistered("agent", target.agent, agents.registry.all()))
    if target.environment and environments.registry.get(target.environment) is None:
        found.append(unregistered("environment", target.environment, environments.registry.all()))
    known = [info.id for info in registry.all()]
    return found + [unregistered("grader", id, known) for id in registry.missing(target.graders)]
