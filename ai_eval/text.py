"""Text at the edge: what no database and no API takes is replaced here, and nowhere else."""

import math
import re
from typing import Any

import regex

NUL_MARK = "␀"
INTEGER_BITS = 4096
SURROGATE_MARK = "�"

# Unicode's Default_Ignorable_Code_Point (fillers, selectors, zero-width), and the blank Braille pattern.
_VISIBLE = regex.compile(r"[^\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def clean_text(text: str) -> str:
    """`text` with NUL and lone surrogates replaced by visible marks; all else as it came."""
    if _UNSTORABLE.search(text) is None:
        return text
    return _UNSTORABLE.sub(lambda match: NUL_MARK if match.group() == "\x00" else SURROGATE_MARK, text)


def clean_json(value: Any) -> Any:
    """A JSON value that every database stores and gives back alike.

    Texts and keys are cleaned, numbers that JSON does not know (NaN, the infinities) become
    their names as text, tuples become lists, and whatever else is no JSON becomes its text.
    """
    if isinstance(value, str):
        return clean_text(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        # Python refuses to write numbers of more than some thousand digits.
        return value if value.bit_length() <= INTEGER_BITS else f"an integer of {value.bit_length()} bits"
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, dict):
        cleaned: dict[str, Any] = {}
        for key, item in value.items():
            name = clean_text(str(key))
            while name in cleaned:  # the keys 1 and "1" are two, and neither may be lost
                name += "′"
            cleaned[name] = clean_json(item)
        return cleaned
    if isinstance(value, list | tuple):
        return [clean_json(item) for item in value]
    return clean_text(str(value))


def is_blank(text: str) -> bool:
    """Whether a reader sees nothing: empty, or only white space, control and invisible characters."""
    return _VISIBLE.search(text) is None


def shorten(text: str, limit: int) -> str:
    """The first `limit` characters, with a mark telling how many are missing."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… [{len(text) - limit} more characters]"
