"""Graders that do well, badly, and what no grader should."""

import time
from typing import Any

from ai_eval.graders import Grader, GradeResult, register


@register
class AlwaysPass(Grader):
    id = "always_pass"
    label = "Always passes"

    def grade(self, question: str, response: str, context: dict[str, Any]) -> GradeResult:
        return self.result(5.0, "always")


@register
class ContainsDone(Grader):
    id = "contains_done"
    label = "Says done"

    def grade(self, question: str, response: str, context: dict[str, Any]) -> GradeResult:
        return self.result(5.0 if "done" in response.lower() else 0.0, "looked for 'done'")


@register
class Skips(Grader):
    id = "skips_grader"
    label = "Skips"

    def grade(self, question: str, response: str, context: dict[str, Any]) -> GradeResult:
        return self.result(None, "does not apply")


@register
class Raises(Grader):
    id = "raises_grader"
    label = "Raises"

    def grade(self, question: str, response: str, context: dict[str, Any]) -> GradeResult:
        raise ValueError("no {luck} with %s")


@register
class ReturnsNone(Grader):
    id = "returns_none_grader"
    label = "Returns nothing"

    def grade(self, question: str, response: str, context: dict[str, Any]) -> Any:
        return None


@register
class NotANumber(Grader):
    id = "nan_grader"
    label = "Gives NaN"

    def grade(self, question: str, response: str, context: dict[str, Any]) -> GradeResult:
        return self.result(float("nan"), "not a number")


@register
class GivesTrue(Grader):
    id = "true_grader"
    label = "Gives True"

    def grade(self, question: str, response: str, context: dict[str, Any]) -> GradeResult:
        return self.result(True, "a boolean")


@register
class ForeignObject(Grader):
    id = "foreign_object_grader"
    label = "Returns something else"

    def grade(self, question: str, response: str, context: dict[str, Any]) -> Any:
        return {"score": 5}


@register
class NeedsEnvironment(Grader):
    id = "needs_environment_grader"
    label = "Looks at the environment"
    observes_actions = True
    needs_environment = True

    def grade(self, question: str, response: str, context: dict[str, Any]) -> GradeResult:
        taken = context["environment"].changes()["taken"]
        return self.result(5.0 if taken else 0.0, f"taken: {taken}")


@register
class Hangs(Grader):
    id = "hangs_grader"
    label = "Hangs"

    def grade(self, question: str, response: str, context: dict[str, Any]) -> GradeResult:
        time.sleep(60)
        return self.result(5.0, "at last")


@register
class HangsInEnvironment(Hangs):
    id = "hangs_in_environment_grader"
    label = "Hangs while it looks at the environment"
    observes_actions = True
    needs_environment = True
