"""What every test may use, and the database that they run on: `pytest --database=postgresql`."""

import importlib
import os
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import connections
from hypothesis import settings as hypothesis_settings

from tests import servers
from tests.llm_server import llm_server
from tests.registering import registered

__all__ = ["llm_server", "registered"]

# How long an example takes says more about the machine than about the code.
hypothesis_settings.register_profile("ai_eval", deadline=None)
hypothesis_settings.load_profile("ai_eval")

DATABASES = ("sqlite", "postgresql")
DATABASE_FIXTURES = {"db", "transactional_db", "django_db_setup"}
DATABASE_MARKERS = ("django_db", "postgresql", "processes")
LEFT_OUT = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--database",
        default=os.environ.get("AI_EVAL_TEST_DATABASE", "sqlite"),
        help="sqlite (default): every test. postgresql: those that touch the database, on a server that the "
        "tests start. AI_EVAL_TEST_DATABASE says the same.",
    )


def pytest_configure(config: pytest.Config) -> None:
    database = config.getoption("--database")
    if database not in DATABASES:
        raise pytest.UsageError(f"--database: {database!r} is none of {', '.join(DATABASES)}")
    servers.session()  # by the process that outlives all others of this session
    if database == "postgresql" and "DATABASE_URL" not in os.environ:
        _use_postgresql()
    engine = django_settings.DATABASES["default"]["ENGINE"]
    if database not in engine:
        raise pytest.UsageError(f"--database={database}, but DATABASE_URL (or .env) sets {engine}")


def _use_postgresql() -> None:
    """Reads the settings again: pytest-django has read them before this file knew the option.

    Processes that this one starts, those of pytest-xdist as well, find the address in the environment.
    """
    try:
        os.environ["DATABASE_URL"] = servers.postgresql_url()
    except servers.ServerFailed as failure:
        raise pytest.UsageError(str(failure)) from failure
    os.environ["AI_EVAL_TEST_DATABASE"] = "postgresql"
    for name in ("evalsite.settings", "tests.settings"):
        settings = importlib.reload(importlib.import_module(name))
    django_settings.DATABASES = settings.DATABASES
    connections.settings = connections.configure_settings(settings.DATABASES)
    for connection in connections.all(initialized_only=True):
        del connections[connection.alias]


def pytest_report_header(config: pytest.Config) -> str:
    return f"database: {config.getoption('--database')}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """On PostgreSQL, only what touches the database: the rest has run on SQLite already."""
    if config.getoption("--database") != "postgresql":
        return
    touching: list[pytest.Item] = []
    pure: list[pytest.Item] = []
    for item in items:
        (touching if _touches_the_database(item) else pure).append(item)
    items[:] = touching
    config.hook.pytest_deselected(items=pure)
    config.stash[LEFT_OUT] = len(pure)
    if hasattr(config, "workeroutput"):
        config.workeroutput["left_out"] = len(pure)


def _touches_the_database(item: pytest.Item) -> bool:
    marked = any(item.get_closest_marker(marker) for marker in DATABASE_MARKERS)
    return marked or not DATABASE_FIXTURES.isdisjoint(getattr(item, "fixturenames", ()))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """pytest-xdist tells nothing of what its workers deselected."""
    if "left_out" in getattr(node, "workeroutput", {}):
        node.config.stash[LEFT_OUT] = node.workeroutput["left_out"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if LEFT_OUT in config.stash:
        left_out = config.stash[LEFT_OUT]
        terminalreporter.write_line(f"On PostgreSQL: {left_out} tests that touch no database are left out.")


@pytest.fixture(scope="session")
def repeats() -> int:
    """How often a test that kills something does so: once, unless AI_EVAL_TEST_REPEATS says more."""
    times = int(os.environ.get("AI_EVAL_TEST_REPEATS", "1"))
    assert times >= 1, "AI_EVAL_TEST_REPEATS: at least 1"
    return times
