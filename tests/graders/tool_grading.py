"""Tool calls as a recorder keeps them, and grades on them."""

from typing import Any

from ai_eval.agents.arguments import recorded_call
from ai_eval.graders import GradeResult, ToolUsageGrader


def call(name: str, plugin_id: str = "", **arguments: Any) -> dict[str, Any]:
    """A call as the recorder keeps it."""
    return recorded_call(name, arguments, plugin_id)


def grade(expected: Any, *calls: dict[str, Any]) -> GradeResult:
    context = {"expected_tools": expected, "tool_calls": list(calls)}
    return ToolUsageGrader().grade("question", "response", context)


def grade_text(expected: Any, response: str) -> GradeResult:
    """Without a record."""
    return ToolUsageGrader().grade("question", response, {"expected_tools": expected})


def satisfied(entry: Any, *calls: dict[str, Any]) -> bool:
    result = grade([entry], *calls)
    assert result.score in (0.0, 5.0)
    assert (result.score == 0.0) == ("; " in result.reason)
    return result.score == 5.0
