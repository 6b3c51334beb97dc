"""A key goes to its provider, to this machine and to named hosts, and into no text."""

import time

import pytest

from ai_eval import llm_keys
from ai_eval.llm import LLMError, key_advisory, scrub
from ai_eval.llm_keys import (
    KEYLESS_PROVIDERS,
    PROVIDERS,
    SDK_PROVIDERS,
    base_problem,
    is_loopback,
    may_have_key,
)
from tests.llm.conftest import KEY, Ask, Fail
from tests.llm_server import LLMServer, Reply

SENTINEL = "sentinel-0123456789"


def bearer(server: LLMServer) -> str:
    return server.last.headers["authorization"].removeprefix("Bearer ")


def test_a_key_goes_to_loopback(llm_server: LLMServer, ask: Ask) -> None:
    ask()
    assert bearer(llm_server) == KEY


def test_a_key_does_not_go_to_a_foreign_host(llm_server: LLMServer, ask: Ask, foreign: None) -> None:
    assert ask().text
    assert KEY not in llm_server.last.raw_headers


def test_a_key_goes_to_a_named_host(llm_server: LLMServer, ask: Ask, foreign: None) -> None:
    ask(key_hosts=["127.0.0.1"])
    assert bearer(llm_server) == KEY


def test_loopback_works_without_a_key(
    llm_server: LLMServer, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    assert ask().text
    assert bearer(llm_server) == llm_keys.PLACEHOLDER_KEY


def test_a_changed_key_is_used_at_once(
    llm_server: LLMServer, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask()
    monkeypatch.setenv("OPENAI_API_KEY", "sk-another-0123456789")
    ask()
    assert bearer(llm_server) == "sk-another-0123456789"


def test_a_trusted_client_is_not_used_for_a_foreign_host(
    llm_server: LLMServer, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask()
    monkeypatch.setattr(llm_keys, "is_loopback", lambda host: False)
    ask()
    assert bearer(llm_server) == llm_keys.PLACEHOLDER_KEY


def test_without_an_address_the_environment_names_it_and_gives_the_key(
    llm_server: LLMServer, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", llm_server.url)
    ask(api_base="")
    assert bearer(llm_server) == KEY


def test_the_provider_itself_is_not_called_without_a_key(
    failure: Fail, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    error = failure(api_base="")
    assert error.kind == "auth"
    assert "OPENAI_API_KEY" in error.message


def _secrets_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {name for provider in PROVIDERS.values() for name in provider.keys}
    names |= {f"{provider.upper()}_API_KEY" for provider in KEYLESS_PROVIDERS}
    names |= {"OPENAI_ORGANIZATION", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY"}
    names |= {"ANTHROPIC_AUTH_TOKEN", "AZURE_AD_TOKEN", "HF_TOKEN", "OPENAI_LIKE_API_KEY"}
    for name in names:
        monkeypatch.setenv(name, f"{SENTINEL}-{name}")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", f"X-Custom: {SENTINEL}-header")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", f"X-Custom: {SENTINEL}-header")


@pytest.mark.parametrize("model", [*sorted(f"{each}/some-model" for each in KEYLESS_PROVIDERS), "gpt-4o", "x",
                                   "claude-x", "openai/responses/gpt-4o", "openai/o3-pro"])  # fmt: skip
def test_no_secret_of_the_environment_reaches_a_foreign_host(
    llm_server: LLMServer, ask: Ask, foreign: None, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    _secrets_everywhere(monkeypatch)
    try:
        answered = bool(ask(model=model).text)
    except LLMError:
        answered = False
    # The server speaks one protocol only; what counts with the others is what it was sent.
    assert (
        answered or model.partition("/")[0] not in SDK_PROVIDERS or "o3-pro" in model or "responses" in model
    )
    assert llm_server.requests
    for seen in llm_server.requests:
        assert SENTINEL not in seen.raw_headers
        assert SENTINEL not in str(seen.body)
        assert SENTINEL not in seen.path


@pytest.mark.parametrize(
    "model", ["vertex_ai/gemini-2.0-flash", "bedrock/x", "azure/x", "perplexity/x", "sagemaker/x"]
)
def test_a_provider_that_might_give_its_credentials_away_is_not_called_at_a_foreign_host(
    llm_server: LLMServer, failure: Fail, foreign: None, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    _secrets_everywhere(monkeypatch)
    error = failure(model=model)
    assert error.kind == "auth"
    assert "KEY_HOSTS" in error.message
    assert llm_server.requests == []


@pytest.mark.parametrize(
    ("model", "base"),
    [
        ("openai/x", ""),
        ("openai/x", "https://api.openai.com/v1"),
        ("openai/x", "https://API.OpenAI.com./v1"),
        ("gpt-4o", "https://api.openai.com/v1"),
        ("anthropic/x", "https://api.anthropic.com"),
        ("groq/x", "https://api.groq.com/openai/v1"),
        ("openai/x", "http://127.0.0.1:9000/v1"),
        ("openai/x", "http://localhost/v1"),
        ("openai/x", "http://[::1]:9000/v1"),
        ("bedrock/x", "http://127.0.0.1/"),
        ("openai/x", "https://models.example.com/v1"),
        ("openai/x", "http://MODELS.example.com:8080/v1"),
        ("openai/x", "https://other.example.com:8443/v1"),
        ("openai/x", "https://third.example.com/v1"),
    ],
)
def test_where_a_key_may_go(model: str, base: str) -> None:
    hosts = ["Models.Example.com", "other.example.com:8443", "third.example.com:443"]
    assert may_have_key(model, base, hosts)
    assert key_advisory(model, base, hosts) is None


@pytest.mark.parametrize(
    ("model", "base"),
    [
        ("openai/x", "https://evil.example.com/v1"),
        ("openai/x", "http://api.openai.com/v1"),  # readable on the way
        ("openai/x", "https://api.openai.com.evil.example.com/v1"),
        ("openai/x", "https://evil.example.com/api.openai.com/v1"),
        ("openai/x", "https://evil.example.com/?x=https://api.openai.com"),
        ("openai/x", "https://evil.example.com#@api.openai.com/"),
        ("openai/x", "https://api.groq.com/openai/v1"),  # a provider's own host, but another's
        ("groq/x", "https://api.openai.com/v1"),
        ("azure/x", "https://anybody.openai.azure.com"),
        ("nobody/x", "https://api.openai.com/v1"),
        ("openai/x", "http://localhost.evil.example.com/"),
        ("openai/x", "http://127.0.0.1.evil.example.com/"),
        ("openai/x", "http://0.0.0.0/v1"),
        ("openai/x", "http://192.168.1.5/v1"),
        ("openai/x", "https://other.example.com/v1"),
        ("openai/x", "https://sub.models.example.com/v1"),
        ("openai/x", "https://example.com/v1"),
    ],
)
def test_where_a_key_may_not_go(model: str, base: str) -> None:
    hosts = ["models.example.com", "other.example.com:8443"]
    assert not may_have_key(model, base, hosts)
    advisory = key_advisory(model, base, hosts)
    assert advisory is not None
    assert "AI_EVAL['KEY_HOSTS']" in advisory


@pytest.mark.parametrize(
    "base",
    [
        "https://evil.example.com\\@api.openai.com/v1",
        "https://api.openai.com@evil.example.com/v1",
        "https://user:pass@api.openai.com/v1",
        "https://api.openai.com /v1",
        "https://api.openai.com\t.evil.example.com/v1",
        "https://api.openai。com/v1",
        "https://api.openai.com:99999/v1",
        "https://api.openai.com:x/v1",
        "https://[::1/v1",
        "https:///v1",
        "api.openai.com/v1",
        "file:///etc/passwd",
    ],
)
def test_an_address_that_two_parsers_might_read_differently_gets_no_key(base: str) -> None:
    assert base_problem(base)
    assert not may_have_key("openai/x", base, ["api.openai.com", "evil.example.com", ""])


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.9.10", "::1"])
def test_loopback(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host", ["", "0.0.0.0", "2130706433", "127.1", "0x7f.0.0.1", "local", "a.localhost", "::2"]
)
def test_what_may_be_another_machine_is_not_loopback(host: str) -> None:
    assert not is_loopback(host)


def test_an_advisory_names_the_host_and_what_follows() -> None:
    assert key_advisory("openai/x", "https://gpu.example.com/v1", []) == (
        "no key is sent to host gpu.example.com: it is neither the provider's own host, nor loopback, "
        "nor in AI_EVAL['KEY_HOSTS']"
    )
    assert "fails" in str(key_advisory("azure/x", "https://gpu.example.com/v1", []))


@pytest.mark.parametrize(
    "secret",
    [
        "Bearer abcdef123456",
        "authorization: Bearer eyJhbGciOi.J9.x-y_z",
        "sk-abcdef123456",
        "sk-proj-a1b2c3****wxyz",
        "x-api-key: 0123456789abcdef",
        '{"api_key": "0123456789abcdef"}',
        "https://h/?api_key=0123456789abcdef&x=1",
        "AIzaSyA0123456789abcdefghijklmnop",
        "gsk_0123456789abcdefghij",
        "postgres://user:0123456789abcdef@db/x",
    ],
)
def test_what_looks_like_a_secret_is_redacted(secret: str) -> None:
    told = scrub(f"before {secret} after")
    assert told.startswith("before ")
    assert told.endswith(" after")
    assert llm_keys.REDACTED in told
    for part in ("abcdef123456", "eyJhb", "0123456789abcdef", "a1b2c3", "AIzaSyA0"):
        assert part not in told


@pytest.mark.parametrize(
    "text",
    [
        "",
        "task-oriented-thing 1",
        "sk-learn",
        "the bearer of news",
        "api_key, base_url",
        "a key: value",
        "10:30 @home",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert scrub(text) == text


def test_secrets_of_the_environment_are_redacted_the_longer_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_TOKEN", "hunter2")
    monkeypatch.setenv("B_SECRET", "hunter2-and/more")
    monkeypatch.setenv("SHORT_KEY", "abc")
    assert scrub("hunter2-and/more hunter2-and%2Fmore hunter2 abc") == " ".join(
        [llm_keys.REDACTED] * 3 + ["abc"]
    )


def test_hostile_text_is_scrubbed_in_linear_time() -> None:
    def seconds(size: int) -> float:
        begun = time.process_time()
        for text in ("sk-" + "a" * size, "sk-" * size, "://" + "a" * size, "://a:" * size, "bearer " * size):
            scrub(text)
        return time.process_time() - begun

    seconds(1000)
    # Quadratic would be a factor of 64.
    assert seconds(160_000) < 32 * max(seconds(20_000), 0.001)


def test_a_secret_in_the_reply_of_a_foreign_host_is_only_text(
    llm_server: LLMServer, ask: Ask, foreign: None
) -> None:
    llm_server.script(Reply(text="sk-1234567890 is what it said"))
    assert ask().text == "sk-1234567890 is what it said"
