"""What the commands print: tables and progress on a terminal, plain lines elsewhere."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, cast

from django.core.management.base import OutputWrapper
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from ai_eval.models import Answer, Grade, Run
from ai_eval.runs.document import verdict_of
from ai_eval.runs.progress import progress
from ai_eval.runs.verdict import Verdict
from ai_eval.runs.wording import counts_sentence, figure_text, gate_sentence
from ai_eval.stats import reaches

SIGNS = {"passed": ("✔ passed", "bold green"), "failed": ("✘ failed", "bold red")}
PROGRESS_SECONDS = 0.5
PLAIN_WIDTH = 120


class ReportConsole(Console):
    """A reader that went away (`| head`) must not turn a verdict into another exit code."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def console_for(output: OutputWrapper) -> Console:
    """Colours only on a terminal; elsewhere a fixed width, so that logs do not depend on the machine."""
    stream = cast(IO[str], output._out)
    terminal = output.isatty()
    return ReportConsole(
        file=stream, width=None if terminal else PLAIN_WIDTH, highlight=False, soft_wrap=False
    )


class RunProgress:
    """A bar on a terminal; elsewhere nothing but the lines at start and end."""

    def __init__(self, console: Console, run: Run) -> None:
        self._run = run
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[outcomes]}"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task(escape(run.target_slug), total=run.planned, outcomes="")
        self._shown = 0.0

    def update(self) -> None:
        """Called between the worker's steps; looks at the database only now and then."""
        if self._bar.disable or time.monotonic() - self._shown < PROGRESS_SECONDS:
            return
        self._shown = time.monotonic()
        now = progress(self._run.pk)
        outcomes = ", ".join(f"{count} {outcome}" for outcome, count in sorted(now.outcomes.items()))
        self._bar.update(self._task, completed=now.ended, outcomes=outcomes)

    @contextmanager
    def shown(self) -> Iterator["RunProgress"]:
        with self._bar:
            yield self


def say(console: Console, text: str, style: str = "", indent: int = 0) -> None:
    """One line. It is wrapped, under its own indent, on a terminal only, so that logs can be searched."""
    if console.is_terminal:
        console.print(Padding(Text(text, style), (0, 0, 0, indent)))
    else:
        console.print(Text(" " * indent + text), soft_wrap=True)


def _verdict_text(run: Run, verdict: Verdict | None) -> Text:
    if verdict is None:
        return Text(f"– {run.state}", "bold yellow")
    if not verdict.verdict:
        return Text("– no gate", "bold")
    sign, style = SIGNS.get(verdict.verdict, ("? undecided", "bold yellow"))
    if verdict.gate is not None and verdict.gate.type == "soft" and verdict.verdict != "passed":
        sign, style = f"{sign} (soft)", "bold yellow"
    return Text(sign, style)


def print_results(console: Console, runs: list[Run]) -> None:
    """One line a target, then for each its reasons, graders and advisories."""
    table = Table(title=None, expand=False)
    for heading in ("target", "run", "verdict", "pass rate (95 %)", "average score of 5 (95 %)", "answers"):
        table.add_column(heading, overflow="fold")
    for run in runs:
        verdict = verdict_of(run)
        cells: list[str | Text] = [Text(run.target_slug), str(run.pk), _verdict_text(run, verdict)]
        if verdict is None:
            cells += ["", "", Text(run.error or run.state)]
        else:
            cells += [
                Text(figure_text(verdict.pass_rate, reasons=False)),
                Text(figure_text(verdict.avg_score, reasons=False)),
                Text(counts_sentence(verdict)),
            ]
        table.add_row(*cells)
    console.print(table)
    for run in runs:
        _print_details(console, run)


def _print_details(console: Console, run: Run) -> None:
    verdict = verdict_of(run)
    say(console, f"\n{run.target_slug} (run {run.pk})", "bold")
    if verdict is None:
        say(console, f"{run.state}: {run.error or 'no verdict'}", indent=2)
        return
    say(console, gate_sentence(verdict), indent=2)
    for name, figure in (("pass rate", verdict.pass_rate), ("average score", verdict.avg_score)):
        if figure.why:
            say(console, f"{name} {figure_text(figure)}", indent=2)
    _print_graders(console, verdict)
    _print_not_passed(console, run)
    for advisory in run.advisories:
        say(console, f"! {advisory}", "yellow", indent=2)


def _print_graders(console: Console, verdict: Verdict) -> None:
    table = Table(box=None, padding=(0, 2))
    for heading in ("grader", "passed", "scored", "skipped", "errored", "mean (0-5)"):
        table.add_column(heading, justify="left" if heading == "grader" else "right")
    for each in verdict.coverage:
        mean = "undefined" if each.mean is None else f"{each.mean:.2f}"
        table.add_row(
            Text(each.grader),
            f"{each.passed} of {each.scored}",
            f"{each.scored} of {each.graded}",
            str(each.skipped),
            str(each.errored),
            mean,
        )
    console.print(table)


def _print_not_passed(console: Console, run: Run, limit: int = 10) -> None:
    """The first answers that did not pass, with the reasons of the grades that held them down."""
    threshold = run.snapshot["pass_threshold"]
    answers = run.answers.filter(passed=False) | run.answers.filter(passed=None)
    answers = answers.exclude(outcome="unscored").order_by("position").prefetch_related("grades")
    total = answers.count()
    for answer in answers[:limit]:
        trial = f" (trial {answer.trial})" if run.snapshot["target"]["trials"] > 1 else ""
        score = "no score" if answer.score is None else f"{answer.score:.2f}"
        outcome = (
            "" if answer.outcome == Answer.Outcome.SCORED else f"{answer.get_outcome_display()}, ".lower()
        )
        say(console, f"✘ {answer.question_id}{trial}: {outcome}{score}", indent=2)
        if answer.error:
            say(console, _one_line(answer.error), indent=6)
        for grade in answer.grades.all():
            if grade.composite is None and grade.outcome != Grade.Outcome.ERRORED:
                continue
            if grade.composite is None or not reaches(grade.composite, threshold):
                given = "errored" if grade.composite is None else f"{grade.composite:.2f}"
                required = " (required)" if grade.grader in answer.failed_required else ""
                say(console, f"{grade.grader} {given}{required}: {_one_line(grade.reason)}", indent=6)
    if total > limit:
        say(console, f"… and {total - limit} more that did not pass", indent=2)


def _one_line(text: str, limit: int = 300) -> str:
    """Without what could move a terminal's cursor or reorder its text."""
    flat = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return flat if len(flat) <= limit else f"{flat[:limit]}…"
