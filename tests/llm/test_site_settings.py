"""What a site sets on litellm for its own calls does not reach ours."""

from typing import Any

import pytest

from ai_eval.llm import _litellm
from tests.llm.conftest import Ask, Fail
from tests.llm_server import LLMServer, Reply, failing

MODELS = ["openai/mock", "hosted_vllm/mock"]


@pytest.fixture
def litellm() -> Any:
    return _litellm()


@pytest.mark.parametrize("model", MODELS)
def test_its_retries_are_not_ours(
    llm_server: LLMServer, failure: Fail, litellm: Any, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    monkeypatch.setattr(litellm, "num_retries", 3)
    llm_server.script(failing(500))
    assert failure(model=model).kind == "server"
    assert len(llm_server.requests) == 1


@pytest.mark.parametrize("model", MODELS)
def test_its_cache_answers_nothing_and_keeps_nothing(
    llm_server: LLMServer, ask: Ask, litellm: Any, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    from litellm.caching.caching import Cache

    cache = Cache(type="local")
    monkeypatch.setattr(litellm, "cache", cache)
    llm_server.script(Reply(text="first"), Reply(text="second"))
    assert [ask(model=model).text, ask(model=model).text] == ["first", "second"]
    assert cache.cache.cache_dict == {}


def test_its_callbacks_see_no_reply(
    llm_server: LLMServer, ask: Ask, litellm: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(litellm, "success_callback", [lambda *given: seen.append(given)])
    ask()
    litellm.utils.executor.submit(lambda: None).result(10)
    assert seen == []


@pytest.mark.parametrize("model", MODELS)
def test_its_key_is_not_sent(
    llm_server: LLMServer,
    ask: Ask,
    foreign: None,
    litellm: Any,
    monkeypatch: pytest.MonkeyPatch,
    model: str,
) -> None:
    for name in ("api_key", "openai_key", "organization"):
        monkeypatch.setattr(litellm, name, "site-secret-0123")
    monkeypatch.setattr(litellm, "headers", {"X-Site": "site-secret-0123"}, raising=False)
    ask(model=model)
    assert "site-secret-0123" not in llm_server.last.raw_headers
