"""A target laid out for somebody who may not edit it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from ai_eval import agents, environments
from ai_eval.admin.target_graders import GraderGroup, grader_groups
from ai_eval.configuration.advice import field_problems, target_advice
from ai_eval.datasets import registry as sources
from ai_eval.graders import registry as graders
from ai_eval.models import Target, effective_settings
from ai_eval.registries import ClassRegistry


@dataclass(frozen=True)
class Fact:
    """`more` is a second, quieter line."""

    name: str
    value: str
    more: str = ""


def reading_context(target: Target) -> dict[str, Any]:
    """What the template needs; the notes are those of the form."""
    ticked = [id for id in target.graders if isinstance(id, str)]
    notes = [*field_problems(target), *target_advice(target, wait=False)]
    return {
        "target": target,
        "asked": _asked(target),
        "dataset": [
            Fact("Dataset", target.dataset_reference, _source_label(target.dataset_source)),
            *(Fact("It has", each.text) for each in notes if each.tone == "idle"),
        ],
        "rows_query": urlencode({"source": target.dataset_source, "reference": target.dataset_reference}),
        "grader_groups": _ticked_groups(ticked, target.effective_required(graders.action_observing(ticked))),
        "rules": _rules(target),
        "parameters": json.dumps(target.parameters, ensure_ascii=False, indent=2)
        if target.parameters
        else "",
        "notes": [each for each in notes if each.tone != "idle"],
    }


def _asked(target: Target) -> list[Fact]:
    facts = [Fact("Mode", target.get_mode_display())]
    if target.mode == Target.Mode.AGENT:
        facts.append(_registered("Agent", agents.registry, target.agent))
        facts.append(_registered("Environment", environments.registry, target.environment))
    elif target.mode == Target.Mode.CHAT:
        facts.append(Fact("Model", target.model or "none"))
        facts.append(Fact("Address", target.api_base or "the provider's"))
    else:
        facts.append(Fact("Recorded replies", target.replies or "none"))
    return facts


def _registered(name: str, registry: ClassRegistry[Any], id: str) -> Fact:
    if not id:
        return Fact(name, "none")
    declared = registry.get(id)
    return (
        Fact(name, id, "missing: no app registers it any more")
        if declared is None
        else Fact(name, str(declared.label), id)
    )


def _source_label(source: str) -> str:
    declared = sources.get(source)
    return f"{source}: missing, no app registers this source" if declared is None else str(declared.label)


def _ticked_groups(ticked: Sequence[str], required: Sequence[str]) -> list[GraderGroup]:
    """The groups without what is not ticked."""
    groups = grader_groups(ticked, required)
    chosen = [
        GraderGroup(group.title, group.explanation, [row for row in group.rows if row.ticked])
        for group in groups
    ]
    return [group for group in chosen if group.rows]


def _rules(target: Target) -> list[Fact]:
    """What makes an answer pass and what the gate asks, with where each figure comes from."""
    site = effective_settings()

    def of_site(name: str, value: float | None, default: float, unit: str) -> Fact:
        origin = "the site's" if value is None else "the target's own"
        return Fact(name, f"{default if value is None else value:g} {unit}".strip(), origin)

    return [
        Fact("Gate", gate_words(target)),
        of_site("Pass threshold", target.pass_threshold, site.question_pass_threshold, "of 5"),
        Fact("Trials", str(target.trials), "how often each question is asked"),
        Fact("Largest share missing", f"{target.max_error_rate:g}", "above it the gate is undecided"),
        of_site("Response limit", target.response_char_limit, site.response_char_limit, "characters"),
        of_site("Time limit", target.time_limit, site.time_limit, "seconds"),
        Fact("Trust demanded of judges", target.get_demand_trust_display()),
    ]


def gate_words(target: Target) -> str:
    """`pass rate from 0.9 on, hard`, or that there is none."""
    if target.gate_threshold is None:
        return "none: nothing can fail"
    metric = target.get_gate_metric_display().lower()
    return f"{metric} from {target.gate_threshold:g} on, {target.gate_type}"
