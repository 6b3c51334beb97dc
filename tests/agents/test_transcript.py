from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_eval.agents.transcript import content_text, flatten_messages, read_transcript


def called(name: str = "renew", arguments: object = '{"card": "42"}', **more: Any) -> dict[str, Any]:
    return {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def assistant(content: object = None, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


# The response


def test_the_response_is_the_last_assistant_text() -> None:
    messages = [
        {"role": "user", "content": "Renew it."},
        assistant("Let me look.", tool_calls=[called()]),
        {"role": "tool", "tool_call_id": "c1", "content": "ok"},
        assistant("Renewed."),
        {"role": "user", "content": "Thanks."},
    ]
    assert read_transcript(messages)[0] == "Renewed."


def test_a_transcript_that_ends_with_a_call_has_no_response() -> None:
    messages = [assistant("Let me look."), assistant(None, tool_calls=[called()])]
    assert read_transcript(messages)[0] is None


def test_without_an_assistant_message_there_is_no_response_and_no_call() -> None:
    assert read_transcript([{"role": "user", "content": "hello"}]) == (None, [])


def test_an_empty_text_is_a_response() -> None:
    assert read_transcript([assistant("")])[0] == ""


def test_a_refusal_is_what_the_reader_sees() -> None:
    assert (
        read_transcript([assistant(None, refusal="I can't help with that.")])[0] == "I can't help with that."
    )


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("text", "text"),
        (None, None),
        ([], None),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "ab"),
        ([{"type": "output_text", "text": "a"}], "a"),
        (["a", "b"], "ab"),
        ([{"text": "a"}], "a"),
        ([{"type": "reasoning", "text": "secretly"}, {"type": "text", "text": "a"}], "a"),
        ([{"type": "image_url", "image_url": {"url": "x"}}], None),
        ([{"type": "text", "text": ""}], ""),
        ([{"type": "text", "text": 5}], None),
    ],
)
def test_the_text_of_a_content(content: object, text: str | None) -> None:
    assert content_text(content) == text


# The calls


def test_calls_of_all_assistant_messages_stand_in_order() -> None:
    messages = [
        assistant(None, tool_calls=[called("look_up", "{}"), called("renew")]),
        {"role": "tool", "content": "ok"},
        assistant("Done", tool_calls=[called("look_up", {"title": "Emma"})]),
    ]
    assert read_transcript(messages)[1] == [
        {"plugin_id": "look_up", "function_name": "look_up", "arguments": {}},
        {"plugin_id": "renew", "function_name": "renew", "arguments": {"card": "42"}},
        {"plugin_id": "look_up", "function_name": "look_up", "arguments": {"title": "Emma"}},
    ]


def test_calls_of_other_roles_are_no_calls_of_the_agent() -> None:
    assert read_transcript([{"role": "user", "content": "x", "tool_calls": [called()]}])[1] == []


def test_credentials_in_a_transcript_are_redacted() -> None:
    calls = read_transcript([assistant(tool_calls=[called(arguments='{"api_key": "k"}')])])[1]
    assert calls[0]["arguments"] == {"api_key": "[redacted]"}


def test_the_older_single_call_is_read() -> None:
    calls = read_transcript([assistant(function_call={"name": "renew", "arguments": "{}"})])[1]
    assert [call["function_name"] for call in calls] == ["renew"]


def test_a_call_written_in_both_ways_is_one_call() -> None:
    message = assistant(tool_calls=[called()], function_call={"name": "renew", "arguments": "{}"})
    assert len(read_transcript([message])[1]) == 1


def test_a_custom_tool_is_a_call_with_its_input() -> None:
    call = {"id": "c1", "type": "custom", "custom": {"name": "shell", "input": "ls -l"}}
    calls = read_transcript([assistant(tool_calls=[call])])[1]
    assert calls == [{"plugin_id": "shell", "function_name": "shell", "arguments": {"value": "ls -l"}}]


def test_calls_among_the_parts_of_a_content_are_read() -> None:
    part = {"type": "tool_use", "id": "c1", "name": "renew", "input": {"card": "42"}}
    calls = read_transcript([assistant([{"type": "text", "text": "…"}, part])])[1]
    assert [call["arguments"] for call in calls] == [{"card": "42"}]


def test_calls_that_stand_in_both_places_are_read_once() -> None:
    part = {"type": "tool_use", "id": "c1", "name": "renew", "input": {"card": "42"}}
    assert len(read_transcript([assistant([part], tool_calls=[called()])])[1]) == 1


class Dumped:
    """A message of a client library."""

    def __init__(self, message: dict[str, Any]) -> None:
        self.message = message

    def model_dump(self) -> dict[str, Any]:
        return self.message


def test_messages_of_a_client_library_are_read() -> None:
    given_messages = [Dumped(assistant("Done", tool_calls=[called()], function_call=None))]
    response, calls = read_transcript(given_messages)
    assert response == "Done"
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("messages", "problem"),
    [
        ("text", "messages is str, not a list"),
        ({"role": "user"}, "messages is dict, not a list"),
        ([{"content": "x"}], "message 1 has no role"),
        ([{"role": "user"}, "text"], "message 2 has no role"),
        ([assistant(5)], "message 1: content is int, not text"),
        ([assistant(tool_calls="renew")], "message 1: tool_calls is str, not a list"),
        ([assistant(tool_calls={})], "message 1: tool_calls is dict, not a list"),
        ([assistant(tool_calls=["renew"])], "message 1: tool call 1 is str, not a mapping"),
        ([assistant(tool_calls=[called(), {}])], "message 1: tool call 2 names no function"),
        ([assistant(tool_calls=[called(name="")])], "message 1: tool call 1 names no function"),
        ([assistant(tool_calls=[called(name=5)])], "message 1: tool call 1 names no function"),  # type: ignore[arg-type]
        ([assistant(function_call="renew")], "message 1: tool call 1 names no function"),
    ],
)
def test_what_can_not_be_read_is_told_with_its_message(messages: Any, problem: str) -> None:
    with pytest.raises(ValueError) as raised:
        read_transcript(messages)
    assert str(raised.value) == problem


# One text


def test_one_user_turn_is_its_text() -> None:
    assert flatten_messages([{"role": "user", "content": "Where is Emma?"}]) == "Where is Emma?"


def test_several_turns_are_told_with_their_roles() -> None:
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello {0} %s"}]
    assert flatten_messages(messages) == "user: Hi\n\nassistant: Hello {0} %s"


def test_parts_are_flattened_to_their_text_and_nothing_to_nothing() -> None:
    messages = [
        {"role": "system", "content": None},
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url"}]},
    ]
    assert flatten_messages(messages) == "system: \n\nuser: a"


@given(st.text())
def test_any_single_question_comes_out_as_it_went_in(text: str) -> None:
    assert flatten_messages([{"role": "user", "content": text}]) == text
