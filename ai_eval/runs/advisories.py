"""What a reader of a verdict has to know beside it. One sentence each."""

from collections.abc import Mapping
from typing import Any

from ai_eval.configuration.advice import observing_advisory as observing_advisory
from ai_eval.graders import ToolUsageGrader
from ai_eval.models import Answer, Grade, Run
from ai_eval.runs.verdict import PASSED, Coverage, Verdict
from ai_eval.stats import reaches
from ai_eval.trust import UNVALIDATED
from ai_eval.wording import counted


def run_advisories(run: Run, verdict: Verdict) -> list[str]:
    """All advisories of a finished run: those of its launch, and those that its answers give."""
    snapshot = run.snapshot
    observing = [each["id"] for each in snapshot["graders"] if each["observes_actions"]]
    return [
        *snapshot["advisories"],
        *observing_advisory(snapshot["target"]["mode"], observing),
        *_fallback_advisories(run, observing),
        *_coverage_advisories(verdict),
        *_count_advisories(verdict),
        *_gate_advisories(verdict),
        *_trust_advisories(snapshot),
        *_note_advisories(run),
    ]


def _fallback_advisories(run: Run, observing: list[str]) -> list[str]:
    marked = Grade.objects.filter(
        answer__run=run, grader__in=observing, reason__contains=ToolUsageGrader.FALLBACK_MARKER
    )
    marks = marked.count()
    if not marks:
        return []
    return [
        f"graders that observe actions say '{ToolUsageGrader.FALLBACK_MARKER}' in "
        f"{counted(marks, 'grade')}, without what the agent did to rest on"
    ]


def coverage_sentence(each: Coverage) -> str:
    """`db_state scored 4 of 6, skipped 2`."""
    parts = [f"{each.grader} scored {each.scored} of {each.graded}"]
    parts += [f"skipped {each.skipped}"] if each.skipped else []
    parts += [f"errored {each.errored}"] if each.errored else []
    return ", ".join(parts)


def _coverage_advisories(verdict: Verdict) -> list[str]:
    return [coverage_sentence(each) for each in verdict.coverage if each.scored < each.graded]


def _count_advisories(verdict: Verdict) -> list[str]:
    counts = verdict.counts
    found = []
    if counts["clamped"]:
        found.append(
            f"judge scores outside their scale in {counted(counts['clamped'], 'answer')}: "
            "clamped, they count as missing for the gate"
        )
    if counts["truncated"]:
        found.append(f"{counted(counts['truncated'], 'response')} longer than what the judges were shown")
    if counts["empty"]:
        found.append(f"{counts['empty']} of {counts['answers']} responses are empty")
    if counts["unscored"]:
        found.append(
            f"{counted(counts['unscored'], 'answer')} outside every figure, since every grader skipped"
        )
    return found


def _gate_advisories(verdict: Verdict) -> list[str]:
    gate = verdict.gate
    if gate is None:
        return ["the target has no gate: nothing here can fail"]
    soft = []
    if gate.type == "soft" and verdict.verdict != PASSED:
        soft = [f"the soft gate is {verdict.verdict}: it warns, and fails nothing"]
    figure = verdict.avg_score if gate.metric == "avg_score" else verdict.pass_rate
    if figure.low is None or figure.high is None:
        return soft
    if not reaches(figure.low, gate.threshold) and figure.high >= gate.threshold:
        return [
            *soft,
            f"too close to call with this many questions: the threshold {gate.threshold:g} lies inside the "
            f"95 % interval {figure.low:.3g} to {figure.high:.3g} of {gate.metric}",
        ]
    return soft


def _trust_advisories(snapshot: Mapping[str, Any]) -> list[str]:
    judges = snapshot["judges"]
    unvalidated = [id for id, judge in judges.items() if judge["trust"] == UNVALIDATED]
    if not unvalidated:
        return []
    return [f"never measured against human labels: {', '.join(unvalidated)}"]


def _note_advisories(run: Run) -> list[str]:
    notes: dict[str, int] = {}
    rows = Answer.objects.filter(run=run).exclude(notes=[]).values_list("notes", flat=True)
    for row in rows.iterator(chunk_size=2000):
        for note in row:
            notes[note] = notes.get(note, 0) + 1
    return [f"{note} ({count} answers)" if count > 1 else note for note, count in list(notes.items())[:20]]
