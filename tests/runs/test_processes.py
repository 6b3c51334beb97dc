"""Worker processes that are really killed. `AI_EVAL_TEST_REPEATS=20` repeats each kill."""

import signal
import time
from pathlib import Path

import pytest

from ai_eval.models import Grade, Run
from ai_eval.runs.control import cancel, resume
from ai_eval.runs.finish import reap
from ai_eval.runs.launch import launch, prepare
from tests.runs.making import answers_of, make_target, result_of, run_target
from tests.runs.processes import (
    LEASE_SECONDS,
    asked_counts,
    database_url,
    kill,
    put_to_sleep,
    state_of,
    stored,
    wait_until,
    workers,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.processes]

QUESTIONS = [f"question {number}" for number in range(120)]
CONCURRENCY = 4


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transactional_db, settings) -> Path:
    """The log of what agents were asked; children get the test's database and short leases."""
    path = tmp_path / "asked.log"
    monkeypatch.setenv("DATABASE_URL", database_url())
    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", "tests.settings")
    monkeypatch.setenv("AI_EVAL_LEASE_SECONDS", LEASE_SECONDS)
    monkeypatch.setenv("AI_EVAL_CONCURRENCY", str(CONCURRENCY))
    monkeypatch.setenv("DUMMY_AGENT_LOG", str(path))
    monkeypatch.setenv("DUMMY_AGENT_SECONDS", "0.03")
    settings.AI_EVAL = {**settings.AI_EVAL, "LEASE_SECONDS": float(LEASE_SECONDS), "CONCURRENCY": CONCURRENCY}
    return path


def slow_target(**fields):
    return make_target(QUESTIONS, agent="slow", graders=["contains_done", "always_pass"], **fields)


def assert_equals_an_undisturbed_run(run: Run) -> None:
    run.refresh_from_db()
    assert run.state == "complete", run.error
    undisturbed = run_target(run.target)
    assert result_of(run) == result_of(undisturbed)
    assert Grade.objects.filter(answer__run=run).count() == 2 * len(QUESTIONS)


@pytest.mark.slow
def test_a_run_outlives_the_kill_of_one_of_its_two_workers(log: Path, repeats: int):
    for attempt in range(repeats):
        log.unlink(missing_ok=True)
        run = launch(prepare(slow_target(slug=f"target_{attempt}")))
        with workers(run, 2) as (first, _second):
            wait_until(lambda run=run, attempt=attempt: stored(run) >= 5 + 3 * attempt, "the first answers")
            kill(first)
            wait_until(lambda run=run: state_of(run) == "complete", "the other worker to finish the run")
        repeated = asked_counts(log).total() - len(QUESTIONS)
        # In flight, and answered within the half second before the kill.
        assert repeated <= CONCURRENCY + CONCURRENCY * 0.5 / 0.03
        assert_equals_an_undisturbed_run(run)


@pytest.mark.slow
def test_a_run_of_which_both_workers_were_killed_is_interrupted_and_can_be_resumed(log: Path, repeats: int):
    for attempt in range(repeats):
        log.unlink(missing_ok=True)
        run = launch(prepare(slow_target(slug=f"target_{attempt}")))
        with workers(run, 2) as both:
            wait_until(lambda run=run, attempt=attempt: stored(run) >= 5 + 3 * attempt, "the first answers")
            for process in both:
                kill(process)
        assert state_of(run) == "running"
        wait_until(lambda run=run: run.pk in reap(float(LEASE_SECONDS)), "the reaper to find the run")
        assert state_of(run) == "interrupted"
        resume(run.pk)
        with workers(run, 1):
            wait_until(lambda run=run: state_of(run) == "complete", "the resumed run")
        repeated = asked_counts(log).total() - len(QUESTIONS)
        assert repeated <= 2 * (CONCURRENCY + CONCURRENCY * 0.5 / 0.03)
        assert_equals_an_undisturbed_run(run)


def test_two_workers_ask_each_question_once(log: Path):
    run = launch(prepare(slow_target()))
    with workers(run, 2):
        wait_until(lambda: state_of(run) == "complete", "the run")
    assert set(asked_counts(log).values()) == {1}
    assert_equals_an_undisturbed_run(run)


def test_an_answer_that_kills_every_worker_that_takes_it_becomes_a_target_error(log: Path):
    target = make_target(["one", "kill", "three", "four"], agent="scripted")
    run = launch(prepare(target))
    for _ in range(20):
        with workers(run, 1) as (worker,):
            worker.wait()
        if state_of(run) == "complete":
            break
        run.work_items.filter(state="claimed").update(lease_until="2000-01-01T00:00:00Z")
    assert state_of(run) == "complete"
    answers = answers_of(run)
    assert answers["q2"].outcome == "target_error"
    assert answers["q2"].error == "the answer was started 3 times and ended its worker each time"
    assert [answers[key].outcome for key in ("q1", "q3", "q4")] == ["scored"] * 3


def test_a_worker_that_is_told_to_stop_gives_back_what_it_holds(log: Path):
    run = launch(prepare(slow_target()))
    with workers(run, 1) as (worker,):
        wait_until(lambda: stored(run) >= 5, "the first answers")
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(30) == 0
    assert not run.work_items.filter(state="claimed").exists()
    assert not run.work_items.filter(state="waiting", starts__gt=0).exists()
    with workers(run, 1):
        wait_until(lambda: state_of(run) == "complete", "the next worker")
    assert set(asked_counts(log).values()) == {1}


def test_a_worker_that_slept_past_its_lease_overwrites_nothing(log: Path):
    run = launch(prepare(slow_target()))
    with workers(run, 2) as (sleeper, _other):
        wait_until(lambda: stored(run) >= 5, "the first answers")
        put_to_sleep(sleeper)
        wait_until(lambda: state_of(run) == "complete", "the other worker")
        before = result_of(Run.objects.get(pk=run.pk))
        sleeper.send_signal(signal.SIGCONT)
        sleeper.wait(30)
    assert result_of(Run.objects.get(pk=run.pk)) == before
    assert_equals_an_undisturbed_run(run)


def test_cancelling_stops_every_worker_and_resuming_completes_the_run(log: Path):
    run = launch(prepare(slow_target()))
    with workers(run, 2) as both:
        wait_until(lambda: stored(run) >= 5, "the first answers")
        assert cancel(run.pk) is True
        for worker in both:
            assert worker.wait(30) == 0
    asked = asked_counts(log).total()
    assert asked < len(QUESTIONS)
    time.sleep(0.2)
    assert asked_counts(log).total() == asked
    resume(run.pk)
    with workers(run, 2):
        wait_until(lambda: state_of(run) == "complete", "the resumed run")
    assert_equals_an_undisturbed_run(run)
