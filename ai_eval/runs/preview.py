"""What a judge would be sent about a stored answer, by the very code that grades. No model is asked."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from django.db.models import QuerySet

from ai_eval.graders import Grader, GraderInfo
from ai_eval.graders.context import ABSENT, build_context, question_text
from ai_eval.graders.execution import run_grader
from ai_eval.graders.judge import JudgeConfig, LLMJudge, PromptBuilt
from ai_eval.models import Answer, Run

OFFERED = 20
"""Answers that a preview can be chosen from."""

RUNS_LOOKED_AT = 200
RUNS_OFFERED = 5


@dataclass(frozen=True)
class PromptPreview:
    """The prompt, or in `unasked` why this judge would ask nothing about this answer."""

    prompt: str = ""
    unasked: str = ""
    cut: int = 0
    """Characters of the response that the judge does not see."""
    limit: int = 0
    """Characters of the response that it sees at most: as in the answer's run."""


def preview_prompt(info: GraderInfo, template: str, answer: Answer) -> PromptPreview:
    """The prompt of the judge with this template, for the answer as its run would grade it now."""
    limit = answer.run.snapshot["response_char_limit"]
    if info.needs_environment:
        return PromptPreview(unasked="it looks at an environment, and that of a stored answer is gone")
    if answer.response is None:
        return PromptPreview(unasked="this answer has no response, and no judge is asked about it")
    if answer.ask_failure:
        ended = answer.error or answer.ask_failure.replace("_", " ")
        return PromptPreview(unasked=f"this answer is a failure, which no judge is asked about: {ended}")

    def prepare(grader: Grader) -> None:
        if isinstance(grader, LLMJudge):
            grader.config = JudgeConfig(prompt=template)
            grader.asks = False

    context = build_context(
        answer.question,
        response_char_limit=limit,
        tool_calls=ABSENT if answer.tool_calls is None else answer.tool_calls,
    )
    try:
        result = run_grader(info, question_text(answer.question), answer.response, context, prepare)
    except PromptBuilt as built:
        return PromptPreview(built.prompt.text, cut=built.prompt.cut, limit=limit)
    if result.error:
        return PromptPreview(unasked=f"it fails before it asks: {result.reason}", limit=limit)
    if result.score is None:
        return PromptPreview(unasked=f"it skips this answer: {result.reason}", limit=limit)
    return PromptPreview(
        unasked=f"it scores this answer {result.score:g} without asking: {result.reason}", limit=limit
    )


@dataclass(frozen=True)
class OfferedAnswers:
    """`judged` tells whether their runs used this judge."""

    answers: Sequence[Answer]
    judged: bool


def answers_to_preview(grader: str) -> OfferedAnswers:
    """The latest answers with a response: of the latest runs that used the judge, else of any."""
    found: list[Answer] = []
    for pk in _runs_with(grader):
        rows = _with_response().filter(run=pk).order_by("-position")
        found += rows[: OFFERED - len(found)]
    if found:
        return OfferedAnswers(found, judged=True)
    return OfferedAnswers(list(_with_response().order_by("-pk")[:OFFERED]), judged=False)


def _with_response() -> QuerySet[Answer]:
    shown = ("pk", "question_id", "trial", "position", "run__target_label")
    return Answer.objects.filter(response__gt="", ask_failure="").select_related("run").only(*shown)


def _runs_with(grader: str) -> list[int]:
    """Of the latest runs, those that froze this judge. Bounded: a snapshot is no index.

    Looked up here and not by the database: SQLite finds no key with a quotation mark in it.
    """
    latest = Run.objects.order_by("-pk").values_list("pk", "snapshot__judges")[:RUNS_LOOKED_AT]
    using = (pk for pk, judges in latest.iterator(chunk_size=20) if grader in (judges or {}))
    return list(islice(using, RUNS_OFFERED))
