"""`ai_eval_config` in this process: what it prints, writes, and exits with."""

import io
from pathlib import Path

import pytest
from django.core.management import call_command

from ai_eval.models import Dataset, Question

pytestmark = pytest.mark.django_db

DOCUMENT = 'datasets:\n  - id: loans\n    questions:\n      - id: q1\n        input: "no"\n'


def run_command(*arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output, standard error."""
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command("ai_eval_config", *arguments, stdout=out, stderr=err)
    except SystemExit as exit:
        return int(exit.code or 0), out.getvalue(), err.getvalue()
    return 0, out.getvalue(), err.getvalue()


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "c.yaml"
    path.write_text(DOCUMENT)
    return path


def test_an_import_says_what_it_did(document: Path):
    assert run_command("import", str(document)) == (
        0,
        "created dataset loans\n1 created, 0 changed, 0 unchanged\n",
        "",
    )
    assert run_command("import", str(document))[:2] == (0, "0 created, 0 changed, 1 unchanged\n")
    document.write_text(DOCUMENT.replace("id: loans", "id: loans\n    label: Loans"))
    assert "changed dataset loans: label\n" in run_command("import", str(document))[1]


def test_a_check_says_what_would_happen_and_writes_nothing(document: Path):
    code, out, _ = run_command("import", str(document), "--check")
    assert (code, out) == (
        0,
        "would be created dataset loans\n1 would be created, 0 would be changed, 0 unchanged\n",
    )
    assert not Dataset.objects.exists()


def test_an_export_to_standard_output_and_to_a_file_are_the_same(document: Path, tmp_path: Path):
    run_command("import", str(document))
    code, out, _ = run_command("export")
    assert (code, out) == (0, DOCUMENT)
    assert run_command("export", str(tmp_path / "out.yaml"))[0] == 0
    assert (tmp_path / "out.yaml").read_bytes() == DOCUMENT.encode()


def test_a_json_document_is_imported(tmp_path: Path):
    (tmp_path / "c.json").write_text('{"datasets": [{"id": "d", "questions": [{"id": 1, "input": "x"}]}]}')
    assert run_command("import", str(tmp_path / "c.json"))[0] == 0
    assert Question.objects.get().key == "1"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("datasets: [", "line 1, column"),
        ("datsets: []", 'key "datsets": is not known, did you mean datasets?'),
        ("datasets: [{id: d, questions: [{id: a}]}]", 'key "input": is missing'),
        ("", "is empty"),
    ],
)
def test_an_invalid_document_exits_2_without_a_traceback(document: Path, content: str, said: str):
    document.write_text(content)
    for option in ([], ["--check"]):
        code, out, err = run_command("import", str(document), *option)
        assert (code, out) == (2, "")
        assert err.startswith(str(document))
        assert said in err


def test_one_bad_file_keeps_the_others_out(document: Path, tmp_path: Path):
    (tmp_path / "bad.yaml").write_text("a: b: c")
    code, _, err = run_command(
        "import", str(document), str(tmp_path / "bad.yaml"), str(tmp_path / "gone.yaml")
    )
    assert code == 2
    assert "bad.yaml, line 1, column 5" in err
    assert "gone.yaml: can't be read: No such file or directory" in err
    assert not Dataset.objects.exists()


def test_a_file_that_can_not_be_written_exits_2(tmp_path: Path):
    code, _, err = run_command("export", str(tmp_path / "nowhere" / "out.yaml"))
    assert code == 2
    assert "can't be written: No such file or directory" in err
    assert run_command("export", str(tmp_path))[0] == 2


def test_a_database_that_is_not_migrated_exits_2(monkeypatch):
    monkeypatch.setattr(
        "ai_eval.management.site.MigrationExecutor.migration_plan", lambda self, wanted: wanted
    )
    code, _, err = run_command("export")
    assert code == 2
    assert "run `manage.py migrate` first" in err


def test_a_failing_system_check_exits_2(monkeypatch):
    from django.core.management.base import BaseCommand, SystemCheckError

    def failing(self, *args, **kwargs):
        raise SystemCheckError("two graders have one id")

    monkeypatch.setattr(BaseCommand, "check", failing)
    code, _, err = run_command("export")
    assert code == 2
    assert "two graders have one id" in err
