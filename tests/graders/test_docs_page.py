"""docs/writing-a-grader.md: its two graders are the dummy app's, and they do what the page says."""

import re
from pathlib import Path

import pytest

from ai_eval.graders import Grader, registry
from tests.llm_server import LLMServer

PAGE = (Path("docs") / "writing-a-grader.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.parametrize("name", ["read_only_run", "house_tone"])
def test_the_pages_example_is_the_dummy_apps_grader(name: str):
    assert (Path("tests") / "dummy" / f"{name}.py").read_text() in BLOCKS


def test_the_pages_own_test_passes():
    (block,) = [block for block in BLOCKS if "def test_an_empty_record_passes" in block]
    namespace: dict[str, object] = {}
    exec(block, namespace)
    assert namespace["test_an_empty_record_passes"]() is None


def test_the_page_asks_a_judge(llm_server: LLMServer):
    (block,) = [block for block in BLOCKS if "def tone_of" in block]
    namespace: dict[str, object] = {}
    exec(block, namespace)
    assert namespace["tone_of"]("Buy now!", llm_server.url) == 4.0
    assert "no marketing language" in llm_server.last.prompt


def test_the_page_tells_every_attribute_and_every_key_of_the_context():
    reserved = ("response_char_limit", "messages", "criteria", "tool_calls", "environment")
    assert [name for name in (*Grader.__annotations__, *reserved) if f"`{name}`" not in PAGE] == []


@pytest.mark.parametrize(
    ("context", "outcome", "score"),
    [
        (
            {"tool_calls": [{"function_name": "update_loan", "plugin_id": "x", "arguments": {}}]},
            "scored",
            0.0,
        ),
        ({"tool_calls": []}, "scored", 1.0),
        ({}, "errored", None),
    ],
    ids=["present", "empty", "absent"],
)
def test_a_present_an_empty_and_an_absent_record_are_three_outcomes(context, outcome: str, score):
    result = registry.get("read_only_run").build().grade("?", "done", context)
    assert (result.outcome, result.score) == (outcome, score)


def test_a_question_names_the_tools_that_write_for_itself():
    grader = registry.get("read_only_run").build()
    calls = [{"function_name": "purge_all", "plugin_id": "x", "arguments": {}}]
    assert grade_with(grader, calls, None) == 1.0
    assert grade_with(grader, calls, ["Purge_"]) == 0.0
    assert grade_with(grader, calls, []) == 1.0


def grade_with(grader, calls, prefixes) -> float:
    metadata = {"metadata": {"forbidden_tool_prefixes": prefixes}} if prefixes is not None else {}
    return grader.grade("?", "done", {"tool_calls": calls, **metadata}).score
