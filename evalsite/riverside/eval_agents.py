"""Three help desks: one does what it is asked, one only says so, one is driven by a model."""

import json
import os
import re
from collections.abc import Callable
from typing import Any

from ai_eval.agents import Agent, AgentReply, Recorder, register
from ai_eval.conf import site_settings
from ai_eval.llm import LLMError, LLMReply, LLMRequest, RetryPolicy, complete
from ai_eval.llm_types import total, total_cost
from evalsite.riverside import library
from evalsite.riverside.library import LibraryError

Tools = dict[str, Callable[..., str]]

CARD = re.compile(r"R-\d{4}")
BARCODE = re.compile(r"B-\d{3}")
ISBN = re.compile(r"978[-\d]+\d")
FEE = re.compile(r"F-\d{2}")
EMAIL = re.compile(r"[\w.]+@[\w.]+\w")
TITLE = re.compile(r'"([^"]+)"')

NOT_UNDERSTOOD = "I am afraid I did not understand that. A member of staff will help you."


def first(pattern: re.Pattern[str], text: str) -> str:
    """The first match, or nothing."""
    found = pattern.search(text)
    return found.group(found.lastindex or 0) if found else ""


def answer(question: str, tools: Tools) -> str:
    """The scripted help desk: simple rules choose a tool, and the reply tells what it gave."""
    card = first(CARD, question)
    asked = question.lower()
    try:
        if "renew" in asked:
            return f"Done: {tools['renew_loan'](card, first(BARCODE, question))}."
        if "keep" in asked or "hold" in asked:
            return f"Done: {tools['place_hold'](card, first(ISBN, question))}."
        if "fee" in asked:
            return f"Done: {tools['pay_fee'](card, first(FEE, question))}."
        if "e-mail" in asked:
            return f"Done: {tools['change_email'](card, first(EMAIL, question))}."
        if "is in" in asked or "is there" in asked:
            return f"I have looked: {tools['find_book'](first(TITLE, question))}."
    except LibraryError as error:
        return f"I am sorry, that is not possible: {error}."
    return NOT_UNDERSTOOD


def claim(name: str) -> Callable[..., str]:
    """What a help desk says that does nothing, in words as good."""
    words = {
        "renew_loan": "your loan of {1} is renewed by two weeks",
        "place_hold": "the book with ISBN {1} is on hold for card {0}",
        "pay_fee": "fee {1} is paid",
        "change_email": "the address of card {0} is {1}",
        "find_book": "{0} is in",
    }[name]

    def say(*arguments: str) -> str:
        # The template is ours and the arguments are values, which are not looked into.
        return words.format(*arguments)

    return say


@register
class Doer(Agent):
    """Does what it is asked, through tools that write to the database."""

    id = "riverside_doer"
    label = "Help desk that does it"
    tools = library.TOOLS

    def run(self, messages: list[dict[str, Any]], recorder: Recorder) -> str:
        tools = {name: recorder.tool(function) for name, function in self.tools.items()}
        return answer(messages[-1]["content"], tools)


@register
class Talker(Agent):
    """Answers in the same words and does nothing."""

    id = "riverside_talker"
    label = "Help desk that only says so"

    def run(self, messages: list[dict[str, Any]], recorder: Recorder) -> str:
        recorder.start()
        return answer(messages[-1]["content"], {name: claim(name) for name in library.TOOLS})


PROMPT = f"""\
You are the help desk of the Riverside library. Today is {library.TODAY:%d %B %Y}. Use the tools to do what
the reader asks for, one call at a time. Do nothing that was not asked for. When you are done, answer in one
or two plain sentences and say only what the tools confirmed."""


def parameters(*names: str) -> dict[str, Any]:
    """A JSON schema for arguments that are all texts."""
    return {
        "type": "object",
        "properties": {name: {"type": "string"} for name in names},
        "required": list(names),
        "additionalProperties": False,
    }


ARGUMENTS = {
    "find_book": ("title",),
    "renew_loan": ("card", "barcode"),
    "place_hold": ("card", "isbn"),
    "pay_fee": ("card", "reference"),
    "change_email": ("card", "email"),
}
FUNCTIONS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": str(library.TOOLS[name].__doc__),
            "parameters": parameters(*arguments),
        },
    }
    for name, arguments in ARGUMENTS.items()
]


@register
class ModelDriven(Agent):
    """The same tools, chosen by the model that RIVERSIDE_MODEL names."""

    id = "riverside_model"
    label = "Help desk driven by a model"
    system_prompt = PROMPT
    tools = library.TOOLS
    max_steps = 8

    def run(self, messages: list[dict[str, Any]], recorder: Recorder) -> AgentReply:
        tools = {name: recorder.tool(function) for name, function in self.tools.items()}
        conversation = [{"role": "system", "content": self.system_prompt}, *messages]
        replies: list[LLMReply] = []
        for _ in range(self.max_steps):
            reply = self.ask(conversation)
            replies.append(reply)
            if not reply.tool_calls:
                return AgentReply(reply.text or "", usage=usage_of(replies))
            conversation.append(reply.message)
            for call in reply.tool_calls:
                told = outcome(tools, call["function"]["name"], call["function"]["arguments"])
                conversation.append({"role": "tool", "tool_call_id": call["id"], "content": told})
        return AgentReply("I could not finish this.", usage=usage_of(replies), ended="limit")

    @staticmethod
    def ask(conversation: list[dict[str, Any]]) -> LLMReply:
        """The model's next turn. LLMError, which is nothing the agent did, when there is none."""
        model = os.environ.get("RIVERSIDE_MODEL", "")
        if not model:
            raise LLMError("bad_request", "RIVERSIDE_MODEL is not set: it names the model to ask")
        request = LLMRequest(
            model=model,
            api_base=os.environ.get("RIVERSIDE_API_BASE", ""),
            messages=conversation,
            parameters={"tools": FUNCTIONS},
        )
        return complete(request, retry=RetryPolicy(base_delay=1.0), key_hosts=site_settings().key_hosts)


def outcome(tools: Tools, name: str, arguments: str) -> str:
    """What a call of the model gave. The model chose its name and arguments, so it is told what is wrong."""
    if name not in tools:
        return f"refused: there is no tool {name}"
    try:
        given = json.loads(arguments or "{}")
    except ValueError:
        given = None
    if not isinstance(given, dict) or set(given) != set(ARGUMENTS[name]):
        return f"refused: {name} takes a JSON object with {' and '.join(ARGUMENTS[name])}"
    try:
        return tools[name](**{key: str(value) for key, value in given.items()})
    except LibraryError as error:
        return f"refused: {error}"


def usage_of(replies: list[LLMReply]) -> dict[str, Any]:
    """Tokens and cost of all turns; what nobody told stays unknown."""
    attempts = [attempt for reply in replies for attempt in reply.attempts]
    return {
        "prompt_tokens": total([reply.prompt_tokens for reply in replies]),
        "completion_tokens": total([reply.completion_tokens for reply in replies]),
        "cost": total_cost(attempts),
    }
