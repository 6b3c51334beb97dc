"""The one door to language models: keys kept to their hosts, failures told apart, one layer that retries.

litellm is imported on the first call and never at start-up (it takes seconds and 200 MB). Nothing here may be
called before a process forks.
"""

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import Any, Literal

from ai_eval.llm_errors import explain, is_library_error
from ai_eval.llm_http import openai_client
from ai_eval.llm_keys import (
    KEYLESS_PROVIDERS,
    PLACEHOLDER_KEY,
    SDK_PROVIDERS,
    base_problem,
    environment_key,
    host_of,
    key_advisory,
    may_have_key,
    provider_of,
    scrub,
)
from ai_eval.llm_parameters import ALLOWED, TOOLS, check_parameters
from ai_eval.llm_retry import Pace, Stopped, retrying
from ai_eval.llm_types import Attempt, LLMError, LLMReply, LLMRequest, RetryPolicy, Usage
from ai_eval.text import clean_json, clean_text, shorten

__all__ = [
    "Attempt",
    "LLMError",
    "LLMReply",
    "LLMRequest",
    "RetryPolicy",
    "Usage",
    "check_parameters",
    "complete",
    "key_advisory",
    "response_format_support",
    "scrub",
]

# Neither litellm's retries nor replies from its cache, which would make all trials equal, also where the site
# switched them on for its own calls. A retry policy that names one kind retries no other.
_NOTHING_OF_ITS_OWN: Mapping[str, Any] = MappingProxyType(
    {
        "max_retries": 0,
        "num_retries": 0,
        "retry_policy": {"TimeoutErrorRetries": 0},
        "caching": False,
        "cache": {"no-cache": True, "no-store": True},
    }
)

OPENAI_BASE = "https://api.openai.com/v1"

_import_lock = threading.Lock()


@cache
def _import_litellm() -> Any:
    # These are read while it is imported. Without them it fetches a price list from the network, reads a
    # .env file of the working directory, and writes prompts to the log.
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    os.environ["LITELLM_MODE"] = "PRODUCTION"
    os.environ["LITELLM_LOG"] = "ERROR"
    import litellm

    litellm.suppress_debug_info = True
    return litellm


def _litellm() -> Any:
    with _import_lock:
        return _import_litellm()


def complete(
    request: LLMRequest,
    *,
    retry: RetryPolicy,
    key_hosts: Sequence[str] = (),
    should_stop: Callable[[], bool] | None = None,
    on_wait: Callable[[float, LLMError], None] | None = None,
) -> LLMReply:
    """Ask the model once, again where that may help, and say what each attempt took.

    Retried are failed connections, timeouts, 429 and 5xx. `should_stop` is looked at before each attempt and
    while waiting; `on_wait` is told before each wait how many seconds and because of which failure.
    Raises LLMError for anything that the provider or the way to it did, with `attempts` for what was tried.
    """
    stopping = should_stop or (lambda: False)
    attempts: list[Attempt] = []
    try:
        arguments = _arguments(request, key_hosts)
        pace = Pace.of(request, retry)

        def attempt() -> LLMReply:
            if stopping():
                raise Stopped
            pace.wait(stopping)
            return _attempt(request, arguments, attempts)

        return retrying(retry, stopping, on_wait)(attempt)
    except Stopped:
        raise LLMError("cancelled", "told to stop", attempts=tuple(attempts)) from None
    except LLMError as error:
        error.attempts = tuple(attempts)
        raise


def _arguments(request: LLMRequest, key_hosts: Sequence[str]) -> dict[str, Any]:
    """What litellm is called with. LLMError when the request can't be made at all."""
    unknown = [name for name in request.parameters if name not in ALLOWED and name not in TOOLS]
    problem = base_problem(request.api_base)
    if not request.model.strip() or unknown or problem:
        told = (
            "no model is named"
            if not request.model.strip()
            else f"parameters not allowed: {', '.join(unknown)}"
        )
        raise LLMError("bad_request", f"the address {problem}" if problem else scrub(told))
    arguments: dict[str, Any] = {
        "model": request.model,
        "messages": clean_json(list(request.messages)),
        "timeout": float(request.timeout),
        **_NOTHING_OF_ITS_OWN,
        **{name: clean_json(value) for name, value in request.parameters.items() if value is not None},
        **_access(request, key_hosts),
    }
    if request.response_format is not None:
        arguments["response_format"] = clean_json(dict(request.response_format))
    return arguments


def _access(request: LLMRequest, key_hosts: Sequence[str]) -> dict[str, Any]:
    """Where to send it, and with which key. LLMError when it can't be sent without giving away a secret."""
    provider = provider_of(request.model)
    base = request.api_base
    if not base and "/" not in request.model:
        return {}  # litellm knows whose model it is
    if not base and provider not in ("openai", "custom_openai"):
        return {}
    trusted = may_have_key(request.model, base, key_hosts)
    if not trusted and provider not in KEYLESS_PROVIDERS:
        told = f"{request.model} is not called at host {host_of(base)}: its credentials would be sent there"
        raise LLMError("auth", f"{told}; if they may be, name the host in AI_EVAL['KEY_HOSTS']")
    key = environment_key(provider) if trusted else PLACEHOLDER_KEY
    access: dict[str, Any] = {"custom_llm_provider": provider}
    if not base:
        base = os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_BASE") or OPENAI_BASE
        if not key:
            raise LLMError("auth", f"{request.model} needs a key: the environment holds no OPENAI_API_KEY")
    access |= {"api_base": base, "api_key": key or PLACEHOLDER_KEY}
    if provider in SDK_PROVIDERS:
        access["client"] = openai_client(base, key or PLACEHOLDER_KEY, trusted)
    return access


def _attempt(request: LLMRequest, arguments: dict[str, Any], attempts: list[Attempt]) -> LLMReply:
    """One attempt, noted in `attempts` however it ends."""
    litellm = _litellm()
    begun = time.monotonic()
    try:
        response = _call(litellm, arguments)
        reply = _read(response, request, time.monotonic() - begun)
    except Exception as error:
        if isinstance(error, LLMError):
            failure = error
        elif is_library_error(error):
            failure = explain(error, request)
        else:
            raise
        attempts.append(
            Attempt(failure.kind, failure.message, failure.status, seconds=time.monotonic() - begun)
        )
        if failure is error:
            raise
        # Not from `error`: a logged traceback would show the provider's text with whatever secrets it echoes.
        raise failure from None
    attempts.extend(reply.attempts)
    return replace(reply, attempts=tuple(attempts))


def _call(litellm: Any, arguments: dict[str, Any]) -> Any:
    from litellm._internal_context import is_internal_call

    # Marks the call as one that nobody else books: otherwise each is priced a second time in a thread of
    # litellm's and handed to whatever callbacks the site has installed for its own traffic.
    token = is_internal_call.set(True)
    try:
        return litellm.completion(**arguments)
    finally:
        is_internal_call.reset(token)


def _read(response: Any, request: LLMRequest, seconds: float) -> LLMReply:
    """A reply with its one attempt. LLMError `unusable` when the response holds none."""
    if not getattr(response, "choices", None):
        raise LLMError("unusable", f"{request.model} answered without any choice")
    choice = response.choices[0]
    message = clean_json(choice.message.model_dump(exclude_none=True))
    text = choice.message.content
    finish_reason = _finish_reason(choice)
    attempt = Attempt("ok", usage=_usage(response), finish_reason=finish_reason, seconds=seconds)
    return LLMReply(
        text=None if text is None else clean_text(text),
        finish_reason=finish_reason,
        model=clean_text(str(response.model or request.model)),
        attempts=(attempt,),
        tool_calls=message.get("tool_calls") or None,
        message=message,
    )


_PROPER_ENDS = frozenset({"stop", "eos", "eos_token", "end_turn", "stop_sequence", "complete"})


def _finish_reason(choice: Any) -> str:
    """Why the model stopped. litellm turns failures and what it does not know into `stop`; here they stay."""
    mapped = str(choice.finish_reason or "")
    native = (getattr(choice, "provider_specific_fields", None) or {}).get("native_finish_reason")
    if mapped == "stop" and isinstance(native, str) and native.lower() not in _PROPER_ENDS:
        return shorten(clean_text(native), 100)
    return mapped


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 else None


def _usage(response: Any) -> Usage:
    """Tokens and price as litellm reads them. It writes 0 where it knows nothing; here that is None."""
    given = getattr(response, "usage", None)
    prompt = _count(getattr(given, "prompt_tokens", None))
    completion = _count(getattr(given, "completion_tokens", None))
    if not prompt and not completion:
        return Usage()
    details = getattr(given, "prompt_tokens_details", None)
    cost = response._hidden_params.get("response_cost")
    known = isinstance(cost, int | float) and 0 < cost < float("inf")
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        cached_tokens=_count(getattr(details, "cached_tokens", None)),
        cost=float(cost) if known else None,
    )


ResponseFormatSupport = Literal["json_schema", "json_object", "plain"]


def response_format_support(model: str, api_base: str = "") -> ResponseFormatSupport:
    """The strictest response format to ask a model for.

    An OpenAI-compatible endpoint of one's own is assumed to take a schema. Where it does not, `complete`
    fails with kind `unsupported_parameter` and parameter `response_format`: ask again with the next weaker.
    """
    if api_base and provider_of(model) in SDK_PROVIDERS | {"hosted_vllm"}:
        return "json_schema"
    litellm = _litellm()
    try:
        if litellm.supports_response_schema(model=model):
            return "json_schema"
        supported = litellm.get_supported_openai_params(model=model) or []
    except Exception as error:
        if not is_library_error(error):
            raise
        return "plain"  # a model that litellm does not know
    return "json_object" if "response_format" in supported else "plain"
