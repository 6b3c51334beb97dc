"""Freezing all that produces a run."""

from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import django

import ai_eval
from ai_eval.conf import SiteSettings
from ai_eval.graders import GraderInfo
from ai_eval.graders.judge import JudgeConfig, fingerprint
from ai_eval.llm import RetryPolicy
from ai_eval.models import Target
from ai_eval.trust import UNVALIDATED


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _grader_entry(info: GraderInfo) -> dict[str, Any]:
    return {
        "id": info.id,
        "label": info.label,
        "llm": info.llm,
        "min_score": info.min_score,
        "max_score": info.max_score,
        "sees_tool_calls": info.sees_tool_calls,
        "observes_actions": info.observes_actions,
        "needs_environment": info.needs_environment,
        "dimension": info.dimension,
    }


def retry_policy(site: SiteSettings) -> RetryPolicy:
    return RetryPolicy(
        max_retries=site.rate_limit_max_retries,
        base_delay=site.rate_limit_base_delay,
        delay_between_calls=site.rate_limit_delay_between_calls,
    )


def freeze(
    target: Target,
    *,
    site: SiteSettings,
    infos: list[GraderInfo],
    judges: Mapping[str, JudgeConfig],
    dataset: Mapping[str, Any],
    trials: int,
    advisories: list[str],
) -> dict[str, Any]:
    """The snapshot: JSON without secrets, from which workers and verdict are read."""
    observing = [info.id for info in infos if info.observes_actions]
    threshold = target.pass_threshold
    limit = target.response_char_limit or site.response_char_limit
    return {
        "target": {
            "id": target.slug,
            "label": target.label,
            "mode": target.mode,
            "agent": target.agent,
            "environment": target.environment,
            "model": target.model,
            "api_base": target.api_base,
            "system_prompt": target.system_prompt,
            "parameters": target.parameters,
            "replies": target.replies,
            "graders": list(target.graders),
            "required": target.effective_required(observing),
            "trials": trials,
            "gate": target.gate(),
            "max_error_rate": target.max_error_rate,
            "demand_trust": target.demand_trust,
        },
        "pass_threshold": site.question_pass_threshold if threshold is None else threshold,
        "response_char_limit": limit,
        "time_limit": target.effective_time_limit(),
        "llm_timeout": site.llm_timeout,
        "retry": asdict(retry_policy(site)),
        "key_hosts": list(site.key_hosts),
        "graders": [_grader_entry(info) for info in infos],
        "judges": {
            info.id: {
                "config": judges[info.id].to_json(),
                "dimension": info.dimension,
                "model": judges[info.id].model,
                "fingerprint": fingerprint(info, judges[info.id], limit),
                "trust": UNVALIDATED,
            }
            for info in infos
            if info.id in judges
        },
        "dataset": dict(dataset),
        "advisories": advisories,
        "versions": {
            "ai_eval": ai_eval.__version__,
            "django": django.get_version(),
            "litellm": _version("litellm"),
        },
    }
