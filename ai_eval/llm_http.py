"""The connections to OpenAI-compatible endpoints: kept open, bounded in time and size, headers checked."""

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from ai_eval.llm_keys import PLACEHOLDER_KEY

if TYPE_CHECKING:
    import httpx
    import openai

BODY_LIMIT = 20 * 1024 * 1024
"""Bytes of a response from which on it is refused."""
CONNECTIONS = 512
"""Connections kept open at most, to all hosts."""
CLIENTS = 64
"""Endpoints and keys whose client is kept."""

_FOREIGN_HEADERS = frozenset(
    {b"host", b"content-type", b"content-length", b"transfer-encoding", b"accept", b"accept-encoding",
     b"user-agent", b"connection", b"x-stainless-raw-response"}
)  # fmt: skip
# The last one is the client's note to itself of how to read the answer.


def _keep_secrets_back(request: "httpx.Request") -> None:
    """Leave harmless headers only: the client adds organisation, project and others from the environment."""
    request.headers = type(request.headers)(
        [(name, value) for name, value in request.headers.raw if name.lower() in _FOREIGN_HEADERS]
    )
    request.headers["Authorization"] = f"Bearer {PLACEHOLDER_KEY}"


def _note_start(request: "httpx.Request") -> None:
    request.extensions["ai_eval_begun"] = time.monotonic()


def _bound(response: "httpx.Response") -> None:
    """A body ends within the request's timeout as a whole, and within BODY_LIMIT."""
    import httpx

    request = response.request
    limit = request.extensions.get("timeout", {}).get("read")
    deadline = request.extensions["ai_eval_begun"] + limit if limit else float("inf")

    class Bounded(httpx.SyncByteStream):
        def __init__(self, stream: Any) -> None:
            self.stream = stream

        def __iter__(self) -> Iterator[bytes]:
            size = 0
            for chunk in self.stream:
                size += len(chunk)
                if size > BODY_LIMIT:
                    raise httpx.DecodingError(
                        f"the answer is longer than {BODY_LIMIT} bytes", request=request
                    )
                if time.monotonic() > deadline:
                    raise httpx.ReadTimeout("the answer did not end in time", request=request)
                yield chunk

        def close(self) -> None:
            self.stream.close()

    response.stream = Bounded(response.stream)


@cache
def _http_client(trusted: bool) -> "httpx.Client":
    """One pool for hosts that may have a key, one for the others.

    Redirects are not followed: where a prompt and a key go is decided by the address that was configured.
    """
    import httpx

    return httpx.Client(
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=CONNECTIONS),
        follow_redirects=False,
        event_hooks={
            "request": [_note_start] if trusted else [_note_start, _keep_secrets_back],
            "response": [_bound],
        },
    )


_clients: "OrderedDict[tuple[str, str, bool], openai.OpenAI]" = OrderedDict()
_lock = threading.Lock()


def openai_client(api_base: str, key: str, trusted: bool) -> "openai.OpenAI":
    """The client of an endpoint, without retries of its own. Safe to use from many threads."""
    import openai

    identity = (api_base, key, trusted)
    with _lock:
        client = _clients.get(identity)
        if client is None:
            client = openai.OpenAI(
                api_key=key,
                base_url=api_base,
                max_retries=0,
                http_client=_http_client(trusted),  # type: ignore[arg-type]
            )
            _clients[identity] = client
            while len(_clients) > CLIENTS:
                _clients.popitem(last=False)
        return client
