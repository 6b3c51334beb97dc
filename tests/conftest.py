"""What every test may use."""

import os

import pytest
from hypothesis import settings as hypothesis_settings

from tests.llm_server import llm_server

__all__ = ["llm_server"]

# How long an example takes says more about the machine than about the code.
hypothesis_settings.register_profile("ai_eval", deadline=None)
hypothesis_settings.load_profile("ai_eval")

ON_POSTGRESQL = os.environ.get("AI_EVAL_TEST_DATABASE") == "postgresql"
DATABASE_FIXTURES = {"db", "transactional_db", "django_db_setup", "admin_client", "client"}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """On PostgreSQL, only what touches the database: the rest has run on SQLite already."""
    if not ON_POSTGRESQL:
        return
    touching = [
        item
        for item in items
        if item.get_closest_marker("django_db") or DATABASE_FIXTURES & set(getattr(item, "fixturenames", ()))
    ]
    config.hook.pytest_deselected(items=[item for item in items if item not in touching])
    items[:] = touching


@pytest.fixture(scope="session")
def repeats() -> int:
    """How often a test that kills something does so: once, unless AI_EVAL_TEST_REPEATS says more."""
    return int(os.environ.get("AI_EVAL_TEST_REPEATS", "1"))
