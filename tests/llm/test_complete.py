"""What a reply holds: text, tokens, price, model, tool calls."""

import json
import subprocess
import sys
import threading
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest

from ai_eval.llm import Attempt, LLMReply, Usage, response_format_support
from ai_eval.llm_types import LLMError
from tests.llm.conftest import Ask, Fail
from tests.llm_server import ANSWER, LLMServer, Reply, failing


def test_a_reply_has_text_finish_reason_model_and_one_attempt(llm_server: LLMServer, ask: Ask) -> None:
    llm_server.script(Reply(text="On the shelf.", model="served-2"))
    reply = ask()
    assert (reply.text, reply.finish_reason, reply.model) == ("On the shelf.", "stop", "served-2")
    assert [attempt.kind for attempt in reply.attempts] == ["ok"]
    assert reply.attempts[0].seconds > 0


def test_what_is_sent_is_what_was_asked(llm_server: LLMServer, ask: Ask) -> None:
    ask(
        parameters={"temperature": 0, "max_tokens": 7, "top_k": 5, "stop": ["a"], "seed": 3},
        response_format={"type": "json_object"},
    )
    assert llm_server.last.body == {
        "model": "mock",
        "messages": [{"role": "user", "content": "Where is it?"}],
        "temperature": 0,
        "max_tokens": 7,
        "top_k": 5,
        "stop": ["a"],
        "seed": 3,
        "response_format": {"type": "json_object"},
    }


def test_a_parameter_of_none_is_left_out(llm_server: LLMServer, ask: Ask) -> None:
    ask(parameters={"temperature": None})
    assert "temperature" not in llm_server.last.body


def test_nul_and_lone_surrogates_reach_no_server_and_no_caller(llm_server: LLMServer, ask: Ask) -> None:
    llm_server.script(Reply(text="a\x00b\ud800c"))
    reply = ask(messages=[{"role": "user", "content": "x\x00y\udfffz"}])
    assert llm_server.last.body["messages"][0]["content"] == "x␀y�z"
    assert reply.text == "a␀b�c"


@pytest.mark.parametrize("text", ["%s {} {{ x }} $y <script>", "\u202eright to left", "日本語 🚀"])
def test_text_comes_out_as_it_went_in(llm_server: LLMServer, ask: Ask, text: str) -> None:
    llm_server.script(Reply(text=text))
    assert ask(messages=[{"role": "user", "content": text}]).text == text
    assert llm_server.last.prompt == text


def test_no_text_is_none_and_an_empty_text_is_empty(llm_server: LLMServer, ask: Ask) -> None:
    llm_server.script(Reply(text=None), Reply(text=""))
    assert ask().text is None
    assert ask().text == ""


def test_a_reply_of_two_megabytes_comes_whole(llm_server: LLMServer, ask: Ask) -> None:
    llm_server.script(Reply(text="x" * 2_000_000))
    assert ask().text == "x" * 2_000_000


def test_tool_calls_are_read(llm_server: LLMServer, ask: Ask) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    llm_server.script(Reply(text=None, tool_calls=[call], finish_reason="tool_calls"))
    reply = ask()
    assert reply.tool_calls == [call]
    assert reply.finish_reason == "tool_calls"
    assert ask().tool_calls is None


@pytest.mark.parametrize("reason", ["length", "content_filter", "abort", "error", "network_error"])
def test_a_finish_reason_other_than_stop_is_never_told_as_stop(
    llm_server: LLMServer, ask: Ask, reason: str
) -> None:
    llm_server.script(Reply(finish_reason=reason))
    reply = ask()
    assert reply.finish_reason == reason
    assert reply.attempts[0].finish_reason == reason


@pytest.mark.parametrize("reason", ["stop", "eos", "end_turn"])
def test_a_proper_end_is_stop(llm_server: LLMServer, ask: Ask, reason: str) -> None:
    llm_server.script(Reply(finish_reason=reason))
    assert ask().finish_reason == "stop"


def test_an_unknown_price_is_none(ask: Ask) -> None:
    reply = ask()
    assert (reply.prompt_tokens, reply.completion_tokens) == (20, 9)
    assert reply.cost is None


def test_unknown_usage_is_none(llm_server: LLMServer, ask: Ask) -> None:
    llm_server.script(Reply(usage=None))
    reply = ask()
    assert reply.attempts[0].usage == Usage()
    assert (reply.prompt_tokens, reply.completion_tokens, reply.cost) == (None, None, None)


def test_cached_prompt_tokens_are_part_of_the_prompt_and_cost_less(llm_server: LLMServer, ask: Ask) -> None:
    usage = {"prompt_tokens": 2006, "completion_tokens": 300, "total_tokens": 2306}
    cached = {**usage, "prompt_tokens_details": {"cached_tokens": 1920}}
    llm_server.script(Reply(usage=cached), Reply(usage=usage))
    with_cache, without = ask(model="openai/gpt-4o-mini"), ask(model="openai/gpt-4o-mini")
    assert (with_cache.prompt_tokens, with_cache.cached_tokens) == (2006, 1920)
    assert with_cache.cost == pytest.approx((86 * 0.15 + 1920 * 0.075 + 300 * 0.6) / 1e6)
    assert without.cost == pytest.approx((2006 * 0.15 + 300 * 0.6) / 1e6)


def test_cached_tokens_that_a_provider_counts_beside_the_prompt_are_added_once(
    llm_server: LLMServer, ask: Ask
) -> None:
    llm_server.script(
        Reply(
            body={
                "id": "m",
                "type": "message",
                "role": "assistant",
                "model": "claude",
                "content": [{"type": "text", "text": "Hello."}],
                "stop_reason": "end_turn",
                "usage": {"input_tokens": 9, "cache_read_input_tokens": 17102, "output_tokens": 5},
            }
        )
    )
    reply = ask(model="anthropic/some-model", api_base=llm_server.url.removesuffix("/v1"))
    assert reply.text == "Hello."
    assert (reply.prompt_tokens, reply.cached_tokens, reply.completion_tokens) == (17111, 17102, 5)


def test_totals_are_over_all_attempts_and_unknown_when_one_price_is() -> None:
    paid = Attempt("ok", usage=Usage(10, 2, 4, 0.5))
    failed = Attempt("server", "HTTP 500", 500)
    unpriced = Attempt("ok", usage=Usage(10, 2, None, None))
    reply = LLMReply("x", "stop", "m", (failed, paid, paid))
    assert (reply.prompt_tokens, reply.completion_tokens, reply.cached_tokens, reply.cost) == (20, 4, 8, 1.0)
    assert LLMReply("x", "stop", "m", (paid, unpriced)).cost is None
    assert LLMReply("x", "stop", "m", (failed,)).cost is None


def test_an_attempt_survives_json() -> None:
    attempt = Attempt("rate_limit", "HTTP 429", 429, Usage(1, 2, None, 0.5), "stop", 1.5)
    assert Attempt.from_json(json.loads(json.dumps(attempt.to_json()))) == attempt


def test_32_threads_with_20_calls_each_get_their_own_replies(ask: Ask, llm_server: LLMServer) -> None:
    llm_server.reply = lambda seen: Reply(text=seen.prompt)

    def calls(thread: int) -> list[str | None]:
        return [
            ask(messages=[{"role": "user", "content": f"{thread}-{number}"}], timeout=120).text
            for number in range(20)
        ]

    with ThreadPoolExecutor(32) as pool:
        got = list(pool.map(calls, range(32)))
    assert got == [[f"{thread}-{number}" for number in range(20)] for thread in range(32)]
    assert len(llm_server.requests) == 640


def test_connections_are_kept_open(ask: Ask, llm_server: LLMServer) -> None:
    for _ in range(10):
        ask()
    assert llm_server.connections == 1


def test_asking_starts_no_thread(ask: Ask) -> None:
    ask()
    before = set(threading.enumerate())
    ask()
    assert set(threading.enumerate()) <= before


def test_importing_the_module_imports_no_litellm() -> None:
    code = (
        "import sys, ai_eval.llm\n"
        "print([name for name in ('litellm', 'openai', 'httpx') if name in sys.modules])"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == "[]"


def test_a_failing_call_prints_nothing(llm_server: LLMServer) -> None:
    code = (
        "import sys\n"
        "from ai_eval.llm import *\n"
        "request = LLMRequest('openai/mock', [{'role': 'user', 'content': 'x'}], sys.argv[1])\n"
        "try: complete(request, retry=RetryPolicy(max_retries=0))\n"
        "except LLMError as error: assert error.kind == 'server'\n"
    )
    llm_server.script(failing(500))
    ran = subprocess.run(
        [sys.executable, "-c", code, llm_server.url], capture_output=True, text=True, check=True
    )
    assert (ran.stdout, ran.stderr) == ("", "")


@pytest.mark.parametrize(
    ("model", "base", "support"),
    [
        ("openai/anything", "http://127.0.0.1:9/v1", "json_schema"),
        ("openai/gpt-4o", "", "json_schema"),
        ("openai/gpt-3.5-turbo", "", "json_object"),
        ("nobody/knows", "", "plain"),
    ],
)
def test_the_strictest_response_format_that_a_model_takes(model: str, base: str, support: str) -> None:
    assert response_format_support(model, base) == support


def test_parameters_that_say_where_or_who_are_refused_before_anything_is_sent(
    llm_server: LLMServer, failure: Fail
) -> None:
    error = failure(parameters={"extra_headers": {"X": "y"}, "api_key": "z", "base_url": "http://x"})
    assert (error.kind, llm_server.requests) == ("bad_request", [])
    assert "extra_headers, api_key, base_url" in error.message


def test_the_server_runs_in_a_process_of_its_own() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.llm_server", "0"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        root = url.removesuffix("/v1")
        script = json.dumps([{"text": "scripted"}]).encode()
        urllib.request.urlopen(urllib.request.Request(f"{root}/script", data=script)).read()
        body = json.dumps({"model": "m", "messages": []}).encode()
        replies = [
            json.load(urllib.request.urlopen(urllib.request.Request(f"{url}/chat/completions", data=body)))
            for _ in range(2)
        ]
        stats = json.load(urllib.request.urlopen(f"{root}/stats"))
    finally:
        process.kill()
        process.wait()
    assert [reply["choices"][0]["message"]["content"] for reply in replies] == ["scripted", ANSWER]
    assert (stats["requests"], stats["scripted"]) == (2, 0)


def test_a_bug_is_no_failure_of_the_provider(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("ai_eval.llm._read", broken)
    with pytest.raises(ZeroDivisionError):
        ask()


def test_an_error_of_ours_keeps_its_text_when_shown() -> None:
    assert str(LLMError("server", "HTTP 500: no")) == "HTTP 500: no"
