import json
from dataclasses import replace

import pytest

from ai_eval.runs.scoring import GradeFacts, score_answer
from ai_eval.runs.verdict import AnswerFacts, Gate, Rules, Verdict, decide

RULES = Rules(
    gate=Gate("pass_rate", 0.7, "hard"),
    pass_threshold=3.5,
    max_error_rate=0.1,
    required=(),
    graders=("text", "state"),
    action_observing=(),
)


def answer(number: int, *grades: GradeFacts, failure: str = "", rules: Rules = RULES, trial: int = 1):
    score = score_answer(grades, required=rules.required, threshold=rules.pass_threshold, ask_failure=failure)
    return AnswerFacts(
        f"q{number}", trial, score.outcome, score.score, score.passed, score.degraded, list(grades)
    )


def good(number: int, **more):
    return answer(number, GradeFacts("text", "scored", 5.0), **more)


def bad(number: int, **more):
    return answer(number, GradeFacts("text", "scored", 0.0), **more)


def judged(*answers: AnswerFacts, rules: Rules = RULES) -> Verdict:
    return decide(list(answers), rules, len(answers))


def test_a_gate_at_its_threshold_passes_in_spite_of_rounding():
    verdict = judged(*(good(i) for i in range(7)), *(bad(i) for i in range(7, 10)))
    assert (verdict.verdict, verdict.value, verdict.low, verdict.high) == ("passed", 0.7, 0.7, 0.7)


def test_a_gate_below_its_threshold_fails():
    verdict = judged(*(good(i) for i in range(6)), *(bad(i) for i in range(6, 10)))
    assert (verdict.verdict, verdict.undecided_because) == ("failed", [])


def test_seven_agents_that_raise_are_seven_failures_of_ten():
    verdict = judged(*(good(i) for i in range(3)), *(answer(i, failure="target_error") for i in range(3, 10)))
    assert verdict.verdict == "failed"
    assert verdict.pass_rate.value == pytest.approx(0.3)
    assert verdict.avg_score.value == pytest.approx(1.5)
    assert (verdict.counts["target_errors"], verdict.error_count) == (7, 7)


def test_seven_provider_failures_of_ten_leave_the_gate_undecided():
    verdict = judged(
        *(good(i) for i in range(3)), *(answer(i, failure="provider_error") for i in range(3, 10))
    )
    assert verdict.verdict == "undecided"
    assert "7 of 10 answers have something missing" in verdict.undecided_because[0]
    assert (verdict.low, verdict.high) == (0.3, 1.0)
    assert verdict.counts["scored"] == 3


def test_what_fails_whatever_is_missing_has_failed():
    verdict = judged(good(0), *(bad(i) for i in range(1, 9)), answer(9, failure="provider_error"))
    assert (verdict.verdict, verdict.high) == ("failed", 0.2)


def test_a_few_missing_answers_that_can_not_matter_leave_the_gate_passed():
    verdict = judged(*(good(i) for i in range(9)), answer(9, failure="provider_error"))
    assert (verdict.verdict, verdict.low) == ("passed", 0.9)


def test_a_missing_answer_that_decides_leaves_the_gate_undecided_and_says_why():
    rules = replace(RULES, gate=Gate("pass_rate", 0.95, "hard"))
    verdict = judged(*(good(i) for i in range(9)), answer(9, failure="provider_error"), rules=rules)
    assert verdict.verdict == "undecided"
    assert verdict.undecided_because == [
        "with what is missing taken for failed pass_rate is 0.9, taken for passed 1: "
        "the threshold 0.95 lies between"
    ]


def test_a_run_in_which_nothing_was_scored_is_undecided_never_passed():
    rules = replace(RULES, gate=Gate("pass_rate", 0.0, "hard"))
    verdict = judged(answer(0, GradeFacts("text", "skipped", None)), rules=rules)
    assert verdict.verdict == "undecided"
    assert verdict.pass_rate.value is None
    assert verdict.pass_rate.why


def test_a_threshold_of_zero_is_a_threshold():
    rules = replace(RULES, gate=Gate("pass_rate", 0.0, "hard"))
    assert judged(bad(0), rules=rules).verdict == "passed"


def test_without_a_gate_there_is_no_verdict():
    verdict = judged(bad(0), rules=replace(RULES, gate=None))
    assert (verdict.verdict, verdict.value, verdict.low) == ("", None, None)


def test_an_action_observing_grader_that_scored_nothing_leaves_the_gate_undecided():
    rules = replace(RULES, action_observing=("state",))
    both = [GradeFacts("text", "scored", 5.0), GradeFacts("state", "skipped", None)]
    verdict = judged(*(answer(i, *both) for i in range(10)), rules=rules)
    assert verdict.verdict == "undecided"
    assert verdict.undecided_because == [
        "state observes actions and scored nothing (skipped 10, errored 0 of 10)"
    ]


def test_a_demanded_trust_that_is_not_given_leaves_the_gate_undecided():
    rules = replace(RULES, demand_trust="provisional", trust={"text": "unvalidated"})
    verdict = judged(good(0), rules=rules)
    assert verdict.undecided_because == ["text is unvalidated, the target demands provisional"]


def test_trusted_is_enough_where_provisional_is_demanded():
    rules = replace(RULES, demand_trust="provisional", trust={"text": "trusted"})
    assert judged(good(0), rules=rules).verdict == "passed"


def test_clamped_scores_can_not_pass_a_gate():
    clamped = GradeFacts("text", "scored", 5.0, clamped=True)
    verdict = judged(*(answer(i, clamped) for i in range(10)))
    assert (verdict.verdict, verdict.low, verdict.high) == ("undecided", 0.0, 1.0)
    assert verdict.counts["clamped"] == 10


def test_trials_are_averaged_within_their_question_first():
    answers = [good(0, trial=t) for t in (1, 2, 3)] + [bad(1, trial=1)]
    assert judged(*answers).pass_rate.value == pytest.approx(0.5)


def test_the_average_score_of_a_gate_leaves_missing_answers_out_and_bounds_them():
    rules = replace(RULES, gate=Gate("avg_score", 4.0, "soft"), max_error_rate=1.0)
    verdict = judged(good(0), good(1), answer(2, failure="provider_error"), rules=rules)
    assert verdict.value == pytest.approx(5.0)
    assert (verdict.low, verdict.high) == (pytest.approx(10 / 3), 5.0)
    assert verdict.verdict == "undecided"


def test_each_graders_coverage_is_told():
    verdict = judged(
        answer(0, GradeFacts("text", "scored", 5.0), GradeFacts("state", "skipped", None)),
        answer(1, GradeFacts("text", "errored", None), GradeFacts("state", "scored", 2.0)),
    )
    text, state = verdict.coverage
    assert (text.scored, text.skipped, text.errored, text.passed, text.mean) == (1, 0, 1, 1, 5.0)
    assert (state.scored, state.skipped, state.errored, state.passed, state.mean) == (1, 1, 0, 0, 2.0)


def test_a_ticked_grader_without_any_grade_is_shown_too():
    assert [each.grader for each in judged(good(0)).coverage] == ["text", "state"]


def test_a_verdict_comes_back_from_json_as_it_was():
    verdict = judged(*(good(i) for i in range(3)), answer(3, failure="provider_error"))
    assert Verdict.from_json(json.loads(json.dumps(verdict.to_json(), allow_nan=False))) == verdict
