"""Exceptions of foreign code, as they may be stored, shown and logged: without keys, and bounded."""

import traceback

from ai_eval.llm_keys import scrub
from ai_eval.text import clean_text, shorten

ERROR_LIMIT = 1000
"""Characters of an exception's message that are kept."""

LOG_LIMIT = 20_000
"""Characters of a traceback that the log keeps."""


def readable(text: str, limit: int = ERROR_LIMIT) -> str:
    """The text scrubbed of secrets, cleaned and cut with a mark."""
    return shorten(clean_text(scrub(text)), limit)


def readable_traceback() -> str:
    """The exception at hand for a log, into which `logger.exception` would write keys and megabytes."""
    return readable(traceback.format_exc(), LOG_LIMIT)


def described(error: BaseException) -> str:
    """`TypeError: message`, cleaned, without keys and bounded."""
    name = type(error).__name__
    try:
        message = str(error)
    except BaseException as worse:  # noqa: BLE001 - an exception of foreign code that can't tell its own message
        message = f"(its message can't be read: {type(worse).__name__})"
    message = readable(message)
    return f"{name}: {message}" if message else name
