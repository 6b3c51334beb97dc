"""Agents that behave in every way that the engine has to tell apart."""

import os
import threading
import time
from typing import Any

from ai_eval.agents import Agent, AgentReply, Recorder, register

STARTED: list[str] = []
"""Questions in the order in which they were asked, over all agents of this process."""
_lock = threading.Lock()


def look_up(title: str) -> str:
    """A tool."""
    return f"{title} is in"


def renew(card: str, days: int = 14) -> str:
    """Another tool."""
    return f"{card} renewed by {days} days"


class DummyAgent(Agent):
    def note(self, messages: list[dict[str, Any]]) -> str:
        question = str(messages[-1]["content"])
        with _lock:
            STARTED.append(question)
        return question


@register
class Echo(DummyAgent):
    id = "echo"
    label = "Repeats the question"

    def run(self, messages: list[dict[str, Any]], recorder: Recorder) -> str:
        return self.note(messages)


@register
class Renewer(DummyAgent):
    id = "renewer"
    label = "Calls the tool that the question names"
    tools = {"renew": renew, "look_up": look_up}

    def run(self, messages: list[dict[str, Any]], recorder: Recorder) -> str:
        question = self.note(messages)
        tools = {name: recorder.tool(tool) for name, tool in self.tools.items()}
        name, _, argument = question.partition(" ")
        if name in tools:
            tools[name](argument)
        return "done"


@register
class Scripted(DummyAgent):
    """Behaves as the question says: see the branches."""

    id = "scripted"
    label = "Behaves as the question says"

    def run(self, messages: list[dict[str, Any]], recorder: Recorder) -> Any:
        question = self.note(messages)
        if question == "raise":
            raise RuntimeError("no luck with {this} %s")
        if question.startswith("raise "):
            raise RuntimeError(f"refused: {question.removeprefix('raise ')}")
        if question == "exit":
            raise SystemExit(5)
        if question == "nothing":
            return None
        if question == "false":
            return False
        if question == "blank":
            return " \u200b\n"
        if question == "hang":
            time.sleep(60)
        if question == "limit":
            recorder.tool(renew)("42")
            return AgentReply("still at it", ended="limit")
        if question == "odd":
            return "NUL \x00, half \ud83d, %s {0} {{ x }} $question <script>alert(1)</script>"
        if question == "no record":
            return AgentReply("done, says the agent")
        if question == "empty record":
            return AgentReply("done, says the agent", tool_calls=[])
        if question == "false record":
            recorder.tool(renew)("42")
            return AgentReply("done", tool_calls=[])
        if question.startswith("kill"):
            os._exit(9)
        return f"done: {question}"


@register
class Async(DummyAgent):
    id = "async"
    label = "Runs as a coroutine"

    async def run(self, messages: list[dict[str, Any]], recorder: Recorder) -> str:
        self.note(messages)

        async def fetch(title: str) -> str:
            return title

        await recorder.tool(fetch)("Middlemarch")
        return "done"


@register
class Slow(DummyAgent):
    id = "slow"
    label = "Takes a moment for each answer"

    def run(self, messages: list[dict[str, Any]], recorder: Recorder) -> str:
        question = self.note(messages)
        log = os.environ.get("DUMMY_AGENT_LOG")
        if log:
            with open(log, "a") as file:
                file.write(f"{question}\n")
        time.sleep(float(os.environ.get("DUMMY_AGENT_SECONDS", "0.02")))
        return f"done: {question}"


@register
class Borrower(DummyAgent):
    """Acts on the shelf of the dummy environment, unless the question says otherwise."""

    id = "borrower"
    label = "Takes a book off the shelf"

    def run(self, messages: list[dict[str, Any]], recorder: Recorder) -> Any:
        from tests.dummy.eval_environments import current_shelf

        question = self.note(messages)
        if question == "call, then hang":
            recorder.tool(renew)("42")
            time.sleep(60)
        if question.startswith("take"):
            current_shelf().remove("Emma")
        if question == "take, then raise":
            raise RuntimeError("after the fact")
        if question == "take, then the limit":
            return AgentReply("not finished", ended="limit")
        return "done"


@register
class AsksAModel(DummyAgent):
    """Asks a model behind the address that the question gives."""

    id = "asks_a_model"
    label = "Asks a model"

    def run(self, messages: list[dict[str, Any]], recorder: Recorder) -> str:
        from ai_eval.llm import LLMRequest, RetryPolicy, complete

        address = self.note(messages)
        request = LLMRequest(model="openai/mock", api_base=address, messages=messages)
        return complete(request, retry=RetryPolicy(max_retries=0)).text or ""


@register
class Careless(DummyAgent):
    """Uses the site's database as no agent should."""

    id = "careless"
    label = "Leaves transactions open"

    def run(self, messages: list[dict[str, Any]], recorder: Recorder) -> Any:
        from django.contrib.auth.models import Group
        from django.db import transaction

        question = self.note(messages)
        if question == "leave open":
            transaction.atomic().__enter__()
        if question == "huge usage":
            return AgentReply("done", usage={"prompt_tokens": 2**63, "cost": 10**400})
        if question == "write and hang":
            with transaction.atomic():
                Group.objects.create(name="careless")
                time.sleep(60)
        return f"done: {Group.objects.count()} groups"
