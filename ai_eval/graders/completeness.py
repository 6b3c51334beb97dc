"""Whether the response covers all that was asked."""

from ai_eval.graders.judge import LLMJudge
from ai_eval.graders.registry import register


@register
class CompletenessGrader(LLMJudge):
    """Whether the response covers all that was asked."""

    id = "completeness_grader"
    label = "Completeness"
    description = "LLM judge: does the response cover all that was asked?"
    dimension = "completeness"
    dimension_description = (
        "completeness: how much of what the question and the criteria ask for the response covers"
    )
    scoring_guidance = """\
5: Covers every point.
4: Leaves out one small point.
3: Leaves out an important point.
2: Covers less than half.
1: Covers next to nothing.
Length is no merit: a short response that covers every point is a 5."""
