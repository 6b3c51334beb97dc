"""What every command asks of the site before it begins."""

from django.core.management.base import BaseCommand, SystemCheckError
from django.db import DEFAULT_DB_ALIAS, DatabaseError, connections
from django.db.migrations.executor import MigrationExecutor

from ai_eval.errors import ConfigurationError


def check_site(command: BaseCommand) -> None:
    """ConfigurationError when a system check fails, or the database is away or not migrated."""
    try:
        command.check()
    except SystemCheckError as error:
        raise ConfigurationError(str(error)) from error
    try:
        executor = MigrationExecutor(connections[DEFAULT_DB_ALIAS])
        wanted = [node for node in executor.loader.graph.leaf_nodes() if node[0] == "ai_eval"]
        missing = executor.migration_plan(wanted)
    except DatabaseError as error:
        raise ConfigurationError(f"the database can't be used: {error}") from error
    if missing:
        raise ConfigurationError("the database is not migrated: run `manage.py migrate` first")
