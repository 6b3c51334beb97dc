"""What each judge of this site asks its model with, and where that comes from."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import BooleanField, Case, Value, When

from ai_eval.conf import site_settings
from ai_eval.configuration.grader_catalogue import asks_by_itself, choice_label, is_judge, targets_by_grader
from ai_eval.failures import described
from ai_eval.graders.judge import JudgeConfig, LLMJudge, endpoint, fingerprint
from ai_eval.graders.prompts import check_template
from ai_eval.graders.registry import GraderInfo, registry
from ai_eval.llm_keys import (
    PROVIDERS,
    environment_key,
    host_of,
    key_advisory,
    may_have_key,
    provider_of,
)
from ai_eval.models import EvalSettings, JudgeSettings, Target, effective_settings
from ai_eval.trust import UNVALIDATED

OWN, ROW, SITE, NOWHERE, ITSELF = "own", "row", "site", "nowhere", "itself"
"""Where a judge's model comes from: its own settings, the settings row, `AI_EVAL`, nowhere, its own code."""


@dataclass(frozen=True)
class JudgeEntry:
    """A registered judge, and what it would be asked with if a run were launched now."""

    info: GraderInfo
    model: str
    api_base: str
    model_from: str
    """One of `OWN`, `ROW`, `SITE`, `NOWHERE`, `ITSELF`."""
    own_prompt: bool
    own_parameters: bool
    targets: Sequence[Target]
    template_problems: Sequence[str]
    """What is wrong with the built-in prompt of its class."""

    @property
    def label(self) -> str:
        return choice_label(self.info)

    @property
    def is_configurable(self) -> bool:
        return issubclass(self.info.grader, LLMJudge)

    @property
    def trust(self) -> str:
        return UNVALIDATED


@dataclass(frozen=True)
class LostSettings:
    """A row of judge settings that nothing reads: why, and who still ticks the grader."""

    settings: JudgeSettings
    why: str
    targets: Sequence[Target]

    @property
    def is_missing(self) -> bool:
        """Whether no app registers the grader: one that is no judge still grades."""
        return registry.get(self.settings.grader) is None


@dataclass(frozen=True)
class JudgeCatalogue:
    judges: Sequence[JudgeEntry]
    lost: Sequence[LostSettings]


def judge_catalogue() -> JudgeCatalogue:
    """Every judge, hidden ones too. The number of queries does not grow, and no prompt is loaded."""
    own = {each.grader: each for each in _stored_without_prompts()}
    used = targets_by_grader()
    source, site = site_model_source(), effective_settings()
    judges = []
    for info in registry.all(include_hidden=True):
        if not is_judge(info):
            continue
        stored = own.get(info.id) or JudgeSettings(grader=info.id)
        model, api_base = ("", "") if asks_by_itself(info) else endpoint(stored, site)
        judges.append(
            JudgeEntry(
                info=info,
                model=model,
                api_base=api_base,
                model_from=ITSELF if asks_by_itself(info) else OWN if stored.model else source,
                own_prompt=getattr(stored, "has_prompt", False),
                own_parameters=bool(stored.parameters),
                targets=used.get(info.id, ()),
                template_problems=() if asks_by_itself(info) else check_template(built_in_template(info)),
            )
        )
    lost = [
        LostSettings(each, why, used.get(each.grader, ()))
        for each in own.values()
        if (why := lost_because(each.grader))
    ]
    return JudgeCatalogue(judges, lost)


def _stored_without_prompts() -> list[JudgeSettings]:
    has_prompt = Case(When(prompt="", then=Value(False)), default=Value(True), output_field=BooleanField())
    return list(JudgeSettings.objects.defer("prompt").annotate(has_prompt=has_prompt))


def lost_because(grader: str) -> str:
    """Why settings for this grader are read by nothing; empty where a judge reads them."""
    info = registry.get(grader)
    if info is None:
        return "no app registers such a grader any more"
    if not is_judge(info):
        return "this grader asks no model"
    return "this grader asks its model by code of its own" if asks_by_itself(info) else ""


def built_in_template(info: GraderInfo) -> str:
    """The prompt of the judge's class."""
    return str(getattr(info.grader, "default_template", ""))


def site_model_source() -> str:
    """Where a judge without a model of its own gets one: `ROW`, `SITE` or `NOWHERE`."""
    row = EvalSettings.objects.filter(pk=1).first()
    if row is not None and row.judge_model is not None:
        return ROW if row.judge_model else NOWHERE
    return SITE if site_settings().judge_model else NOWHERE


def judge_fingerprint(info: GraderInfo, config: JudgeConfig) -> tuple[str, str]:
    """The judge's fingerprint without a response limit, or why there is none: a class that can't be built."""
    try:
        return fingerprint(info, config), ""
    except Exception as error:  # noqa: BLE001 - an app's own class may raise anything, and the page must open
        return "", described(error)


# Keys


@dataclass(frozen=True)
class KeyStory:
    """Which key a model gets at an address. Names of variables and hosts only, never a key."""

    provider: str
    host: str
    """Empty: the provider's own."""
    variables: Sequence[str]
    """Environment variables that may hold the key; the first set one counts."""
    known: bool
    """Whether the provider is one whose key is known."""
    is_set: bool
    """Whether this process has one of them."""
    allowed: bool
    """Whether the key may go to the host."""
    advisory: str


def key_story(model: str, api_base: str) -> KeyStory | None:
    """None without a model."""
    if not model:
        return None
    hosts = site_settings().key_hosts
    provider = PROVIDERS.get(provider_of(model))
    return KeyStory(
        provider=provider_of(model),
        host=host_of(api_base),
        variables=provider.keys if provider else (),
        known=provider is not None,
        is_set=bool(environment_key(provider_of(model))),
        allowed=may_have_key(model, api_base, hosts),
        advisory=key_advisory(model, api_base, hosts) or "",
    )
