"""`manage.py ai_eval_worker`: work on runs."""

import logging
import os
import signal
import sys
import time
from argparse import ArgumentParser
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand

from ai_eval.failures import readable_traceback
from ai_eval.models import Run
from ai_eval.runs.worker import Worker

logger = logging.getLogger(__name__)

POLL_SECONDS = 1.0


class Command(BaseCommand):
    help = "Work on one run, or on every active one, until nothing is left; with --wait for ever."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--run", type=int, help="work on this run only")
        parser.add_argument("--wait", action="store_true", help="wait for runs instead of ending")

    def handle(self, *args: Any, **options: Any) -> None:
        self.stopped = False
        self.worker: Worker | None = None
        for each in (signal.SIGINT, signal.SIGTERM):
            signal.signal(each, self._stop)
        hung = 0
        failed = False
        while not self.stopped:
            runs = [options["run"]] if options["run"] is not None else self._active()
            for run_id in runs:
                if self.stopped:
                    break
                self.worker = Worker(run_id)
                try:
                    self.worker.run()
                except Exception:  # noqa: BLE001 - one run that fails must not keep the others waiting
                    failed = True
                    logger.error("run %s: its worker failed\n%s", run_id, readable_traceback())
                hung += self.worker.pool.left_behind
            if not options["wait"]:
                break
            time.sleep(POLL_SECONDS)
        if hung and getattr(self, "_called_from_command_line", False):
            sys.stdout.flush()
            os._exit(int(failed))
        if failed:
            sys.exit(1)

    @staticmethod
    def _active() -> list[int]:
        return list(Run.objects.filter(state__in=Run.ACTIVE).order_by("pk").values_list("pk", flat=True))

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self.stopped = True
        if self.worker is not None:
            self.worker.stopping.set()
