"""A model that can be held back, so that the middle of a run can be looked at."""

import json
import threading

from tests.llm_server import Reply, Seen

QUESTIONS = 12
AT_ONCE = 3
"""Answers that the model gives before it waits to be let go on."""


class Model:
    """Answers and judges. It gives `AT_ONCE` answers, as many again once `more` is set, and keeps the
    others back until `go_on`."""

    def __init__(self) -> None:
        self.answered = 0
        self.more = threading.Event()
        self.free = threading.Event()

    def go_on(self) -> None:
        self.more.set()
        self.free.set()

    def __call__(self, seen: Seen) -> Reply:
        if "response_format" in seen.body or "score" in seen.prompt:
            bad = "book 2" in seen.prompt
            told = {
                "score": 1 if bad else 5,
                "reason": "says nothing of the shelf" if bad else "names the shelf",
            }
            return Reply(text=json.dumps(told))
        self.answered += 1
        return Reply(text="It is on the second shelf.", until=self.held_by())

    def held_by(self) -> threading.Event | None:
        if self.answered <= AT_ONCE:
            return None
        return self.more if self.answered <= 2 * AT_ONCE else self.free
