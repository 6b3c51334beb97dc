"""Datasets, targets and runs for tests of the engine."""

from collections.abc import Sequence
from typing import Any

from ai_eval.models import Answer, Dataset, Question, Run, Target
from ai_eval.runs.launch import launch, prepare
from ai_eval.runs.worker import Worker


def make_dataset(slug: str, questions: Sequence[str | dict[str, Any]]) -> Dataset:
    """Each question is its input, or a row; ids are q1, q2 … where the row has none."""
    dataset = Dataset.objects.create(slug=slug, label=slug)
    for number, given in enumerate(questions, 1):
        row = {"input": given} if isinstance(given, str) else dict(given)
        key = row.pop("id", f"q{number}")
        Question.objects.create(
            dataset=dataset,
            key=key,
            position=number,
            input=row.pop("input", ""),
            messages=row.pop("messages", None),
            enabled=row.pop("enabled", True),
            data=row,
        )
    return dataset


def make_target(
    questions: Sequence[str | dict[str, Any]] = ("one", "two", "three"), slug: str = "target", **fields: Any
) -> Target:
    """An agent target over a database dataset of its own, with one deterministic grader."""
    make_dataset(f"{slug}_questions", questions)
    defaults: dict[str, Any] = {
        "label": slug,
        "mode": "agent",
        "agent": "scripted",
        "graders": ["contains_done"],
        "gate_threshold": 0.9,
        "dataset_source": "database",
        "dataset_reference": f"{slug}_questions",
    }
    return Target.objects.create(slug=slug, **{**defaults, **fields})


def run_target(target: Target, **options: Any) -> Run:
    """Launch the target and work on it in this process until it has ended."""
    run = launch(prepare(target, **options))
    Worker(run.pk).run()
    run.refresh_from_db()
    return run


def answers_of(run: Run) -> dict[str, Answer]:
    """Answers of a run with one trial, by question."""
    return {answer.question_id: answer for answer in run.answers.prefetch_related("grades")}


def result_of(run: Run) -> dict[str, Any]:
    """All that two runs of one configuration must agree on."""
    fields = ("question_id", "trial", "response", "tool_calls", "outcome", "score", "passed", "error")
    return {
        "verdict": run.verdict,
        "result": run.result,
        "answers": [
            {
                **{field: getattr(answer, field) for field in fields},
                "grades": [
                    (grade.grader, grade.score, grade.reason) for grade in answer.grades.order_by("grader")
                ],
            }
            for answer in run.answers.order_by("position").prefetch_related("grades")
        ],
    }
