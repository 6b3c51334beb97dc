"""One measured run in a site of its own; prints its figures as one line of JSON.

    python bench/one_run.py noop QUESTIONS PROCESSES
    python bench/one_run.py judged QUESTIONS PROCESSES BASE_URL

The database is the one of DATABASE_URL, migrated and otherwise empty.
"""

import json
import sys
import time

import django

django.setup()

from ai_eval.models import Dataset, Question, Run, Target  # noqa: E402
from ai_eval.runs.launch import launch, prepare  # noqa: E402
from ai_eval.runs.local import start_processes  # noqa: E402


def make_target(kind: str, questions: int, base_url: str) -> Target:
    dataset = Dataset.objects.create(slug="bench", label="bench")
    Question.objects.bulk_create(
        [
            Question(dataset=dataset, key=f"q{n}", position=n, input=f"Question {n}: where is book {n}?")
            for n in range(questions)
        ],
        batch_size=2000,
    )
    if kind == "noop":
        fields = {"mode": "agent", "agent": "noop", "graders": ["says_done"]}
    else:
        fields = {
            "mode": "chat",
            "model": "openai/mock",
            "api_base": base_url,
            "graders": ["relevance_grader"],
        }
    return Target.objects.create(
        slug="bench", label="bench", dataset_source="database", dataset_reference="bench", **fields
    )


def main() -> None:
    kind, questions, processes = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    target = make_target(kind, questions, sys.argv[4] if len(sys.argv) > 4 else "")
    begun = time.perf_counter()
    run = launch(prepare(target))
    launched = time.perf_counter()
    for child in start_processes(run.pk, processes):
        child.wait()
    ended = time.perf_counter()
    run = Run.objects.get(pk=run.pk)
    assert run.state == "complete", (run.state, run.error)
    assert run.answers.filter(outcome="scored").count() == questions
    assert run.started_at is not None
    assert run.finished_at is not None
    print(
        json.dumps(
            {
                "launch_seconds": launched - begun,
                "run_seconds": (run.finished_at - run.started_at).total_seconds(),
                "whole_seconds": ended - launched,
            }
        )
    )


main()
