"""How one answer is scored. An app's own graders stand in its `graders.py`:

from ai_eval.graders import Grader, GradeResult, LLMJudge, register
"""

from ai_eval.graders.base import Grader, GradeResult, GradingStopped, JudgeTrace
from ai_eval.graders.judge import LLMJudge
from ai_eval.graders.registry import GraderInfo, register, registry

# The catalogue, in the order in which it is shown. Imported to be registered.
from ai_eval.graders.relevance import RelevanceGrader  # isort: skip
from ai_eval.graders.completeness import CompletenessGrader  # isort: skip
from ai_eval.graders.accuracy import AccuracyGrader  # isort: skip
from ai_eval.graders.actionability import ActionabilityGrader  # isort: skip
from ai_eval.graders.fact_match import FactMatchGrader  # isort: skip
from ai_eval.graders.groundedness import GroundednessGrader  # isort: skip
from ai_eval.graders.format import FormatGrader  # isort: skip
from ai_eval.graders.tool_usage import ToolUsageGrader  # isort: skip

__all__ = [
    "AccuracyGrader",
    "ActionabilityGrader",
    "CompletenessGrader",
    "FactMatchGrader",
    "FormatGrader",
    "GradeResult",
    "Grader",
    "GraderInfo",
    "GradingStopped",
    "GroundednessGrader",
    "JudgeTrace",
    "LLMJudge",
    "RelevanceGrader",
    "ToolUsageGrader",
    "register",
    "registry",
]
