"""From whatever a model library raises to one of a few kinds of failure, by status code and cause.

The libraries' own exception classes are no guide: a refused connection comes as an internal server error,
a 403 as a generic one, and a page of HTML as a failure of the provider.
"""

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any

from ai_eval.llm_keys import SDK_PROVIDERS, provider_of, scrub
from ai_eval.llm_types import LLMError, LLMRequest
from ai_eval.text import clean_text, shorten

MESSAGE_LIMIT = 1000
LIBRARIES = frozenset({"litellm", "openai", "httpx", "httpcore", "httpx2", "httpcore2"})

_TIMEOUTS = frozenset({"openai.APITimeoutError", "httpx.TimeoutException", "httpx2.TimeoutException"})
_STATUSES = frozenset({"openai.APIStatusError", "httpx.HTTPStatusError", "httpx2.HTTPStatusError"})
_ADDRESSES = frozenset(
    {f"{library}.{name}" for library in ("httpx", "httpx2") for name in ("UnsupportedProtocol", "InvalidURL")}
)
_CONNECTIONS = frozenset(
    {"openai.APIConnectionError", "httpx.TransportError", "httpx2.TransportError", "builtins.ConnectionError"}
)
_UNDECODABLE = frozenset({"httpx.DecodingError", "httpx2.DecodingError"})
_TOO_LONG = re.compile(
    r"context_length_exceeded|maximum context length|context window|available context size|prompt is too long"
    r"|input token count .{0,80}exceeds|too many (?:input )?tokens|exceeds? the (?:model's )?context",
    re.IGNORECASE,
)
_REFUSED = re.compile(
    r"unsupported|not support|n.t support|not permitted|not allowed|unrecognized|unknown (?:parameter|field)"
    r"|extra (?:inputs|fields)|deprecated|only the default",
    re.IGNORECASE,
)


def chain(error: BaseException) -> Iterator[BaseException]:
    """The exception and what it came from, outermost first."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__


def _names(error: BaseException) -> set[str]:
    """Library and class names of an exception's class and its bases, without the modules between."""
    return {f"{each.__module__.partition('.')[0]}.{each.__name__}" for each in type(error).__mro__}


def is_library_error(error: BaseException) -> bool:
    """Whether a model library raised it; anything else is a bug of ours."""
    return any(name.partition(".")[0] in LIBRARIES for name in _names(error))


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds from `now` (Unix time) that Retry-After asks to wait; 0 for a time gone by, None for none."""
    value = headers.get("retry-after", "").strip()
    if re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,9})?", value):
        return float(value)
    if re.fullmatch(r"-[0-9]{1,12}(\.[0-9]{1,9})?", value):
        return 0.0
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except (ValueError, TypeError, OverflowError):
        return None


def measured(request: LLMRequest) -> str:
    """The size of what was sent."""
    characters = sum(len(str(message.get("content") or "")) for message in request.messages)
    count = len(request.messages)
    return f"{characters:,} characters in {count} message{'' if count == 1 else 's'}"


def _tell(text: str) -> str:
    return shorten(clean_text(scrub(" ".join(text.split()))), MESSAGE_LIMIT)


def _response_details(response: Any) -> tuple[str, str, str]:
    """Message, parameter and code of an error document; of anything else the beginning, as message."""
    try:
        text = response.text
    except Exception as error:  # noqa: BLE001 - a body that was never read has no text, and that is its message
        return f"its body can't be read ({type(error).__name__})", "", ""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return shorten(text.strip(), 200) or "no text", "", ""
    inner = document.get("error", document) if isinstance(document, dict) else document
    if isinstance(inner, dict):
        message = inner.get("message") or inner.get("detail") or json.dumps(inner)
        return str(message), str(inner.get("param") or ""), str(inner.get("code") or inner.get("type") or "")
    return str(inner), "", ""


def explain(error: BaseException, request: LLMRequest) -> LLMError:
    """The failure that a library's exception stands for."""
    links = list(chain(error))
    if any(_names(each) & _TIMEOUTS and not _is_mapped(each) for each in links):
        return LLMError("timeout", f"no whole answer from {request.model} within {request.timeout:g} seconds")
    for each in links:
        response = getattr(each, "response", None)
        if _names(each) & _STATUSES and not _is_mapped(each) and response is not None:
            message, parameter, code = _response_details(response)
            return by_status(
                response.status_code, message, request,
                parameter=parameter, code=code, headers=response.headers,
            )  # fmt: skip
    if any(_names(each) & _ADDRESSES for each in links):
        return LLMError("bad_request", _tell(f"the address of {request.model} can't be used: {links[-1]}"))
    if any(_names(each) & _UNDECODABLE for each in links):
        return LLMError(
            "unusable", _tell(f"the answer of {request.model} can't be read: {_innermost(links)}")
        )
    if any(_names(each) & _CONNECTIONS and not _is_mapped(each) for each in links):
        return LLMError("connection", _tell(f"no connection to {request.model}: {_innermost(links)}"))
    return _by_own_status(error, links, request)


def _is_mapped(error: BaseException) -> bool:
    return type(error).__module__.startswith("litellm")


def _innermost(links: Sequence[BaseException]) -> str:
    """The text nearest the cause, without the layers' repetitions."""
    told = [str(each) for each in links if str(each)]
    return told[-1] if told else type(links[-1]).__name__


_UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, IndexError)


def _by_own_status(error: BaseException, links: Sequence[BaseException], request: LLMRequest) -> LLMError:
    """For exceptions without an HTTP error behind: refused before sending, or an answer nobody can read."""
    status = getattr(error, "status_code", None)
    message = re.sub(r"^(litellm\.\w+: )+", "", str(getattr(error, "message", "") or error))
    unread = [each for each in links[1:] if isinstance(each, _UNREADABLE)]
    # The OpenAI client's own errors of 500 and above always have an HTTP error behind them.
    most = 500 if provider_of(request.model) in SDK_PROVIDERS else 600
    if isinstance(status, int) and 400 <= status < most and not unread:
        return by_status(status, message, request, sent=False)
    cause = unread[-1] if unread else links[-1]
    told = f"{request.model} answered with what is no chat completion: {str(cause) or type(cause).__name__}"
    return LLMError("unusable", _tell(told))


def by_status(
    status: int,
    message: str,
    request: LLMRequest,
    *,
    parameter: str = "",
    code: str = "",
    headers: Mapping[str, str] | None = None,
    sent: bool = True,
) -> LLMError:
    """The failure that an HTTP status stands for. `sent` is False when no server gave it."""
    model = request.model
    known: dict[str, Any] = {"status": status if sent else None}
    told = f"HTTP {status}: {message}" if sent else message
    if status in (401, 403):
        return LLMError("auth", _tell(f"{model} refuses the key, or there is none ({told})"), **known)
    if status == 404:
        return LLMError("not_found", _tell(f"{model} is not there ({told})"), **known)
    if status in (408, 429) or status >= 500:
        wait = retry_after(headers or {}, time.time())
        kind = {408: "timeout", 429: "rate_limit"}.get(status, "server")
        spent = code == "insufficient_quota"
        return LLMError(kind, _tell(f"{model}: {told}"), retry_after=wait, final=spent, **known)
    if _TOO_LONG.search(f"{code} {message}"):
        return LLMError("too_long", _tell(f"{measured(request)} do not fit into {model} ({told})"), **known)
    refused = _refused_parameter(request, message, parameter, code)
    if refused:
        # First what helps: what the provider wrote may be long, and is cut.
        text = _tell(f"{model} refuses {refused} as it is set; {_what_helps(refused)} ({told})")
        return LLMError("unsupported_parameter", text, parameter=refused, **known)
    return LLMError("bad_request", _tell(f"{model} refuses the request ({told})"), **known)


def _what_helps(parameter: str) -> str:
    if parameter == "response_format":
        return "ask without it"
    return f"parameters: {{{parameter}: null}} leaves it out"


def _refused_parameter(request: LLMRequest, message: str, parameter: str, code: str) -> str:
    """The parameter of the request that the model refuses, or empty."""
    given = [name for name, value in request.parameters.items() if value is not None]
    if request.response_format is not None:
        given.append("response_format")
    named = parameter.partition(".")[0]
    if named in given:
        return named
    if not _REFUSED.search(f"{code} {message}"):
        # A server that knows no response formats says so in many ways, but it names them.
        format_words = ("response_format", "json_schema", "json_object", "guided_json")
        asked = request.response_format is not None
        return "response_format" if asked and any(word in message for word in format_words) else ""
    for name in given:
        if re.search(rf"\b{re.escape(name)}\b", message):
            return name
    if request.response_format is not None and re.search(r"json.?(schema|object)|structured", message):
        return "response_format"
    return ""
