"""What a worker needs to know of a run, read from its snapshot and from nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ai_eval import agents, environments
from ai_eval.conf import site_settings
from ai_eval.errors import ConfigurationError
from ai_eval.graders import GraderInfo, registry
from ai_eval.graders.judge import JudgeConfig
from ai_eval.llm import RetryPolicy
from ai_eval.models import Run
from ai_eval.runs.verdict import Gate, Rules


@dataclass(frozen=True)
class RunSpec:
    """One run's frozen configuration."""

    run_id: int
    kind: str
    mode: str
    agent: str
    environment: str
    model: str
    api_base: str
    system_prompt: str
    parameters: Mapping[str, Any]
    fixtures: tuple[str, ...]
    graders: tuple[GraderInfo, ...]
    judges: Mapping[str, JudgeConfig]
    rules: Rules
    response_char_limit: int
    time_limit: float
    retry: RetryPolicy
    key_hosts: tuple[str, ...]
    llm_timeout: float

    @property
    def ask_limit(self) -> float:
        """Seconds that asking may take. Waiting for its turn is no part of a model's own time."""
        waiting = self.retry.delay_between_calls * site_settings().concurrency
        return self.time_limit if self.mode == "agent" else self.time_limit + 2 * waiting

    def grade_limit(self, info: GraderInfo) -> float:
        """Seconds that one grader may take for one answer."""
        judge = self.judges.get(info.id)
        if judge is None:
            return self.time_limit
        # A judge asks at most twice, and each asking is repeated and waits as its policy says.
        tries = judge.retry.max_retries + 1
        waiting = judge.retry.delay_between_calls * site_settings().concurrency
        return 2 * tries * (judge.timeout + judge.retry.max_delay + 2 * waiting)


def rules_of(snapshot: Mapping[str, Any]) -> Rules:
    """What the gate asks, as frozen."""
    target = snapshot["target"]
    gate = target["gate"]
    return Rules(
        gate=Gate(**gate) if gate else None,
        pass_threshold=snapshot["pass_threshold"],
        max_error_rate=target["max_error_rate"],
        required=target["required"],
        graders=target["graders"],
        action_observing=[each["id"] for each in snapshot["graders"] if each["observes_actions"]],
        demand_trust=target["demand_trust"],
        trust={id: judge["trust"] for id, judge in snapshot["judges"].items()},
    )


def read_spec(run: Run) -> RunSpec:
    """The spec of a run. ConfigurationError when a grader of it is registered no more."""
    snapshot, target = run.snapshot, run.target_snapshot
    gone = registry.missing(target["graders"])
    if gone:
        raise ConfigurationError([f"the grader {id} is registered by no app any more" for id in gone])
    if target["mode"] == "agent" and agents.registry.get(target["agent"]) is None:
        raise ConfigurationError(f"the agent {target['agent']} is registered by no app any more")
    if target["environment"] and environments.registry.get(target["environment"]) is None:
        raise ConfigurationError(f"the environment {target['environment']} is registered by no app any more")
    infos = [registry.get(id) for id in target["graders"]]
    return RunSpec(
        run_id=run.pk,
        kind=run.kind,
        mode=target["mode"],
        agent=target["agent"],
        environment=target["environment"],
        model=target["model"],
        api_base=target["api_base"],
        system_prompt=target["system_prompt"],
        parameters=target["parameters"],
        fixtures=tuple(snapshot["dataset"]["fixtures"]),
        graders=tuple(info for info in infos if info is not None),
        judges={id: JudgeConfig.from_json(judge["config"]) for id, judge in snapshot["judges"].items()},
        rules=rules_of(snapshot),
        response_char_limit=snapshot["response_char_limit"],
        time_limit=snapshot["time_limit"],
        retry=RetryPolicy(**snapshot["retry"]),
        key_hosts=tuple(snapshot["key_hosts"]),
        llm_timeout=snapshot["llm_timeout"],
    )
