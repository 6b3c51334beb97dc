"""What is stored."""

from ai_eval.models.answers import Answer, AnswerTag, Grade, WorkItem
from ai_eval.models.datasets import Dataset, Question
from ai_eval.models.runs import Run
from ai_eval.models.settings import EvalSettings, JudgeSettings, effective_settings
from ai_eval.models.targets import Target

__all__ = [
    "Answer",
    "AnswerTag",
    "Dataset",
    "EvalSettings",
    "Grade",
    "JudgeSettings",
    "Question",
    "Run",
    "Target",
    "WorkItem",
    "effective_settings",
]
