"""What a grader is told beside the response: the question row, and the keys that only the runner sets."""

import json
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

from ai_eval.agents.transcript import flatten_messages
from ai_eval.text import clean_json, is_blank

RESERVED_KEYS = ("response_char_limit", "messages", "criteria", "tool_calls", "environment")
"""Taken out of the row before they are set, so that a row can't forge them."""


class Absent(Enum):
    """The type of `ABSENT`, which is not None: a record may be anything but this."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT
"""There is no tool-call record; an empty list says that the agent called nothing."""


def question_messages(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The turns of a question as they are sent; its `input` alone is one turn of the user.

    Fresh dictionaries, whose values are those of the row.
    """
    turns = row.get("messages")
    if isinstance(turns, list) and turns:
        return [dict(turn) for turn in turns]
    return [{"role": "user", "content": row.get("input", "")}]


def question_text(row: Mapping[str, Any]) -> str:
    """The question as one text, for several turns the flattened transcript."""
    return flatten_messages(question_messages(row))


def build_context(
    row: Mapping[str, Any],
    *,
    response_char_limit: int,
    tool_calls: list[dict[str, Any]] | Absent = ABSENT,
    criteria: str | None = None,
    environment: Any = None,
) -> dict[str, Any]:
    """The context of a grader for the question `row`.

    `criteria` are those of the row unless given; blank ones are none. `tool_calls` is a record, be
    it empty, or `ABSENT`: then the key is not there. `environment` None: the key is not there.
    """
    context = {key: value for key, value in row.items() if key not in RESERVED_KEYS}
    context["response_char_limit"] = response_char_limit
    context["messages"] = [
        {"role": turn.get("role", ""), "content": turn.get("content", "")} for turn in question_messages(row)
    ]
    told = _criteria_text(row.get("criteria") if criteria is None else criteria)
    if not is_blank(told):
        context["criteria"] = told
    if tool_calls is not ABSENT:
        context["tool_calls"] = tool_calls
    if environment is not None:
        context["environment"] = environment
    return context


def _criteria_text(criteria: object) -> str:
    """Criteria as text; a source of a site's own may give a list, or a mapping."""
    if criteria is None or isinstance(criteria, str):
        return criteria or ""
    if isinstance(criteria, list | tuple) and all(isinstance(each, str) for each in criteria):
        return "\n".join(criteria)
    return json.dumps(clean_json(criteria), ensure_ascii=False) if criteria else ""
