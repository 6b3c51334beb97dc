import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_eval.runs.scoring import GradeFacts, bound_answer, score_answer


def scored(grader: str, composite: float, clamped: bool = False) -> GradeFacts:
    return GradeFacts(grader, "scored", composite, clamped)


def skipped(grader: str) -> GradeFacts:
    return GradeFacts(grader, "skipped", None)


def errored(grader: str) -> GradeFacts:
    return GradeFacts(grader, "errored", None)


def score(*grades: GradeFacts, required: tuple[str, ...] = (), threshold: float = 3.5, **more: object):
    return score_answer(list(grades), required=required, threshold=threshold, **more)


def test_an_answers_score_is_the_mean_of_its_scored_composites():
    assert score(scored("a", 5), scored("b", 2), skipped("c")).score == 3.5


def test_an_answer_at_the_threshold_passes():
    assert score(scored("a", 3.5)).passed is True


def test_a_sum_of_tenths_reaches_its_threshold_in_spite_of_rounding():
    assert score(scored("a", 0.1 + 0.2), threshold=0.3).passed is True
    assert score(scored("a", 0.699999), threshold=0.7).passed is False


def test_an_agent_that_only_talks_fails_by_the_required_grader():
    result = score(scored("state", 0), scored("x", 5), scored("y", 5), scored("z", 5), required=("state",))
    assert (result.score, result.passed, result.failed_required) == (3.75, False, ("state",))


def test_a_required_grader_that_skipped_is_not_asked_for():
    assert score(skipped("state"), scored("x", 5), required=("state",)).passed is True


def test_a_required_grader_that_errored_fails_the_answer():
    result = score(errored("state"), scored("x", 5), scored("y", 5), required=("state",))
    assert (result.passed, result.failed_required, result.degraded) == (False, ("state",), True)


def test_a_degraded_answer_passes_only_if_it_would_with_the_errors_as_zero():
    assert score(errored("x"), scored("y", 5)).passed is False
    assert score(errored("x"), *(scored(f"y{i}", 5) for i in range(4))).passed is True


def test_an_answer_of_which_every_grade_skipped_is_unscored():
    result = score(skipped("a"), skipped("b"))
    assert (result.outcome, result.score, result.passed) == ("unscored", None, None)


def test_an_answer_of_which_every_grade_errored_has_no_score():
    result = score(errored("a"), skipped("b"))
    assert (result.outcome, result.score, result.passed, result.degraded) == ("grade_error", None, None, True)


def test_a_target_error_is_a_zero_whatever_the_environment_shows():
    result = score(scored("state", 5), ask_failure="target_error")
    assert (result.outcome, result.score, result.passed) == ("target_error", 0.0, False)


def test_a_provider_error_has_no_score():
    result = score(ask_failure="provider_error")
    assert (result.outcome, result.score, result.passed) == ("provider_error", None, None)


def test_a_blank_response_is_told_apart_and_graded_as_usual():
    result = score(scored("state", 5), blank=True)
    assert (result.outcome, result.score, result.passed) == ("empty", 5.0, True)


@pytest.mark.parametrize("missing_as", [0.0, 5.0])
def test_a_target_error_is_bounded_by_zero_on_both_sides(missing_as: float):
    bound = bound_answer([], required=(), threshold=3.5, outcome="target_error", missing_as=missing_as)
    assert bound is not None
    assert (bound.score, bound.passed) == (0.0, False)


def test_a_missing_answer_fails_below_and_passes_above_even_with_a_threshold_of_zero():
    below = bound_answer([], required=(), threshold=0.0, outcome="provider_error", missing_as=0.0)
    above = bound_answer([], required=(), threshold=0.0, outcome="provider_error", missing_as=5.0)
    assert below is not None
    assert above is not None
    assert (below.passed, above.passed) == (False, True)


def test_a_clamped_score_counts_as_missing_in_the_bounds():
    grades = [scored("judge", 5, clamped=True)]
    below = bound_answer(grades, required=(), threshold=3.5, outcome="scored", missing_as=0.0)
    assert below is not None
    assert (below.score, below.passed) == (0.0, False)


def test_an_unscored_answer_stands_outside_the_bounds():
    assert bound_answer([skipped("a")], required=(), threshold=1, outcome="unscored", missing_as=5.0) is None


grade_facts = st.one_of(
    st.floats(0, 5).map(lambda value: ("scored", value)),
    st.just(("skipped", None)),
    st.just(("errored", None)),
)


@given(st.lists(st.tuples(grade_facts, st.booleans()), max_size=6), st.floats(0, 5), st.data())
def test_the_observed_answer_lies_between_its_bounds(given_grades, threshold: float, data):
    grades = [
        GradeFacts(str(number), outcome, value, clamped and outcome == "scored")
        for number, ((outcome, value), clamped) in enumerate(given_grades)
    ]
    required = (
        tuple(data.draw(st.sets(st.sampled_from([grade.grader for grade in grades])))) if grades else ()
    )
    result = score(*grades, required=required, threshold=threshold)
    low, high = (
        bound_answer(
            grades, required=required, threshold=threshold, outcome=result.outcome, missing_as=missing_as
        )
        for missing_as in (0.0, 5.0)
    )
    if low is None or high is None:
        assert result.outcome == "unscored"
        return
    assert low.score <= high.score
    assert low.passed <= high.passed
    if result.score is not None:
        assert low.score <= result.score + 1e-9
        assert result.score <= high.score + 1e-9 or any(grade.clamped for grade in grades)
    if result.passed:
        assert high.passed


@given(st.permutations([("a", 5.0), ("b", 0.0), ("c", 3.0)]))
def test_the_order_of_grades_changes_nothing(order):
    assert score(*(scored(*each) for each in order)) == score(scored("a", 5), scored("b", 0), scored("c", 3))
