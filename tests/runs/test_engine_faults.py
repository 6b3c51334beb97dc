"""What goes wrong beside the agent: graders that hang, a database that is away, bugs of our own."""

import io

import pytest
from django.core.management import call_command
from django.db import OperationalError

from ai_eval.graders import GradeResult, registry
from ai_eval.models import Grade, Run
from ai_eval.runs import worker as worker_module
from ai_eval.runs.answering import Answering
from ai_eval.runs.launch import launch, prepare
from ai_eval.runs.outcome import exit_code
from ai_eval.runs.worker import Worker
from tests.dummy.awkward_graders import AlwaysPass
from tests.llm_server import LLMServer, failing
from tests.runs.making import answers_of, make_target, run_target

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_grader_that_hangs_is_an_error_of_that_grade_and_the_next_ones_go_on():
    run = run_target(
        make_target(["one", "two"], graders=["contains_done", "hangs_grader", "always_pass"], time_limit=0.3)
    )
    for answer in answers_of(run).values():
        grades = {grade.grader: (grade.outcome, grade.score) for grade in answer.grades.all()}
        assert grades == {
            "contains_done": ("scored", 5.0),
            "hangs_grader": ("errored", None),
            "always_pass": ("scored", 5.0),
        }
    reason = Grade.objects.filter(grader="hangs_grader").values_list("reason", flat=True)[0]
    assert reason == "it took longer than its time limit of 0.3 s"


def test_a_grader_that_hangs_in_the_environment_is_an_error_of_that_grade_and_keeps_the_response():
    run = run_target(
        make_target(
            ["take"],
            agent="borrower",
            environment="shelf",
            graders=["hangs_in_environment_grader"],
            time_limit=0.3,
        )
    )
    answer = answers_of(run)["q1"]
    (grade,) = answer.grades.all()
    assert (answer.outcome, answer.score, answer.response) == ("grade_error", None, "done")
    assert (grade.outcome, grade.reason) == ("errored", "it took longer than its time limit of 0.3 s")
    assert run.verdict == "undecided"


def test_an_environment_grader_that_hangs_does_not_hide_the_agents_own_failure():
    run = run_target(
        make_target(
            ["take, then raise"],
            agent="borrower",
            environment="shelf",
            graders=["hangs_in_environment_grader"],
            time_limit=0.3,
        )
    )
    answer = answers_of(run)["q1"]
    assert (answer.outcome, answer.score) == ("target_error", 0.0)
    assert answer.error == "the agent raised RuntimeError: after the fact"


def test_an_environment_that_hangs_leaves_the_answer_missing():
    run = run_target(make_target(["take"], agent="borrower", environment="slow_shelf", time_limit=0.3))
    answer = answers_of(run)["q1"]
    assert (answer.outcome, answer.score) == ("provider_error", None)


def test_an_agent_that_hangs_in_its_environment_failed_by_itself_and_its_calls_are_kept():
    run = run_target(
        make_target(
            ["call, then hang"],
            agent="borrower",
            environment="shelf",
            graders=["needs_environment_grader"],
            time_limit=0.3,
        )
    )
    answer = answers_of(run)["q1"]
    assert (answer.outcome, answer.score, run.verdict) == ("target_error", 0.0, "failed")
    assert [call["function_name"] for call in answer.tool_calls] == ["renew"]


def test_a_transaction_that_an_agent_leaves_open_harms_no_other_answer(settings):
    settings.AI_EVAL = {**settings.AI_EVAL, "CONCURRENCY": 1}
    run = run_target(make_target(["leave open", *(f"count {n}" for n in range(5))], agent="careless"))
    assert {answer.outcome for answer in run.answers.all()} == {"scored"}
    assert run.verdict == "passed"


def test_an_agent_that_hangs_in_a_transaction_does_not_keep_the_run_from_ending():
    run = run_target(make_target(["write and hang", "count"], agent="careless", time_limit=0.5))
    answers = answers_of(run)
    assert (answers["q1"].outcome, answers["q2"].outcome) == ("target_error", "scored")


@pytest.mark.parametrize(
    "result",
    [
        GradeResult("x", None, None, None, "no scale", error=True),
        GradeResult("x", None, float("-inf"), float("inf"), "n/a"),
        GradeResult("x", 5.0, 0.0, 5.0, "odd details", details=None),
        GradeResult("x", 5.0, 0.0, 5.0, "huge details", details={"n": 10**5000}),
        GradeResult("x", 5.0, 0.0, 5.0, "odd trace", trace={"model": "m"}),
    ],
    ids=lambda result: result.reason,
)
def test_a_result_that_can_not_be_stored_is_told_and_harms_no_other_answer(result, monkeypatch):
    def grade(self, question, response, context):
        return result if question == "odd" else self.result(5.0, "fine")

    monkeypatch.setattr(AlwaysPass, "grade", grade)
    run = run_target(make_target(["odd", "even"], graders=["always_pass", "contains_done"]))
    answers = answers_of(run)
    assert run.state == "complete"
    assert {grade.grader for grade in answers["q1"].grades.all()} == {"always_pass", "contains_done"}
    assert answers["q2"].score == 5.0
    assert answers["q2"].degraded is False


def test_usage_that_no_database_holds_is_unknown():
    run = run_target(make_target(["huge usage"], agent="careless"))
    answer = answers_of(run)["q1"]
    assert (answer.outcome, answer.prompt_tokens, answer.cost) == ("scored", None, None)


def test_a_grade_that_is_not_there_counts_as_missing(monkeypatch):
    from ai_eval.runs import finish

    run = launch(prepare(make_target(["one"], graders=["contains_done", "always_pass"], gate_threshold=1.0)))
    original = finish.answer_facts

    def with_one_grade_lost(run):
        Grade.objects.filter(answer__run=run, grader="always_pass").delete()
        return original(run)

    monkeypatch.setattr(finish, "answer_facts", with_one_grade_lost)
    Worker(run.pk).run()
    run.refresh_from_db()
    assert run.verdict == "undecided"


def test_a_grader_that_can_not_be_built_is_an_error_of_its_grade(monkeypatch):
    def broken(self):
        raise RuntimeError("no shelf")

    monkeypatch.setattr(AlwaysPass, "__init__", broken)
    answer = answers_of(run_target(make_target(["one"], graders=["always_pass", "contains_done"])))["q1"]
    assert {grade.grader: grade.outcome for grade in answer.grades.all()} == {
        "always_pass": "errored",
        "contains_done": "scored",
    }


def test_a_database_that_is_away_for_a_while_loses_nothing(monkeypatch):
    failures = iter([True, False, True, True, False])
    flush = worker_module.flush

    def sometimes(*arguments):
        if next(failures, False):
            raise OperationalError("the database is away")
        return flush(*arguments)

    monkeypatch.setattr(worker_module, "flush", sometimes)
    run = run_target(make_target([f"question {n}" for n in range(20)]))
    assert (run.state, run.verdict) == ("complete", "passed")
    assert Grade.objects.filter(answer__run=run).count() == 20


def test_a_database_that_stays_away_ends_the_worker_with_its_error(monkeypatch):
    def never(*arguments):
        raise OperationalError("the database is away")

    monkeypatch.setattr(worker_module, "flush", never)
    monkeypatch.setattr(worker_module, "GIVE_UP_SECONDS", 0.5)
    run = launch(prepare(make_target(["one"])))
    with pytest.raises(OperationalError):
        Worker(run.pk).run()
    run.refresh_from_db()
    assert run.state == "running"


def test_a_bug_while_grading_ends_in_errored_grades_and_never_goes_round(monkeypatch):
    def broken(self):
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(Answering, "grade_text", broken)
    run = run_target(make_target(["one"], graders=["contains_done", "always_pass"]))
    answer = answers_of(run)["q1"]
    assert answer.outcome == "grade_error"
    assert {grade.reason for grade in answer.grades.all()} == {
        "a fault of the engine: ZeroDivisionError: ours"
    }
    assert run.verdict == "undecided"


def test_a_bug_while_asking_leaves_the_answer_missing(monkeypatch):
    def broken(self):
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(Answering, "ask", broken)
    answer = answers_of(run_target(make_target(["one"])))["q1"]
    assert (answer.outcome, answer.error) == (
        "provider_error",
        "a fault of the engine: ZeroDivisionError: ours",
    )


def test_an_agent_whose_own_provider_fails_is_missing_not_failed(llm_server: LLMServer):
    llm_server.reply = failing(401)
    answer = answers_of(run_target(make_target([llm_server.url], agent="asks_a_model")))["q1"]
    assert (answer.outcome, answer.score) == ("provider_error", None)
    assert answer.error.startswith("auth: ")


def test_a_run_whose_grader_is_gone_by_the_time_it_is_worked_on_ends_in_error():
    run = launch(prepare(make_target(["one"], graders=["always_pass"])))
    registry.unregister(AlwaysPass)
    try:
        Worker(run.pk).run()
    finally:
        registry.register(AlwaysPass)
    run.refresh_from_db()
    assert (run.state, run.error) == ("error", "the grader always_pass is registered by no app any more")
    assert exit_code(run) == 3


def test_the_reaper_command_names_what_it_interrupted():
    run = launch(prepare(make_target(["one"])))
    Run.objects.filter(pk=run.pk).update(woken_at="2000-01-01T00:00:00Z")
    out = io.StringIO()
    call_command("ai_eval_reap", stdout=out)
    assert f"Run {run.pk} is interrupted: `ai_eval_run --resume {run.pk}` goes on." in out.getvalue()
    out = io.StringIO()
    call_command("ai_eval_reap", stdout=out)
    assert out.getvalue() == "No run is without a worker.\n"


def test_a_grader_that_claims_to_be_stopped_does_not_make_the_answer_go_round(monkeypatch):
    from ai_eval.graders.base import GradingStopped

    def stopped(self, question, response, context):
        raise GradingStopped("says who?")

    monkeypatch.setattr(AlwaysPass, "grade", stopped)
    answer = answers_of(run_target(make_target(["one"], graders=["always_pass"])))["q1"]
    assert answer.outcome == "grade_error"


def test_an_agent_that_claims_to_be_cancelled_does_not_make_the_answer_go_round(monkeypatch):
    from ai_eval.llm import LLMError
    from tests.dummy.eval_agents import Echo

    def cancelled(self, messages, recorder):
        raise LLMError("cancelled", "says who?")

    monkeypatch.setattr(Echo, "run", cancelled)
    answer = answers_of(run_target(make_target(["one"], agent="echo")))["q1"]
    assert (answer.outcome, answer.score) == ("provider_error", None)


def test_a_lazy_translation_is_text(monkeypatch):
    from django.utils.translation import gettext_lazy

    from tests.dummy.eval_agents import Echo

    monkeypatch.setattr(Echo, "run", lambda self, messages, recorder: gettext_lazy("done"))
    assert answers_of(run_target(make_target(["one"], agent="echo")))["q1"].response == "done"
