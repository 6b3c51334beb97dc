"""Real worker processes on the test's own database."""

import os
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen
from urllib.parse import urlencode

from django.db import connection

from ai_eval.models import Run
from ai_eval.runs.local import start_processes

LEASE_SECONDS = "2"
PATIENCE_SECONDS = 60.0


def database_url() -> str:
    """Where the test's database is, for a process that is to share it."""
    given = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{given['NAME']}"
    port = f":{given['PORT']}" if given["PORT"] else ""
    options = urlencode({name: value for name, value in given["OPTIONS"].items() if name == "host"})
    return f"postgres://{given['USER']}:{given['PASSWORD']}@{given['HOST']}{port}/{given['NAME']}?{options}"


def wait_until(condition: Callable[[], object], what: str) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < until, f"waited in vain for {what}"
        time.sleep(0.02)


@contextmanager
def workers(run: Run, count: int) -> Iterator[list[Popen[bytes]]]:
    """Worker processes that are gone at the end, whatever happens."""
    started = start_processes(run.pk, count)
    try:
        yield started
    finally:
        for process in started:
            if process.poll() is None:
                process.kill()
            process.wait()


def kill(process: Popen[bytes]) -> None:
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


def can_write() -> bool:
    """Whether no process holds SQLite's one write lock for longer than a moment."""
    if connection.vendor != "sqlite":
        return True
    probe = sqlite3.connect(connection.settings_dict["NAME"], timeout=1.0, isolation_level=None)
    try:
        probe.execute("BEGIN IMMEDIATE")
        probe.execute("ROLLBACK")
    except sqlite3.OperationalError:
        return False
    finally:
        probe.close()
    return True


def put_to_sleep(process: Popen[bytes]) -> None:
    """Stop the process, outside a write where nobody could take its lock away.

    On PostgreSQL the server ends such a transaction; SQLite's lock goes only with its process.
    """
    for _ in range(100):
        process.send_signal(signal.SIGSTOP)
        if can_write():
            return
        process.send_signal(signal.SIGCONT)
        time.sleep(0.05)
    raise AssertionError("the process is always in the middle of a write")


def state_of(run: Run) -> str:
    return Run.objects.values_list("state", flat=True).get(pk=run.pk)


def stored(run: Run) -> int:
    return run.answers.exclude(outcome="").count()


def asked_counts(log: Path) -> Counter[str]:
    """How often each question was asked, over all processes."""
    return Counter(log.read_text().splitlines() if log.exists() else [])


def worker_pids() -> list[int]:
    """Worker processes that this process has started, through whichever of its threads."""
    children = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            parent = status.read_text().split("PPid:")[1].split()[0]
            command = (status.parent / "cmdline").read_bytes()
        except (OSError, IndexError):
            continue
        if int(parent) == os.getpid() and b"ai_eval_worker" in command:
            children.append(int(status.parent.name))
    return children
