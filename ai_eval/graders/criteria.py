"""Material that judges fold into their criteria."""

from collections.abc import Mapping
from typing import Any


def listed_texts(value: object) -> list[str]:
    """A key that may be one text or a list of them; what is blank is left out."""
    values = value if isinstance(value, list | tuple) else [value]
    return [text for each in values if each is not None and (text := str(each).strip())]


def with_criteria(context: Mapping[str, Any], *blocks: str) -> dict[str, Any]:
    """The context with `blocks` before its criteria, a blank line between."""
    parts = [block for block in (*blocks, str(context.get("criteria") or "")) if block]
    return {**context, "criteria": "\n\n".join(parts)} if parts else dict(context)


def ground_truth(context: Mapping[str, Any]) -> str:
    """The question's `expected_facts` as a block, or nothing."""
    facts = listed_texts(context.get("expected_facts"))
    if not facts:
        return ""
    return "\n".join(["These facts are the ground truth:", *(f"- {fact}" for fact in facts)])
