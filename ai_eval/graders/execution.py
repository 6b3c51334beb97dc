"""One grader at work on one answer. Whatever it does, a result that can be stored comes back."""

import copy
import inspect
import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ai_eval.failures import described, readable_traceback
from ai_eval.graders.base import Grader, GradeResult, GradingStopped, checked
from ai_eval.graders.registry import GraderInfo

logger = logging.getLogger(__name__)

SHARED_KEY = "environment"
"""A live object: every grader gets the same one."""


def run_grader(
    info: GraderInfo,
    question: str,
    response: str,
    context: Mapping[str, Any],
    prepare: Callable[[Grader], None] | None = None,
) -> GradeResult:
    """The verdict of a fresh instance of the grader, checked and under its registered id.

    The grader gets a copy of the context of its own. `prepare` is called with the instance before it
    grades. What the grader raises, and what it returns that is no `GradeResult`, is an error of this
    grade alone; only `GradingStopped` goes through.
    """
    try:
        grader = info.build()
        if prepare is not None:
            prepare(grader)
        result: object = grader.grade(question, response, copied_context(context))
        if inspect.iscoroutine(result):
            result.close()
        return replace(checked(grader, result), grader=info.id)
    except GradingStopped:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the one place that makes it an errored grade
        logger.error("the grader %s raised\n%s", info.id, readable_traceback())
        return GradeResult(info.id, None, info.min_score, info.max_score, described(error), error=True)


def copied_context(context: Mapping[str, Any]) -> dict[str, Any]:
    """A deep copy but for the environment."""
    return {key: value if key == SHARED_KEY else _copied(value) for key, value in context.items()}


def _copied(value: Any) -> Any:
    """JSON is copied by hand, several times faster than by `copy.deepcopy`; what else there is, by that."""
    kind = type(value)
    if kind is dict:
        return {key: _copied(item) for key, item in value.items()}
    if kind is list:
        return [_copied(item) for item in value]
    if value is None or kind in (str, int, float, bool):
        return value
    return copy.deepcopy(value)
