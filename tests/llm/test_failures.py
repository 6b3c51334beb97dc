"""Each way in which a provider can fail is told apart."""

import socket
import traceback

import pytest

from tests.llm.conftest import KEY, Fail
from tests.llm_server import LLMServer, Reply, failing


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (307, "bad_request"),
        (400, "bad_request"),
        (401, "auth"),
        (402, "bad_request"),
        (403, "auth"),
        (404, "not_found"),
        (408, "timeout"),
        (409, "bad_request"),
        (413, "bad_request"),
        (422, "bad_request"),
        (429, "rate_limit"),
        (500, "server"),
        (502, "server"),
        (503, "server"),
        (529, "server"),
    ],
)
@pytest.mark.parametrize("model", ["openai/mock", "hosted_vllm/mock", "anthropic/mock"])
def test_a_failure_is_classified_by_its_status(
    llm_server: LLMServer, failure: Fail, status: int, kind: str, model: str
) -> None:
    llm_server.script(failing(status, "told why"))
    error = failure(model=model)
    assert (error.kind, error.status) == (kind, status)
    assert f"HTTP {status}: told why" in error.message
    assert len(llm_server.requests) == 1
    assert [(each.kind, each.status) for each in error.attempts] == [(kind, status)]
    assert error.attempts[0].error == error.message


def _refusing_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


@pytest.mark.parametrize("model", ["openai/mock", "hosted_vllm/mock", "anthropic/mock", "ollama/mock"])
def test_a_refused_connection_is_one(failure: Fail, model: str) -> None:
    error = failure(model=model, api_base=f"http://127.0.0.1:{_refusing_port()}/v1")
    assert (error.kind, error.status) == ("connection", None)
    assert "refused" in error.message


@pytest.mark.parametrize("action", ["close", "cut"])
@pytest.mark.parametrize("model", ["openai/mock", "hosted_vllm/mock"])
def test_a_connection_that_breaks_is_one_that_failed(
    llm_server: LLMServer, failure: Fail, action: str, model: str
) -> None:
    llm_server.script(Reply(action=action))
    assert failure(model=model).kind == "connection"


@pytest.mark.parametrize("model", ["openai/mock", "hosted_vllm/mock", "anthropic/mock"])
def test_a_server_that_never_answers_is_a_timeout(llm_server: LLMServer, failure: Fail, model: str) -> None:
    llm_server.script(Reply(action="hang"))
    error = failure(model=model, timeout=0.5)
    assert (error.kind, error.status) == ("timeout", None)
    assert "0.5 seconds" in error.message
    assert error.attempts[0].seconds >= 0.5


def test_a_server_that_sends_a_byte_now_and_then_is_a_timeout(llm_server: LLMServer, failure: Fail) -> None:
    llm_server.script(Reply(action="trickle"))
    assert failure(timeout=0.5).kind == "timeout"


HTML = {"Content-Type": "text/html"}


@pytest.mark.parametrize(
    "reply",
    [
        Reply(body="<html>Sign in</html>", headers=HTML),
        Reply(body="<html>Sign in</html>"),
        Reply(body=""),
        Reply(body="null"),
        Reply(body="[]"),
        Reply(body='"text"'),
        Reply(body='{"choices": [{"mess'),
        Reply(body="[" * 100_000),
        Reply(body={}),
        Reply(body={"choices": []}),
        Reply(body={"choices": None}),
        Reply(body={"choices": [{"finish_reason": "stop"}]}),
        Reply(body={"choices": [{"message": {"role": "assistant", "content": 5}}]}),
        Reply(body={"error": {"message": "overloaded", "code": 500}}),
        Reply(body=b"\xff\xfe\x00\x01"),
    ],
    ids=lambda reply: str(reply.body)[:20],
)
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
def test_an_answer_that_is_no_chat_completion_is_unusable(
    llm_server: LLMServer, failure: Fail, reply: Reply
) -> None:
    llm_server.script(reply)
    error = failure()
    assert (error.kind, error.status) == ("unusable", None)
    assert error.message
    assert len(error.message) <= 1100
    assert len(llm_server.requests) == 1


def test_an_answer_over_20_megabytes_is_unusable(llm_server: LLMServer, failure: Fail) -> None:
    llm_server.script(Reply(text="x" * (21 * 1024 * 1024)))
    error = failure(timeout=120)
    assert error.kind == "unusable"
    assert "longer than" in error.message


def test_an_error_page_is_told_by_its_beginning(llm_server: LLMServer, failure: Fail) -> None:
    llm_server.script(Reply(status=502, body="<html>Bad gateway" + "x" * 2_000_000, headers=HTML))
    error = failure()
    assert (error.kind, error.status) == ("server", 502)
    assert "<html>Bad gateway" in error.message
    assert len(error.message) < 400


@pytest.mark.parametrize("body", ["", "null", "[1]", '{"error": "text"}', '{"detail": [{"loc": ["x"]}]}'])
def test_an_error_in_any_form_keeps_its_status(llm_server: LLMServer, failure: Fail, body: str) -> None:
    llm_server.script(Reply(status=403, body=body))
    error = failure()
    assert (error.kind, error.status) == ("auth", 403)


@pytest.mark.parametrize(
    "reply",
    [
        failing(
            400, "Unsupported value: 'temperature' does not support 0 with this model.", param="temperature"
        ),
        failing(400, "`temperature` is deprecated for this model."),
        failing(422, "Unsupported parameter: temperature", code="unsupported_parameter"),
    ],
)
def test_a_refused_temperature_names_the_setting_that_helps(
    llm_server: LLMServer, failure: Fail, reply: Reply
) -> None:
    llm_server.script(reply)
    error = failure(parameters={"temperature": 0, "max_tokens": 5})
    assert (error.kind, error.parameter) == ("unsupported_parameter", "temperature")
    assert "parameters: {temperature: null}" in error.message


def test_a_model_that_is_known_to_refuse_temperature_0_is_not_even_asked(
    llm_server: LLMServer, failure: Fail
) -> None:
    error = failure(model="openai/o1", parameters={"temperature": 0})
    assert (error.kind, error.parameter, error.status) == ("unsupported_parameter", "temperature", None)
    assert "parameters: {temperature: null}" in error.message
    assert llm_server.requests == []


@pytest.mark.parametrize(
    "message",
    [
        "'response_format.type' must be 'text'",
        "This model does not support structured outputs with json_schema",
        "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.",
        "guided_json is off",
    ],
)
def test_a_refused_response_format_is_told_by_name(
    llm_server: LLMServer, failure: Fail, message: str
) -> None:
    llm_server.script(failing(400, message))
    schema = {"type": "json_schema", "json_schema": {"name": "v", "schema": {"type": "object"}}}
    error = failure(response_format=schema, parameters={"temperature": 0})
    assert (error.kind, error.parameter) == ("unsupported_parameter", "response_format")


def test_a_bad_request_that_names_no_parameter_of_ours_is_just_that(
    llm_server: LLMServer, failure: Fail
) -> None:
    llm_server.script(failing(400, "temperature must be a number"), failing(400, "unsupported image"))
    assert failure(parameters={"temperature": 0}).kind == "bad_request"
    assert failure(parameters={"temperature": 0}).kind == "bad_request"


@pytest.mark.parametrize(
    "reply",
    [
        failing(400, "This model's maximum context length is 4096 tokens.", code="context_length_exceeded"),
        failing(
            400, "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens"
        ),
        failing(400, "the request exceeds the available context size"),
        failing(400, "prompt is too long: 210000 tokens > 200000 maximum"),
    ],
)
def test_a_prompt_that_is_too_long_is_told_with_its_size(
    llm_server: LLMServer, failure: Fail, reply: Reply
) -> None:
    llm_server.script(reply)
    messages = [{"role": "system", "content": "x" * 1000}, {"role": "user", "content": "y" * 500}]
    error = failure(messages=messages)
    assert error.kind == "too_long"
    assert "1,500 characters in 2 messages" in error.message


def test_secrets_of_the_environment_are_in_no_error(
    llm_server: LLMServer, failure: Fail, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_DATABASE_PASSWORD", "correct horse")
    echoed = (
        f"Incorrect API key provided: {KEY}; header Bearer abcdef123456; db correct horse; sk-abc1****xyz9"
    )
    llm_server.script(failing(401, echoed), Reply(status=500, body=f"<html>{KEY}</html>"), Reply(body=KEY))
    for error in (failure(), failure(), failure()):
        for secret in (KEY, "abcdef123456", "correct horse", "sk-abc1"):
            assert secret not in error.message
            assert secret not in error.attempts[0].error
            assert secret not in "".join(traceback.format_exception(error))


def test_an_error_text_is_cut_and_cleaned(llm_server: LLMServer, failure: Fail) -> None:
    llm_server.script(failing(400, "a\x00\ud800b" + "x" * 100_000))
    error = failure()
    assert "a␀�b" in error.message
    assert len(error.message) < 1100


@pytest.mark.parametrize(
    "base",
    [
        "not a url",
        "ftp://127.0.0.1/v1",
        "http://",
        "http://a:b@127.0.0.1/v1",
        "http://127.0.0.1\\@x/v1",
        "//x/v1",
    ],
)
def test_an_address_that_can_not_be_used_is_a_bad_request(failure: Fail, base: str) -> None:
    error = failure(api_base=base)
    assert (error.kind, error.attempts) == ("bad_request", ())
    assert error.message.startswith("the address ")


def test_a_provider_that_nobody_knows_is_a_bad_request(failure: Fail, llm_server: LLMServer) -> None:
    assert failure(model="nobody/knows", api_base="").kind == "bad_request"
    assert failure(model="nobody/knows").kind == "bad_request"
    assert failure(model=" ").kind == "bad_request"
    assert llm_server.requests == []


def test_redirects_are_not_followed(llm_server: LLMServer, failure: Fail) -> None:
    with LLMServer() as other:
        llm_server.script(Reply(status=307, body="", headers={"Location": f"{other.url}/chat/completions"}))
        assert failure().status == 307
        assert other.requests == []
