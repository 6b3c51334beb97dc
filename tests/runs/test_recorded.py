"""Recorded replies become the answers of a run, and nothing is asked."""

from pathlib import Path

import pytest

from ai_eval.errors import ConfigurationError
from ai_eval.runs.launch import prepare
from tests.runs.making import answers_of, make_target, run_target

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def directory(tmp_path: Path, settings) -> Path:
    settings.AI_EVAL = {**settings.AI_EVAL, "DATASET_PATH": str(tmp_path)}
    return tmp_path


def recorded_target(questions=("one", "two"), **fields):
    return make_target(questions, mode="recorded", agent="", replies="replies.csv", **fields)


def test_each_reply_is_graded_with_its_own_kind_of_record(directory: Path):
    (directory / "replies.csv").write_text(
        "question_id,trial,response,tool_calls\n"
        "q1,1,done,\n"
        "q2,1,done,[]\n"
        'q3,1,done,"[{""name"": ""update_x""}]"\n'
    )
    run = run_target(recorded_target(["one", "two", "three"], graders=["contains_done", "read_only_run"]))
    answers = answers_of(run)
    assert [answers[key].tool_calls for key in ("q1", "q2")] == [None, []]
    grades = [
        next(grade for grade in answers[key].grades.all() if grade.grader == "read_only_run")
        for key in ("q1", "q2", "q3")
    ]
    assert [(grade.outcome, grade.score) for grade in grades] == [
        ("errored", None),
        ("scored", 1.0),
        ("scored", 0.0),
    ]


def test_a_question_without_a_reply_stops_the_launch_and_is_named(directory: Path):
    (directory / "replies.csv").write_text("question_id,response\nq1,done\n")
    with pytest.raises(ConfigurationError, match="no reply to question q2, trial 1"):
        prepare(recorded_target())


def test_a_reply_that_is_not_used_is_told(directory: Path):
    (directory / "replies.csv").write_text("question_id,response\nq1,done\nq2,done\nq9,done\n")
    run = run_target(recorded_target())
    assert (
        'replies.csv has 1 replies that this run does not use, the first to "q9", trial 1' in run.advisories
    )


def test_an_empty_reply_is_empty(directory: Path):
    (directory / "replies.csv").write_text('question_id,response\nq1,done\nq2,""\n')
    assert answers_of(run_target(recorded_target()))["q2"].outcome == "empty"
