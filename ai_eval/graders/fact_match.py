"""Whether the response states the facts that its question expects."""

from typing import Any

from ai_eval.graders.base import GradeResult
from ai_eval.graders.criteria import ground_truth, with_criteria
from ai_eval.graders.judge import LLMJudge
from ai_eval.graders.registry import register


@register
class FactMatchGrader(LLMJudge):
    """How many of the expected facts the response states. Skips where none are expected."""

    id = "fact_match_grader"
    label = "Fact match"
    description = "LLM judge: which of the expected facts does the response state? Needs expected_facts."
    dimension = "fact_match"
    dimension_description = (
        "fact match: how many of the facts given as ground truth the response states, in whatever words"
    )
    scoring_guidance = """\
5: States every fact.
4: States all but one of several, or one of them vaguely.
3: States about half.
2: States few.
1: States none, or contradicts one.
Judge by the listed facts alone: what else the response says neither helps nor harms."""

    def grade(self, question: str, response: str, context: dict[str, Any]) -> GradeResult:
        facts = ground_truth(context)
        if not facts:
            return self.result(None, "no expected_facts in context, skipping")
        return super().grade(question, response, with_criteria(context, facts))
