"""Worker processes on this machine: children that outlive a reload of the web server."""

import os
import subprocess
import sys

from django.conf import settings
from django.db.models.functions import Now

from ai_eval.conf import site_settings
from ai_eval.models import Run

ANSWERS_A_PROCESS = 100
"""A process takes about a second to start: for fewer answers another one is not worth it."""


def useful_processes(planned: int) -> int:
    """How many processes a run of that many answers is worth, within the site's setting."""
    return max(1, min(site_settings().processes, -(-planned // ANSWERS_A_PROCESS)))


def start_processes(run_id: int, count: int) -> list[subprocess.Popen[bytes]]:
    """Start `count` workers of the run in processes of their own."""
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": os.environ.get("DJANGO_SETTINGS_MODULE", "")}
    if not environment["DJANGO_SETTINGS_MODULE"]:
        environment["DJANGO_SETTINGS_MODULE"] = settings.SETTINGS_MODULE
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    command = [sys.executable, "-m", "django", "ai_eval_worker", "--run", str(run_id)]
    return [
        subprocess.Popen(  # noqa: S603 - our own interpreter and a number
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        for _ in range(count)
    ]


def wake(run: Run) -> list[subprocess.Popen[bytes]]:
    """Start local workers for a run that was launched or resumed."""
    Run.objects.filter(pk=run.pk).update(woken_at=Now())
    return start_processes(run.pk, useful_processes(run.planned))
