"""From runs to the exit code of a command."""

from collections.abc import Sequence

from ai_eval.models import Run
from ai_eval.runs.document import verdict_of
from ai_eval.runs.verdict import FAILED, UNDECIDED

EXIT_PASSED, EXIT_FAILED, EXIT_WRONG_USE, EXIT_UNDECIDED, EXIT_CANCELLED = 0, 1, 2, 3, 130


def exit_code(run: Run) -> int:
    """0 passed, soft or no gate; 1 a hard gate failed; 3 undecided or in error; 130 stopped."""
    if run.state in (Run.State.CANCELLED, Run.State.INTERRUPTED):
        return EXIT_CANCELLED
    verdict = verdict_of(run)
    if run.state != Run.State.COMPLETE or verdict is None:
        return EXIT_UNDECIDED
    if verdict.gate is None or verdict.gate.type != "hard":
        return EXIT_PASSED
    return {FAILED: EXIT_FAILED, UNDECIDED: EXIT_UNDECIDED}.get(verdict.verdict, EXIT_PASSED)


def combined_exit_code(runs: Sequence[Run]) -> int:
    """Cancelled wins over failed, failed over undecided, undecided over passed."""
    codes = {exit_code(run) for run in runs}
    for code in (EXIT_CANCELLED, EXIT_FAILED, EXIT_UNDECIDED):
        if code in codes:
            return code
    return EXIT_PASSED
