"""The JSON document of runs (`--json`). Its schema is `ai_eval/schemas/runs.schema.json`."""

import json
from collections.abc import Iterator
from typing import IO, Any

from ai_eval.models import Grade, Run
from ai_eval.runs.facts import answer_facts
from ai_eval.runs.verdict import Verdict, count_answers


def verdict_of(run: Run) -> Verdict | None:
    """The frozen verdict of a complete run."""
    return Verdict.from_json(run.result["verdict"]) if run.result else None


def run_summary(run: Run) -> dict[str, Any]:
    """The run without its answers."""
    verdict = verdict_of(run)
    snapshot = run.snapshot
    gate = snapshot["target"]["gate"]
    return {
        "id": run.pk,
        "target": run.target_slug,
        "state": run.state,
        "verdict": (verdict.verdict or None) if verdict else None,
        "undecided_because": list(verdict.undecided_because) if verdict else [],
        "gate": gate
        and {
            **gate,
            "value": verdict.value if verdict else None,
            "low": verdict.low if verdict else None,
            "high": verdict.high if verdict else None,
        },
        "pass_threshold": snapshot["pass_threshold"],
        "avg_score": verdict.avg_score.value if verdict else None,
        "pass_rate": verdict.pass_rate.value if verdict else None,
        "pass_rate_interval": _interval(verdict),
        "error_count": verdict.error_count if verdict else 0,
        "advisories": run.advisories,
        "counts": dict(verdict.counts) if verdict else _counts_so_far(run),
        "judges": [
            {"grader": id, "dimension": each["dimension"], "model": each["model"], "trust": each["trust"]}
            for id, each in snapshot["judges"].items()
        ],
        "dataset": {key: snapshot["dataset"][key] for key in ("source", "reference", "hash")},
    }


def _interval(verdict: Verdict | None) -> list[float] | None:
    if verdict is None or verdict.pass_rate.low is None or verdict.pass_rate.high is None:
        return None
    return [verdict.pass_rate.low, verdict.pass_rate.high]


def _counts_so_far(run: Run) -> dict[str, int]:
    """Counts of a run without a verdict."""
    return count_answers(answer_facts(run), run.planned)


def _grade(grade: Grade) -> dict[str, Any]:
    return {
        "grader": grade.grader,
        "score": grade.score,
        "min_score": grade.min_score,
        "max_score": grade.max_score,
        "composite": grade.composite,
        "outcome": grade.outcome,
        "reason": grade.reason,
        "model": grade.model or None,
    }


def answer_documents(run: Run) -> Iterator[dict[str, Any]]:
    """The run's answers in order, a page at a time."""
    answers = run.answers.order_by("position").prefetch_related("grades")
    for answer in answers.iterator(chunk_size=500):
        yield {
            "question_id": answer.question_id,
            "trial": answer.trial,
            "response": answer.response,
            "tool_calls": answer.tool_calls,
            "score": answer.score,
            "passed": answer.passed,
            "failed_required": answer.failed_required,
            # What has no outcome when a run ends was cancelled with it.
            "outcome": answer.outcome or "cancelled",
            "degraded": answer.degraded,
            "error": answer.error or None,
            "changes": answer.changes,
            "grades": [_grade(grade) for grade in sorted(answer.grades.all(), key=_order)],
        }


def _order(grade: Grade) -> int:
    assert grade.pk is not None
    return int(grade.pk)


def write_document(runs: list[Run], file: IO[str]) -> None:
    """Write the document of `runs`, an answer at a time, so that a large run fits in memory."""
    file.write('{"runs": [')
    for number, run in enumerate(runs):
        file.write(", " if number else "")
        summary = json.dumps(run_summary(run), ensure_ascii=False, allow_nan=False)
        file.write(summary[:-1] + ', "answers": [')
        for position, answer in enumerate(answer_documents(run)):
            file.write(",\n" if position else "\n")
            file.write(json.dumps(answer, ensure_ascii=False, allow_nan=False))
        file.write("]}")
    file.write("]}\n")
