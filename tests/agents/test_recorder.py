import asyncio
import functools
import inspect
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from ai_eval.agents import AgentReply, Recorder


def renew(card: str, days: int = 14) -> str:
    """Renews a loan."""
    return f"{card} by {days}"


def arguments_of(recorder: Recorder) -> list[dict[str, Any]]:
    return [call["arguments"] for call in recorder.calls or []]


# Absent and empty


def test_without_a_tool_there_is_no_record() -> None:
    assert Recorder().calls is None


def test_a_wrapped_tool_that_is_never_called_makes_an_empty_record() -> None:
    recorder = Recorder()
    recorder.tool(renew)
    assert recorder.calls == []


def test_a_record_can_be_begun_without_a_tool() -> None:
    recorder = Recorder()
    recorder.start()
    assert recorder.calls == []


def test_beginning_again_loses_nothing() -> None:
    recorder = Recorder()
    recorder.record("renew")
    recorder.start()
    recorder.tool(renew)
    assert len(recorder.calls or []) == 1


def test_a_call_that_is_told_of_makes_a_record() -> None:
    recorder = Recorder()
    recorder.record("renew", '{"card": "42"}', plugin_id="desk:renew")
    assert recorder.calls == [
        {"plugin_id": "desk:renew", "function_name": "renew", "arguments": {"card": "42"}}
    ]


# What is recorded


def test_a_wrapped_tool_does_what_it_did() -> None:
    assert Recorder().tool(renew)("42", days=3) == "42 by 3"


def test_arguments_are_recorded_by_name_as_they_were_passed() -> None:
    recorder = Recorder()
    tool = recorder.tool(renew)
    tool("42")
    tool(days=3, card="43")
    assert recorder.calls == [
        {"plugin_id": "renew", "function_name": "renew", "arguments": {"card": "42"}},
        {"plugin_id": "renew", "function_name": "renew", "arguments": {"card": "43", "days": 3}},
    ]


def test_a_tool_can_be_given_a_name() -> None:
    recorder = Recorder()
    recorder.tool(lambda: None, name="nothing")()
    assert (recorder.calls or [])[0]["function_name"] == "nothing"


def test_credentials_are_redacted_as_they_are_recorded() -> None:
    recorder = Recorder()
    recorder.tool(lambda card, password: None)("42", "hunter2")
    assert arguments_of(recorder) == [{"card": "42", "password": "[redacted]"}]


def test_what_a_tool_changes_in_its_arguments_is_not_recorded() -> None:
    recorder = Recorder()
    books = ["Emma"]
    recorder.tool(lambda books: books.clear())(books)
    assert arguments_of(recorder) == [{"books": '["Emma"]'}]


def test_a_call_that_raises_is_recorded_and_raises() -> None:
    def broken(card: str) -> None:
        raise KeyError(card)

    recorder = Recorder()
    with pytest.raises(KeyError):
        recorder.tool(broken)("42")
    assert arguments_of(recorder) == [{"card": "42"}]


def test_a_call_that_does_not_fit_is_recorded_and_refused_by_the_tool_itself() -> None:
    recorder = Recorder()
    with pytest.raises(TypeError, match="renew"):
        recorder.tool(renew)("42", 3, "too much", odd=1)
    assert arguments_of(recorder) == [{"0": "42", "1": 3, "2": "too much", "odd": 1}]


def test_an_outer_call_comes_before_the_calls_it_makes() -> None:
    recorder = Recorder()
    inner = recorder.tool(lambda: None, name="inner")
    recorder.tool(lambda: inner(), name="outer")()
    assert [call["function_name"] for call in recorder.calls or []] == ["outer", "inner"]


def test_an_argument_that_has_no_text_does_not_break_the_tool() -> None:
    class Odd:
        def __str__(self) -> str:
            raise RuntimeError("no text")

    recorder = Recorder()
    assert recorder.tool(lambda it: "done")(Odd()) == "done"
    assert arguments_of(recorder) == [{"it": "[Odd]"}]


def test_the_record_is_a_copy() -> None:
    recorder = Recorder()
    recorder.record("renew", {"card": "42"})
    calls = recorder.calls or []
    calls[0]["arguments"]["card"] = "forged"
    calls.clear()
    assert arguments_of(recorder) == [{"card": "42"}]


# Kinds of callables


def collecting(*titles: str, **more: Any) -> None:
    pass


def test_further_arguments_are_recorded_under_their_names() -> None:
    recorder = Recorder()
    recorder.tool(collecting)("Emma", "Ulysses", shelf="B")
    assert arguments_of(recorder) == [{"titles": '["Emma", "Ulysses"]', "shelf": "B"}]


def test_a_keyword_named_as_a_positional_only_parameter_hides_nothing() -> None:
    def move(book: str, /, **more: Any) -> None:
        pass

    recorder = Recorder()
    recorder.tool(move)("Emma", book="Ulysses")
    assert arguments_of(recorder) == [{"book": "Emma", "more.book": "Ulysses"}]


class Desk:
    def renew(self, card: str) -> str:
        return f"renewed {card}"

    @classmethod
    def open(cls, day: str) -> str:
        return day

    @staticmethod
    def close(day: str) -> str:
        return day

    def __call__(self, card: str) -> str:
        return card


class AsyncDesk:
    async def __call__(self, card: str) -> str:
        return card


@pytest.mark.parametrize(
    ("tool", "passed", "name", "arguments"),
    [
        (Desk().renew, ("42",), "renew", {"card": "42"}),
        (Desk.renew, (Desk(), "42"), "renew", {"card": "42"}),
        (Desk.open, ("today",), "open", {"day": "today"}),
        (Desk.close, ("today",), "close", {"day": "today"}),
        (Desk(), ("42",), "Desk", {"card": "42"}),
        (functools.partial(renew, days=3), ("42",), "renew", {"card": "42"}),
        (functools.partial(functools.partial(renew), days=3), ("42",), "renew", {"card": "42"}),
        (max, (1, 2), "max", {"0": 1, "1": 2}),
        (str, (5,), "str", {"0": 5}),
    ],
)
def test_every_kind_of_callable_is_recorded(
    tool: Callable[..., Any], passed: tuple[Any, ...], name: str, arguments: dict[str, Any]
) -> None:
    recorder = Recorder()
    assert recorder.tool(tool)(*passed) == tool(*passed)
    assert recorder.calls == [{"plugin_id": name, "function_name": name, "arguments": arguments}]


async def fetch(title: str) -> str:
    await asyncio.sleep(0)
    return title


@pytest.mark.parametrize("tool", [fetch, functools.partial(fetch), AsyncDesk()])
def test_an_async_tool_stays_one(tool: Callable[..., Any]) -> None:
    recorder = Recorder()
    wrapped = recorder.tool(tool)
    assert inspect.iscoroutinefunction(wrapped)
    assert asyncio.run(wrapped("Emma")) == "Emma"
    assert list(arguments_of(recorder)[0].values()) == ["Emma"]


def test_async_calls_are_recorded_in_the_order_in_which_they_began() -> None:
    recorder = Recorder()
    tool = recorder.tool(fetch)

    async def both() -> None:
        await asyncio.gather(tool("Emma"), tool("Ulysses"))

    asyncio.run(both())
    assert arguments_of(recorder) == [{"title": "Emma"}, {"title": "Ulysses"}]


def test_a_generator_is_recorded_and_yields_what_it_did() -> None:
    def shelves(first: str) -> Iterator[str]:
        yield first
        yield "B"

    recorder = Recorder()
    assert list(recorder.tool(shelves)("A")) == ["A", "B"]
    assert arguments_of(recorder) == [{"first": "A"}]


def test_an_async_generator_is_recorded_and_yields_what_it_did() -> None:
    async def shelves(first: str) -> AsyncIterator[str]:
        yield first
        yield "B"

    async def collected(tool: Callable[..., Any]) -> list[str]:
        return [shelf async for shelf in tool("A")]

    recorder = Recorder()
    assert asyncio.run(collected(recorder.tool(shelves))) == ["A", "B"]
    assert arguments_of(recorder) == [{"first": "A"}]


def test_a_wrapped_tool_looks_like_the_tool_to_a_framework() -> None:
    wrapped = Recorder().tool(renew)
    assert wrapped.__name__ == "renew"
    assert wrapped.__doc__ == "Renews a loan."
    assert inspect.signature(wrapped) == inspect.signature(renew)


def test_a_tool_wrapped_twice_is_recorded_once() -> None:
    recorder = Recorder()
    recorder.tool(recorder.tool(renew))("42")
    assert len(recorder.calls or []) == 1


def test_two_recorders_of_one_tool_each_record_it() -> None:
    first, second = Recorder(), Recorder()
    second.tool(first.tool(renew))("42")
    assert arguments_of(first) == arguments_of(second) == [{"card": "42"}]


def test_no_call_of_many_threads_is_lost() -> None:
    recorder = Recorder()
    tool = recorder.tool(renew)
    threads = [threading.Thread(target=lambda: [tool("42") for _ in range(200)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(recorder.calls or []) == 1600


def test_a_reply_without_a_record_is_not_one_with_an_empty_record() -> None:
    assert AgentReply("done").tool_calls is None
    assert AgentReply.from_messages([{"role": "assistant", "content": "done"}]).tool_calls == []
