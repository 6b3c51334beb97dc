"""Server time of the admin's pages on a full site; prints its figures as one line of JSON.

    python bench/pages.py ANSWERS TARGETS RUNS_A_TARGET

The database is the one of DATABASE_URL, migrated and otherwise empty. A page's time is the median of
several requests through the whole of Django, from the request to the last byte, without a network.
"""

import json
import statistics
import sys
import time

import django

django.setup()

from django.contrib.auth.models import User  # noqa: E402
from django.db import connection, reset_queries  # noqa: E402
from django.test import Client  # noqa: E402
from django.urls import reverse  # noqa: E402
from django.utils import timezone  # noqa: E402

from ai_eval.models import Answer, Dataset, Grade, Question, Run, Target, WorkItem  # noqa: E402
from ai_eval.runs.finish import finish_if_done  # noqa: E402
from ai_eval.runs.launch import launch, prepare  # noqa: E402

REPEATS = 9
GRADERS = ("format_grader", "tool_usage_grader", "says_done")
RESPONSE = "The library opens at nine and closes at six. " * 40


def make_target(slug: str, dataset: str) -> Target:
    return Target.objects.create(
        slug=slug,
        label=f"Help desk {slug}",
        mode="agent",
        agent="noop",
        graders=list(GRADERS),
        gate_threshold=0.9,
        dataset_source="database",
        dataset_reference=dataset,
    )


def make_dataset(slug: str, questions: int) -> None:
    dataset = Dataset.objects.create(slug=slug, label=slug)
    rows = [
        Question(
            dataset=dataset,
            key=f"q{n}",
            position=n,
            input=f"Question {n}: where is book {n}?",
            data={"tags": [f"shelf {n % 20}"]},
        )
        for n in range(questions)
    ]
    Question.objects.bulk_create(rows, batch_size=2000)


def full_run(answers: int) -> Run:
    """A complete run in which every seventh answer failed and every thousandth is missing."""
    make_dataset("large", answers)
    run = launch(prepare(make_target("large", "large")))
    Run.objects.filter(pk=run.pk).update(state="running", started_at=timezone.now())
    for start in range(0, answers, 2000):
        grades = []
        rows = list(run.answers.filter(position__gt=start, position__lte=start + 2000).order_by("position"))
        for row in rows:
            failed, missing = row.position % 7 == 0, row.position % 1000 == 0
            row.asked, row.ended, row.seconds = True, "done", 1.5
            row.response = RESPONSE
            row.tool_calls = [
                {"plugin_id": "search", "function_name": "search", "arguments": {"title": f"book {n}"}}
                for n in range(3)
            ]
            row.outcome, row.score = "scored", 5 / 3 if failed else 5.0
            row.passed, row.degraded = not failed, missing
            for grader in GRADERS:
                low = failed and grader != "says_done"
                grades.append(
                    Grade(
                        answer=row,
                        grader=grader,
                        outcome="errored" if missing and low else "scored",
                        score=None if missing and low else float(not low),
                        composite=None if missing and low else 5.0 * (not low),
                        min_score=0,
                        max_score=1,
                        reason="no expected fact stands in the response" if low else "as expected",
                    )
                )
        fields = ["asked", "ended", "seconds", "response", "tool_calls", "outcome", "score", "passed"]
        Answer.objects.bulk_create(
            rows, update_conflicts=True, unique_fields=["id"], update_fields=[*fields, "degraded"]
        )
        Grade.objects.bulk_create(grades)
    WorkItem.objects.filter(run=run).update(state="done", ended_at=timezone.now())
    assert finish_if_done(run.pk)
    run.refresh_from_db()
    return run


def many_runs(targets: int, runs: int, like: Run) -> None:
    """Targets with their runs, each run with a whole snapshot and result."""
    make_dataset("small", 6)
    for number in range(targets):
        target = make_target(f"target_{number}", "small")
        rows = [
            Run(
                target=target,
                target_slug=target.slug,
                target_label=target.label,
                state="complete",
                verdict=("passed", "failed", "undecided")[(number + n) % 3],
                planned=like.planned,
                snapshot=like.snapshot,
                result=like.result,
                started_at=like.started_at,
                finished_at=like.finished_at,
                announced_at=like.finished_at,
            )
            for n in range(runs)
        ]
        Run.objects.bulk_create(rows, batch_size=1000)


def measured(client: Client, url: str) -> dict[str, float]:
    times = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        response = client.get(url)
        times.append((time.perf_counter() - begun) * 1000)
        assert response.status_code == 200, (url, response.status_code)
    connection.force_debug_cursor = True
    reset_queries()
    client.get(url)
    queries = len(connection.queries)
    connection.force_debug_cursor = False
    return {"milliseconds": statistics.median(times), "queries": queries, "bytes": len(response.content)}


def main() -> None:
    answers, targets, runs = (int(each) for each in sys.argv[1:4])
    run = full_run(answers)
    many_runs(targets, runs, run)
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")
    client = Client()
    client.force_login(User.objects.create_superuser("bench"))
    page = reverse("admin:ai_eval_run_change", args=[run.pk])
    last = run.answers.order_by("position").last()
    assert last is not None
    pages = {
        "targets_list": reverse("admin:ai_eval_target_changelist"),
        "landing": reverse("admin:app_list", args=["ai_eval"]),
        "run_list": reverse("admin:ai_eval_run_changelist"),
        "run_first": page,
        "run_last": f"{page}?before={last.position + 1}",
        "run_failed": f"{page}?status=failed",
        "run_grader": f"{page}?grade=format_grader:errored",
        "run_tag": f"{page}?tag=shelf+7",
        "answer": reverse("admin:ai_eval_answer", args=[last.pk]),
    }
    figures = {}
    for name, url in pages.items():
        figures |= {f"{name}_{what}": value for what, value in measured(client, url).items()}
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
