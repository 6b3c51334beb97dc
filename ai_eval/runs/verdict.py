"""The verdict of a run: counts, figures with their denominators, and the gate. Pure functions.

`Verdict` is frozen; the stored result, the printed lines, the JSON document and the exit code are
all read from this one object.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from ai_eval.graders.scale import COMPOSITE_MAX
from ai_eval.runs.scoring import ERRORED, SCORED, SKIPPED, Bound, GradeFacts, bound_answer
from ai_eval.stats import Figure, clustered_proportion, mean_score, reaches

PASSED, FAILED, UNDECIDED = "passed", "failed", "undecided"
TRUST_ORDER = ("", "provisional", "trusted")


@dataclass(frozen=True)
class AnswerFacts:
    """Of an answer, what figures need. `outcome` is empty while nothing is known of it."""

    question_id: str
    trial: int
    outcome: str
    score: float | None
    passed: bool | None
    degraded: bool
    grades: Sequence[GradeFacts]
    truncated: bool = False


@dataclass(frozen=True)
class Gate:
    metric: str
    """`pass_rate` (0 to 1) or `avg_score` (0 to 5)."""
    threshold: float
    type: str
    """`hard` or `soft`."""


@dataclass(frozen=True)
class Rules:
    """What a target asks of a run, as frozen at launch."""

    gate: Gate | None
    pass_threshold: float
    max_error_rate: float
    required: Sequence[str]
    graders: Sequence[str]
    action_observing: Sequence[str]
    demand_trust: str = ""
    trust: Mapping[str, str] = field(default_factory=dict)
    """Judge's grader id to its trust state."""


@dataclass(frozen=True)
class Coverage:
    """How often one grader scored, of the answers that reached it; `mean` is composite, 0 to 5."""

    grader: str
    scored: int
    skipped: int
    errored: int
    clamped: int
    passed: int
    mean: float | None

    @property
    def graded(self) -> int:
        return self.scored + self.skipped + self.errored


@dataclass(frozen=True)
class Verdict:
    verdict: str
    """`passed`, `failed`, `undecided`, or empty without a gate."""
    undecided_because: Sequence[str]
    gate: Gate | None
    value: float | None
    """The gate's metric as observed; None where undefined."""
    low: float | None
    """The metric with everything missing taken for failed."""
    high: float | None
    """The metric with everything missing taken for passed."""
    pass_threshold: float
    avg_score: Figure
    pass_rate: Figure
    counts: Mapping[str, int]
    error_count: int
    coverage: Sequence[Coverage]

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Verdict":
        return cls(
            **{
                **stored,
                "gate": Gate(**stored["gate"]) if stored["gate"] else None,
                "avg_score": Figure(**stored["avg_score"]),
                "pass_rate": Figure(**stored["pass_rate"]),
                "coverage": [Coverage(**each) for each in stored["coverage"]],
            }
        )


def count_answers(answers: Sequence[AnswerFacts], planned: int) -> dict[str, int]:
    """`scored` are answers with a score of their own; the other outcomes are counted beside them."""
    outcomes = Counter(answer.outcome for answer in answers)
    return {
        "planned": planned,
        "answers": len(answers) - outcomes[""],
        "scored": sum(answer.score is not None for answer in answers),
        "passed": sum(answer.passed is True for answer in answers),
        "target_errors": outcomes["target_error"],
        "provider_errors": outcomes["provider_error"],
        "degraded": sum(answer.degraded for answer in answers),
        "empty": outcomes["empty"],
        "unscored": outcomes["unscored"],
        "clamped": sum(any(grade.clamped for grade in answer.grades) for answer in answers),
        "truncated": sum(answer.truncated for answer in answers),
    }


def _by_question(answers: Sequence[AnswerFacts]) -> list[list[AnswerFacts]]:
    groups: dict[str, list[AnswerFacts]] = defaultdict(list)
    for answer in answers:
        groups[answer.question_id].append(answer)
    return list(groups.values())


def observed_figures(answers: Sequence[AnswerFacts]) -> tuple[Figure, Figure]:
    """`avg_score` and `pass_rate` with their intervals."""
    scores = []
    shares = []
    for group in _by_question(answers):
        scores.append([answer.score for answer in group if answer.score is not None])
        counted = [answer for answer in group if answer.outcome != "unscored"]
        shares.append((sum(answer.passed is True for answer in counted), len(counted)))
    return mean_score(scores), clustered_proportion(shares)


def _bounded_metric(
    answers: Sequence[AnswerFacts], rules: Rules, metric: str, missing_as: float
) -> float | None:
    means = []
    for group in _by_question(answers):
        bounds: list[Bound] = []
        for answer in group:
            bound = bound_answer(
                answer.grades,
                required=rules.required,
                threshold=rules.pass_threshold,
                outcome=answer.outcome,
                missing_as=missing_as,
            )
            if bound is not None:
                bounds.append(bound)
        if bounds:
            values = [bound.score if metric == "avg_score" else float(bound.passed) for bound in bounds]
            means.append(sum(values) / len(values))
    return sum(means) / len(means) if means else None


def grader_coverage(answers: Sequence[AnswerFacts], rules: Rules) -> list[Coverage]:
    """One entry for each ticked grader, in their order."""
    grades: dict[str, list[GradeFacts]] = {grader: [] for grader in rules.graders}
    for answer in answers:
        for grade in answer.grades:
            grades.setdefault(grade.grader, []).append(grade)
    found = []
    for grader, given in grades.items():
        scored = [grade.composite for grade in given if grade.composite is not None]
        found.append(
            Coverage(
                grader=grader,
                scored=sum(grade.outcome == SCORED for grade in given),
                skipped=sum(grade.outcome == SKIPPED for grade in given),
                errored=sum(grade.outcome == ERRORED for grade in given),
                clamped=sum(grade.clamped for grade in given),
                passed=sum(reaches(value, rules.pass_threshold) for value in scored),
                mean=sum(scored) / len(scored) if scored else None,
            )
        )
    return found


def _has_missing(answer: AnswerFacts) -> bool:
    if answer.outcome == "target_error":
        return False  # its own failure is known, whatever a grader could still see of it
    return answer.outcome in ("provider_error", "grade_error", "") or any(
        grade.missing for grade in answer.grades
    )


def _doubts(
    answers: Sequence[AnswerFacts], rules: Rules, counts: Mapping[str, int], coverage: Sequence[Coverage]
) -> list[str]:
    """Why a gate can't be decided whatever its value is."""
    doubts = []
    if counts["scored"] == 0:
        doubts.append(f"nothing was scored: 0 of {counts['planned']} answers have a score")
    missing = sum(_has_missing(answer) for answer in answers)
    if missing and not reaches(rules.max_error_rate, missing / counts["planned"]):
        doubts.append(
            f"{missing} of {counts['planned']} answers have something missing, "
            f"more than the allowed share of {rules.max_error_rate:g}"
        )
    for each in coverage:
        if each.scored == 0 and (each.grader in rules.action_observing or each.grader in rules.required):
            role = "observes actions" if each.grader in rules.action_observing else "is required"
            doubts.append(
                f"{each.grader} {role} and scored nothing "
                f"(skipped {each.skipped}, errored {each.errored} of {each.graded})"
            )
    if rules.demand_trust:
        doubts.extend(
            f"{judge} is {state}, the target demands {rules.demand_trust}"
            for judge, state in rules.trust.items()
            if state not in TRUST_ORDER or TRUST_ORDER.index(state) < TRUST_ORDER.index(rules.demand_trust)
        )
    return doubts


def decide(answers: Sequence[AnswerFacts], rules: Rules, planned: int) -> Verdict:
    """The verdict on all `planned` answers of a run."""
    counts = count_answers(answers, planned)
    coverage = grader_coverage(answers, rules)
    avg_score, pass_rate = observed_figures(answers)
    verdict, because, value, low, high = "", [], None, None, None
    if rules.gate is not None:
        metric, threshold = rules.gate.metric, rules.gate.threshold
        value = (avg_score if metric == "avg_score" else pass_rate).value
        low = _bounded_metric(answers, rules, metric, 0.0)
        high = _bounded_metric(answers, rules, metric, COMPOSITE_MAX)
        because = _doubts(answers, rules, counts, coverage)
        if high is not None and not reaches(high, threshold):
            verdict, because = FAILED, []
        elif because or low is None or high is None:
            verdict = UNDECIDED
        elif reaches(low, threshold):
            verdict = PASSED
        else:
            verdict = UNDECIDED
            because = [
                f"with what is missing taken for failed {metric} is {low:.4g}, taken for passed "
                f"{high:.4g}: the threshold {threshold:g} lies between"
            ]
    return Verdict(
        verdict=verdict,
        undecided_because=because,
        gate=rules.gate,
        value=value,
        low=low,
        high=high,
        pass_threshold=rules.pass_threshold,
        avg_score=avg_score,
        pass_rate=pass_rate,
        counts=counts,
        error_count=sum(
            answer.degraded or answer.outcome in ("target_error", "provider_error", "grade_error")
            for answer in answers
        ),
        coverage=coverage,
    )
