"""What a grader is told beside the response."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_eval.graders import ToolUsageGrader
from ai_eval.graders.context import ABSENT, RESERVED_KEYS, build_context, question_messages, question_text
from ai_eval.graders.execution import run_grader
from ai_eval.graders.registry import GraderRegistry

ROW = {
    "id": "q1",
    "input": "Where is Emma?",
    "expected_facts": ["shelf B"],
    "metadata": {"state": {"books": [1]}},
    "odd": None,
}


def context_of(row: dict[str, Any], **given_values: Any) -> dict[str, Any]:
    return build_context(row, **{"response_char_limit": 4000, **given_values})


def test_the_row_is_readable_under_its_own_keys() -> None:
    context = context_of(ROW)
    assert {key: context[key] for key in ROW} == ROW


def test_what_is_always_there_and_what_is_not() -> None:
    context = context_of(ROW)
    assert set(context) == {*ROW, "response_char_limit", "messages"}
    assert context["response_char_limit"] == 4000
    assert context["messages"] == [{"role": "user", "content": "Where is Emma?"}]


def test_a_row_can_not_forge_what_the_runner_sets() -> None:
    forged = {
        **ROW,
        "tool_calls": [{"function_name": "renew"}],
        "environment": "mine",
        "response_char_limit": 1,
    }
    context = context_of(forged)
    assert "tool_calls" not in context
    assert "environment" not in context
    assert context["response_char_limit"] == 4000


@pytest.mark.parametrize("record", [[], [{"function_name": "renew"}]])
def test_a_record_that_was_read_is_there_be_it_empty(record: list[dict[str, Any]]) -> None:
    assert context_of({**ROW, "tool_calls": ["forged"]}, tool_calls=record)["tool_calls"] == record


def test_an_absent_record_is_no_key() -> None:
    assert "tool_calls" not in context_of(ROW, tool_calls=ABSENT)


def test_an_environment_is_there_when_there_is_one() -> None:
    session = object()
    assert context_of(ROW, environment=session)["environment"] is session


@pytest.mark.parametrize(
    ("own_criteria", "set_criteria", "told"),
    [
        (None, None, None),
        ("", None, None),
        (" \n", None, None),
        ("Be brief.", None, "Be brief."),
        ("Be brief.", "Be brief.\nBe kind.", "Be brief.\nBe kind."),
        (None, "Be kind.", "Be kind."),
        (["Be brief.", "Be kind."], None, "Be brief.\nBe kind."),
        ({"a": 1}, None, '{"a": 1}'),
        ([], None, None),
    ],
)
def test_criteria_are_there_when_there_are_any(
    own_criteria: Any, set_criteria: Any, told: str | None
) -> None:
    context = context_of({**ROW, "criteria": own_criteria}, criteria=set_criteria)
    assert context.get("criteria") == told
    assert ("criteria" in context) == (told is not None)


def test_messages_are_role_and_content_alone() -> None:
    turns = [
        {"role": "user", "content": "Hi", "tool_calls": ["forged"]},
        {"role": "user", "content": "Emma?"},
    ]
    context = context_of({"id": "q", "messages": turns})
    assert context["messages"] == [{"role": "user", "content": "Hi"}, {"role": "user", "content": "Emma?"}]


def test_a_question_of_several_turns_is_one_text_for_a_grader() -> None:
    row = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"}]}
    assert question_text(row) == "user: Hi\n\nassistant: Yes?"
    assert question_text(ROW) == "Where is Emma?"


def test_the_turns_to_be_sent_are_not_those_of_the_row() -> None:
    row = {"messages": [{"role": "user", "content": "Hi"}]}
    question_messages(row)[0]["content"] = "changed"
    assert row["messages"][0]["content"] == "Hi"


@given(st.dictionaries(st.sampled_from([*RESERVED_KEYS, "input", "expected"]), st.text() | st.none()))
def test_reserved_keys_are_the_runners_whatever_a_row_brings(row: dict[str, Any]) -> None:
    context = context_of(row)
    assert context["response_char_limit"] == 4000
    assert not {"tool_calls", "environment"} & set(context)
    assert isinstance(context["messages"], list)


def test_a_present_an_empty_and_an_absent_record_are_three_things() -> None:
    own = GraderRegistry()
    own.register(ToolUsageGrader)
    row = {"input": "Renew it.", "expected_tools": [{"name": "renew", "times": 1}, "renew"]}
    call = {"plugin_id": "renew", "function_name": "renew", "arguments": {}}
    grades = [
        run_grader(own.all()[0], question_text(row), "renew: done", context_of(row, tool_calls=record))
        for record in ([call], [], ABSENT)
    ]
    assert [each.score for each in grades] == [5.0, 0.0, 2.5]
    assert [ToolUsageGrader.FALLBACK_MARKER in each.reason for each in grades] == [False, False, True]
