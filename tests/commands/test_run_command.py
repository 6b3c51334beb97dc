"""`ai_eval_run` in this process: what it prints, writes, and exits with."""

import io
import json
import os
import xml.etree.ElementTree as ET
from pathlib import Path

import jsonschema
import pytest
from django.core.management import call_command

from ai_eval.models import Grade, Run
from ai_eval.runs.document import verdict_of
from tests.runs.making import make_target

pytestmark = pytest.mark.django_db(transaction=True)

SCHEMA = json.loads((Path("ai_eval") / "schemas" / "runs.schema.json").read_text())


def run_command(*arguments: str, **options) -> tuple[int, str, str]:
    """Exit code, standard output, standard error."""
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command("ai_eval_run", *arguments, stdout=out, stderr=err, **options)
    except SystemExit as exit:
        return int(exit.code or 0), out.getvalue(), err.getvalue()
    return 0, out.getvalue(), err.getvalue()


def test_a_passed_hard_gate_exits_0():
    make_target()
    code, out, _ = run_command("target")
    assert code == 0
    assert "passed: pass_rate 1 reaches 0.9 (hard gate)" in out


def test_a_failed_hard_gate_exits_1_and_says_which_answers_failed_and_why():
    make_target(["one", "raise"])
    code, out, _ = run_command("target")
    assert code == 1
    assert "failed: pass_rate 0.5 is below 0.9 (hard gate)" in out
    assert "the agent raised RuntimeError: no luck with {this} %s" in out


def test_a_failed_soft_gate_warns_and_exits_0():
    make_target(["raise"], gate_type="soft")
    code, out, _ = run_command("target")
    assert code == 0
    assert "failed: pass_rate 0 is below 0.9 (soft gate)" in out


def test_a_target_without_a_gate_exits_0_with_an_advisory():
    make_target(["raise"], gate_threshold=None)
    code, out, _ = run_command("target")
    assert code == 0
    assert "the target has no gate" in out


def test_an_undecided_hard_gate_exits_3_with_the_reason():
    make_target(["take"], agent="borrower", environment="broken_shelf")
    code, out, _ = run_command("target")
    assert code == 3
    assert "undecided" in out
    assert "1 of 1 answers have something missing" in out


def test_a_failed_target_wins_over_an_undecided_one():
    make_target(["raise"], slug="fails")
    make_target(["take"], slug="unknown", agent="borrower", environment="broken_shelf")
    assert run_command()[0] == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["tarqet"], "there is no target tarqet, did you mean target?"),
        (["target", "--split", "test"], "test"),
        (["target", "--trials", "0"], "trials is 0"),
        (["target", "--json", "/nowhere/at/all.json"], "can't be written"),
        (["--resume", "123"], "there is no run 123"),
    ],
)
def test_wrong_use_exits_2_before_anything_is_asked(arguments: list[str], said: str):
    make_target()
    code, _, err = run_command(*arguments)
    assert code == 2
    assert said in err
    assert not Run.objects.exists()


def test_a_site_without_an_enabled_target_exits_2():
    make_target(enabled=False)
    assert run_command()[0] == 2


def test_one_broken_target_stops_all_before_anything_runs():
    make_target(slug="fine")
    make_target(slug="broken", graders=["gone"])
    code, _, err = run_command()
    assert code == 2
    assert "broken: " in err
    assert not Run.objects.exists()


def test_a_failing_system_check_exits_2(settings):
    make_target()
    settings.AI_EVAL = {**settings.AI_EVAL, "EXECUTOR": "carrier pigeon"}
    code, _, err = run_command("target")
    assert code == 2
    assert "carrier pigeon" in err


def test_an_active_run_of_the_target_exits_3():
    from ai_eval.runs.launch import launch, prepare

    launch(prepare(make_target()))
    code, _, err = run_command("target")
    assert code == 3
    assert "active already" in err


def test_the_document_agrees_with_its_schema_with_what_is_stored_and_what_is_printed(tmp_path: Path):
    make_target(["one", "raise", "blank", "no record", "empty record"], trials=2)
    path = tmp_path / "runs.json"
    code, out, _ = run_command("target", "--json", str(path))
    document = json.loads(path.read_text())
    jsonschema.validate(document, SCHEMA)
    (shown,) = document["runs"]
    run = Run.objects.get()
    verdict = verdict_of(run)
    assert code == 1
    assert (shown["verdict"], shown["gate"]["value"]) == (run.verdict, verdict.value)
    assert f"pass_rate {verdict.value:.4g}" in out
    assert shown["counts"] == run.result["verdict"]["counts"]
    assert shown["advisories"] == run.result["advisories"]
    assert len(shown["answers"]) == 10
    for answer, row in zip(shown["answers"], run.answers.order_by("position"), strict=True):
        assert (answer["score"], answer["outcome"], answer["response"]) == (
            row.score,
            row.outcome,
            row.response,
        )
        assert len(answer["grades"]) == Grade.objects.filter(answer=row).count()


def test_an_absent_record_is_null_in_the_document_and_an_empty_one_a_list(tmp_path: Path):
    make_target(["no record", "empty record"])
    path = tmp_path / "runs.json"
    run_command("target", "--json", str(path))
    answers = json.loads(path.read_text())["runs"][0]["answers"]
    assert [answer["tool_calls"] for answer in answers] == [None, []]


def test_junit_has_one_case_for_each_gate(tmp_path: Path):
    make_target(["one"], slug="passes")
    make_target(["raise"], slug="fails")
    make_target(["raise"], slug="warns", gate_type="soft")
    make_target(["take"], slug="unknown", agent="borrower", environment="broken_shelf")
    path = tmp_path / "junit.xml"
    run_command("--junit", str(path))
    suite = ET.parse(path).getroot()
    cases = {case.get("name"): [child.tag for child in case if child.tag != "system-out"] for case in suite}
    assert cases == {
        "passes: gate": [],
        "fails: gate": ["failure"],
        "warns: gate": [],
        "unknown: gate": ["error"],
    }
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("4", "1", "1")


def test_what_no_xml_takes_is_replaced_in_junit(tmp_path: Path):
    make_target(["raise"], slug="odd", label="bell \x07", agent="scripted")
    path = tmp_path / "junit.xml"
    run_command("--junit", str(path))
    assert ET.parse(path).getroot().tag == "testsuite"


def test_a_terminals_cursor_can_not_be_moved_by_what_an_agent_says():
    make_target(["one \x1b[2J\u202e"], agent="echo")
    _, out, _ = run_command("target")
    assert "\x1b" not in out
    assert "\u202e" not in out


def test_a_cancelled_run_can_be_resumed_from_the_command_line():
    from ai_eval.runs.control import cancel
    from ai_eval.runs.launch import launch, prepare

    run = launch(prepare(make_target()))
    cancel(run.pk)
    code, out, _ = run_command("--resume", str(run.pk))
    assert code == 0
    assert "passed" in out


def test_missing_parts_can_be_retried_and_responses_graded_anew_from_the_command_line():
    make_target(["one", "raise"], gate_threshold=0.5)
    run_command("target")
    run = Run.objects.get()
    assert run_command("--regrade", str(run.pk))[0] == 0
    code, _, err = run_command("--retry-missing", str(run.pk))
    assert code == 2
    assert "nothing is missing" in err


def test_a_report_of_an_earlier_call_is_gone_before_anything_is_asked(tmp_path: Path):
    make_target()
    path = tmp_path / "runs.json"
    path.write_text("old")
    assert run_command("tarqet", "--json", str(path))[0] == 2
    assert not path.exists()


def test_two_reports_in_one_file_are_refused(tmp_path: Path):
    make_target()
    path = str(tmp_path / "report")
    code, _, err = run_command("--json", path, "--junit", path)
    assert (code, Run.objects.count()) == (2, 0)
    assert "the same file" in err


def test_a_report_is_written_where_it_was_named_whatever_an_agent_does_to_the_directory(
    tmp_path: Path, monkeypatch
):
    from tests.dummy.eval_agents import Echo

    def wander(self, messages, recorder):
        os.chdir("/")
        return "done"

    monkeypatch.setattr(Echo, "run", wander)
    monkeypatch.chdir(tmp_path)
    make_target(agent="echo")
    run_command("target", "--json", "runs.json")
    assert json.loads((tmp_path / "runs.json").read_text())["runs"][0]["target"] == "target"


def test_a_target_that_is_in_use_is_told_before_any_other_is_asked():
    from ai_eval.runs.launch import launch, prepare

    make_target(slug="free")
    launch(prepare(make_target(slug="used")))
    code, _, err = run_command("free", "used")
    assert code == 3
    assert "used: a run of it is active already" in err
    assert Run.objects.count() == 1


def test_a_soft_gate_that_failed_is_an_advisory_of_the_document(tmp_path: Path):
    make_target(["raise"], gate_type="soft")
    path = tmp_path / "runs.json"
    run_command("--json", str(path))
    advisories = json.loads(path.read_text())["runs"][0]["advisories"]
    assert "the soft gate is failed: it warns, and fails nothing" in advisories


def test_a_run_whose_workers_were_killed_can_be_resumed_at_once():
    from ai_eval.runs.launch import launch, prepare

    run = launch(prepare(make_target()))
    Run.objects.filter(pk=run.pk).update(state="running", woken_at="2000-01-01T00:00:00Z")
    assert run_command("--resume", str(run.pk))[0] == 0


@pytest.mark.parametrize("processes", ["0", "-5"])
def test_a_number_of_processes_that_is_none_exits_2(processes: str):
    make_target()
    assert run_command("--processes", processes)[0] == 2
