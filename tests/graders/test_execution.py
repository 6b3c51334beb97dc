"""One grader at work on one answer."""

import logging
from typing import Any

import pytest

from ai_eval.failures import ERROR_LIMIT
from ai_eval.graders import Grader, GradeResult, GraderInfo
from ai_eval.graders.base import GradingStopped
from ai_eval.graders.execution import run_grader
from ai_eval.graders.registry import GraderRegistry


class Doing(Grader):
    """Does in `grade` what the test says."""

    id = "doing"
    label = "Doing"
    max_score = 1.0
    does: Any = None

    def grade(self, question: str, response: str, context: dict[str, Any]) -> Any:
        return type(self).does(self, context)


def doing(does: Any) -> GraderInfo:
    own = GraderRegistry()
    own.register(type("DoingIt", (Doing,), {"does": does}))
    info = own.get("doing")
    assert info is not None
    return info


def run(does: Any, context: dict[str, Any] | None = None) -> GradeResult:
    return run_grader(doing(does), "question", "response", context or {})


def test_a_grader_gets_question_response_and_context() -> None:
    class Echo(Grader):
        id = "echo"
        label = "Echo"

        def grade(self, question: str, response: str, context: dict[str, Any]) -> GradeResult:
            return self.result(5, f"{question} {response} {context['x']}")

    own = GraderRegistry()
    own.register(Echo)
    assert run_grader(own.all()[0], "q", "r", {"x": 1}).reason == "q r 1"


def test_a_grader_changes_only_its_own_copy() -> None:
    def change(grader: Grader, context: dict[str, Any]) -> GradeResult:
        context["tool_calls"][0]["arguments"]["card"] = "forged"
        context["metadata"]["list"].append(1)
        context.clear()
        return grader.result(1, "x")

    context = {"tool_calls": [{"arguments": {"card": "42"}}], "metadata": {"list": []}}
    assert run(change, context).score == 1.0
    assert context == {"tool_calls": [{"arguments": {"card": "42"}}], "metadata": {"list": []}}


def test_the_environment_is_shared_and_not_copied() -> None:
    class Session:
        def __deepcopy__(self, memo: Any) -> Any:
            raise AssertionError("copied")

    session = Session()
    seen: list[Any] = []

    def look(grader: Grader, context: dict[str, Any]) -> GradeResult:
        seen.append(context["environment"])
        return grader.result(1, "x")

    run(look, {"environment": session})
    assert seen[0] is session


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (TypeError("no %s {x}"), "TypeError: no %s {x}"),
        (ValueError(), "ValueError"),
        (KeyError("a\x00b\ud83d"), r"KeyError: 'a\x00b\ud83d'"),
        (RuntimeError("a\x00b\ud83d"), "RuntimeError: a␀b�"),
        (SystemExit(5), "SystemExit: 5"),
        (AssertionError("x"), "AssertionError: x"),
    ],
)
def test_what_a_grader_raises_is_its_error_with_type_and_message(error: BaseException, reason: str) -> None:
    def fail(grader: Grader, context: dict[str, Any]) -> GradeResult:
        raise error

    result = run(fail)
    assert result == GradeResult("doing", None, 0.0, 1.0, reason, error=True)


def test_a_grader_that_raises_is_logged_with_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    def fail(grader: Grader, context: dict[str, Any]) -> GradeResult:
        raise LookupError("no shelf %s")

    with caplog.at_level(logging.ERROR, "ai_eval.graders.execution"):
        run(fail)
    assert "the grader doing raised" in caplog.text
    assert "in fail" in caplog.text
    assert "LookupError: no shelf %s" in caplog.text


def test_a_key_in_a_message_is_neither_stored_nor_logged(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHELF_API_KEY", "very-secret-value")

    def fail(grader: Grader, context: dict[str, Any]) -> GradeResult:
        raise RuntimeError("refused very-secret-value")

    result = run(fail)
    assert result.reason == "RuntimeError: refused [redacted]"
    assert "refused [redacted]" in caplog.text
    assert "refused very-secret-value" not in caplog.text


def test_a_long_message_is_bounded() -> None:
    def fail(grader: Grader, context: dict[str, Any]) -> GradeResult:
        raise RuntimeError("x" * 100_000)

    assert len(run(fail).reason) < ERROR_LIMIT + 100


def test_an_exception_that_can_not_tell_its_message_is_told_all_the_same() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise OSError

    def fail(grader: Grader, context: dict[str, Any]) -> GradeResult:
        raise Mute

    assert run(fail).reason == "Mute: (its message can't be read: OSError)"


@pytest.mark.parametrize("returned", [None, True, float("nan"), object(), "fine"])
def test_what_is_no_result_is_an_error(returned: Any) -> None:
    result = run(lambda grader, context: returned)
    assert (result.grader, result.outcome) == ("doing", "errored")
    assert "instead of a GradeResult" in result.reason


def test_an_async_grader_is_told_that_it_is_none() -> None:
    async def later(grader: Grader, context: dict[str, Any]) -> GradeResult:
        return grader.result(1, "x")

    assert run(later).reason == "returned coroutine instead of a GradeResult"


def test_a_grader_that_can_not_be_built_is_an_error() -> None:
    class NeedsMore(Grader):
        id = "needs_more"
        label = "Needs more"

        def __init__(self, more: int) -> None:
            self.more = more

    own = GraderRegistry()
    own.register(NeedsMore)
    result = run_grader(own.all()[0], "q", "r", {})
    assert (result.grader, result.outcome) == ("needs_more", "errored")
    assert result.reason.startswith("TypeError: ")


def test_a_grade_has_the_registered_id_whatever_the_instance_says() -> None:
    def rename(grader: Grader, context: dict[str, Any]) -> GradeResult:
        grader.id = "somebody_else"
        return grader.result(1, "x")

    assert run(rename).grader == "doing"


class Cancelled(GradingStopped):
    pass


@pytest.mark.parametrize("stop", [GradingStopped, Cancelled])
def test_being_told_to_stop_is_no_grade(stop: type[GradingStopped]) -> None:
    def fail(grader: Grader, context: dict[str, Any]) -> GradeResult:
        raise stop("cancelled")

    with pytest.raises(stop):
        run(fail)


def test_an_interrupted_process_is_no_grade() -> None:
    def fail(grader: Grader, context: dict[str, Any]) -> GradeResult:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(fail)


def test_an_instance_is_prepared_before_it_grades() -> None:
    def prepare(grader: Grader) -> None:
        grader.description = "prepared"

    info = doing(lambda grader, context: grader.result(1, grader.description))
    assert run_grader(info, "q", "r", {}, prepare).reason == "prepared"
    assert run_grader(info, "q", "r", {}).reason == ""


def test_a_context_that_can_not_be_copied_is_an_error() -> None:
    circle: dict[str, Any] = {}
    circle["itself"] = circle
    assert run(lambda grader, context: grader.result(1, "x"), circle).outcome == "errored"


def test_what_is_no_json_in_a_context_is_copied_too() -> None:
    def change(grader: Grader, context: dict[str, Any]) -> GradeResult:
        context["set"].add(2)
        return grader.result(1, "x")

    context = {"set": {1}}
    run(change, context)
    assert context == {"set": {1}}
