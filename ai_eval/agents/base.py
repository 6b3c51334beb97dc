"""The contract for agents.

from ai_eval.agents import Agent, AgentReply, register

@register
class HelpDesk(Agent):
    id = "help_desk"
    label = "Help desk"

    def run(self, messages, recorder):
        renew = recorder.tool(renew_loan)
        ...
        return "Your loan is renewed."
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ai_eval.agents.recorder import Recorder
from ai_eval.agents.transcript import read_transcript


@dataclass(frozen=True)
class AgentReply:
    """What an agent gave back.

    `response` None is the agent's failure; empty text is an empty answer. `tool_calls` None is no
    record, `[]` says that it called nothing. `usage` may hold `prompt_tokens`, `completion_tokens`,
    `cost`. `ended="limit"` says that the agent's own step limit stopped it.
    """

    response: str | None
    tool_calls: list[dict[str, Any]] | None = None
    usage: Mapping[str, Any] | None = None
    ended: str = "done"

    @classmethod
    def from_messages(cls, messages: list[dict[str, Any]], **extra: Any) -> "AgentReply":
        """The reply that a transcript in the OpenAI message format holds, whoever wrote it.

        The response is the text of the last assistant message; the record is every call that an
        assistant message made, in order. ValueError says which message can't be read.
        """
        response, tool_calls = read_transcript(messages)
        return cls(response, tool_calls, **extra)


class Agent:
    """A system under test that this site runs itself. A fresh instance answers each question."""

    id: str = ""
    label: str = ""
    system_prompt: str = ""
    """What an optimizer may rewrite."""
    tools: ClassVar[Mapping[str, Callable[..., Any]]] = {}
    """Name to callable: what a reference solution may call."""

    def run(self, messages: list[dict[str, Any]], recorder: Recorder) -> AgentReply | str | None:
        """Answer the last of `messages` (role and content). May be `async def`.

        Tools wrapped by `recorder.tool` are recorded as they are called. An exception is the
        agent's failure.
        """
        raise NotImplementedError
