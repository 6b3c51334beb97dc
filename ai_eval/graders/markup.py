"""Signs of Markdown and HTML in a text. Every search takes time linear in the length of the text."""

import re
from collections.abc import Iterator

_FENCE = re.compile(r" {0,3}(?P<marks>`{3,}|~{3,})(?P<rest>.*)")
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_LIST_ITEM = re.compile(r"\s{0,12}(?:[-*+]|[0-9]{1,9}[.)])[ \t]+\S")
_QUOTE = re.compile(r" {0,3}>[ \t]?\S")
_STRONG = re.compile(r"\*\*(?=\S)[^*\n]{1,500}(?<=\S)\*\*|(?<!\w)__(?=\S)[^_\n]{1,500}(?<=\S)__(?!\w)")
_EMPHASIS = re.compile(
    r"(?<![\w*])\*(?=[^\s*])[^*\n]{1,500}(?<=[^\s*])\*(?![\w*])"
    r"|(?<![\w_])_(?=[^\s_])[^_\n]{1,500}(?<=[^\s_])_(?![\w_])"
)
_LINK = re.compile(r"\[[^\[\]\n]{1,300}\]\([^()\s]{1,500}(?:[ \t]\"[^\"\n]{0,300}\")?\)")
_CODE = re.compile(r"`[^`\n]{1,500}`")
_TAG = re.compile(
    r"</?(?:html|head|body|script|style|p|br|hr|div|span|a|b|i|u|em|strong|code|pre|ul|ol|li|table|tr|td|th"
    r"|h[1-6]|blockquote|img|form|input)(?:[\s/][^<>]{0,500})?>",
    re.IGNORECASE,
)

INLINE = {"strong": _STRONG, "emphasis": _EMPHASIS, "a link": _LINK, "code": _CODE}


def open_fence(text: str) -> int:
    """The line (from 1) of a code fence that is never closed; 0 where there is none."""
    opened, marks = 0, ""
    for number, line in enumerate(text.splitlines(), 1):
        fence = _FENCE.match(line)
        if fence is None:
            continue
        if not opened:
            opened, marks = number, fence["marks"]
        elif fence["marks"].startswith(marks) and not fence["rest"].strip():
            opened, marks = 0, ""
    return opened


def is_one_fence(text: str) -> bool:
    """Whether a code fence stands round the whole text."""
    lines = text.strip().splitlines()
    first = _FENCE.match(lines[0]) if lines else None
    if first is None or len(lines) < 2:
        return False
    closing = [n for n, line in enumerate(lines[1:], 1) if line.strip() == first["marks"]]
    return bool(closing) and closing[0] == len(lines) - 1


def formatting(text: str) -> Iterator[str]:
    """Names of Markdown's constructs in `text` that plain text does not use, each once."""
    lines = text.splitlines()
    if any(_FENCE.match(line) for line in lines):
        yield "a code fence"
    if any(_HEADING.match(line) for line in lines):
        yield "a heading"
    if any(_is_delimiter_row(line) for line in lines):
        yield "a table"
    for name, pattern in INLINE.items():
        if pattern.search(text):
            yield name


def structure(text: str) -> Iterator[str]:
    """Names of constructs that plain text uses as well."""
    lines = text.splitlines()
    if any(_LIST_ITEM.match(line) for line in lines):
        yield "a list"
    if any(_QUOTE.match(line) for line in lines):
        yield "a quotation"


def has_html(text: str) -> bool:
    """Whether a tag of HTML stands in `text`."""
    return _TAG.search(text) is not None


def _is_delimiter_row(line: str) -> bool:
    return "|" in line and "---" in line and set(line) <= set("|-: \t")
