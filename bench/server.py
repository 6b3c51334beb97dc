"""A chat-completions server that costs as little as possible, so that clients are what is measured.

    python bench/server.py PORT [LATENCY_SECONDS]

Answers `GET /stats` with the number of completions since the last such request, the most that were in
flight at once, and the seconds from the first one asked to the last one answered. A prompt that asks for a
score or a GRADE gets a judge's reply, any other one a sentence.
"""

import asyncio
import json
import sys
import time

ANSWER = "It is on the second shelf."
VERDICT = '{"score": 4, "reason": "says where it is"}'


class Completions(asyncio.Protocol):
    latency = 0.0
    requests = in_flight = peak = 0
    first = last = 0.0

    def connection_made(self, transport):
        self.transport = transport
        self.received = bytearray()

    def data_received(self, data):
        self.received += data
        while (end := self.received.find(b"\r\n\r\n")) >= 0:
            head = bytes(self.received[:end])
            length = 0
            for line in head.split(b"\r\n")[1:]:
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            if len(self.received) < end + 4 + length:
                return
            body = bytes(self.received[end + 4 : end + 4 + length])
            del self.received[: end + 4 + length]
            if head.startswith(b"GET"):
                self.respond(self.stats())
            elif self.latency:
                asyncio.get_running_loop().call_later(self.latency, self.complete, body)
                self.begin()
            else:
                self.begin()
                self.complete(body)

    @staticmethod
    def stats():
        counted = Completions
        found = {
            "requests": counted.requests,
            "peak": counted.peak,
            "seconds": counted.last - counted.first,
        }
        counted.requests = counted.peak = 0
        counted.first = counted.last = 0.0
        return found

    @staticmethod
    def begin():
        counted = Completions
        counted.first = counted.first or time.monotonic()
        counted.requests += 1
        counted.in_flight += 1
        counted.peak = max(counted.peak, counted.in_flight)

    def complete(self, body):
        Completions.in_flight -= 1
        Completions.last = time.monotonic()
        text = VERDICT if b"score" in body else ANSWER
        if b"GRADE" in body:
            text = "The answer fits.\nGRADE: C"
        tokens = len(body) // 4
        self.respond(
            {
                "id": f"c{Completions.requests}",
                "object": "chat.completion",
                "created": 1764590000,
                "model": json.loads(body).get("model", ""),
                "choices": [
                    {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
                ],
                "usage": {"prompt_tokens": tokens, "completion_tokens": 9, "total_tokens": tokens + 9},
            }
        )

    def respond(self, document):
        body = json.dumps(document).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        if not self.transport.is_closing():
            self.transport.write(head.encode() + body)


async def serve(port):
    server = await asyncio.get_running_loop().create_server(Completions, "127.0.0.1", port, backlog=1024)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    Completions.latency = float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
    asyncio.run(serve(int(sys.argv[1])))
