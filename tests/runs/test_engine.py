"""The engine in one process, with agents that behave in every way that has to be told apart."""

import pytest

from ai_eval.models import Grade, Run, WorkItem
from ai_eval.runs.control import cancel, resume
from ai_eval.runs.signals import run_completed
from ai_eval.runs.worker import Worker
from tests.runs.making import answers_of, make_target, run_target

pytestmark = pytest.mark.django_db(transaction=True)


def outcome_of(question: str, **fields):
    run = run_target(make_target([question], **fields))
    assert run.state == Run.State.COMPLETE
    return answers_of(run)["q1"]


def test_a_run_asks_every_question_and_gives_a_verdict():
    run = run_target(make_target(["one", "two", "three"]))
    assert (run.state, run.verdict) == ("complete", "passed")
    assert [answer.response for answer in run.answers.order_by("position")] == [
        "done: one",
        "done: two",
        "done: three",
    ]


def test_every_planned_answer_is_done_and_held_by_nobody():
    run = run_target(make_target(trials=3))
    assert run.planned == 9
    assert set(run.work_items.values_list("state", "token")) == {(WorkItem.State.DONE, None)}
    assert sorted(run.answers.values_list("question_id", "trial")) == [
        (f"q{question}", trial) for question in (1, 2, 3) for trial in (1, 2, 3)
    ]


@pytest.mark.parametrize(
    ("question", "error"),
    [
        ("raise", "the agent raised RuntimeError: no luck with {this} %s"),
        ("exit", "the agent raised SystemExit: 5"),
        ("nothing", "the agent returned nothing (None)"),
        ("false", "the agent returned bool instead of text"),
        ("limit", "the agent was stopped by its own step limit"),
    ],
)
def test_an_agents_own_failure_is_a_target_error_with_score_zero(question: str, error: str):
    answer = outcome_of(question)
    assert (answer.outcome, answer.score, answer.passed, answer.error) == ("target_error", 0.0, False, error)


def test_an_agent_that_hangs_is_a_target_error_and_the_run_goes_on():
    run = run_target(make_target(["hang", "two"], time_limit=0.5))
    answers = answers_of(run)
    assert answers["q1"].outcome == "target_error"
    assert answers["q1"].error == "it took longer than the time limit of 0.5 s"
    assert answers["q2"].outcome == "scored"


def test_hanging_agents_do_not_use_up_the_threads(settings):
    settings.AI_EVAL = {**settings.AI_EVAL, "CONCURRENCY": 2}
    run = run_target(make_target(["hang", "hang", "hang", "four"], time_limit=0.3))
    assert [answer.outcome for answer in run.answers.order_by("position")] == ["target_error"] * 3 + [
        "scored"
    ]


def test_a_response_without_anything_to_see_is_empty_and_graded():
    answer = outcome_of("blank")
    assert (answer.outcome, answer.score, answer.passed) == ("empty", 0.0, False)


def test_an_async_agent_runs_and_its_tools_are_recorded():
    run = run_target(make_target(["one"], agent="async"))
    (answer,) = run.answers.all()
    assert [call["function_name"] for call in answer.tool_calls] == ["fetch"]


def test_hostile_text_comes_out_as_it_went_in_beside_what_no_database_takes():
    answer = outcome_of("odd")
    assert answer.response == "NUL ␀, half �, %s {0} {{ x }} $question <script>alert(1)</script>"


def test_an_absent_and_an_empty_record_stay_two_facts():
    run = run_target(make_target(["no record", "empty record"]))
    answers = answers_of(run)
    assert (answers["q1"].tool_calls, answers["q2"].tool_calls) == (None, [])


def test_the_recorder_wins_over_what_the_agent_tells_and_the_run_says_so():
    run = run_target(make_target(["false record"]))
    assert [call["function_name"] for call in answers_of(run)["q1"].tool_calls] == ["renew"]
    assert "the agent tells of 0 tool calls and the recorder saw 1, which count" in run.result["advisories"]


@pytest.mark.parametrize(
    ("grader", "reason"),
    [
        ("raises_grader", "ValueError"),
        ("returns_none_grader", "NoneType"),
        ("nan_grader", "nan"),
        ("true_grader", "True"),
        ("foreign_object_grader", "instead of a GradeResult"),
    ],
)
def test_a_grader_that_fails_is_an_error_of_that_grade_alone(grader: str, reason: str):
    answer = outcome_of("one", graders=[grader, "contains_done"])
    grades = {grade.grader: grade for grade in answer.grades.all()}
    assert grades[grader].outcome == "errored"
    assert reason in grades[grader].reason
    assert grades["contains_done"].outcome == "scored"
    assert (answer.outcome, answer.degraded, answer.score) == ("scored", True, 5.0)


def test_a_row_that_brings_its_own_record_forges_nothing():
    row = {"input": "no record", "tool_calls": [{"function_name": "renew"}], "environment": "mine"}
    answer = outcome_of(row, graders=["read_only_run"])
    (grade,) = answer.grades.all()
    assert (grade.outcome, grade.reason) == (
        "errored",
        "no tool-call record available, cannot verify the run was read-only",
    )


def test_the_environment_is_open_round_agent_and_grader_and_its_changes_are_stored():
    answer = outcome_of("take", agent="borrower", environment="shelf", graders=["needs_environment_grader"])
    assert answer.changes == {"taken": ["Emma"]}
    assert [grade.score for grade in answer.grades.all()] == [5.0]


@pytest.mark.parametrize("question", ["take, then raise", "take, then the limit"])
def test_what_an_agent_did_before_its_failure_is_graded_and_shown_beside_it(question: str):
    answer = outcome_of(question, agent="borrower", environment="shelf", graders=["needs_environment_grader"])
    assert (answer.outcome, answer.score, answer.changes) == ("target_error", 0.0, {"taken": ["Emma"]})
    assert [grade.score for grade in answer.grades.all()] == [5.0]


def test_an_environment_that_fails_is_no_fault_of_the_agent():
    answer = outcome_of(
        "take", agent="borrower", environment="broken_shelf", graders=["needs_environment_grader"]
    )
    assert (answer.outcome, answer.score) == ("provider_error", None)
    assert answer.error == "the environment broken_shelf failed: OSError: the shelf has no boards"


def test_run_completed_is_sent_once_and_noted():
    seen = []

    def receive(sender, run, **more):
        seen.append(run.pk)

    run_completed.connect(receive)
    try:
        run = run_target(make_target())
    finally:
        run_completed.disconnect(receive)
    assert seen == [run.pk]
    assert run.announced_at is not None


def test_a_receiver_that_fails_does_not_break_the_run():
    def receive(sender, run, **more):
        raise RuntimeError("no")

    run_completed.connect(receive)
    try:
        run = run_target(make_target())
    finally:
        run_completed.disconnect(receive)
    assert run.state == "complete"


def test_a_cancelled_run_keeps_its_answers_has_no_verdict_and_can_be_resumed():
    from ai_eval.runs.launch import launch, prepare

    run = launch(prepare(make_target([f"question {i}" for i in range(60)], agent="slow")))
    worker = Worker(run.pk)

    def cancel_when_some_are_stored() -> None:
        if run.answers.exclude(outcome="").count() >= 5:
            cancel(run.pk)

    worker.run(cancel_when_some_are_stored)
    run.refresh_from_db()
    kept = run.answers.exclude(outcome="").count()
    assert (run.state, run.verdict, run.result) == ("cancelled", "", None)
    assert 5 <= kept < 60
    assert not run.work_items.filter(state=WorkItem.State.CLAIMED).exists()
    resume(run.pk)
    Worker(run.pk).run()
    run.refresh_from_db()
    assert (run.state, run.verdict, run.answers.exclude(outcome="").count()) == ("complete", "passed", 60)
    assert Grade.objects.filter(answer__run=run).count() == 60


def test_cancelling_twice_or_after_the_end_changes_nothing():
    run = run_target(make_target())
    assert cancel(run.pk) is False
    run.refresh_from_db()
    assert run.state == "complete"


def test_a_deleted_run_ends_its_worker_and_nothing_comes_back():
    from ai_eval.runs.launch import launch, prepare

    run = launch(prepare(make_target([f"question {i}" for i in range(60)], agent="slow")))
    Worker(run.pk).run(lambda: Run.objects.filter(pk=run.pk).delete())
    assert not Run.objects.filter(pk=run.pk).exists()
    assert not Grade.objects.exists()


def test_an_answer_that_was_started_three_times_without_an_end_is_a_target_error():
    from ai_eval.runs.launch import launch, prepare

    run = launch(prepare(make_target(["one", "two"])))
    run.work_items.filter(answer__question_id="q1").update(starts=3)
    Worker(run.pk).run()
    answers = answers_of(Run.objects.get(pk=run.pk))
    assert answers["q1"].outcome == "target_error"
    assert answers["q1"].error == "the answer was started 3 times and ended its worker each time"
    assert answers["q2"].outcome == "scored"


def test_a_stored_response_is_not_asked_for_again():
    from ai_eval.runs.launch import launch, prepare
    from tests.dummy import eval_agents

    run = launch(prepare(make_target(["unique question"])))
    run.answers.update(asked=True, response="done before")
    eval_agents.STARTED.clear()
    Worker(run.pk).run()
    answer = answers_of(Run.objects.get(pk=run.pk))["q1"]
    assert (answer.response, answer.outcome) == ("done before", "scored")
    assert "unique question" not in eval_agents.STARTED


def test_a_secret_in_an_agents_exception_is_neither_stored_nor_logged(monkeypatch, caplog):
    monkeypatch.setenv("SERVICE_TOKEN", "hush-0123456789")
    answer = outcome_of("raise hush-0123456789")
    assert answer.outcome == "target_error"
    assert "hush-0123456789" not in answer.error
    assert "hush-0123456789" not in caplog.text
