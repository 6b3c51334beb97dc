"""A verdict in words. One place, so that terminal, JUnit and pages say the same."""

from ai_eval.runs.verdict import Verdict
from ai_eval.stats import Figure, reaches
from ai_eval.wording import counted


def figure_text(figure: Figure, digits: int = 3, reasons: bool = True) -> str:
    """`0.833 (0.436 to 0.970), n 6`; with `reasons` also why it, or its interval, is undefined."""
    if figure.value is None:
        return f"undefined: {figure.why}" if reasons else "undefined"
    value = f"{figure.value:.{digits}g}"
    if figure.low is None or figure.high is None:
        return (
            f"{value}, n {figure.n:g} ({figure.why})"
            if reasons and figure.why
            else f"{value}, n {figure.n:g}"
        )
    return f"{value} ({figure.low:.{digits}g} to {figure.high:.{digits}g}), n {figure.n:g}"


def gate_sentence(verdict: Verdict) -> str:
    """`passed: pass_rate 0.95 reaches 0.9 (hard gate)`."""
    gate = verdict.gate
    if gate is None:
        return "no gate"
    value = "undefined" if verdict.value is None else f"{verdict.value:.4g}"
    kind = f"{gate.type} gate"
    if verdict.verdict == "passed":
        return f"passed: {gate.metric} {value} reaches {gate.threshold:g} ({kind})"
    if verdict.verdict == "failed":
        below = f"{gate.metric} {value} is below {gate.threshold:g}"
        if (
            verdict.high is not None
            and verdict.value is not None
            and not reaches(verdict.value, verdict.high)
        ):
            below += f", also with everything missing taken for passed ({verdict.high:.4g})"
        return f"failed: {below} ({kind})"
    because = "; ".join(verdict.undecided_because)
    return f"undecided: {gate.metric} {value} against {gate.threshold:g} ({kind}): {because}"


def counts_sentence(verdict: Verdict) -> str:
    """What became of the planned answers; what did not occur is left out, beside the first three."""
    counts = verdict.counts
    parts = [f"{counts['scored']} of {counts['planned']} scored, {counts['passed']} passed"]
    errors = {"target_errors": "target error", "provider_errors": "provider error"}
    words = {
        "degraded": "degraded",
        "empty": "empty",
        "unscored": "unscored",
        "clamped": "clamped",
        "truncated": "cut for the judges",
    }
    parts += [counted(counts[key], noun) for key, noun in errors.items() if counts[key]]
    parts += [f"{counts[key]} {word}" for key, word in words.items() if counts[key]]
    return ", ".join(parts)


def duration_text(seconds: float | None) -> str:
    """`0.4 s`, `40 s`, `12 min`, `3 h 20 min`, `5 days`; rounded as one tells it. `unknown` for None."""
    if seconds is None:
        return "unknown"
    if seconds < 0.05:
        return "under 0.1 s"
    if seconds < 90:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{round(seconds)} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min" if minutes < 48 * 60 else f"{minutes // 1440} days"
