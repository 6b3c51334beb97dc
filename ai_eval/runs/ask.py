"""Asking the system under test one question. Whatever it does, an `Asked` comes back."""

import inspect
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from asgiref.sync import async_to_sync
from django.utils.functional import Promise

from ai_eval import agents
from ai_eval.agents import AgentReply, Recorder
from ai_eval.agents.records import read_record
from ai_eval.failures import described, readable
from ai_eval.graders.base import GradingStopped, readable_score
from ai_eval.graders.context import question_messages
from ai_eval.llm import LLMError, LLMRequest, complete
from ai_eval.runs.jobs import Asked
from ai_eval.runs.spec import RunSpec
from ai_eval.text import clean_text

ENDINGS = ("done", "limit")


def failed(failure: str, error: str, **known: Any) -> Asked:
    """A target or provider error with its text, bounded, cleaned and without secrets."""
    return Asked(failure=failure, error=readable(error), **known)


def ask(spec: RunSpec, row: Mapping[str, Any], should_stop: Callable[[], bool], recorder: Recorder) -> Asked:
    """Put the question to the run's system under test. GradingStopped when told to stop meanwhile."""
    begun = time.monotonic()
    asked = ask_agent(spec, row, recorder) if spec.mode == "agent" else ask_model(spec, row, should_stop)
    return replace(asked, seconds=time.monotonic() - begun)


def provider_failure(error: LLMError, **known: Any) -> Asked:
    """What a failed call says of the provider. GradingStopped when we ended it ourselves."""
    if error.kind == "cancelled":
        raise GradingStopped("cancelled while the model was asked") from error
    return failed(
        "provider_error",
        f"{error.kind.replace('_', ' ')}: {error.message}",
        attempts=[attempt.to_json() for attempt in error.attempts],
        **known,
    )


def ask_model(spec: RunSpec, row: Mapping[str, Any], should_stop: Callable[[], bool]) -> Asked:
    """Chat mode: one call with the target's system prompt and the question's messages."""
    system = [{"role": "system", "content": spec.system_prompt}] if spec.system_prompt else []
    request = LLMRequest(
        model=spec.model,
        messages=[*system, *question_messages(row)],
        api_base=spec.api_base,
        parameters=spec.parameters,
        timeout=spec.llm_timeout,
    )
    try:
        reply = complete(request, retry=spec.retry, key_hosts=spec.key_hosts, should_stop=should_stop)
    except LLMError as error:
        return provider_failure(error)
    notes = []
    if reply.finish_reason not in ("stop", "tool_calls", ""):
        notes.append(f"the model stopped with {reply.finish_reason}")
    return Asked(
        response=clean_text(reply.text or ""),
        ended="done",
        model=reply.model,
        attempts=[attempt.to_json() for attempt in reply.attempts],
        prompt_tokens=reply.prompt_tokens,
        completion_tokens=reply.completion_tokens,
        cost=reply.cost,
        notes=notes,
    )


def ask_agent(spec: RunSpec, row: Mapping[str, Any], recorder: Recorder) -> Asked:
    """Agent mode: a fresh agent runs in this thread. Raising is its own failure."""
    agent_class = agents.registry.get(spec.agent)
    if agent_class is None:
        return failed("provider_error", f"the agent {spec.agent} is registered by no app any more")
    messages = [dict(message) for message in question_messages(row)]
    try:
        agent = agent_class()
        if inspect.iscoroutinefunction(agent.run):
            returned = async_to_sync(agent.run)(messages, recorder)
        else:
            returned = agent.run(messages, recorder)
        return read_reply(returned, recorder)
    except LLMError as error:
        # What an agent asks through our own door failed there: the provider's fault, as in chat mode.
        return provider_failure(error, tool_calls=recorder.calls)
    except BaseException as error:  # noqa: BLE001 - SystemExit too: however it ends, it is the agent's end
        return failed("target_error", f"the agent raised {described(error)}", tool_calls=recorder.calls)


def read_reply(returned: object, recorder: Recorder) -> Asked:
    """What an agent returned, and the record of what it called."""
    reply = returned if isinstance(returned, AgentReply) else AgentReply(returned)  # type: ignore[arg-type]
    recorded = recorder.calls
    notes = []
    try:
        told = None if reply.tool_calls is None else read_record(reply.tool_calls)
    except ValueError as error:
        return failed("target_error", f"the agent's reply can't be read: {error}", tool_calls=recorded)
    if recorded is not None and told is not None and told != recorded:
        notes.append(
            f"the agent tells of {len(told)} tool calls and the recorder saw {len(recorded)}, which count"
        )
    calls = told if recorded is None else recorded
    if reply.response is None:
        return failed("target_error", "the agent returned nothing (None)", tool_calls=calls, notes=notes)
    if isinstance(reply.response, Promise):  # a lazy translation
        reply = replace(reply, response=str(reply.response))
    if not isinstance(reply.response, str):
        kind = type(reply.response).__name__
        return failed(
            "target_error", f"the agent returned {kind} instead of text", tool_calls=calls, notes=notes
        )
    if reply.ended not in ENDINGS:
        return failed(
            "target_error", f"the agent ended with {reply.ended!r}, not done or limit", tool_calls=calls
        )
    usage = _usage(reply.usage)
    asked = Asked(
        response=clean_text(reply.response),
        tool_calls=calls,
        ended=reply.ended,
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
        cost=_amount(usage.get("cost")),
        notes=notes,
    )
    if reply.ended == "limit":
        return replace(asked, failure="target_error", error="the agent was stopped by its own step limit")
    return asked


def _count(value: object) -> int | None:
    """A number of tokens that a database can hold."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 else None


def _amount(value: object) -> float | None:
    """Dollars, as a finite number."""
    number = readable_score(value)
    return number if number is not None and number >= 0 else None


def _usage(given: object) -> Mapping[str, Any]:
    """What an agent tells of its tokens: a mapping, or an object of its client's library."""
    if given is None or isinstance(given, Mapping):
        return given or {}
    return {name: getattr(given, name, None) for name in ("prompt_tokens", "completion_tokens", "cost")}
