from collections.abc import Callable
from typing import Any

import pytest

from ai_eval import llm_keys
from ai_eval.llm import LLMError, LLMReply, LLMRequest, RetryPolicy, complete
from tests.llm_server import LLMServer, llm_server  # noqa: F401 - a fixture

KEY = "sk-real-0123456789-abcdefghij"

Ask = Callable[..., LLMReply]
Fail = Callable[..., LLMError]


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """One key in the environment, and nothing that points elsewhere."""
    for name in (
        "OPENAI_BASE_URL",
        "OPENAI_API_BASE",
        "OPENAI_ORGANIZATION",
        "OPENAI_ORG_ID",
        "OPENAI_PROJECT_ID",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.fixture
def ask(llm_server: LLMServer) -> Ask:  # noqa: F811
    """Asks `openai/mock` on the server once, or as the keywords say."""

    def call(retry: RetryPolicy | None = None, **given: Any) -> LLMReply:
        passed = {name: given.pop(name) for name in ("key_hosts", "should_stop", "on_wait") if name in given}
        request = {
            "model": "openai/mock",
            "messages": [{"role": "user", "content": "Where is it?"}],
            "api_base": llm_server.url,
            "timeout": 20,
            **given,
        }
        return complete(LLMRequest(**request), retry=retry or RetryPolicy(max_retries=0), **passed)

    return call


@pytest.fixture
def failure(ask: Ask) -> Fail:
    """The LLMError that asking ends in."""

    def call(**given: Any) -> LLMError:
        with pytest.raises(LLMError) as caught:
            ask(**given)
        return caught.value

    return call


@pytest.fixture
def foreign(monkeypatch: pytest.MonkeyPatch) -> None:
    """127.0.0.1 counts as a machine somewhere else, so that what is sent there can be looked at."""
    monkeypatch.setattr(llm_keys, "is_loopback", lambda host: False)
