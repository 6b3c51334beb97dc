"""Asking a judge against a scripted server."""

import json
from typing import Any

import pytest

from ai_eval.graders import Grader, GradeResult, LLMJudge, registry
from ai_eval.graders import judge as judges
from ai_eval.graders.judge import JudgeConfig
from ai_eval.graders.registry import GraderInfo, GraderRegistry
from ai_eval.llm import RetryPolicy
from tests.llm_server import LLMServer, Reply


class Tone(LLMJudge):
    """A judge with nothing but a dimension."""

    id = "tone"
    label = "Tone"
    dimension = "tone"


@pytest.fixture(autouse=True)
def nothing_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """What models were found to take is no other test's business."""
    monkeypatch.setattr(judges, "_accepted", {})


def config(server: LLMServer, **more: Any) -> JudgeConfig:
    given = {"model": "openai/judge", "api_base": server.url, "retry": RetryPolicy(max_retries=0), **more}
    return JudgeConfig(**given)


def grade(
    server: LLMServer,
    grader: LLMJudge | None = None,
    question: str = "Is it in?",
    response: str = "It is in.",
    context: dict[str, Any] | None = None,
    **more: Any,
) -> GradeResult:
    grader = grader or Tone()
    grader.config = config(server, **more)
    return grader.grade(question, response, {"response_char_limit": 4000, **(context or {})})


def built(id: str) -> LLMJudge:
    info = registry.get(id)
    assert info is not None
    grader = info.build()
    assert isinstance(grader, LLMJudge)
    return grader


def scoring(score: object) -> Reply:
    return Reply(text=json.dumps({"score": score, "reason": "because"}))


def sent(server: LLMServer) -> list[dict[str, str]]:
    messages: list[dict[str, str]] = server.last.body["messages"]
    return messages


def info_of(grader: type[Grader], **correction: Any) -> GraderInfo:
    own = GraderRegistry()
    own.register(grader)
    return GraderInfo(**{**vars(own.all()[0]), **correction})
