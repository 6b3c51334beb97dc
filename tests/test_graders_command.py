import io
import json
from typing import Any

import pytest
from django.core.management import call_command

from ai_eval.graders import Grader
from ai_eval.graders.registry import registry


class ReadOnly(Grader):
    id = "read_only"
    label = "Read-only run"
    description = "Did it write?"
    max_score = 1.0
    observes_actions = True


class State(Grader):
    id = "state"
    label = "State [red]<b>"
    needs_environment = True
    observes_actions = True
    reads_metadata = ("state",)


class Tone(Grader):
    id = "tone"
    label = "House tone"
    llm = True
    sees_tool_calls = True
    dimension = "house_tone"


@pytest.fixture(autouse=True)
def _three_graders(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    monkeypatch.setattr(registry, "declared", [ReadOnly, State, Tone])
    settings.AI_EVAL = {"GRADERS": {"tone": {"hidden": True, "label": "Tone"}}}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def printed(*args: str, to: io.StringIO | None = None) -> str:
    output = to or io.StringIO()
    call_command("ai_eval_graders", *args, stdout=output)
    return output.getvalue()


def test_elsewhere_than_on_a_terminal_each_grader_is_one_plain_line() -> None:
    assert [line.split("  ") for line in _squeezed(printed())] == [
        ["id", "label", "kind", "scale", "sees", "needs"],
        ["read_only", "Read-only run", "deterministic", "binary, 0-1", "observes actions"],
        [
            "state",
            "State [red]<b>",
            "deterministic",
            "gradient, 0-5",
            "observes actions, environment",
            "an environment, metadata.state",
        ],
        ["tone (hidden)", "Tone", "judge", "gradient, 0-5", "tool calls", "a judge model"],
    ]


def _squeezed(text: str) -> list[str]:
    lines = text.splitlines()
    for line in lines:
        assert line == line.rstrip()
    return ["  ".join(cell.strip() for cell in line.split("  ") if cell.strip()) for line in lines]


def test_plain_columns_stand_below_one_another() -> None:
    lines = printed().splitlines()
    assert {line.index(kind) for line, kind in zip(lines, ("kind", "det", "det", "judge"), strict=True)} == {
        lines[0].index("kind")
    }


def test_plain_output_has_no_colours() -> None:
    assert "\x1b" not in printed()


def test_a_terminal_gets_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    text = printed(to=Terminal())
    assert "\x1b[" in text
    for words in ("read_only", "State [red]<b>", "tone (hidden)", "observes actions, environment"):
        assert words in text


def test_ids_stay_whole_on_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    text = printed(to=Terminal())
    assert "tone (hidden)" in text
    assert "deterministic" in text


def test_the_catalogue_as_json() -> None:
    document = json.loads(printed("--json"))
    assert [each["id"] for each in document["graders"]] == ["read_only", "state", "tone"]
    assert document["graders"][2] == {
        "id": "tone",
        "label": "Tone",
        "description": "",
        "kind": "judge",
        "dimension": "house_tone",
        "min_score": 0.0,
        "max_score": 5.0,
        "sees": ["tool calls"],
        "needs": ["a judge model"],
        "hidden": True,
    }
    assert document["graders"][0]["dimension"] is None


def test_json_is_the_same_on_a_terminal() -> None:
    assert printed("--json", to=Terminal()) == printed("--json")


def test_a_site_without_graders_prints_the_headings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "declared", [])
    assert printed() == "id  label  kind  scale  sees  needs\n"
    assert json.loads(printed("--json")) == {"graders": []}
