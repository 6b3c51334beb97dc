"""Whether the reader can act on the response."""

from ai_eval.graders.judge import LLMJudge
from ai_eval.graders.registry import register


@register
class ActionabilityGrader(LLMJudge):
    """Whether the reader can act on the response."""

    id = "actionability_grader"
    label = "Actionability"
    description = "LLM judge: does the reader know what to do next?"
    dimension = "actionability"
    dimension_description = "actionability: how well a reader can act on the response without asking again"
    scoring_guidance = """\
5: The next step is clear, concrete and possible, or nothing is left to do and the response says so.
4: Clear, with a small detail missing.
3: A direction, without the detail that is needed to act.
2: Generalities only.
1: Nothing to act on, or advice that can't be followed."""
