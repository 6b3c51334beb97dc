"""Transcripts in the OpenAI message format."""

from collections.abc import Mapping, Sequence
from typing import Any

from ai_eval.agents.arguments import recorded_call

TEXT_PARTS = (None, "text", "input_text", "output_text")
"""Types of a content part that hold text for the reader; thoughts and pictures are none."""


def content_text(content: object) -> str | None:
    """The text of a message's content: a string, or a list of parts of which the text ones count.

    None where it has none at all; ValueError where it is something else.
    """
    if content is None or isinstance(content, str):
        return content
    if isinstance(content, list | tuple):
        texts = [_part_text(part) for part in content]
        found = [text for text in texts if text is not None]
        return "".join(found) if found else None
    raise ValueError(f"content is {type(content).__name__}, not text")


def _part_text(part: object) -> str | None:
    if isinstance(part, str):
        return part
    if isinstance(part, Mapping) and part.get("type") in TEXT_PARTS and isinstance(part.get("text"), str):
        return str(part["text"])
    return None


def _calls(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The calls of one message: OpenAI's own, its older single one, and calls among the content's parts."""
    listed = message.get("tool_calls")
    if listed is None:
        listed = []
    if not isinstance(listed, list | tuple):
        raise ValueError(f"tool_calls is {type(listed).__name__}, not a list")
    older = message.get("function_call")
    if older is not None and not listed:
        listed = [{"function": older}]
    found = [_call(call, f"tool call {number}") for number, call in enumerate(listed, 1)]
    content = message.get("content")
    if found or not isinstance(content, list | tuple):
        return found
    # Where a framework writes both, the parts repeat `tool_calls`.
    parts = [part for part in content if isinstance(part, Mapping) and part.get("type") == "tool_use"]
    return [_named_call(part, "input", f"tool call {number}") for number, part in enumerate(parts, 1)]


def _call(call: object, place: str) -> dict[str, Any]:
    call = _mapping(call)
    if not isinstance(call, Mapping):
        raise ValueError(f"{place} is {type(call).__name__}, not a mapping")
    if call.get("type") == "custom" and call.get("function") is None:
        return _named_call(_mapping(call.get("custom")), "input", place)
    return _named_call(_mapping(call.get("function")), "arguments", place)


def _named_call(function: object, arguments: str, place: str) -> dict[str, Any]:
    name = function.get("name") if isinstance(function, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(name, str) or not name:
        raise ValueError(f"{place} names no function")
    return recorded_call(name, function.get(arguments))


def _mapping(value: object) -> object:
    """A message of a client library, which is an object, as the mapping that it stands for."""
    dump = getattr(value, "model_dump", None)
    return dump() if not isinstance(value, Mapping) and callable(dump) else value


def read_transcript(messages: Sequence[Any]) -> tuple[str | None, list[dict[str, Any]]]:
    """The text of the last assistant message, and every call that assistant messages made, in order.

    The text is None where there is no such message or where it has none: one that only calls tools
    is no answer, whatever was said before. A refusal is the text of its message. ValueError says
    which message can't be read.
    """
    if isinstance(messages, str | bytes) or not isinstance(messages, Sequence):
        raise ValueError(f"messages is {type(messages).__name__}, not a list")
    response: str | None = None
    calls: list[dict[str, Any]] = []
    for number, given in enumerate(messages, 1):
        message = _mapping(given)
        if not isinstance(message, Mapping) or "role" not in message:
            raise ValueError(f"message {number} has no role")
        if message["role"] != "assistant":
            continue
        try:
            calls.extend(_calls(message))
            text = content_text(message.get("content"))
        except ValueError as error:
            raise ValueError(f"message {number}: {error}") from error
        refusal = message.get("refusal")
        response = refusal if text is None and isinstance(refusal, str) else text
    return response, calls


def flatten_messages(messages: Sequence[Mapping[str, Any]]) -> str:
    """A conversation as one text: `user: …`, a blank line between turns; one user turn is its text."""
    if len(messages) == 1 and messages[0].get("role") == "user":
        return _shown(messages[0].get("content"))
    return "\n\n".join(f"{turn.get('role', '')}: {_shown(turn.get('content'))}" for turn in messages)


def _shown(content: object) -> str:
    """The content as text; what is none is shown as it is."""
    try:
        return content_text(content) or ""
    except ValueError:
        return str(content)
