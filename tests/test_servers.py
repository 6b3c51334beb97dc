"""The servers that the tests bring along, and the database that the tests run on."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
import redis
from django.db import connection

from tests import servers

PATIENCE_SECONDS = 60
OTHER_SESSION = """
import sys
from tests import servers
print(servers.session(), servers.{server}_url(), flush=True)
sys.stdin.read()
"""


def other_session(server: str) -> tuple[subprocess.Popen[str], Path, str]:
    """A process with a session of its own until its input ends, the session, and its server's address."""
    process = subprocess.Popen(
        [sys.executable, "-c", OTHER_SESSION.replace("{server}", server)],
        env={name: value for name, value in os.environ.items() if name != servers.SESSION},
        cwd=Path(__file__).parent.parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    directory, url = process.stdout.readline().split()
    return process, Path(directory), url


def process_of(url: str, directory: Path) -> int:
    """The server's process id, as it tells it itself."""
    if url.startswith("redis"):
        return int(redis.Redis.from_url(url).info("server")["process_id"])
    with psycopg.connect(url):
        return int((directory / "postgresql" / "data" / "postmaster.pid").read_text().split()[0])


def runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.django_db
def test_the_tests_run_on_the_database_that_was_asked_for(request: pytest.FixtureRequest):
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    assert connection.vendor == request.config.getoption("--database")


@pytest.mark.redis
def test_a_redis_of_the_session_answers():
    assert redis.Redis.from_url(servers.redis_url()).ping() is True


@pytest.mark.redis
def test_a_redis_of_the_session_keeps_strangers_out():
    port = urlsplit(servers.redis_url()).port
    assert port is not None
    with pytest.raises(redis.AuthenticationError):
        redis.Redis(host="127.0.0.1", port=port).ping()


@pytest.mark.postgresql
def test_a_new_database_has_the_name_that_was_asked_for(testrun_uid: str, worker_id: str):
    name = f'odd "name" % {testrun_uid[:8]} {worker_id}'
    with psycopg.connect(servers.create_database(name)) as made:
        assert made.execute("SELECT current_database()").fetchone() == (name,)


@pytest.mark.parametrize(
    "server",
    [
        pytest.param("postgresql", marks=pytest.mark.postgresql),
        pytest.param("redis", marks=pytest.mark.redis),
    ],
)
@pytest.mark.parametrize("kill", [False, True])
def test_no_server_outlives_its_session(server: str, kill: bool):
    session, directory, url = other_session(server)
    process = process_of(url, directory)
    assert runs(process)
    if kill:
        session.send_signal(signal.SIGKILL)
    session.communicate()
    until = time.monotonic() + PATIENCE_SECONDS
    while runs(process) or directory.exists():
        assert time.monotonic() < until, f"process {process} runs: {runs(process)}; {directory} exists"
        time.sleep(0.1)


@pytest.mark.postgresql
def test_a_server_that_does_not_start_is_told_with_its_log():
    directory = servers.session() / f"broken-{os.getpid()}"
    directory.mkdir()
    with pytest.raises(servers.ServerFailed, match="no such option"):
        servers._start(
            directory,
            ["sh", "-c", "echo no such option; exit 1"],
            ready=lambda: psycopg.connect("postgres://postgres@/x?host=/nowhere"),
            not_yet=psycopg.OperationalError,
        )
