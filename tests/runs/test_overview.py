"""How targets stand, and what needs attention."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from ai_eval.models import EvalSettings, JudgeSettings, Run, Target, WorkItem
from ai_eval.runs.attention import Concern, circumstances, obstacles, overview, standing_advisories
from ai_eval.runs.claims import in_seconds
from ai_eval.runs.launch import launch, prepare
from ai_eval.runs.overview import HISTORY, TargetState, target_states
from tests.runs.making import make_target, run_target

pytestmark = pytest.mark.django_db


def state_of(target: Target) -> TargetState:
    return target_states([target])[0]


def copies_of(run: Run, count: int, **fields: Any) -> list[Run]:
    """Runs that ended as this one did, without answers."""
    copied = {
        name: getattr(run, name)
        for name in (
            "target",
            "target_slug",
            "target_label",
            "state",
            "planned",
            "snapshot",
            "verdict",
            "result",
        )
    }
    return [Run.objects.create(**{**copied, **fields}) for _ in range(count)]


def ended_as(target: Target, state: str, **fields: Any) -> Run:
    """A run that stopped without a verdict."""
    run = launch(prepare(target))
    Run.objects.filter(pk=run.pk).update(state=state, **fields)
    run.refresh_from_db()
    return run


def concern(kind: str) -> Concern | None:
    return next((each for each in overview().concerns if each.kind == kind), None)


def told(kind: str) -> list[str]:
    found = concern(kind)
    return [each.text for each in found.items] if found else []


def test_a_target_without_runs_has_no_figure_and_no_verdict():
    state = state_of(make_target())
    assert (state.last, state.newest, state.figure, state.verdict, state.active) == (None,) * 5
    assert list(state.history) == []


def test_the_last_verdict_is_that_of_the_newest_complete_run():
    target = make_target(["one", "blank"])
    run = run_target(target)
    ended_as(target, Run.State.CANCELLED)
    state = state_of(target)
    assert state.last is not None
    assert (state.last.pk, state.last.verdict) == (run.pk, "failed")
    assert state.newest is not None
    assert state.newest.state == Run.State.CANCELLED


def test_the_score_has_the_denominator_and_the_interval_that_the_run_has_stored():
    run = run_target(make_target(["one", "blank"]))
    figure = state_of(run.target).figure
    assert figure is not None
    assert run.result["verdict"]["pass_rate"] == {
        "value": figure.value,
        "low": figure.low,
        "high": figure.high,
        "n": figure.n,
        "why": "",
        "standard_error": None,
        "left_out": 0,
    }
    assert (figure.value, figure.n) == (0.5, 2)


def test_the_score_is_of_the_metric_that_the_last_gate_was_about():
    target = make_target(["one", "blank"], gate_metric="avg_score", gate_threshold=3)
    run_target(target)
    Target.objects.update(gate_metric="pass_rate", gate_threshold=0.5)
    target.refresh_from_db()
    state = state_of(target)
    assert (state.metric, state.threshold) == ("avg_score", 3)
    assert state.figure is not None
    assert state.figure.value == 2.5


def test_the_history_has_the_newest_runs_of_every_state_from_oldest_to_newest():
    target = make_target(["one"])
    first = run_target(target)
    copies_of(first, HISTORY)
    cancelled = ended_as(target, Run.State.CANCELLED)
    history = state_of(target).history
    assert len(history) == HISTORY
    assert history[-1].pk == cancelled.pk
    assert history[-1].pass_rate is None
    assert first.pk not in [run.pk for run in history]
    assert [run.pk for run in history] == sorted(run.pk for run in history)


def test_the_last_verdict_is_found_behind_more_runs_than_the_history_shows():
    target = make_target(["one"])
    complete = run_target(target)
    copies_of(complete, HISTORY + 3, state=Run.State.CANCELLED, verdict="", result=None)
    state = state_of(target)
    assert state.last is not None
    assert state.last.pk == complete.pk
    assert complete.pk not in [run.pk for run in state.history]


def test_an_active_run_is_told_though_a_newer_run_has_ended():
    target = make_target(["one"])
    resumed = launch(prepare(target))
    copies_of(resumed, 1, state=Run.State.CANCELLED)
    state = state_of(target)
    assert (state.active, state.active_state) == (resumed.pk, "pending")


def test_each_target_has_its_own_runs():
    first, second = make_target(["one"], "first"), make_target(["blank"], "second")
    run_target(first), run_target(second)
    assert [state.verdict.verdict for state in target_states([second, first]) if state.verdict] == [
        "failed",
        "passed",
    ]


def test_states_take_four_queries_whatever_the_number_of_targets_and_runs():
    run = run_target(make_target(["one"]))
    for number in range(30):
        target = make_target(["one"], f"target_{number}")
        copies_of(run, number % 15, target=target)
    targets = list(Target.objects.all())
    for some in (targets[:3], targets):
        with CaptureQueriesContext(connection) as queries:
            target_states(some)
        assert len(queries) == 4


def test_states_read_no_snapshot():
    run_target(make_target(["one"]))
    with CaptureQueriesContext(connection) as queries:
        target_states(Target.objects.all())
    assert not [query["sql"] for query in queries if "snapshot" in query["sql"]]


def test_the_overview_takes_as_many_queries_for_many_targets_as_for_few():
    run = run_target(make_target(["one", "blank"]))

    def add(start: int, count: int) -> None:
        for number in range(start, start + count):
            copies_of(run, 2, target=make_target(["one"], f"failed_{number}"))
            copies_of(run, 1, target=make_target(["one"], f"undecided_{number}"), verdict="undecided")
            ended_as(make_target(["one"], f"error_{number}"), "error", error="it broke")
            launch(prepare(make_target(["one"], f"running_{number}")))
            make_target(slug=f"lost_{number}", graders=["relevance_grader"], agent="nobody")

    add(0, 3)
    with CaptureQueriesContext(connection) as few:
        overview()
    add(3, 27)
    with CaptureQueriesContext(connection) as many:
        overview()
    assert len(many) == len(few)
    assert len(few) <= 16


def test_targets_are_shown_worst_first_and_of_these_the_newest_run_first():
    for slug, questions in {"good": ["one"], "old": ["blank"], "new": ["blank"]}.items():
        run_target(make_target(questions, slug))
    run_target(make_target(["one"], "disabled"))
    Target.objects.filter(slug="disabled").update(enabled=False)
    make_target(slug="fresh")
    assert [state.target.slug for state in overview().shown] == ["new", "old", "fresh", "good", "disabled"]


def test_last_verdicts_of_enabled_targets_are_counted():
    for slug, questions in {"good": ["one"], "bad": ["blank"], "off": ["blank"]}.items():
        run_target(make_target(questions, slug))
    Target.objects.filter(slug="off").update(enabled=False)
    make_target(slug="fresh")
    site = overview()
    assert dict(site.verdicts) == {"passed": 1, "failed": 1, None: 1}
    assert (site.targets, site.enabled, site.disabled) == (4, 3, 1)


def test_a_failed_verdict_needs_attention_and_says_why():
    run = run_target(make_target(["one", "blank"]))
    failed = concern("failed")
    assert failed is not None
    assert [(each.run, each.text) for each in failed.items] == [
        (run.pk, "failed: pass_rate 0.5 is below 0.9 (hard gate)")
    ]


def test_a_verdict_that_a_later_run_put_right_needs_no_attention():
    target = make_target(["one", "blank"])
    run_target(target)
    Target.objects.update(gate_threshold=0.4)
    target.refresh_from_db()
    run_target(target)
    assert concern("failed") is None


def test_an_undecided_verdict_needs_attention_with_its_reason():
    run_target(make_target(["one"], graders=["skips_grader"]))
    assert "nothing was scored: 0 of 1 answers have a score" in told("undecided")[0]


def test_a_disabled_target_needs_no_attention():
    run_target(make_target(["blank"], agent="scripted"))
    Target.objects.update(enabled=False, agent="nobody")
    assert list(overview().concerns) == []


def test_an_interrupted_run_needs_attention_until_a_newer_run_is_there():
    target = make_target(["one"], graders=["always_pass"])
    run = ended_as(target, Run.State.INTERRUPTED)
    interrupted = concern("interrupted")
    assert interrupted is not None
    assert [each.run for each in interrupted.items] == [run.pk]
    run_target(target)
    assert concern("interrupted") is None


def test_a_run_that_ended_in_error_needs_attention_with_its_error():
    ended_as(make_target(), Run.State.ERROR, error="the verdict could not be computed")
    assert told("error") == ["the verdict could not be computed"]


def test_an_active_run_without_a_worker_needs_attention_after_a_lease():
    run = launch(prepare(make_target()))
    assert concern("idle") is None
    Run.objects.update(woken_at=timezone.now() - timedelta(hours=1))
    idle = concern("idle")
    assert idle is not None
    assert [each.run for each in idle.items] == [run.pk]
    WorkItem.objects.filter(pk=run.answers.first().pk).update(state="claimed", lease_until=in_seconds(30))
    assert concern("idle") is None


def test_an_active_run_tells_how_many_answers_have_ended():
    run = launch(prepare(make_target()))
    WorkItem.objects.filter(pk=run.answers.first().pk).update(state="done")
    (running,) = overview().running
    assert (running.run.pk, running.ended, running.run.planned) == (run.pk, 1, 3)


def test_a_vanished_dataset_hinders_its_target():
    make_target(dataset_source="file", dataset_reference="vanished.yaml")
    assert 'there is no file "vanished.yaml" in the dataset directory' in told("hindered")[0]


def test_what_the_site_no_longer_registers_hinders_its_target():
    target = make_target(agent="nobody", graders=["contains_done", "nothing_like_it"])
    found = obstacles(target, circumstances())
    assert any('there is no agent "nobody"' in each for each in found)
    assert any('there is no grader "nothing_like_it"' in each for each in found)
    assert told("hindered")[0].endswith("(and 1 more)")


def test_graders_that_are_no_list_of_names_hinder_their_target():
    target = make_target(graders={"contains_done": [1]})
    assert obstacles(target, circumstances()) == ["graders must be a list of ids"]


def test_a_ticked_judge_without_a_model_needs_attention_until_it_has_one():
    make_target(graders=["relevance_grader", "contains_done"])
    judges = concern("judges")
    assert judges is not None
    assert [each.judge for each in judges.items] == ["relevance_grader"]
    JudgeSettings.objects.create(grader="relevance_grader", model="openai/small")
    assert concern("judges") is None


def test_the_model_of_the_settings_is_that_of_every_judge():
    make_target(graders=["relevance_grader"])
    EvalSettings.objects.create(judge_model="openai/small")
    assert concern("judges") is None


def test_a_judge_that_no_enabled_target_ticks_needs_no_model():
    make_target(graders=["relevance_grader"], enabled=False)
    assert concern("judges") is None


def test_an_agent_target_that_nothing_observes_is_told():
    target = make_target(graders=["contains_done"])
    assert "no ticked grader observes actions" in standing_advisories(target, circumstances())[0]
    assert "no ticked grader observes actions" in told("advised")[0]


def test_a_target_whose_grader_observes_actions_has_nothing_to_tell():
    target = make_target(graders=["tool_usage_grader"])
    assert standing_advisories(target, circumstances()) == []


def test_a_target_without_a_gate_is_told():
    target = make_target(graders=["tool_usage_grader"], gate_threshold=None)
    assert standing_advisories(target, circumstances()) == ["the target has no gate: nothing here can fail"]


def test_concerns_show_the_first_and_count_all():
    for number in range(8):
        run_target(make_target(["blank"], f"target_{number}"))
    failed = concern("failed")
    assert failed is not None
    assert (len(failed.items), failed.total, failed.more) == (5, 8, 3)


def test_an_empty_site_has_nothing():
    site = overview()
    assert (site.targets, site.has_runs, site.first_target, list(site.concerns)) == (0, False, None, [])
