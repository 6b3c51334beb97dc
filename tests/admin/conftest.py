from collections.abc import Callable

import pytest
from django.test import Client

from ai_eval.models import EvalSettings, Run
from tests.admin.judge_pages import RELEVANCE, VERDICT
from tests.cast import make_user
from tests.llm_server import LLMServer, Reply
from tests.runs.making import make_target, run_target


@pytest.fixture
def signed_in(db: None) -> Callable[[str], Client]:
    """A client signed in as one of the cast: `signed_in("olga")`."""

    def sign_in(name: str) -> Client:
        client = Client()
        client.force_login(make_user(name))
        return client

    return sign_in


@pytest.fixture
def olga(signed_in: Callable[[str], Client]) -> Client:
    """Who operates."""
    return signed_in("olga")


@pytest.fixture
def adam(signed_in: Callable[[str], Client]) -> Client:
    """Who administers."""
    return signed_in("adam")


@pytest.fixture
def vera(signed_in: Callable[[str], Client]) -> Client:
    """Who validates judges."""
    return signed_in("vera")


@pytest.fixture
def graded(llm_server: LLMServer, db: None) -> Run:
    """A run of one question whose answer the relevance judge has read."""
    EvalSettings.objects.create(judge_model="openai/judge", judge_api_base=llm_server.url)
    llm_server.reply = Reply(text=VERDICT)
    return run_target(make_target(["Where is <b>book</b> {1} $5 of 100 %?"], graders=[RELEVANCE]))
