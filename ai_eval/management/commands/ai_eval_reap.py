"""`manage.py ai_eval_reap`: find runs that nobody works on."""

from typing import Any

from django.core.management.base import BaseCommand

from ai_eval.conf import site_settings
from ai_eval.runs.finish import reap


class Command(BaseCommand):
    help = (
        "Finish or interrupt active runs without a live worker, and announce completed runs that were not. "
        "Run it every minute from cron where no scheduler does."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        interrupted = reap(site_settings().lease_seconds)
        for run_id in interrupted:
            self.stdout.write(f"Run {run_id} is interrupted: `ai_eval_run --resume {run_id}` goes on.")
        if not interrupted:
            self.stdout.write("No run is without a worker.")
