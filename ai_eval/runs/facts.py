"""Reading a run's answers as the facts that figures need, without their texts."""

from collections import defaultdict

from ai_eval.models import Answer, Grade, Run
from ai_eval.runs.scoring import ERRORED, GradeFacts
from ai_eval.runs.verdict import AnswerFacts

GRADED = ("scored", "empty", "unscored", "grade_error")
"""Outcomes of answers that every ticked grader has seen."""


def answer_facts(run: Run) -> list[AnswerFacts]:
    """One for each planned answer, in order. Only figures are loaded: 100,000 answers fit in memory."""
    grades: dict[int, list[GradeFacts]] = defaultdict(list)
    truncated: set[int] = set()
    rows = Grade.objects.filter(answer__run=run).values_list(
        "answer_id", "grader", "outcome", "composite", "clamped_from", "truncated"
    )
    for answer_id, grader, outcome, composite, clamped_from, cut in rows.iterator(chunk_size=5000):
        grades[answer_id].append(GradeFacts(grader, outcome, composite, clamped_from is not None))
        if cut:
            truncated.add(answer_id)
    answers = (
        Answer.objects.filter(run=run)
        .order_by("position")
        .values_list("pk", "question_id", "trial", "outcome", "score", "passed", "degraded")
    )
    ticked = run.target_snapshot["graders"]
    return [
        AnswerFacts(
            question_id,
            trial,
            outcome,
            score,
            passed,
            degraded,
            [*grades[pk], *(_absent(ticked, grades[pk]) if outcome in GRADED else ())],
            pk in truncated,
        )
        for pk, question_id, trial, outcome, score, passed, degraded in answers.iterator(chunk_size=5000)
    ]


def _absent(ticked: list[str], grades: list[GradeFacts]) -> list[GradeFacts]:
    """A grade that should be stored and is not counts as missing, never as if nobody had asked for it."""
    given = {grade.grader for grade in grades}
    return [GradeFacts(grader, ERRORED, None) for grader in ticked if grader not in given]
