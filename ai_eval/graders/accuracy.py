"""Whether what the response says is true."""

from dataclasses import replace
from typing import Any

from ai_eval.graders.base import GradeResult
from ai_eval.graders.criteria import ground_truth, listed_texts, with_criteria
from ai_eval.graders.judge import LLMJudge
from ai_eval.graders.registry import register

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
        hits = [
            text
            for text in listed_texts(context.get("must_not_contain"))
            if text.casefold() in response.casefold()
        ]
        if not hits or result.score is None or result.score <= FORBIDDEN_CAP:
            return result
        named = ", ".join(f'"{text}"' for text in hits)
        reason = f"capped at {FORBIDDEN_CAP:g}, the response contains {named}: {result.reason}"
        return replace(result, score=FORBIDDEN_CAP, reason=reason)
