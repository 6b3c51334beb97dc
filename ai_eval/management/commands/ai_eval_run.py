"""`manage.py ai_eval_run [TARGET …]`: run targets and exit with their verdict."""

import os
import signal
import sys
import threading
import traceback
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

from django.core.management.base import BaseCommand

from ai_eval.conf import site_settings
from ai_eval.errors import ConfigurationError, EvalError, StateError
from ai_eval.management.site import check_site
from ai_eval.management.terminal import RunProgress, console_for, print_results
from ai_eval.models import Run, Target
from ai_eval.runs.control import cancel, resume
from ai_eval.runs.derive import regrade, retry_missing
from ai_eval.runs.document import write_document
from ai_eval.runs.finish import interrupt_if_dead
from ai_eval.runs.junit import write_junit
from ai_eval.runs.launch import launch, prepare
from ai_eval.runs.local import start_processes, useful_processes
from ai_eval.runs.outcome import (
    EXIT_CANCELLED,
    EXIT_FAILED,
    EXIT_UNDECIDED,
    EXIT_WRONG_USE,
    combined_exit_code,
)
from ai_eval.runs.worker import Worker

OF_RUNS: dict[str, Callable[[int], Run]] = {
    "resume": resume,
    "retry_missing": retry_missing,
    "regrade": regrade,
}


class Interruption:
    """A first SIGINT or SIGTERM asks for an orderly end, a second one ends at once."""

    def __init__(self) -> None:
        self.asked = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            os._exit(EXIT_CANCELLED)
        self.asked = True

    @contextmanager
    def listening(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {each: signal.signal(each, self._handle) for each in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)


class Command(BaseCommand):
    help = (
        "Run targets (without any: every enabled one) and exit with the verdict: 0 passed, 1 a hard gate "
        "failed, 2 wrong use or configuration, 3 undecided or in error, 130 interrupted or cancelled."
    )
    # Checked in `handle`: Django's own way exits 1, which is to say that a gate failed.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("targets", nargs="*", metavar="TARGET", help="ids of targets")
        parser.add_argument("--split", default="", help="only questions of this split")
        parser.add_argument("--trials", type=int, help="ask each question so often")
        parser.add_argument("--processes", type=int, help="worker processes, this one among them")
        parser.add_argument("--json", metavar="FILE", help="write all results as one JSON document")
        parser.add_argument("--junit", metavar="FILE", help="write JUnit XML with one case for each gate")
        of_runs = parser.add_mutually_exclusive_group()
        of_runs.add_argument("--resume", type=int, metavar="RUN", help="go on with a stopped run")
        of_runs.add_argument(
            "--retry-missing", type=int, metavar="RUN", help="a new run that asks again only what is missing"
        )
        of_runs.add_argument(
            "--regrade", type=int, metavar="RUN", help="a new run that grades the stored responses anew"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            code = self.run_and_report(options)
        except ConfigurationError as error:
            code = self._tell(error, EXIT_WRONG_USE)
        except EvalError as error:
            code = self._tell(error, EXIT_UNDECIDED)
        except Exception:  # noqa: BLE001 - whatever is unexpected is exit code 3, with its traceback
            self.stderr.write(traceback.format_exc())
            code = EXIT_UNDECIDED
        if getattr(self, "_called_from_command_line", False) and threading.active_count() > 1:
            # Something that an agent started still runs, and the interpreter would wait for it.
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        if code:
            sys.exit(code)

    def _tell(self, error: EvalError, code: int) -> int:
        for problem in error.problems:
            self.stderr.write(self.style.ERROR(problem))
        return code

    def run_and_report(self, options: dict[str, Any]) -> int:
        """The exit code, after everything was printed and written."""
        outputs = fresh_outputs(options)
        check_site(self)
        if options["processes"] is not None and options["processes"] < 1:
            raise ConfigurationError(f"--processes is {options['processes']}, must be 1 or more")
        starts = self._starts(options)
        interruption = Interruption()
        runs: list[Run] = []
        failure: EvalError | None = None
        with interruption.listening():
            for start in starts:
                if interruption.asked:
                    break
                try:
                    run = start()
                except EvalError as error:
                    # What the targets before it have cost is reported all the same.
                    failure = error
                    break
                runs.append(run)
                self._work(run, interruption, options["processes"])
        runs = [Run.objects.get(pk=run.pk) for run in runs]
        write_outputs(outputs, runs)
        if runs:
            print_results(console_for(self.stdout), runs)
        if interruption.asked:
            return EXIT_CANCELLED
        code = combined_exit_code(runs)
        if failure is None:
            return code
        told = self._tell(failure, EXIT_WRONG_USE if not runs and is_of_a_run(options) else EXIT_UNDECIDED)
        return code if code == EXIT_FAILED else told

    def _starts(self, options: dict[str, Any]) -> list[Callable[[], Run]]:
        """What to begin, in order; all of it is checked before anything begins."""
        for name, begin in OF_RUNS.items():
            if options[name] is not None:
                if options["targets"] or options["split"] or options["trials"] is not None:
                    raise ConfigurationError(
                        f"--{name.replace('_', '-')} takes the run as it was, and no targets"
                    )
                run_id = options[name]
                if not Run.objects.filter(pk=run_id).exists():
                    raise ConfigurationError(f"there is no run {run_id}")
                return [partial(begin, run_id)]
        targets = chosen_targets(options["targets"])
        plans = []
        problems: list[str] = []
        for target in targets:
            refuse_active(target)
        for target in targets:
            try:
                plans.append(prepare(target, split=options["split"], trials=options["trials"]))
            except EvalError as error:
                problems += error.problems
        if problems:
            raise ConfigurationError(problems)
        return [partial(launch, plan) for plan in plans]

    def _work(self, run: Run, interruption: Interruption, processes: int | None) -> None:
        """Work on the run in this process, and with others beside it, until it has ended."""
        console = console_for(self.stdout)
        worker = Worker(run.pk)
        children = start_processes(run.pk, (processes or useful_processes(run.planned)) - 1)
        bar = RunProgress(console, run)
        cancelled = False

        def between_steps() -> None:
            nonlocal cancelled
            if interruption.asked and not cancelled:
                cancelled = True
                cancel(run.pk)
                self.stderr.write(f"Run {run.pk} is cancelled, waiting for the calls in flight …")
            bar.update()

        with bar.shown():
            worker.run(between_steps)
        between_steps()
        for child in children:
            child.wait()


def is_of_a_run(options: dict[str, Any]) -> bool:
    """Whether the command goes on with a run, instead of launching targets."""
    return any(options[name] is not None for name in OF_RUNS)


def refuse_active(target: Target) -> None:
    """StateError when somebody works on a run of the target: told before anything is asked."""
    for run_id in Run.objects.filter(target=target, state__in=Run.ACTIVE).values_list("pk", flat=True):
        interrupt_if_dead(run_id, site_settings().lease_seconds)
    if Run.objects.filter(target=target, state__in=Run.ACTIVE).exists():
        raise StateError(f"{target.slug}: a run of it is active already")


def fresh_outputs(options: dict[str, Any]) -> dict[str, Path]:
    """The files to write, by option, each as it is named now. What an earlier call left there is removed:

    a job that finds a document must not find an old one.
    """
    outputs: dict[str, Path] = {}
    for name in ("json", "junit"):
        if options[name] is not None:
            check_writable(name, options[name])
            outputs[name] = Path(options[name]).absolute()
    if len(set(outputs.values())) < len(outputs):
        raise ConfigurationError("--json and --junit name the same file")
    for path in outputs.values():
        path.unlink(missing_ok=True)
    return outputs


def write_outputs(outputs: dict[str, Path], runs: list[Run]) -> None:
    """Each file whole or not at all."""
    for name, path in outputs.items():
        unfinished = path.with_name(f"{path.name}.part")
        if name == "json":
            with unfinished.open("w", encoding="utf-8") as file:
                write_document(runs, file)
        else:
            with unfinished.open("wb") as binary:
                write_junit(runs, binary)
        unfinished.replace(path)


def check_writable(option: str, name: str) -> None:
    """ConfigurationError when the file can't be written, told before anything is asked and paid."""
    path = Path(name)
    if (
        not name
        or path.is_dir()
        or not path.parent.is_dir()
        or not os.access(path if path.exists() else path.parent, os.W_OK)
    ):
        raise ConfigurationError(f"--{option}: {name} can't be written")


def chosen_targets(slugs: list[str]) -> list[Target]:
    """The named targets in their order, or every enabled one."""
    if not slugs:
        enabled = list(Target.objects.filter(enabled=True))
        if not enabled:
            raise ConfigurationError("there is no enabled target")
        return enabled
    known = {target.slug: target for target in Target.objects.all()}
    problems = []
    for slug in dict.fromkeys(slugs):
        if slug not in known:
            near = get_close_matches(slug, known, n=1)
            hint = f", did you mean {near[0]}?" if near else ""
            problems.append(f"there is no target {slug}{hint}")
    if problems:
        raise ConfigurationError(problems)
    return [known[slug] for slug in dict.fromkeys(slugs)]
