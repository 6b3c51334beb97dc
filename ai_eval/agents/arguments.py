"""Tool-call arguments, normalised once, before anything is stored or shown."""

import json
import re
from collections.abc import Mapping
from typing import Any

from ai_eval.text import clean_json, clean_text, shorten

VALUE_LIMIT = 1000
"""Characters of one argument that are kept."""

REDACTED = "[redacted]"

_CREDENTIAL = re.compile(
    r"pass(word|wd|phrase|code)?$|pwd|secret|token|api_?key|apikey|access_?key|private_?key|credential|auth(orization)?$"
    r"|bearer|cookie|session_?id|^pin$|(^|_)pin$|cvv|cvc",
    re.IGNORECASE,
)


def looks_like_credential(name: str) -> bool:
    """Whether a value under this name is not to be stored or shown."""
    return _CREDENTIAL.search(re.sub(r"[\s\-.]", "_", name)) is not None


def normalise_arguments(given: object) -> dict[str, Any]:
    """Arguments as a mapping of names to values, whichever way they were written.

    Takes a mapping, JSON text of one, JSON text within JSON text, and nothing (None, empty text).
    What is no mapping after that is kept whole under the name `value`.
    """
    for _ in range(3):
        if not isinstance(given, str):
            break
        if not given.strip():
            return {}
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            break
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return {str(key): value for key, value in given.items()}
    return {"value": given}


def _scalar(value: object) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return clean_json(value)
    if isinstance(value, str):
        return shorten(clean_text(value), VALUE_LIMIT)
    text = json.dumps(clean_json(_redacted(value)), ensure_ascii=False, sort_keys=True)
    return shorten(text, VALUE_LIMIT)


def _redacted(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {
            str(key): REDACTED if looks_like_credential(str(key)) else _redacted(item)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_redacted(item) for item in value]
    return value


def stored_arguments(given: object) -> dict[str, Any]:
    """Normalised arguments as they are stored: scalars, long ones cut with a mark, credentials redacted.

    A list or mapping among them is kept as its JSON text.
    """
    return {
        clean_text(name): REDACTED if looks_like_credential(name) else _scalar(value)
        for name, value in normalise_arguments(given).items()
    }


def recorded_call(function_name: str, arguments: object = None, plugin_id: str = "") -> dict[str, Any]:
    """One entry of a tool-call record."""
    name = clean_text(str(function_name))
    return {
        "plugin_id": clean_text(str(plugin_id)) or name,
        "function_name": name,
        "arguments": stored_arguments(arguments),
    }
