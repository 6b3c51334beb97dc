"""Whether what the response says is true."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ai_eval.graders.base import GradeResult
from ai_eval.graders.criteria import ground_truth, with_criteria
from ai_eval.graders.judge import LLMJudge
from ai_eval.graders.registry import register
from ai_eval.text import is_blank
from ai_eval.wording import quoted

FORBIDDEN_CAP = 1.0
"""The most that a response gets which says what the question's `must_not_contain` names."""


@register
class AccuracyGrader(LLMJudge):
    """Whether what the response says, and says it did, is true."""

    id = "accuracy_grader"
    label = "Accuracy"
    description = "LLM judge: is what the response says true, what it says it did among it?"
    sees_tool_calls = True
    dimension = "accuracy"
    dimension_description = (
        "accuracy: whether every statement of the response is true, statements on what was done among them"
    )
    scoring_guidance = """\
5: Everything it says is true.
4: A slip that misleads nobody.
3: A mistake beside what is right.
2: Evasive: it commits itself to nothing that could be checked. Or several mistakes.
1: Its main statement is wrong, or it says that something was done which the record does not show.
An evasive response gets 2 at most."""

    def grade(self, question: str, response: str, context: dict[str, Any]) -> GradeResult:
        result = super().grade(question, response, with_criteria(context, ground_truth(context)))
        hits = [text for text in forbidden_texts(context) if text.casefold() in response.casefold()]
        if not hits or result.score is None:
            return result
        named = ", ".join(quoted(text) for text in hits)
        told = f"the response contains {named}, which it must not: {result.reason}"
        cap = max(self.min_score, FORBIDDEN_CAP)
        if result.score <= cap:
            return replace(result, reason=told)
        return replace(result, score=cap, reason=f"capped at {cap:g} from {result.score:g}, {told}")


def forbidden_texts(context: Mapping[str, Any]) -> list[str]:
    """The question's `must_not_contain`, one text or a list; space at an end of one is part of it."""
    given = context.get("must_not_contain")
    values = given if isinstance(given, list | tuple) else [given]
    return [text for each in values if each is not None and not is_blank(text := str(each))]
