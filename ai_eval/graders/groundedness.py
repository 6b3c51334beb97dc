"""Whether everything that the response claims has a ground."""

from ai_eval.graders.judge import LLMJudge
from ai_eval.graders.prompts import DATA_RULES, REPLY_FORM
from ai_eval.graders.registry import register

TEMPLATE = f"""\
You decide whether one response of an AI system is grounded: $dimension.

{DATA_RULES}

The question that the system was asked:
$question

What to judge by, and the scale:
$criteria

The response to be judged:
$response

Decide yes (1) or no (0); there is nothing between. Where only part of the response is shown, a mark tells \
how much is missing: decide by what is shown.

{REPLY_FORM}
"""


@register
class GroundednessGrader(LLMJudge):
    """Binary: does every claim follow from the question, the criteria, or what was really called?"""

    id = "groundedness_grader"
    label = "Groundedness"
    description = "LLM judge, yes or no: does every claim of the response have a ground?"
    max_score = 1.0
    sees_tool_calls = True
    dimension = "groundedness"
    dimension_description = (
        "groundedness, whether every claim follows from the question, the criteria, "
        "common knowledge, or the record of tool calls"
    )
    scoring_guidance = """\
1: Every claim has such a ground. Saying that it does not know, or did not do it, is grounded.
0: At least one claim has none; a claim that something was done which the record does not show is one."""
    default_template = TEMPLATE

    def interpret_score(self, raw: float) -> float | None:
        # A judge that answers on a scale that it was not asked about did not answer the question.
        return raw if self.min_score <= raw <= self.max_score else None
