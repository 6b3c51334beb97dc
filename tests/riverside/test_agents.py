import inspect
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from ai_eval.agents import Agent, AgentReply, Recorder
from ai_eval.datasets.yaml_text import read_yaml
from ai_eval.llm import LLMError
from evalsite.riverside import eval_agents
from evalsite.riverside.eval_agents import ARGUMENTS, FUNCTIONS, NOT_UNDERSTOOD, Doer, ModelDriven, Talker
from evalsite.riverside.library import TOOLS
from evalsite.riverside.shelves import load_library
from tests.llm_server import LLMServer, Reply
from tests.riverside.state import library_state

pytestmark = pytest.mark.django_db(transaction=True)

DATA = Path(eval_agents.__file__).parent / "data" / "riverside.yaml"
QUESTIONS: dict[str, str] = {
    row["id"]: row["input"] for row in read_yaml(DATA.read_text(), DATA.name)["questions"]
}
SOLITUDE, DALLOWAY, MIDDLEMARCH = "978-0-06-088328-7", "978-0-14-118280-3", "978-0-14-143954-9"

CALLS: dict[str, tuple[str, dict[str, str]]] = {
    "renew": ("renew_loan", {"card": "R-1001", "barcode": "B-104"}),
    "hold": ("place_hold", {"card": "R-1002", "isbn": MIDDLEMARCH}),
    "fee": ("pay_fee", {"card": "R-1003", "reference": "F-31"}),
    "email": ("change_email", {"card": "R-1004", "email": "dana.levi@example.net"}),
    "look_up": ("find_book", {"title": "The Left Hand of Darkness"}),
    "refused_renewal": ("renew_loan", {"card": "R-1005", "barcode": "B-105"}),
}
LATE = "returned five days late"
CHANGES: dict[str, tuple[set[tuple], set[tuple]]] = {
    "renew": (
        {("Loan", "B-104", "R-1001", date(2026, 3, 6), 0, None)},
        {("Loan", "B-104", "R-1001", date(2026, 3, 20), 1, None)},
    ),
    "hold": (set(), {("Hold", MIDDLEMARCH, "R-1002", "waiting", 1, date(2026, 3, 2))}),
    "fee": (
        {("Fee", "F-31", "R-1003", Decimal("2.50"), LATE, "open")},
        {("Fee", "F-31", "R-1003", Decimal("2.50"), LATE, "paid")},
    ),
    "email": (
        {("Patron", "R-1004", "Dana Levi", "dana@example.org")},
        {("Patron", "R-1004", "Dana Levi", "dana.levi@example.net")},
    ),
    "look_up": (set(), set()),
    "refused_renewal": (set(), set()),
}
"""What each question takes from the library's state, and what it adds."""


@pytest.fixture(autouse=True)
def _shelves() -> None:
    load_library()


def asked(agent: Agent, question: str) -> tuple[str, list[dict[str, Any]] | None]:
    """What the agent says, and its record."""
    recorder = Recorder()
    said = agent.run([{"role": "user", "content": question}], recorder)
    assert isinstance(said, str)
    return said, recorder.calls


def test_every_question_of_the_dataset_is_tried_here():
    assert set(QUESTIONS) == set(CALLS) == set(CHANGES)


@pytest.mark.parametrize("question", CALLS)
def test_the_doer_calls_the_one_tool_that_is_asked_for(question: str):
    _, calls = asked(Doer(), QUESTIONS[question])
    assert calls is not None
    assert [(call["function_name"], call["arguments"]) for call in calls] == [CALLS[question]]


@pytest.mark.parametrize("question", CALLS)
def test_the_doer_changes_what_was_asked_for_and_nothing_else(question: str):
    before = library_state()
    asked(Doer(), QUESTIONS[question])
    after = library_state()
    assert (before - after, after - before) == CHANGES[question]


def test_the_doer_tells_why_a_renewal_is_refused():
    said, _ = asked(Doer(), QUESTIONS["refused_renewal"])
    assert said == (
        "I am sorry, that is not possible: One Hundred Years of Solitude can't be renewed: "
        "another reader waits for it."
    )


def test_questions_that_are_answered_at_the_same_time_do_not_touch_each_other():
    def one(question: str) -> str:
        try:
            return asked(Doer(), question)[0]
        finally:
            connection.close()

    in_turn = [asked(Doer(), question)[0] for question in QUESTIONS.values()]
    state = library_state()
    load_library()
    with ThreadPoolExecutor(len(QUESTIONS)) as pool:
        assert list(pool.map(one, QUESTIONS.values())) == in_turn
    assert library_state() == state


@pytest.mark.parametrize("question", CALLS)
def test_the_talker_answers_changes_nothing_and_its_record_is_empty_not_absent(question: str):
    before = library_state()
    said, calls = asked(Talker(), QUESTIONS[question])
    assert calls == []
    assert said.startswith(("Done: ", "I have looked: "))
    assert library_state() == before


@pytest.mark.parametrize("agent", [Doer, Talker])
def test_what_the_desk_does_not_understand_goes_to_the_staff(agent: type[Agent]):
    assert asked(agent(), "Sing me a song.") == (NOT_UNDERSTOOD, [])


def test_every_tool_is_described_to_the_model_with_its_own_arguments():
    described = {each["function"]["name"]: each["function"] for each in FUNCTIONS}
    assert set(described) == set(TOOLS)
    for name, function in TOOLS.items():
        names = list(inspect.signature(function).parameters)
        schema = described[name]["parameters"]
        assert list(ARGUMENTS[name]) == schema["required"] == list(schema["properties"]) == names
        assert schema["additionalProperties"] is False
        assert described[name]["description"] == function.__doc__


@pytest.fixture
def model(llm_server: LLMServer, monkeypatch: pytest.MonkeyPatch) -> LLMServer:
    """A model whose replies a test scripts."""
    monkeypatch.setenv("RIVERSIDE_MODEL", "openai/mock")
    monkeypatch.setenv("RIVERSIDE_API_BASE", llm_server.url)
    return llm_server


def raw_call(name: str, arguments: str) -> Reply:
    call = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}}
    return Reply(text=None, tool_calls=[call], finish_reason="tool_calls")


def tool_call(name: str, **arguments: Any) -> Reply:
    return raw_call(name, json.dumps(arguments))


def driven(question: str = "Please renew B-104.") -> tuple[AgentReply, list[dict[str, Any]]]:
    recorder = Recorder()
    reply = ModelDriven().run([{"role": "user", "content": question}], recorder)
    assert recorder.calls is not None
    return reply, recorder.calls


def test_a_model_drives_the_same_tools(model: LLMServer):
    model.script(
        tool_call("renew_loan", card="R-1005", barcode="B-105"),
        tool_call("renew_loan", card="R-1001", barcode="B-104"),
        Reply(text="Your loan is renewed."),
    )
    before = library_state()
    reply, calls = driven()
    assert (reply.response, reply.ended) == ("Your loan is renewed.", "done")
    assert [call["arguments"]["barcode"] for call in calls] == ["B-105", "B-104"]
    refused, done = (seen.body["messages"][-1]["content"] for seen in model.requests[1:])
    assert "another reader waits" in refused
    assert done == "Mrs Dalloway is due on 20 March 2026"
    after = library_state()
    assert (before - after, after - before) == CHANGES["renew"]


def test_the_model_is_given_every_tool_and_no_temperature(model: LLMServer):
    driven()
    (seen,) = model.requests
    assert seen.body["tools"] == FUNCTIONS
    assert "temperature" not in seen.body


def test_the_tokens_of_all_turns_are_told(model: LLMServer):
    model.script(tool_call("find_book", title="Middlemarch"), Reply(text="It is out."))
    reply, _ = driven()
    assert reply.usage == {"prompt_tokens": 40, "completion_tokens": 18, "cost": None}


def test_tokens_that_nobody_told_are_unknown_not_zero(model: LLMServer):
    model.script(Reply(text="It is out.", usage=None))
    reply, _ = driven()
    assert reply.usage == {"prompt_tokens": None, "completion_tokens": None, "cost": None}


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (raw_call("waive_fee", "{}"), "refused: there is no tool waive_fee"),
        (
            raw_call("pay_fee", '{"card": "R-10'),
            "refused: pay_fee takes a JSON object with card and reference",
        ),
        (raw_call("pay_fee", '["R-1003"]'), "refused: pay_fee takes a JSON object with card and reference"),
        (tool_call("pay_fee", card="R-1003"), "refused: pay_fee takes a JSON object with card and reference"),
        (tool_call("find_book", title=5), "refused: there is no book called 5"),
        (tool_call("pay_fee", card=None, reference="F-31"), "refused: there is no card None"),
    ],
)
def test_a_call_that_can_not_be_made_is_told_to_the_model(model: LLMServer, wrong: Reply, told: str):
    model.script(wrong, Reply(text="I could not do that."))
    before = library_state()
    reply, _ = driven()
    assert reply.ended == "done"
    assert model.requests[1].body["messages"][-1]["content"] == told
    assert library_state() == before


def test_a_fault_of_the_library_itself_is_not_told_to_the_model_as_a_refusal(
    model: LLMServer, monkeypatch: pytest.MonkeyPatch
):
    def broken(title: str) -> str:
        raise KeyError(title)

    monkeypatch.setattr(ModelDriven, "tools", {**TOOLS, "find_book": broken})
    model.script(tool_call("find_book", title="Middlemarch"))
    with pytest.raises(KeyError):
        driven()


def test_a_model_that_never_ends_is_stopped_by_the_step_limit(model: LLMServer):
    model.reply = tool_call("find_book", title="Middlemarch")
    reply, calls = driven()
    assert reply.ended == "limit"
    assert len(calls) == len(model.requests) == ModelDriven.max_steps


def test_without_a_model_nothing_the_agent_did_is_at_fault(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("RIVERSIDE_MODEL", raising=False)
    with pytest.raises(LLMError, match="RIVERSIDE_MODEL is not set") as raised:
        driven()
    assert raised.value.kind == "bad_request"


def test_the_key_goes_to_hosts_that_the_site_names(monkeypatch: pytest.MonkeyPatch, settings: Any):
    handed: list[Any] = []

    def complete(request: Any, **given: Any) -> Any:
        handed.append(given["key_hosts"])
        raise LLMError("connection", "not asked")

    settings.AI_EVAL = {**settings.AI_EVAL, "KEY_HOSTS": ["llm.example.org"]}
    monkeypatch.setenv("RIVERSIDE_MODEL", "openai/mock")
    monkeypatch.setattr(eval_agents, "complete", complete)
    with pytest.raises(LLMError):
        driven()
    assert handed == [("llm.example.org",)]
