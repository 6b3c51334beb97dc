"""Reading a run's answers as the facts that figures need, without their texts."""

from collections import defaultdict

from ai_eval.models import Answer, Grade, Run
from ai_eval.runs.scoring import GradeFacts
from ai_eval.runs.verdict import AnswerFacts


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
    return [
        AnswerFacts(question_id, trial, outcome, score, passed, degraded, grades.get(pk, ()), pk in truncated)
        for pk, question_id, trial, outcome, score, passed, degraded in answers.iterator(chunk_size=5000)
    ]
