import pytest

from ai_eval.errors import StateError
from ai_eval.models import Grade
from ai_eval.runs.derive import regrade, retry_missing
from ai_eval.runs.launch import launch, prepare
from ai_eval.runs.worker import Worker
from tests.dummy import eval_agents
from tests.runs.making import answers_of, make_target, result_of, run_target

pytestmark = pytest.mark.django_db(transaction=True)


def work(run):
    Worker(run.pk).run()
    run.refresh_from_db()
    return run


def test_re_grading_asks_nobody_and_leaves_the_old_run_as_it_was():
    target = make_target(["one", "raise"])
    old = run_target(target)
    before = result_of(old)
    target.graders = ["always_pass"]
    target.save()
    eval_agents.STARTED.clear()
    new = work(regrade(old.pk))
    assert eval_agents.STARTED == []
    assert (new.kind, new.source) == ("regrade", old)
    answers = answers_of(new)
    assert [grade.grader for grade in answers["q1"].grades.all()] == ["always_pass"]
    assert (answers["q2"].outcome, answers["q2"].score) == ("target_error", 0.0)
    old.refresh_from_db()
    assert result_of(old) == before


def test_re_grading_can_not_look_at_a_state_that_is_gone():
    target = make_target(
        ["take"], agent="borrower", environment="shelf", graders=["needs_environment_grader", "contains_done"]
    )
    new = work(regrade(run_target(target).pk))
    grades = {grade.grader: grade for grade in answers_of(new)["q1"].grades.all()}
    assert grades["needs_environment_grader"].outcome == "errored"
    assert "gone" in grades["needs_environment_grader"].reason
    assert new.verdict != "passed"


def test_retrying_asks_only_what_is_missing_never_an_agents_own_failure():
    old = run_target(make_target(["one", "raise", "three"]))
    old.answers.filter(question_id="q1").update(
        ask_failure="provider_error", outcome="provider_error", score=None, passed=None, response=None
    )
    Grade.objects.filter(answer__question_id="q1").delete()
    eval_agents.STARTED.clear()
    new = work(retry_missing(old.pk))
    assert eval_agents.STARTED == ["one"]
    assert [answer.outcome for answer in new.answers.order_by("position")] == [
        "scored",
        "target_error",
        "scored",
    ]
    assert (new.kind, new.source) == ("retry_missing", old)


def test_retrying_grades_again_only_what_errored():
    old = run_target(make_target(["one"], graders=["contains_done", "always_pass"]))
    Grade.objects.filter(answer__run=old, grader="contains_done").update(
        outcome="errored", score=None, composite=None
    )
    kept = Grade.objects.get(answer__run=old, grader="always_pass")
    Grade.objects.filter(pk=kept.pk).update(reason="as it was")
    eval_agents.STARTED.clear()
    new = work(retry_missing(old.pk))
    assert eval_agents.STARTED == []
    grades = {grade.grader: grade for grade in answers_of(new)["q1"].grades.all()}
    assert grades["contains_done"].score == 5.0
    assert grades["always_pass"].reason == "as it was"
    assert new.verdict == "passed"


def test_retrying_a_run_of_which_nothing_is_missing_is_refused():
    with pytest.raises(StateError, match="nothing is missing"):
        retry_missing(run_target(make_target(["raise"])).pk)


def test_only_a_complete_run_can_be_graded_again():
    run = launch(prepare(make_target()))
    with pytest.raises(StateError, match="pending"):
        regrade(run.pk)


def test_re_grading_keeps_who_was_asked_and_asks_nobody_for_what_is_missing():
    target = make_target(["one", "two"])
    old = run_target(target)
    old.answers.filter(question_id="q2").update(
        ask_failure="provider_error", outcome="provider_error", score=None, passed=None, response=None
    )
    target.agent = "echo"
    target.save()
    eval_agents.STARTED.clear()
    new = work(regrade(old.pk))
    assert eval_agents.STARTED == []
    assert new.snapshot["target"]["agent"] == "scripted"
    assert answers_of(new)["q2"].outcome == "provider_error"
    assert any(f"those of run {old.pk}" in advisory for advisory in new.advisories)


def test_retrying_asks_again_where_what_an_environment_showed_is_missing():
    target = make_target(
        ["take"], agent="borrower", environment="shelf", graders=["needs_environment_grader"]
    )
    old = run_target(target)
    Grade.objects.filter(answer__run=old).update(outcome="errored", score=None, composite=None)
    new = work(retry_missing(old.pk))
    assert answers_of(new)["q1"].score == 5.0
    assert new.verdict == "passed"
