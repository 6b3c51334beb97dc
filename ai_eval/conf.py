"""The site's own defaults: the dictionary `AI_EVAL` of its Django settings.

What the settings row in the database holds wins over the fields that both have (see
`ai_eval.models.EvalSettings`); keys of providers are in neither, they come from the environment.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from django.conf import settings


@dataclass(frozen=True)
class SiteSettings:
    """One field for each key of `AI_EVAL`, which are the same names in capitals."""

    dataset_path: str = ""
    """Directory of the dataset and reply files."""
    judge_model: str = ""
    """LiteLLM model string of every judge that has none of its own."""
    judge_api_base: str = ""
    question_pass_threshold: float = 3.5
    """Composite score (0 to 5) from which an answer passes."""
    response_char_limit: int = 4000
    """Characters of a response that a judge sees; what is stored is never cut."""
    rate_limit_max_retries: int = 3
    rate_limit_base_delay: float = 5.0
    """Seconds; doubled with each retry."""
    rate_limit_delay_between_calls: float = 0.0
    key_hosts: tuple[str, ...] = ()
    """Hosts beside the provider's own and loopback to which its key may be sent."""
    graders: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Grader id to corrections: `hidden`, `label`, `description`, or a declared attribute."""
    executor: str = "local"
    processes: int = 2
    """Worker processes of one run on this machine."""
    concurrency: int = 16
    """Answers in flight in one worker process."""
    lease_seconds: float = 30.0
    """How long a worker's claim outlives its last sign of life."""
    time_limit: float = 120.0
    """Seconds that an answer may take, where the target says nothing else."""
    llm_timeout: float = 60.0
    """Seconds that one call of a model may take."""


KEYS = frozenset(each.name.upper() for each in fields(SiteSettings))


def site_settings() -> SiteSettings:
    """The site's settings as they are now. Unknown keys are left to the system check `ai_eval.E010`."""
    given: Mapping[str, Any] = getattr(settings, "AI_EVAL", {})
    known = {key.lower(): value for key, value in given.items() if key in KEYS}
    if "key_hosts" in known:
        known["key_hosts"] = tuple(known["key_hosts"])
    return SiteSettings(**known)
