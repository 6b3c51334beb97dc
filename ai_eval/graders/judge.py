"""LLM judges: one question asked of a model, and one verdict read from its reply."""

import hashlib
import inspect
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from django.conf import settings
from django.utils.encoding import force_bytes

from ai_eval.conf import SiteSettings, site_settings
from ai_eval.failures import described, readable_traceback
from ai_eval.graders import prompts
from ai_eval.graders.base import Grader, GradeResult, GradingStopped, JudgeTrace, readable_score
from ai_eval.graders.registry import GraderInfo
from ai_eval.graders.replies import JudgeReply, read_reply
from ai_eval.llm import LLMError, LLMReply, LLMRequest, RetryPolicy, complete, response_format_support
from ai_eval.models import JudgeSettings, effective_settings
from ai_eval.text import clean_text, is_blank

FORMATS = ("json_schema", "json_object", "plain")
"""Response formats, the strictest first."""

REPLY_SHOWN = 4000
"""Characters of its own unusable reply that a judge is shown with the reminder."""

LEAST_ROOM = 256
"""Tokens that are taken for the room it had where a reply was cut off and nobody set any."""


logger = logging.getLogger(__name__)


class GradingCancelled(GradingStopped):
    """The run was stopped while the judge's model was asked."""


@dataclass(frozen=True)
class JudgePrompt:
    """What a judge's model is asked with, word for word."""

    text: str
    cut: int
    """Characters of the response that are not in it."""


class PromptBuilt(GradingStopped):
    """A judge that is not to ask (`LLMJudge.asks`) came to where it would: this is its prompt."""

    def __init__(self, prompt: JudgePrompt) -> None:
        super().__init__("the judge's model is not to be asked")
        self.prompt = prompt


@dataclass(frozen=True)
class JudgeConfig:
    """What one judge is asked with. It is frozen into the run's snapshot and holds no secret."""

    model: str = ""
    api_base: str = ""
    prompt: str = ""
    """A template of the site's own; empty: the class's."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    key_hosts: tuple[str, ...] = ()
    timeout: float = 60.0
    response_format: str = ""
    """The strictest of `FORMATS` that is tried; empty: the strictest that the model seems to take."""

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "key_hosts": list(self.key_hosts)}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "JudgeConfig":
        return cls(
            **{**stored, "retry": RetryPolicy(**stored["retry"]), "key_hosts": tuple(stored["key_hosts"])}
        )

    def decoding(self) -> dict[str, Any]:
        """Parameters of each call: temperature 0 unless it is set, to another value or to none."""
        return {"temperature": 0, **self.parameters}


def judge_config(grader_id: str) -> JudgeConfig:
    """The judge's own settings, with the site's behind them."""
    site = effective_settings()
    own = JudgeSettings.objects.filter(grader=grader_id).first() or JudgeSettings(grader=grader_id)
    return configured(own, site)


def endpoint(own: JudgeSettings, site: SiteSettings) -> tuple[str, str]:
    """The model that a judge asks, and its address; both may be empty."""
    # An endpoint belongs to the model it was given with.
    api_base = own.api_base if own.model or own.api_base else site.judge_api_base
    return own.model or site.judge_model, api_base


def configured(own: JudgeSettings, site: SiteSettings) -> JudgeConfig:
    """The same from settings at hand, which need not be stored."""
    model, api_base = endpoint(own, site)
    return JudgeConfig(
        model=model,
        api_base=api_base,
        prompt=own.prompt,
        parameters=own.parameters,
        retry=RetryPolicy(
            max_retries=site.rate_limit_max_retries,
            base_delay=site.rate_limit_base_delay,
            delay_between_calls=site.rate_limit_delay_between_calls,
        ),
        key_hosts=site_settings().key_hosts,
        timeout=site.llm_timeout,
    )


_accepted: dict[tuple[str, str], str] = {}
"""The strictest response format that a model at an endpoint is known to take, in this process."""


def _fence_secret() -> bytes:
    return hashlib.sha256(b"ai_eval.graders.fence" + force_bytes(settings.SECRET_KEY)).digest()


class LLMJudge(Grader):
    """Asks a model for one verdict on one dimension.

    A subclass gives `dimension` (a stable token), `dimension_description` and `scoring_guidance`. Extra
    material goes into `context["criteria"]` before `super().grade()`.
    """

    llm = True
    dimension: str = ""
    """What gold labels and validations key on: pick it once."""
    dimension_description: str = ""
    scoring_guidance: str = ""
    default_template: str = prompts.DEFAULT_TEMPLATE

    config: JudgeConfig | None = None
    """Set by the runner from the run's snapshot; None: as the site is configured now."""
    should_stop: Callable[[], bool] | None = None
    asks: bool = True
    """False: `grade` raises `PromptBuilt` where it would ask the model."""
    clamped_from: float | None = None
    """The last number that `interpret_score` clamped."""

    def interpret_score(self, raw: float) -> float | None:
        """The judge's number as a score on the scale; None makes the reply unusable. Clamps by default."""
        score = max(self.min_score, min(self.max_score, raw))
        self.clamped_from = None if score == raw else raw
        return score

    def grade(self, question: str, response: str, context: dict[str, Any]) -> GradeResult:
        if is_blank(response):
            return self.result(self.min_score, "empty response")
        config = self.config or judge_config(self.id)
        conversation = Conversation(self, config, question, clean_text(response), context)
        if not self.asks:
            raise PromptBuilt(conversation.prompt)
        return conversation.result()


def build_prompt(
    judge: LLMJudge, template: str, question: str, response: str, context: Mapping[str, Any]
) -> JudgePrompt:
    """The template, filled for one answer: the response cut where it is too long, untrusted text fenced.

    ConfigurationError for a template that can't be used.
    """
    secret = _fence_secret()
    shown = prompts.truncate(clean_text(response), context.get("response_char_limit", 4000))
    record = context.get("tool_calls") if judge.sees_tool_calls else None
    text = prompts.fill_template(
        template,
        dimension=judge.dimension_description or judge.dimension,
        question=prompts.fence(clean_text(question), secret, "question"),
        criteria=prompts.criteria_slot(
            clean_text(str(context.get("criteria", ""))),
            judge.scoring_guidance,
            minimum=judge.min_score,
            maximum=judge.max_score,
            tool_calls=None if record is None else prompts.tool_call_block(record, secret),
        ),
        response=prompts.fence(shown.text, secret, "response"),
    )
    return JudgePrompt(text, shown.cut)


class Conversation:
    """One asking of one judge, with its one reminder."""

    def __init__(
        self, judge: LLMJudge, config: JudgeConfig, question: str, response: str, context: Mapping[str, Any]
    ) -> None:
        self.judge = judge
        self.config = config
        self.response = response
        self.attempts: list[dict[str, Any]] = []
        self.model = config.model
        self.format = ""
        self.template = config.prompt or judge.default_template
        self.prompt = build_prompt(judge, self.template, question, response, context)
        self.messages = [{"role": "user", "content": self.prompt.text}]
        self.trace = JudgeTrace(prompt_hash=prompt_hash(judge, self.template), truncated=self.prompt.cut)
        self.raw_reply: str | None = None
        self.score: float | None = None

    def result(self) -> GradeResult:
        before = ""
        try:
            reply = self._ask(self.config.decoding())
            verdict = self._read(reply)
            if not verdict.usable:
                before = f"; before that its reply was unusable: {verdict.why}"
                verdict = self._read(self._remind(reply))
        except LLMError as error:
            self.attempts += [attempt.to_json() for attempt in error.attempts]
            if error.kind == "cancelled":
                raise GradingCancelled("cancelled while the judge was asked") from error
            kind = error.kind.replace("_", " ")
            return self._errored(f"the judge's model failed: {kind}: {error.message}{before}")
        except Exception as error:
            if not self.attempts:
                raise
            logger.error("the judge %s raised\n%s", self.judge.id, readable_traceback())
            return self._errored(described(error))
        if not verdict.usable:
            return self._errored(f"the judge's reply is unusable: {verdict.why}")
        return self._scored(verdict)

    def _remind(self, reply: LLMReply) -> LLMReply:
        """Once more, with the fixed reminder, and twice the room where the reply was cut off."""
        decoding = self.config.decoding()
        if reply.finish_reason == "length":
            names = [name for name in ("max_tokens", "max_completion_tokens") if decoding.get(name)]
            for name in names or ["max_tokens"]:
                room = decoding.get(name) or LEAST_ROOM
                decoding[name] = 2 * max(room, reply.completion_tokens or 0)
        if is_blank(reply.text or ""):
            # Some providers refuse a turn without text, others two turns of the user in a row.
            self.messages = [{"role": "user", "content": f"{self.prompt.text}\n{prompts.RETRY_REMINDER}"}]
        else:
            self.messages = [
                {"role": "user", "content": self.prompt.text},
                {"role": "assistant", "content": prompts.truncate(reply.text or "", REPLY_SHOWN).text},
                {"role": "user", "content": prompts.RETRY_REMINDER},
            ]
        return self._ask(decoding)

    def _ask(self, decoding: Mapping[str, Any]) -> LLMReply:
        """One call, with a weaker response format where the model refuses the stricter one."""
        self.format = self.format or self._first_format()
        while True:
            try:
                reply = complete(
                    LLMRequest(
                        model=self.config.model,
                        messages=self.messages,
                        api_base=self.config.api_base,
                        parameters=decoding,
                        response_format=self._response_format(),
                        timeout=self.config.timeout,
                    ),
                    retry=self.config.retry,
                    key_hosts=self.config.key_hosts,
                    should_stop=self.judge.should_stop,
                )
            except LLMError as error:
                weaker = FORMATS[FORMATS.index(self.format) + 1 :]
                if error.parameter != "response_format" or not weaker:
                    raise
                self.attempts += [attempt.to_json() for attempt in error.attempts]
                self.format = weaker[0]
                continue
            self._remember_format()
            self.attempts += [attempt.to_json() for attempt in reply.attempts]
            self.model = reply.model
            self.raw_reply = reply.text
            return reply

    def _first_format(self) -> str:
        key = (self.config.model, self.config.api_base)
        known = _accepted.get(key) or self.config.response_format or response_format_support(*key)
        # What the judge is set to may be weaker than what another one found to work.
        return max(known, self.config.response_format or known, key=FORMATS.index)

    def _remember_format(self) -> None:
        if self.format != self.config.response_format:
            _accepted[self.config.model, self.config.api_base] = self.format

    def _response_format(self) -> dict[str, Any] | None:
        if self.format == "json_schema":
            schema = prompts.response_schema(self.judge.min_score, self.judge.max_score)
            return {
                "type": "json_schema",
                "json_schema": {"name": "verdict", "strict": True, "schema": schema},
            }
        return {"type": "json_object"} if self.format == "json_object" else None

    def _read(self, reply: LLMReply) -> JudgeReply:
        """The reply by the closed rules, then by the judge's own reading of its number."""
        verdict = read_reply(
            reply.text,
            maximum=self.judge.max_score,
            finish_reason=reply.finish_reason,
            judged_text=self.response,
        )
        if verdict.score is not None:
            self.judge.clamped_from = None
            self.score = self.judge.interpret_score(verdict.score)
            if self.score is None:
                bounds = f"{self.judge.min_score:g} to {self.judge.max_score:g}"
                why = f"the score {verdict.score:g} is none of this judge's scale, {bounds}"
                verdict = replace(verdict, score=None, why=why)
        if not verdict.usable:
            self.attempts[-1]["error"] = f"unusable: {verdict.why}"
        return verdict

    def _trace(self, **more: Any) -> JudgeTrace:
        return replace(
            self.trace,
            model=self.model,
            sent=self.messages,
            raw_reply=self.raw_reply,
            response_format=self.format,
            attempts=self.attempts,
            **more,
        )

    def _errored(self, reason: str) -> GradeResult:
        return self.judge.result(None, reason, error=True, trace=self._trace())

    def _scored(self, verdict: JudgeReply) -> GradeResult:
        clamped_from, number = self.judge.clamped_from, readable_score(self.score)
        if clamped_from is None and number is not None:
            # A reading of the judge's own that leaves its scale is clamped as well, and told as well.
            clamped_from = None if self.judge.min_score <= number <= self.judge.max_score else number
        reason = verdict.reason
        if clamped_from is not None:
            reason = f"{reason} (clamped from {clamped_from:.12g} to the scale)"
        return self.judge.result(self.score, reason, trace=self._trace(clamped_from=clamped_from))


def prompt_hash(judge: LLMJudge, template: str) -> str:
    """SHA-256, hex, of all fixed text that the judge is asked with, and its scale."""
    schema = prompts.response_schema(judge.min_score, judge.max_score)
    parts = [
        template,
        judge.dimension_description,
        judge.scoring_guidance,
        prompts.RETRY_REMINDER,
        f"{judge.min_score}/{judge.max_score}",
        json.dumps(schema, sort_keys=True),
    ]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def fingerprint(info: GraderInfo, config: JudgeConfig, response_char_limit: int | None = None) -> str:
    """SHA-256, hex, of all that decides a judge's verdicts: when it changes, a validation is stale.

    The model is the one that is asked for; which one served is known from the grades alone.
    """
    judge = info.build()
    template = config.prompt or getattr(judge, "default_template", "")
    parts = {
        "grader": f"{info.grader.__module__}.{info.grader.__qualname__}",
        "source": [_source(each) for each in own_classes(info.grader)],
        "model": config.model,
        "api_base": config.api_base,
        "decoding": config.decoding(),
        "response_format": config.response_format,
        "prompt": prompt_hash(judge, template) if isinstance(judge, LLMJudge) else template,
        "response_char_limit": response_char_limit,
        "scale": [info.min_score, info.max_score],
        "sees_tool_calls": info.sees_tool_calls,
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def own_classes(grader: type[Grader]) -> list[type]:
    """The grader's class and those between it and the contract, whose code is the site's own."""
    return [each for each in grader.__mro__ if each not in (LLMJudge, Grader, object)]


def _source(declared: type) -> str:
    try:
        return inspect.getsource(declared)
    except (OSError, TypeError):
        return ""  # made in a shell: there is no file to read
