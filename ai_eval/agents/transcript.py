"""Transcripts in the OpenAI message format."""

from typing import Any

from ai_eval.agents.arguments import recorded_call


def content_text(content: object) -> str | None:
    """The text of a message's content: a string, or a list of parts of which the text ones count."""
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict)]
        return "".join(str(part["text"]) for part in parts if isinstance(part.get("text"), str))
    raise ValueError(f"content is {type(content).__name__}, not text")


def _calls(message: dict[str, Any], place: str) -> list[dict[str, Any]]:
    listed = message.get("tool_calls") or []
    if not isinstance(listed, list):
        raise ValueError(f"{place}: tool_calls is {type(listed).__name__}, not a list")
    if isinstance(message.get("function_call"), dict):
        listed = [*listed, {"function": message["function_call"]}]
    found = []
    for number, call in enumerate(listed, 1):
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or not function.get("name"):
            raise ValueError(f"{place}: tool call {number} names no function")
        found.append(recorded_call(str(function["name"]), function.get("arguments")))
    return found


def read_transcript(messages: list[dict[str, Any]]) -> tuple[str | None, list[dict[str, Any]]]:
    """The last assistant text and every call that assistant messages made, in order."""
    response: str | None = None
    calls: list[dict[str, Any]] = []
    for number, message in enumerate(messages, 1):
        place = f"message {number}"
        if not isinstance(message, dict) or "role" not in message:
            raise ValueError(f"{place} has no role")
        if message["role"] != "assistant":
            continue
        calls.extend(_calls(message, place))
        text = content_text(message.get("content"))
        if text is not None:
            response = text
    return response, calls


def flatten_messages(messages: list[dict[str, Any]]) -> str:
    """A conversation as one text: `user: …`, a blank line between turns; one user turn is its text."""
    if len(messages) == 1 and messages[0].get("role") == "user":
        return str(messages[0].get("content", ""))
    return "\n\n".join(f"{message.get('role', '')}: {message.get('content', '')}" for message in messages)
