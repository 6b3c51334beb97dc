"""How one answer is scored. An app's own graders stand in its `graders.py`:

from ai_eval.graders import Grader, GradeResult, register
"""

from ai_eval.graders.base import Grader, GradeResult, JudgeTrace
from ai_eval.graders.format import FormatGrader as FormatGrader
from ai_eval.graders.registry import GraderInfo, register, registry
from ai_eval.graders.tool_usage import ToolUsageGrader as ToolUsageGrader

__all__ = ["GradeResult", "Grader", "GraderInfo", "JudgeTrace", "register", "registry"]
