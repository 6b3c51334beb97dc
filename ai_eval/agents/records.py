"""Tool-call records that somebody else wrote, read into our own form."""

from collections.abc import Mapping
from typing import Any

from ai_eval.agents.arguments import recorded_call


def read_record(given: object) -> list[dict[str, Any]]:
    """A list of calls, each in our own form or in OpenAI's, as a tool-call record.

    ValueError says which call can't be read.
    """
    if not isinstance(given, list | tuple):
        raise ValueError(f"tool_calls is {type(given).__name__}, not a list of calls")
    return [_read_call(call, number) for number, call in enumerate(given, 1)]


def _read_call(call: object, number: int) -> dict[str, Any]:
    if not isinstance(call, Mapping):
        raise ValueError(f"tool call {number} is {type(call).__name__}, not a mapping")
    function = call.get("function")
    if isinstance(function, Mapping):
        call = {**call, **function}
    name = call.get("function_name") or call.get("name") or call.get("plugin_id")
    if not isinstance(name, str) or not name:
        raise ValueError(f"tool call {number} has no name")
    plugin = call.get("plugin_id")
    return recorded_call(name, call.get("arguments"), plugin if isinstance(plugin, str) else "")
