"""Regular expressions that a question brings: they stop at a time limit, and hold no lock meanwhile."""

from functools import lru_cache
from typing import Any

import regex

PATTERN_SECONDS = 1.0
"""How long one search may take."""

PATTERN_LIMIT = 5000
"""Characters of an expression."""


class PatternError(ValueError):
    """The expression can't be used; the message says why."""


class PatternTimeout(Exception):
    """The search took too long: nobody knows whether the expression is found."""


@lru_cache(maxsize=500)
def compile_pattern(pattern: str) -> Any:
    """`pattern` compiled, in the syntax of the library `regex`. PatternError says what is wrong."""
    if not pattern:
        raise PatternError("is empty, and would be found in any text")
    if len(pattern) > PATTERN_LIMIT:
        raise PatternError(f"has {len(pattern)} characters, at most {PATTERN_LIMIT} are read")
    try:
        return regex.compile(pattern)
    except (regex.error, ValueError, OverflowError, RecursionError) as error:
        raise PatternError(f"is no regular expression: {error}") from error


def found(pattern: str, text: str) -> bool:
    """Whether the expression is found anywhere in `text`: anchors are up to its author.

    PatternError, or PatternTimeout after `PATTERN_SECONDS`.
    """
    compiled = compile_pattern(pattern)
    try:
        return compiled.search(text, timeout=PATTERN_SECONDS, concurrent=True) is not None
    except TimeoutError as error:
        raise PatternTimeout(
            f"the regular expression was still searching after {PATTERN_SECONDS:g} s"
        ) from error
    except MemoryError as error:
        raise PatternTimeout("the regular expression needs more memory than there is") from error
