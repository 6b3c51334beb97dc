"""Three help desks: one does what it is asked, one only says so, one is driven by a model."""

import json
import os
import re
from collections.abc import Callable
from typing import Any

from ai_eval.agents import Agent, AgentReply, Recorder, register
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
        usage = {"prompt_tokens": 0, "completion_tokens": 0}
        for _ in range(self.max_steps):
            reply = self.ask(conversation)
            usage["prompt_tokens"] += reply.prompt_tokens or 0
            usage["completion_tokens"] += reply.completion_tokens or 0
            if not reply.tool_calls:
                return AgentReply(reply.text or "", usage=usage)
            conversation.append(reply.message)
            conversation += [self.call(tools, each) for each in reply.tool_calls]
        return AgentReply("I could not finish this.", usage=usage, ended="limit")

    @staticmethod
    def ask(conversation: list[dict[str, Any]]) -> Any:
        from ai_eval.llm import LLMRequest, RetryPolicy, complete

        request = LLMRequest(
            model=os.environ["RIVERSIDE_MODEL"],
            api_base=os.environ.get("RIVERSIDE_API_BASE", ""),
            messages=conversation,
            parameters={"tools": FUNCTIONS, "temperature": 0},
        )
        return complete(request, retry=RetryPolicy(base_delay=1.0))

    @staticmethod
    def call(tools: Tools, call: dict[str, Any]) -> dict[str, Any]:
        """The message that tells the model what its call gave."""
        function = call["function"]
        try:
            result = tools[function["name"]](**json.loads(function["arguments"] or "{}"))
        except (LibraryError, KeyError, TypeError, ValueError) as error:
            # The model chose the name and the arguments: what is wrong with them is told to it.
            result = f"refused: {error}"
        return {"role": "tool", "tool_call_id": call["id"], "content": result}
