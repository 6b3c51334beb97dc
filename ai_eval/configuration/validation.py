"""What is wrong with a target as it stands, without asking or loading anything."""

from collections import Counter
from collections.abc import Collection, Iterable

from ai_eval import agents, environments
from ai_eval.configuration.endpoints import address_problem, parameter_problems
from ai_eval.graders import registry
from ai_eval.models import Target
from ai_eval.wording import hint, listed, quoted

OWN_FIELDS = {
    Target.Mode.AGENT: ("agent", "environment"),
    Target.Mode.CHAT: ("model", "api_base", "system_prompt", "parameters"),
    Target.Mode.RECORDED: ("replies",),
}
"""Fields that say what is asked. One that is set for another mode would be passed over in silence."""

BOUNDS = {Target.Metric.PASS_RATE: 1, Target.Metric.AVG_SCORE: 5}


def target_problems(target: Target) -> list[str]:
    """One sentence for each thing that is wrong; none when the target can be launched as far as it tells.

    The dataset is not loaded and no model is asked; the launch does that.
    """
    return [*_mode_problems(target), *_grader_problems(target), *_number_problems(target)]


def unregistered(noun: str, id: str, known: Iterable[str]) -> str:
    """That no app registers this id, and which is meant or which there are."""
    known = list(known)
    there = f"; there are {listed(known)}" if known else "; there is none"
    return f"there is no {noun} {quoted(id)}{hint(id, known) or there}"


def _mode_problems(target: Target) -> list[str]:
    if target.mode not in Target.Mode.values:
        return [f"mode is {quoted(str(target.mode))}, must be one of {listed(Target.Mode.values)}"]
    problems = []
    for mode, names in OWN_FIELDS.items():
        if mode != target.mode:
            set_here = [name for name in names if getattr(target, name)]
            problems += [f"{name} belongs to {mode} mode, and the mode is {target.mode}" for name in set_here]
    if target.mode == Target.Mode.AGENT:
        problems += _agent_problems(target)
    elif target.mode == Target.Mode.CHAT:
        problems += _model_problems(target)
    elif not target.replies:
        problems.append("recorded mode needs replies: a JSONL or CSV file in the dataset directory")
    return problems


def _agent_problems(target: Target) -> list[str]:
    problems = []
    if not target.agent:
        problems.append(f"agent mode needs an agent; there are {listed(agents.registry.all()) or 'none'}")
    elif agents.registry.get(target.agent) is None:
        problems.append(unregistered("agent", target.agent, agents.registry.all()))
    if target.environment and environments.registry.get(target.environment) is None:
        problems.append(unregistered("environment", target.environment, environments.registry.all()))
    return problems


def _model_problems(target: Target) -> list[str]:
    problems = []
    if not target.model.strip():
        problems.append("chat mode needs a model, a LiteLLM model string such as openai/gpt-4.1-mini")
    if unusable := address_problem(target.api_base):
        problems.append(f"api_base {unusable}")
    return problems + parameter_problems(target.parameters)


def _grader_problems(target: Target) -> list[str]:
    if not isinstance(target.graders, list) or not all(isinstance(id, str) for id in target.graders):
        return ["graders must be a list of ids"]
    problems = [] if target.graders else ["no grader is ticked"]
    problems += [f"the grader {id} is ticked {n} times" for id, n in Counter(target.graders).items() if n > 1]
    known = [info.id for info in registry.all()]
    problems += [unregistered("grader", id, known) for id in dict.fromkeys(registry.missing(target.graders))]
    return problems + _required_problems(target.required, target.graders)


def _required_problems(required: object, graders: Collection[str]) -> list[str]:
    if required is None:
        return []
    if not isinstance(required, list) or not all(isinstance(id, str) for id in required):
        return ["required must be a list of ids, or null for the graders that observe actions"]
    problems = [
        f"required names {quoted(id)}, which is not ticked{hint(id, graders)}"
        for id in dict.fromkeys(required)
        if id not in graders
    ]
    return problems + [f"required names {id} {n} times" for id, n in Counter(required).items() if n > 1]


def _number_problems(target: Target) -> list[str]:
    problems = []

    def within(name: str, value: float | None, low: float, high: float) -> None:
        # Written so that NaN is outside.
        if value is not None and not low <= value <= high:
            problems.append(f"{name} is {value}, not within {low:g} to {high:g}")

    if target.gate_metric not in Target.Metric.values:
        problems.append(
            f"the gate's metric is {quoted(target.gate_metric)}, "
            f"must be one of {listed(Target.Metric.values)}"
        )
    else:
        name = f"the gate's threshold of {target.gate_metric}"
        within(name, target.gate_threshold, 0, BOUNDS[Target.Metric(target.gate_metric)])
    if target.gate_type not in Target.GateType.values:
        problems.append(f"the gate's type is {quoted(target.gate_type)}, must be hard or soft")
    within("pass_threshold", target.pass_threshold, 0, 5)
    within("max_error_rate", target.max_error_rate, 0, 1)
    within("trials", target.trials, 1, 100)
    if target.response_char_limit is not None and target.response_char_limit < 1:
        problems.append(f"response_char_limit is {target.response_char_limit}, must be 1 or more")
    if target.time_limit is not None and not 0.1 <= target.time_limit < float("inf"):
        problems.append(f"time_limit is {target.time_limit} seconds, must be 0.1 or more")
    if target.demand_trust not in Target.DemandTrust.values:
        demands = [value for value in Target.DemandTrust.values if value]
        problems.append(f"demand_trust is {quoted(target.demand_trust)}, must be empty or {listed(demands)}")
    return problems
