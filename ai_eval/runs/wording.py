"""A verdict in words. One place, so that terminal, JUnit and pages say the same."""

from ai_eval.runs.verdict import Verdict
from ai_eval.stats import Figure, reaches


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
    words = {
        "target_errors": "target errors",
        "provider_errors": "provider errors",
        "degraded": "degraded",
        "empty": "empty",
        "unscored": "unscored",
        "clamped": "clamped",
        "truncated": "cut for the judges",
    }
    parts += [f"{counts[key]} {word}" for key, word in words.items() if counts[key]]
    return ", ".join(parts)


def money_text(cost: float | None) -> str:
    """US dollars with as many digits as the sum needs; an unknown price is no zero."""
    if cost is None:
        return "unknown"
    return f"${cost:,.2f}" if cost >= 1 or cost == 0 else f"${cost:.3g}" if cost >= 0.0001 else f"${cost:.1e}"
