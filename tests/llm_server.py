"""An OpenAI-compatible server on loopback whose every reply can be scripted.

In a test: `with LLMServer() as server:`, or the fixture `llm_server`. In a process of its own:

    python -m tests.llm_server PORT        (0: a free port; the first line printed is the base URL)

Counters stand at `GET /stats`, what was received at `GET /requests`; `POST /script` takes a JSON list of
replies (the fields of `Reply`), which are given in that order before the default ones.
"""

import asyncio
import json
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

ANSWER = "It is on the second shelf."
HELD_SECONDS = 0.02
VERDICT = '{"score": 4, "reason": "says where it is"}'


@dataclass(frozen=True)
class Seen:
    """One request as it arrived. Header names are in lower case; `arrived` is monotonic seconds."""

    method: str
    path: str
    headers: dict[str, str]
    raw_headers: str
    body: Any
    arrived: float

    @property
    def prompt(self) -> str:
        """All texts of the messages, joined by line ends."""
        return "\n".join(str(message.get("content")) for message in self.body.get("messages", []))


@dataclass(frozen=True)
class Reply:
    """What the server does with one request.

    `body` replaces the whole document that `text`, `finish_reason`, `usage`, `model`, `tool_calls` and
    `message` make. `action` is `answer`, `hang` (never answers), `close` (hangs up at once), `cut` (hangs up
    in the middle of the body) or `trickle` (a byte every 50 ms). `latency` is seconds before any of these;
    `until` holds all of it back until the test has set it.
    """

    text: str | None = ANSWER
    finish_reason: str | None = "stop"
    usage: dict[str, Any] | None = field(
        default_factory=lambda: {"prompt_tokens": 20, "completion_tokens": 9, "total_tokens": 29}
    )
    model: str = ""
    tool_calls: list[dict[str, Any]] | None = None
    message: dict[str, Any] = field(default_factory=dict)
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: str | bytes | dict[str, Any] | None = None
    action: str = "answer"
    latency: float = 0.0
    until: threading.Event | None = None

    def content(self, seen: Seen) -> bytes:
        """The body's bytes."""
        if isinstance(self.body, bytes):
            return self.body
        if isinstance(self.body, str):
            return self.body.encode()
        if self.body is not None:
            return json.dumps(self.body).encode()
        message: dict[str, Any] = {"role": "assistant", "content": self.text, **self.message}
        if self.tool_calls is not None:
            message["tool_calls"] = self.tool_calls
        asked = seen.body.get("model", "") if isinstance(seen.body, dict) else ""
        document: dict[str, Any] = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1764590000,
            "model": self.model or asked,
            "choices": [{"index": 0, "finish_reason": self.finish_reason, "message": message}],
        }
        if self.usage is not None:
            document["usage"] = self.usage
        return json.dumps(document).encode()


def failing(status: int, message: str = "no", headers: dict[str, str] | None = None, **error: Any) -> Reply:
    """An error in OpenAI's format."""
    return Reply(
        status=status, headers=headers or {}, body={"error": {"message": message, "code": None, **error}}
    )


def default_reply(seen: Seen) -> Reply:
    """A verdict where a score is asked for, else a sentence."""
    asked = isinstance(seen.body, dict) and ("response_format" in seen.body or "score" in seen.prompt)
    return Reply(text=VERDICT if asked else ANSWER)


class LLMServer:
    """Listens on 127.0.0.1 from `start` to `stop`; usable as a context manager.

    `reply` is what is given when the script is used up: a Reply, or a function of the request.
    """

    def __init__(self, reply: Reply | Callable[[Seen], Reply] = default_reply, port: int = 0) -> None:
        self.reply = reply
        self.port = port
        self.requests: list[Seen] = []
        self.connections = 0
        self.in_flight = 0
        self.peak = 0
        self._script: deque[Reply | Callable[[Seen], Reply]] = deque()
        self._loop = asyncio.new_event_loop()
        self._server: asyncio.Server | None = None
        self._thread: threading.Thread | None = None
        self.protocols: set[_Connection] = set()

    @property
    def url(self) -> str:
        """The base URL, with `/v1`."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def last(self) -> Seen:
        return self.requests[-1]

    def script(self, *replies: Reply | Callable[[Seen], Reply]) -> None:
        """Replies for the next requests, in this order, before the default one."""
        self._script.extend(replies)

    def stats(self) -> dict[str, int]:
        """Completions asked for, most at once, those not answered yet, connections opened, replies left."""
        return {
            "requests": len(self.requests),
            "peak": self.peak,
            "in_flight": self.in_flight,
            "connections": self.connections,
            "scripted": len(self._script),
        }

    def next_reply(self, seen: Seen) -> Reply:
        self.requests.append(seen)
        try:
            chosen = self._script.popleft()
        except IndexError:
            chosen = self.reply
        return chosen(seen) if callable(chosen) else chosen

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: _Connection(self), "127.0.0.1", self.port, backlog=1024
        )
        self.port = self._server.sockets[0].getsockname()[1]

    def start(self) -> "LLMServer":
        ready = threading.Event()

        def run() -> None:
            asyncio.set_event_loop(self._loop)
            self._loop.run_until_complete(self.open())
            ready.set()
            self._loop.run_forever()
            for protocol in list(self.protocols):
                protocol.transport.abort()
            self._loop.run_until_complete(asyncio.sleep(0))
            self._loop.close()

        self._thread = threading.Thread(target=run, name="llm-server", daemon=True)
        self._thread.start()
        assert ready.wait(10)
        return self

    def stop(self) -> None:
        assert self._server is not None
        assert self._thread is not None
        self._loop.call_soon_threadsafe(self._server.close)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def __enter__(self) -> "LLMServer":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


class _Connection(asyncio.Protocol):
    def __init__(self, server: LLMServer) -> None:
        self.server = server
        self.received = bytearray()

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.server.protocols.add(self)
        self.server.connections += 1

    def connection_lost(self, exc: Exception | None) -> None:
        self.server.protocols.discard(self)

    def data_received(self, data: bytes) -> None:
        self.received += data
        while (end := self.received.find(b"\r\n\r\n")) >= 0:
            head = self.received[:end].decode("latin-1")
            lines = head.split("\r\n")
            headers = {
                name.strip().lower(): value.strip()
                for name, _, value in (line.partition(":") for line in lines[1:])
            }
            length = int(headers.get("content-length", 0))
            if len(self.received) < end + 4 + length:
                return
            body = bytes(self.received[end + 4 : end + 4 + length])
            del self.received[: end + 4 + length]
            method, path, _ = lines[0].split(" ", 2)
            self.serve(method, path, headers, head, body)

    def serve(self, method: str, path: str, headers: dict[str, str], head: str, body: bytes) -> None:
        document = json.loads(body) if body else None
        seen = Seen(method, path, headers, head, document, time.monotonic())
        server = self.server
        if method == "GET" and path == "/stats":
            self.send(200, {}, json.dumps(server.stats()).encode())
        elif method == "GET" and path == "/requests":
            listed = [
                {"path": each.path, "headers": each.headers, "body": each.body, "arrived": each.arrived}
                for each in server.requests
            ]
            self.send(200, {}, json.dumps(listed).encode())
        elif path == "/script":
            server.script(*(Reply(**each) for each in document))
            self.send(200, {}, b"{}")
        else:
            self.complete(seen)

    def complete(self, seen: Seen) -> None:
        server = self.server
        reply = server.next_reply(seen)
        server.in_flight += 1
        server.peak = max(server.peak, server.in_flight)
        if reply.until is not None and not reply.until.is_set():
            asyncio.get_running_loop().call_later(HELD_SECONDS, self.when_free, reply, seen)
        elif reply.latency:
            asyncio.get_running_loop().call_later(reply.latency, self.act, reply, seen)
        else:
            self.act(reply, seen)

    def when_free(self, reply: Reply, seen: Seen) -> None:
        if reply.until is None or reply.until.is_set():
            self.act(reply, seen)
        elif not self.transport.is_closing():
            asyncio.get_running_loop().call_later(HELD_SECONDS, self.when_free, reply, seen)

    def act(self, reply: Reply, seen: Seen) -> None:
        if reply.action == "hang":
            return
        self.server.in_flight -= 1
        if reply.action == "close":
            self.transport.abort()
            return
        content = reply.content(seen)
        if reply.action == "cut":
            self.send(reply.status, reply.headers, content[: len(content) // 2], promised=len(content))
            self.transport.close()
        elif reply.action == "trickle":
            self.send(reply.status, reply.headers, content[:1], promised=len(content))
            self.trickle(content, 1)
        else:
            self.send(reply.status, reply.headers, content)

    def trickle(self, content: bytes, at: int) -> None:
        if at < len(content) and not self.transport.is_closing():
            self.transport.write(content[at : at + 1])
            asyncio.get_running_loop().call_later(0.05, self.trickle, content, at + 1)

    def send(self, status: int, headers: dict[str, str], content: bytes, promised: int | None = None) -> None:
        if self.transport.is_closing():
            return
        length = len(content) if promised is None else promised
        given = {"Content-Type": "application/json", "Content-Length": str(length), **headers}
        lines = [f"HTTP/1.1 {status} Scripted", *(f"{name}: {value}" for name, value in given.items())]
        self.transport.write("\r\n".join([*lines, "", ""]).encode("latin-1") + content)


@pytest.fixture
def llm_server() -> Iterator[LLMServer]:
    """A server of this test's own."""
    with LLMServer() as server:
        yield server


async def _serve(port: int) -> None:
    server = LLMServer(port=port)
    await server.open()
    print(server.url, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1]) if len(sys.argv) > 1 else 0))
