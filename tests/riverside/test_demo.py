import io
import json

import pytest
from django.core.management import call_command

from ai_eval.agents import Recorder
from ai_eval.datasets.loading import load_dataset
from ai_eval.models import Run, Target
from evalsite.riverside.eval_agents import ARGUMENTS, FUNCTIONS, NOT_UNDERSTOOD, Doer, ModelDriven, Talker
from evalsite.riverside.library import TOOLS
from evalsite.riverside.models import Fee, Hold, Loan, Patron
from evalsite.riverside.shelves import load_library
from tests.llm_server import LLMServer, Reply

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _dataset_directory(settings) -> None:
    directory = settings.BASE_DIR / "evalsite" / "riverside" / "data"
    settings.AI_EVAL = {**settings.AI_EVAL, "DATASET_PATH": str(directory)}


def demo() -> str:
    out = io.StringIO()
    call_command("riverside_demo", stdout=out, stderr=out)
    return out.getvalue()


def asked(agent, question: str) -> tuple[str, list[str]]:
    """What the agent says, and the names of what it called."""
    recorder = Recorder()
    said = agent.run([{"role": "user", "content": question}], recorder)
    return said, [call["function_name"] for call in recorder.calls]


def questions() -> list[str]:
    return [row["input"] for row in load_dataset("file", "riverside.yaml").rows]


def test_the_demo_passes_the_one_that_does_it_and_fails_the_one_that_only_says_so():
    out = demo()
    assert dict(Run.objects.values_list("target_slug", "verdict")) == {
        "riverside_doer": "passed",
        "riverside_talker": "failed",
    }
    assert "format_grader reads the text: riverside_doer 6 of 6, riverside_talker 6 of 6" in out
    assert "tool_usage_grader reads what was done: riverside_doer 6 of 6, riverside_talker 0 of 6" in out


def test_the_demo_gives_the_same_result_a_second_time():
    first = demo()
    assert (
        demo().replace("run 3", "run 1").replace("run 4", "run 2").splitlines()[-8:]
        == first.splitlines()[-8:]
    )
    assert Target.objects.filter(enabled=True).count() == 2


def test_the_doer_changes_what_was_asked_for_and_nothing_else():
    load_library()
    for question in questions():
        asked(Doer(), question)
    assert set(Loan.objects.filter(renewals__gt=0).values_list("copy__barcode", "renewals")) == {
        ("B-104", 1),
        ("B-101", 1),
    }
    assert Hold.objects.count() == 2
    assert set(Fee.objects.values_list("reference", "status")) == {("F-31", "paid"), ("F-32", "open")}
    assert Patron.objects.get(card="R-1004").email == "dana.levi@example.net"


def test_the_talker_answers_every_question_and_calls_nothing():
    load_library()
    for question in questions():
        said, called = asked(Talker(), question)
        assert called == []
        assert said != NOT_UNDERSTOOD
    assert Hold.objects.count() == 1
    assert not Fee.objects.filter(status="paid").exists()


def test_what_the_desk_does_not_understand_goes_to_the_staff():
    assert asked(Doer(), "Sing me a song.") == (NOT_UNDERSTOOD, [])


def test_every_tool_is_described_to_the_model_with_its_arguments():
    described = {each["function"]["name"]: each["function"]["parameters"]["required"] for each in FUNCTIONS}
    assert described == {name: list(arguments) for name, arguments in ARGUMENTS.items()}
    assert set(described) == set(TOOLS)


def tool_call(name: str, **arguments: str) -> Reply:
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": "call_1", "type": "function", "function": function}
    return Reply(text=None, tool_calls=[call], finish_reason="tool_calls")


def test_a_model_drives_the_same_tools(llm_server: LLMServer, monkeypatch: pytest.MonkeyPatch):
    load_library()
    monkeypatch.setenv("RIVERSIDE_MODEL", "openai/mock")
    monkeypatch.setenv("RIVERSIDE_API_BASE", llm_server.url)
    llm_server.script(
        tool_call("renew_loan", card="R-1005", barcode="B-105"),
        tool_call("renew_loan", card="R-1001", barcode="B-104"),
        Reply(text="Your loan is renewed."),
    )
    recorder = Recorder()
    reply = ModelDriven().run([{"role": "user", "content": "Please renew B-104."}], recorder)
    assert (reply.response, reply.ended) == ("Your loan is renewed.", "done")
    assert [call["arguments"]["barcode"] for call in recorder.calls] == ["B-105", "B-104"]
    assert reply.usage == {"prompt_tokens": 60, "completion_tokens": 27}
    refused, done = (seen.body["messages"][-1]["content"] for seen in llm_server.requests[1:])
    assert "another reader waits" in refused
    assert done == "Mrs Dalloway is due on 20 March 2026"


def test_a_model_that_never_ends_is_stopped_by_the_step_limit(
    llm_server: LLMServer, monkeypatch: pytest.MonkeyPatch
):
    load_library()
    monkeypatch.setenv("RIVERSIDE_MODEL", "openai/mock")
    monkeypatch.setenv("RIVERSIDE_API_BASE", llm_server.url)
    llm_server.reply = tool_call("find_book", title="Middlemarch")
    reply = ModelDriven().run([{"role": "user", "content": "Is it in?"}], Recorder())
    assert reply.ended == "limit"
