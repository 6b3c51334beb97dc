import io
from collections.abc import Iterable
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db.migrations.executor import MigrationExecutor

from ai_eval.errors import ConfigurationError
from ai_eval.management.commands import ai_eval_run
from ai_eval.models import Answer, Run, Target
from evalsite.riverside.eval_agents import Doer, Talker
from evalsite.riverside.shelves import load_library
from tests.llm_server import LLMServer, Reply
from tests.riverside.state import library_state

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _dataset_directory(settings) -> None:
    directory = settings.BASE_DIR / "evalsite" / "riverside" / "data"
    settings.AI_EVAL = {**settings.AI_EVAL, "DATASET_PATH": str(directory)}


@pytest.fixture(autouse=True)
def _no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RIVERSIDE_MODEL", raising=False)


def demo() -> str:
    out = io.StringIO()
    call_command("riverside_demo", stdout=out, stderr=out)
    return out.getvalue()


def test_the_demo_passes_the_one_that_does_it_and_fails_the_one_that_only_says_so():
    out = demo()
    assert dict(Run.objects.values_list("target_slug", "verdict")) == {
        "riverside_doer": "passed",
        "riverside_talker": "failed",
    }
    assert "format_grader reads the text: riverside_doer 6 of 6, riverside_talker 6 of 6" in out
    assert "tool_usage_grader reads what was done: riverside_doer 6 of 6, riverside_talker 0 of 6" in out


def outcomes(runs: Iterable[Run]) -> list[tuple[Any, ...]]:
    """What is stored of the runs' answers and their grades."""
    fields = ("run__target_slug", "question_id", "response", "tool_calls", "score", "passed")
    graded = ("grades__grader", "grades__score", "grades__reason")
    answers = Answer.objects.filter(run__in=list(runs)).order_by("run", "position", "grades__grader")
    return list(answers.values_list(*fields, *graded))


def test_the_demo_gives_the_same_result_a_second_time():
    demo()
    first, state = list(Run.objects.all()), library_state()
    demo()
    again = Run.objects.exclude(pk__in=[run.pk for run in first])
    assert len(first) == again.count() == 2
    assert outcomes(again) == outcomes(first)
    assert len(outcomes(first)) == 2 * 6 * 2  # help desks, questions, graders
    assert library_state() == state
    assert Target.objects.filter(enabled=True).count() == 2


def test_each_help_desk_begins_with_a_library_in_its_start_state(monkeypatch: pytest.MonkeyPatch):
    found: list[set[Any]] = []
    talk = Talker.run

    def run(self: Talker, messages: Any, recorder: Any) -> str:
        found.append(library_state())
        return talk(self, messages, recorder)

    monkeypatch.setattr(Talker, "run", run)
    demo()
    load_library()
    assert found == [library_state()] * 6


def test_the_demo_tells_when_it_comes_out_otherwise(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Talker, "run", Doer.run)
    monkeypatch.setattr(Talker, "tools", Doer.tools)
    with pytest.raises(CommandError, match=r"^riverside_talker should have failed, its verdict is passed$"):
        demo()


def test_an_earlier_demo_says_nothing_about_one_in_which_nothing_ran(monkeypatch: pytest.MonkeyPatch):
    demo()

    def prepare(*args: Any, **options: Any) -> None:
        raise ConfigurationError("nothing can run today")

    monkeypatch.setattr(ai_eval_run, "prepare", prepare)
    out = io.StringIO()
    with pytest.raises(CommandError) as raised:
        call_command("riverside_demo", stdout=out, stderr=out)
    assert str(raised.value).splitlines() == [
        "riverside_doer should have passed, it came to none",
        "riverside_talker should have failed, it came to none",
    ]
    assert "nothing can run today" in out.getvalue()
    assert "6 of 6" not in out.getvalue()


def test_a_database_that_is_not_migrated_is_told_without_a_traceback(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(MigrationExecutor, "migration_plan", lambda *args: ["one that is missing"])
    with pytest.raises(CommandError, match="the database is not migrated"):
        demo()


def test_an_interrupted_demo_ends_as_interrupted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ai_eval_run.Command, "run_and_report", lambda *args: 130)
    with pytest.raises(SystemExit) as ended:
        demo()
    assert ended.value.code == 130


def test_a_named_model_is_examined_too_and_its_verdict_is_its_own(
    llm_server: LLMServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("RIVERSIDE_MODEL", "openai/mock")
    monkeypatch.setenv("RIVERSIDE_API_BASE", llm_server.url)
    demo()
    assert Run.objects.get(target_slug="riverside_model").verdict == "failed"
    assert len(llm_server.requests) == 6
    monkeypatch.delenv("RIVERSIDE_MODEL")
    demo()
    assert Run.objects.filter(target_slug="riverside_model").count() == 1
    assert not Target.objects.get(slug="riverside_model").enabled


def test_a_judge_is_ticked_for_as_long_as_one_is_set(llm_server: LLMServer, settings: Any):
    llm_server.reply = Reply(text='{"score": 5, "reason": "all facts are told"}')
    without = settings.AI_EVAL
    settings.AI_EVAL = {**without, "JUDGE_MODEL": "openai/mock", "JUDGE_API_BASE": llm_server.url}
    # Four questions have expected facts, and the judge skips the others.
    assert "fact_match_grader reads the text: riverside_doer 4 of 4, riverside_talker 4 of 4" in demo()
    settings.AI_EVAL = without
    assert "fact_match_grader" not in demo()
