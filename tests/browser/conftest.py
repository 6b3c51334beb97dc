"""A real Chromium before the real site: its own server, database file and worker processes."""

import logging
import os
import signal
import sqlite3
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db import connection

from ai_eval.models import EvalSettings
from tests.browser.chromium import NAMES, PROGRAM, Chromium, Visitor, find_program
from tests.browser.desk import QUESTIONS, Model
from tests.browser.site import Site, make_cast, make_site
from tests.llm_server import LLMServer
from tests.runs.making import make_dataset
from tests.runs.processes import LEASE_SECONDS, database_url, worker_pids

FAILED = pytest.StashKey[bool]()
PICTURES = Path(django_settings.BASE_DIR) / "var" / "browser"
"""Where a failing test leaves what its visitors saw; what else tests write goes with their session."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report: Any = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    return report


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    """One for each process of pytest. A machine without it fails: a test that is left out shows nothing."""
    program = find_program()
    if program is None:
        pytest.fail(
            f"Chromium is not installed: the browser tests look for {', '.join(NAMES)}, or for the program "
            f"that the variable {PROGRAM} names. On Debian: apt-get install chromium",
            pytrace=False,
        )
    browser = Chromium(program)
    yield browser
    browser.close()


@pytest.fixture(scope="session")
def _saved_site(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the first test that asks for the full site has made, for those after it."""
    return {"directory": tmp_path_factory.mktemp("datasets"), "file": tmp_path_factory.mktemp("site") / "db"}


@pytest.fixture
def site(live_server: Any, _saved_site: dict[str, Any]) -> Site:
    """The full site. It is made once; on SQLite its copy takes a moment."""
    if connection.vendor != "sqlite":
        return quietly_made(_saved_site["directory"])
    connection.ensure_connection()
    with sqlite3.connect(_saved_site["file"]) as copy:
        if "site" not in _saved_site:
            _saved_site["site"] = quietly_made(_saved_site["directory"])
            connection.connection.backup(copy)
        else:
            copy.backup(connection.connection)
            ContentType.objects.clear_cache()
    copy.close()
    made: Site = _saved_site["site"]
    return made


def quietly_made(directory: Path) -> Site:
    """What fails on this site is meant to, and its tracebacks would hide those of a failing test."""
    logging.disable(logging.ERROR)
    try:
        return make_site(directory)
    finally:
        logging.disable(logging.NOTSET)


@pytest.fixture
def visit_as(
    live_server: Any, chromium: Chromium, request: pytest.FixtureRequest
) -> Iterator[Callable[..., Visitor]]:
    """Visitors: `visit_as("olga")` is signed in, `visit_as(None)` is not. What went wrong on any page that
    they saw fails the test, unless they `expect` it."""
    visitors: list[Visitor] = []

    def come(name: str | None, base: str = "") -> Visitor:
        cookies = {} if name is None else {django_settings.SESSION_COOKIE_NAME: session_of(name)}
        visitor = Visitor(chromium, base or live_server.url, cookies)
        visitors.append(visitor)
        return visitor

    yield come
    faults = [fault for visitor in visitors for fault in visitor.faults]
    for number, visitor in enumerate(visitors, 1):
        if faults or request.node.stash.get(FAILED, False):
            name = "".join(sign if sign.isalnum() else "_" for sign in request.node.name)
            visitor.picture(PICTURES / f"{name}-{number}.png")
        visitor.close()
    if faults:
        pytest.fail("on the pages of this test:\n" + "\n".join(dict.fromkeys(faults)), pytrace=False)


def session_of(name: str) -> str:
    """The key of a session in which that user has signed in."""
    user = User.objects.get(username=name)
    session = import_module(django_settings.SESSION_ENGINE).SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = django_settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    return str(session.session_key)


@pytest.fixture
def worker_processes(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[None]:
    """Workers that the site starts find the test's database; none of them outlives the test."""
    monkeypatch.setenv("DATABASE_URL", database_url())
    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", "tests.settings")
    monkeypatch.setenv("AI_EVAL_LEASE_SECONDS", LEASE_SECONDS)
    yield
    for pid in worker_pids():
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


@pytest.fixture
def model() -> Iterator[tuple[Model, LLMServer]]:
    model = Model()
    with LLMServer(model) as server:
        yield model, server


@pytest.fixture
def desk(live_server, worker_processes, model) -> Model:
    """A site with people and questions, whose judges ask the local model."""
    talker, server = model
    EvalSettings.objects.create(
        judge_model="openai/judge", judge_api_base=server.url, rate_limit_max_retries=0
    )
    make_cast()
    make_dataset("shelves", [f"Where is book {n}?" for n in range(QUESTIONS)])
    return talker
