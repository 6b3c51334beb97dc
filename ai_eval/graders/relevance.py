"""Whether the response answers what was asked."""

from ai_eval.graders.judge import LLMJudge
from ai_eval.graders.registry import register


@register
class RelevanceGrader(LLMJudge):
    """Whether the response answers what was asked."""

    id = "relevance_grader"
    label = "Relevance"
    description = "LLM judge: does the response answer what was asked?"
    dimension = "relevance"
    dimension_description = (
        "relevance: how far the response answers the question that was asked, and nothing else"
    )
    scoring_guidance = """\
5: Answers the question, all of it to the point.
4: Answers it, with a little beside the point.
3: Answers part of it, or most of it is beside the point.
2: Touches the subject without answering.
1: On another subject, or a refusal without a reason."""
