"""States as a word, a shape and a tone, so that colour alone never tells them apart."""

from dataclasses import dataclass

from ai_eval.models import Answer, Grade, Run


@dataclass(frozen=True)
class Sign:
    """`tone` is one of good, bad, unsure, idle, busy; `shape` names a drawing of `ai_eval/shape.html`."""

    word: str
    tone: str
    shape: str


VERDICTS = {
    "passed": Sign("passed", "good", "check"),
    "failed": Sign("failed", "bad", "cross"),
    "undecided": Sign("undecided", "unsure", "question"),
    "": Sign("no gate", "idle", "dash"),
}
STATES = {
    Run.State.PENDING: Sign("pending", "busy", "ring"),
    Run.State.RUNNING: Sign("running", "busy", "play"),
    Run.State.INTERRUPTED: Sign("interrupted", "unsure", "pause"),
    Run.State.CANCELLED: Sign("cancelled", "idle", "square"),
    Run.State.COMPLETE: Sign("complete", "idle", "dot"),
    Run.State.ERROR: Sign("ended in error", "bad", "triangle"),
}
OUTCOMES = {
    Answer.Outcome.WAITING: Sign("no answer yet", "idle", "ring"),
    Answer.Outcome.SCORED: Sign("scored", "idle", "dot"),
    Answer.Outcome.UNSCORED: Sign("unscored: every grader skipped it", "idle", "dash"),
    Answer.Outcome.EMPTY: Sign("empty response", "unsure", "ring"),
    Answer.Outcome.TARGET_ERROR: Sign("target error", "bad", "triangle"),
    Answer.Outcome.PROVIDER_ERROR: Sign("missing: provider error", "unsure", "triangle"),
    Answer.Outcome.GRADE_ERROR: Sign("missing: no grade could be given", "unsure", "triangle"),
}
GRADES = {
    Grade.Outcome.SCORED: Sign("scored", "idle", "dot"),
    Grade.Outcome.SKIPPED: Sign("skipped", "idle", "dash"),
    Grade.Outcome.ERRORED: Sign("errored", "unsure", "triangle"),
}

REACHED = Sign("reaches the threshold", "good", "check")
BELOW = Sign("below the threshold", "bad", "cross")


def run_sign(state: str, verdict: str) -> Sign:
    """The verdict of a complete run, else its state."""
    return VERDICTS[verdict] if state == Run.State.COMPLETE else STATES[Run.State(state)]


def answer_sign(outcome: str, passed: bool | None) -> Sign:
    """Passed or failed where that is known and the answer is an ordinary one, else its outcome."""
    if outcome == Answer.Outcome.SCORED and passed is not None:
        return VERDICTS["passed" if passed else "failed"]
    return OUTCOMES[Answer.Outcome(outcome)]


def grade_sign(outcome: str, reached: bool | None) -> Sign:
    """Of a scored grade, whether it reaches the run's pass threshold; else its outcome."""
    if reached is None:
        return GRADES[Grade.Outcome(outcome)]
    return REACHED if reached else BELOW


STATUS_WORDS = {
    "failed": "failed",
    "failed_required": "failed a required grader",
    "errored": "errored",
    "empty": "empty",
    "degraded": "degraded",
    "unscored": "unscored",
    "passed": "passed",
    "waiting": "no answer yet",
}
"""Names of `runs.browse.STATUSES`."""
