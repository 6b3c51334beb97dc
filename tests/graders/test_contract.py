"""What every grader relies on: results, scale, registry."""

import math
from dataclasses import FrozenInstanceError
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_eval.graders import Grader, GradeResult
from ai_eval.graders.base import checked
from ai_eval.graders.registry import GraderRegistry, registry
from ai_eval.graders.scale import composite, describe_scale


class Binary(Grader):
    id = "binary"
    label = "Binary"
    max_score = 1.0


NO_NUMBERS = [float("nan"), float("inf"), float("-inf"), True, False, "1", Decimal(1), [1], {}, 10**400]


# A result


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**9), 10**9))
def test_a_score_is_clamped_to_the_scale_and_stamped(score: float) -> None:
    result = Binary().result(score, "because")
    assert result.score == min(1.0, max(0.0, score))
    assert (result.grader, result.min_score, result.max_score) == ("binary", 0.0, 1.0)
    assert result.outcome == "scored"


@pytest.mark.parametrize("score", NO_NUMBERS)
def test_what_is_no_finite_number_is_an_error_and_is_not_clamped(score: Any) -> None:
    result = Binary().result(score, "because")
    assert result.outcome == "errored"
    assert result.score is None
    assert "because" in result.reason


def test_none_skips() -> None:
    assert Binary().result(None, "does not apply").outcome == "skipped"


def test_zero_is_a_score_and_no_skip() -> None:
    assert Binary().result(0, "nothing").outcome == "scored"


@pytest.mark.parametrize("score", [None, 1.0, 0.0, *NO_NUMBERS])
def test_an_error_drops_any_score(score: Any) -> None:
    result = Binary().result(score, "could not", error=True)
    assert (result.outcome, result.score, result.reason) == ("errored", None, "could not")


def test_a_reason_is_data_and_only_what_can_not_be_stored_is_marked() -> None:
    odd = "100% %s {0} {{ x }} $question <script> \x00 \ud83d"
    assert Binary().result(1, odd).reason == "100% %s {0} {{ x }} $question <script> ␀ �"


def test_a_result_can_not_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Binary().result(1, "x").score = 0.0  # type: ignore[misc]


def test_a_result_may_bring_details() -> None:
    assert Binary().result(1, "x", details={"n": 1}).details == {"n": 1}


# What a grader returned


@pytest.mark.parametrize("returned", [None, 1.0, "fine", {"score": 1}, (1, "x"), GradeResult, True])
def test_a_foreign_object_is_an_error_of_the_grade(returned: Any) -> None:
    result = checked(Binary(), returned)
    assert result.outcome == "errored"
    assert "instead of a GradeResult" in result.reason


@pytest.mark.parametrize("score", [*NO_NUMBERS, 1.5, -0.1])
def test_a_result_built_by_hand_with_an_unfit_score_is_an_error(score: Any) -> None:
    result = checked(Binary(), GradeResult("binary", score, 0.0, 1.0, "x"))
    assert (result.outcome, result.score) == ("errored", None)


@pytest.mark.parametrize(
    "bounds", [(1.0, 1.0), (0.0, float("inf")), (None, 1.0), (float("nan"), 1.0), (2.0, 0.0)]
)
def test_a_result_built_by_hand_with_an_unfit_scale_is_an_error(bounds: Any) -> None:
    assert checked(Binary(), GradeResult("binary", 1.0, *bounds, "x")).outcome == "errored"


def test_a_result_that_borrowed_an_id_gets_its_own() -> None:
    assert checked(Binary(), GradeResult("other", 1.0, 0.0, 1.0, "x")).grader == "binary"


def test_an_error_built_by_hand_keeps_no_score() -> None:
    assert checked(Binary(), GradeResult("binary", 1.0, 0.0, 1.0, "x", error=True)).score is None


# The scale


SCALES = st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)).filter(lambda pair: pair[0] < pair[1])


@given(SCALES, st.floats(0, 1))
def test_a_composite_lies_within_its_scale_and_keeps_the_ends(
    scale: tuple[float, float], share: float
) -> None:
    low, high = scale
    score = min(high, low + share * (high - low))
    assert 0.0 <= composite(score, low, high) <= 5.0
    assert composite(low, low, high) == 0.0
    assert composite(high, low, high) == 5.0


@given(SCALES, st.lists(st.floats(0, 1), min_size=2, max_size=2))
def test_a_better_score_never_has_a_lower_composite(scale: tuple[float, float], shares: list[float]) -> None:
    low, high = scale
    worse, better = (min(high, low + share * (high - low)) for share in sorted(shares))
    assert composite(worse, low, high) <= composite(better, low, high)


@given(st.floats(0, 5))
def test_the_gradient_scale_is_its_own_composite(score: float) -> None:
    assert composite(score, 0.0, 5.0) == pytest.approx(score, abs=1e-12)


def test_binary_scores_are_the_ends() -> None:
    assert [composite(score, 0, 1) for score in (0, 0.5, 1)] == [0.0, 2.5, 5.0]


@pytest.mark.parametrize("bounds", [(1, 1), (2, 1), (0, math.nan)])
def test_a_scale_without_extent_is_refused(bounds: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="min below max"):
        composite(1, *bounds)


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ((0, 1), "binary, 0-1"),
        ((0, 5), "gradient, 0-5"),
        ((0, 10), "0-10"),
        ((1, 5), "1-5"),
        ((-1, 0.5), "-1-0.5"),
    ],
)
def test_a_scale_is_described(bounds: tuple[float, float], words: str) -> None:
    assert describe_scale(*bounds) == words


# The registry


class Observer(Grader):
    id = "observer"
    label = "Read-only run"
    max_score = 1.0
    observes_actions = True


class Judge(Grader):
    id = "judge"
    label = "Relevance"
    llm = True
    dimension = "relevance"


@pytest.fixture
def own() -> GraderRegistry:
    own = GraderRegistry()
    own.register(Observer)
    own.register(Judge)
    return own


def test_graders_stand_in_the_order_of_their_registration(own: GraderRegistry) -> None:
    assert [info.id for info in own.all()] == ["observer", "judge"]


def test_a_checkbox_tells_label_kind_and_scale(own: GraderRegistry) -> None:
    assert [info.choice_label for info in own.all()] == [
        "Read-only run (binary, 0-1)",
        "Relevance (gradient, 0-5)",
    ]


def test_the_observing_graders_among_some_are_told(own: GraderRegistry) -> None:
    assert own.action_observing(["judge", "observer", "gone"]) == ["observer"]
    assert own.action_observing(["judge"]) == []


def test_missing_graders_are_told(own: GraderRegistry) -> None:
    assert own.missing(["judge", "gone", ""]) == ["gone", ""]


def test_registering_twice_is_registering_once(own: GraderRegistry) -> None:
    own.register(Judge)
    assert own.declared == [Observer, Judge]


def test_what_is_no_grader_is_not_registered(own: GraderRegistry) -> None:
    with pytest.raises(TypeError, match="subclass of Grader"):
        own.register(dict)  # type: ignore[type-var]


def test_the_first_of_two_with_one_id_counts(own: GraderRegistry) -> None:
    class Second(Judge):
        pass

    own.register(Second)
    info = own.get("judge")
    assert info is not None
    assert info.grader is Judge
    assert [each.id for each in own.all()] == ["observer", "judge"]


def test_only_judges_have_a_dimension(own: GraderRegistry) -> None:
    assert [info.dimension for info in own.all()] == ["", "relevance"]


def test_a_hidden_grader_is_off_the_form_and_still_runs(own: GraderRegistry, settings: Any) -> None:
    settings.AI_EVAL = {"GRADERS": {"judge": {"hidden": True}}}
    assert [info.id for info in own.all()] == ["observer"]
    assert [info.hidden for info in own.all(include_hidden=True)] == [False, True]
    assert own.missing(["judge"]) == []


def test_a_corrected_grader_grades_on_the_corrected_scale(own: GraderRegistry, settings: Any) -> None:
    settings.AI_EVAL = {
        "GRADERS": {"judge": {"label": "On topic", "max_score": 10.0, "observes_actions": True}}
    }
    info = own.get("judge")
    assert info is not None
    assert info.choice_label == "On topic (0-10)"
    assert own.action_observing(["judge"]) == ["judge"]
    assert info.build().result(20, "x").score == 10.0
    assert Judge.max_score == 5.0


def test_a_fresh_instance_is_built_each_time(own: GraderRegistry) -> None:
    info = own.get("judge")
    assert info is not None
    assert info.build() is not info.build()


def test_the_built_in_graders_are_registered() -> None:
    assert {"format_grader", "tool_usage_grader"} <= {info.id for info in registry.all()}
    assert "tool_usage_grader" in registry.action_observing(["format_grader", "tool_usage_grader"])
