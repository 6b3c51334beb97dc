"""`manage.py ai_eval_run` as a CI job calls it: a process of its own, judged by its exit code."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ai_eval.models import Run
from tests.runs.making import make_target
from tests.runs.processes import LEASE_SECONDS, database_url, stored, wait_until

MANAGE = [sys.executable, str(Path("manage.py").resolve())]


@pytest.fixture
def environment(transactional_db, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What the process needs to work on the test's database."""
    return {
        **os.environ,
        "DATABASE_URL": database_url(),
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        "AI_EVAL_LEASE_SECONDS": LEASE_SECONDS,
        "DUMMY_AGENT_SECONDS": "0.05",
    }


def finished(*arguments: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*MANAGE, "ai_eval_run", *arguments], env=environment, capture_output=True, text=True, timeout=120
    )


@pytest.mark.processes
@pytest.mark.parametrize(("questions", "code"), [(["one"], 0), (["raise"], 1)])
def test_the_process_exits_with_the_verdict(environment, questions: list[str], code: int):
    make_target(questions)
    assert finished("target", environment=environment).returncode == code


@pytest.mark.processes
def test_an_interrupted_process_cancels_its_run_keeps_the_answers_and_exits_130(environment, tmp_path: Path):
    make_target([f"question {number}" for number in range(400)], agent="slow")
    path = tmp_path / "runs.json"
    process = subprocess.Popen(
        [*MANAGE, "ai_eval_run", "target", "--json", str(path)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    wait_until(lambda: Run.objects.exists() and stored(Run.objects.get()) >= 5, "the first answers")
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    run = Run.objects.get()
    assert process.returncode == 130, out
    assert (run.state, run.verdict) == ("cancelled", "")
    assert not run.work_items.filter(state="claimed").exists()
    (shown,) = json.loads(path.read_text())["runs"]
    outcomes = {answer["outcome"] for answer in shown["answers"]}
    assert (shown["state"], shown["verdict"], outcomes) == ("cancelled", None, {"scored", "cancelled"})


@pytest.mark.processes
def test_a_hanging_agent_does_not_keep_the_process_alive(environment):
    make_target(["hang"], time_limit=0.5)
    assert finished("target", environment=environment).returncode == 1


@pytest.mark.processes
def test_a_database_that_is_not_migrated_exits_2(environment, tmp_path: Path):
    empty = {**environment, "DATABASE_URL": f"sqlite:///{tmp_path / 'empty.sqlite3'}"}
    result = finished(environment=empty)
    assert result.returncode == 2
    assert "run `manage.py migrate` first" in result.stderr


@pytest.mark.processes
def test_a_site_that_does_not_start_exits_2(environment):
    broken = {**environment, "DJANGO_SETTINGS_MODULE": "tests.no_such_settings"}
    result = finished(environment=broken)
    assert result.returncode == 2
    assert "does not start" in result.stderr


@pytest.mark.processes
def test_an_unknown_option_exits_2(environment):
    assert finished("--no-such-option", environment=environment).returncode == 2
