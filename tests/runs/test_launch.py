import pytest
from django.db.models.functions import Now

from ai_eval.errors import ConfigurationError, StateError
from ai_eval.models import Run, Target
from ai_eval.runs.control import cancel, resume
from ai_eval.runs.launch import launch, prepare
from tests.runs.making import make_target, run_target

pytestmark = pytest.mark.django_db(transaction=True)


def problems_of(target: Target, **options) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        prepare(target, **options)
    assert not Run.objects.exists()
    return caught.value.problems


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"agent": "nobody"}, "nobody"),
        ({"graders": []}, "grader"),
        ({"graders": ["gone_grader"]}, "gone_grader"),
        ({"graders": ["house_tone"]}, "house_tone has no model"),
        ({"gate_threshold": 1.5}, "1.5"),
        ({"gate_metric": "avg_score", "gate_threshold": 5.5}, "5.5"),
        ({"pass_threshold": 6}, "6"),
        ({"enabled": False}, "disabled"),
        ({"environment": "nowhere"}, "nowhere"),
        ({"graders": ["needs_environment_grader"]}, "needs an environment"),
        ({"dataset_reference": "missing"}, "missing"),
        ({"dataset_source": "nowhere"}, "nowhere"),
        ({"mode": "chat", "agent": "", "model": ""}, "model"),
        ({"mode": "recorded", "agent": "", "replies": "missing.jsonl"}, "missing.jsonl"),
        ({"parameters": {"api_key": "x"}, "mode": "chat", "agent": "", "model": "openai/m"}, "api_key"),
    ],
)
def test_a_launch_that_can_not_work_is_refused_before_a_row_is_written(fields, said: str):
    problems = problems_of(make_target(**fields))
    assert any(said in problem and problem.startswith("target: ") for problem in problems), problems


def test_a_dataset_without_an_enabled_question_is_refused():
    problems = problems_of(make_target([{"input": "one", "enabled": False}]))
    assert problems == ["target: the dataset database:target_questions has no enabled question"]


def test_an_unknown_split_is_refused_and_named():
    problems = problems_of(make_target([{"input": "one", "split": "train"}]), split="tset")
    assert "tset" in problems[0]
    assert "train" in problems[0]


def test_all_problems_are_told_at_once():
    assert len(problems_of(make_target(agent="nobody", graders=["gone"], gate_threshold=2))) >= 3


def test_one_target_has_one_active_run():
    target = make_target()
    launch(prepare(target))
    with pytest.raises(StateError, match="active already"):
        launch(prepare(target))


def test_a_launch_first_interrupts_a_run_that_nobody_works_on():
    from datetime import timedelta

    target = make_target()
    first = launch(prepare(target))
    Run.objects.filter(pk=first.pk).update(woken_at=Now() - timedelta(hours=1))
    launch(prepare(target))
    first.refresh_from_db()
    assert first.state == "interrupted"


def test_a_run_can_not_be_resumed_while_another_of_its_target_is_active():
    target = make_target()
    first = launch(prepare(target))
    cancel(first.pk)
    launch(prepare(target))
    with pytest.raises(StateError, match="is active"):
        resume(first.pk)


@pytest.mark.parametrize("state", ["pending", "running", "complete", "error"])
def test_only_an_interrupted_or_cancelled_run_can_be_resumed(state: str):
    run = launch(prepare(make_target()))
    Run.objects.filter(pk=run.pk).update(state=state)
    with pytest.raises(StateError, match=state):
        resume(run.pk)


def test_the_snapshot_keeps_what_produced_the_run_when_everything_is_edited():
    target = make_target(["one"], gate_threshold=0.9)
    run = run_target(target)
    Target.objects.filter(pk=target.pk).update(gate_threshold=0.1, graders=["always_pass"], label="new")
    run.refresh_from_db()
    assert run.snapshot["target"]["gate"]["threshold"] == 0.9
    assert run.snapshot["target"]["graders"] == ["contains_done"]
    assert run.snapshot["dataset"]["questions"] == 1
    assert len(run.snapshot["dataset"]["hash"]) == 64


def test_a_deleted_target_leaves_its_runs():
    target = make_target()
    run = run_target(target)
    target.delete()
    run.refresh_from_db()
    assert (run.target, run.target_slug, run.verdict) == (None, "target", "passed")


def test_required_graders_are_those_that_observe_actions_unless_the_target_says_otherwise():
    graders = ["contains_done", "read_only_run"]
    default = prepare(make_target(graders=graders, slug="a")).snapshot["target"]["required"]
    nothing = prepare(make_target(graders=graders, slug="b", required=[])).snapshot["target"]["required"]
    assert (default, nothing) == (["read_only_run"], [])


def test_an_agent_target_that_nothing_observes_is_told():
    run = run_target(make_target())
    assert any("no ticked grader observes actions" in advisory for advisory in run.result["advisories"])
