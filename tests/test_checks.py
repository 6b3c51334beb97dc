"""Checks of what apps declare, by the whole list of what they say."""

import math
from typing import Any

import pytest
from django.core.checks import CheckMessage, Error, Warning, run_checks

from ai_eval import agents, checks, datasets, environments
from ai_eval.graders import Grader, GradeResult
from ai_eval.graders.registry import registry as graders

HERE = __name__


@pytest.fixture
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Registries without what the installed apps registered."""
    for registry in (graders, agents.registry, environments.registry, datasets.registry):
        monkeypatch.setattr(registry, "declared", [])


pytestmark = pytest.mark.usefixtures("_alone")


class Fine(Grader):
    id = "fine"
    label = "Fine"

    def grade(self, question: str, response: str, context: dict[str, Any]) -> GradeResult:
        return self.result(5, "fine")


class FineAgent(agents.Agent):
    id = "fine"
    label = "Fine"

    def run(self, messages: Any, recorder: Any) -> str:
        return "fine"


class FineEnvironment(environments.Environment):
    id = "fine"
    label = "Fine"

    def open(self, question: Any) -> Any:
        raise AssertionError


class FineSource(datasets.DatasetSource):
    id = "fine"
    label = "Fine"

    def references(self) -> Any:
        return []

    def load(self, reference: str) -> Any:
        raise AssertionError


def told_of(*declared: type[Grader]) -> list[CheckMessage]:
    for each in declared:
        graders.register(each)
    return checks.check_graders(None)


def variant(base: type, **attributes: Any) -> Any:
    """A subclass named `Odd` that differs in some attributes."""
    return type("Odd", (base,), {"__module__": HERE, "__qualname__": "Odd", **attributes})


ID_HINT = "Set `id` to a text that is stored and stays: lower-case letters, digits, underscores."
LABEL_HINT = "Set `label` to what people are to read."
ARGUMENTS_HINT = "A fresh instance is built for each use: give every argument of `__init__` a default."
TWICE_HINT = "Give one of them another id; until then only the first one is used."


def test_every_check_is_run_by_django() -> None:
    agents.register(variant(FineAgent, id=""))
    graders.register(variant(Fine, id=""))
    found = {message.id for message in run_checks(tags=[checks.TAG])}
    assert found == {"ai_eval.E001", "ai_eval.E020"}


# Graders


def test_a_fine_grader_is_fine() -> None:
    assert told_of(Fine) == []


@pytest.mark.parametrize("id", ["", " ", " fine", "fine\n", None, 5])
def test_a_grader_needs_an_id(id: Any) -> None:
    odd = variant(Fine, id=id)
    assert told_of(odd) == [
        Error(f"The grader {HERE}.Odd has no id.", hint=ID_HINT, obj=odd, id="ai_eval.E001")
    ]


@pytest.mark.parametrize("label", ["", " ", None])
def test_a_grader_needs_a_label(label: Any) -> None:
    odd = variant(Fine, label=label)
    assert told_of(odd) == [
        Error(f"The grader {HERE}.Odd has no label.", hint=LABEL_HINT, obj=odd, id="ai_eval.E002")
    ]


def test_an_id_that_is_taken_twice_names_both_classes() -> None:
    odd = variant(Fine)
    assert told_of(Fine, odd) == [
        Error(
            f'The grader id "fine" is taken twice: by {HERE}.Fine and {HERE}.Odd.',
            hint=TWICE_HINT,
            obj=odd,
            id="ai_eval.E003",
        )
    ]


@pytest.mark.parametrize(
    ("bounds", "problem"),
    [
        ((1.0, 1.0), "min_score 1.0 is not below max_score 1.0"),
        ((5.0, 0.0), "min_score 5.0 is not below max_score 0.0"),
        ((0.0, math.inf), "min_score 0.0 and max_score inf are not both finite numbers"),
        ((math.nan, 1.0), "min_score nan and max_score 1.0 are not both finite numbers"),
        ((None, 1.0), "min_score None and max_score 1.0 are not both finite numbers"),
        ((0.0, "5"), "min_score 0.0 and max_score '5' are not both finite numbers"),
        ((False, True), "min_score False and max_score True are not both finite numbers"),
    ],
)
def test_a_grader_needs_a_scale(bounds: Any, problem: str) -> None:
    odd = variant(Fine, min_score=bounds[0], max_score=bounds[1])
    assert told_of(odd) == [
        Error(
            f"The grader {HERE}.Odd has no scale: {problem}.",
            hint="Declare the lowest and the highest score that it gives, as 0.0 and 5.0.",
            obj=odd,
            id="ai_eval.E004",
        )
    ]


def test_only_a_judge_is_shown_tool_calls() -> None:
    odd = variant(Fine, sees_tool_calls=True)
    assert told_of(odd) == [
        Error(
            f"The grader {HERE}.Odd declares sees_tool_calls without llm.",
            hint="It is about what a judge is shown; to read the record, declare observes_actions.",
            obj=odd,
            id="ai_eval.E005",
        )
    ]


def test_a_grader_defines_grade() -> None:
    class Odd(Grader):
        id = "odd"
        label = "Odd"

    Odd.__qualname__ = "Odd"
    assert told_of(Odd) == [
        Error(
            f"The grader {HERE}.Odd does not define grade.",
            hint="Subclass ai_eval.graders.base.Grader and define `grade`.",
            obj=Odd,
            id="ai_eval.E006",
        )
    ]


def test_a_grader_is_built_without_arguments() -> None:
    def needs_more(self: Any, more: int) -> None:
        pass

    odd = variant(Fine, __init__=needs_more)
    assert told_of(odd) == [
        Error(
            f"The grader {HERE}.Odd can't be built without arguments.",
            hint=ARGUMENTS_HINT,
            obj=odd,
            id="ai_eval.E007",
        )
    ]


def test_arguments_with_defaults_are_none() -> None:
    def may_have_more(self: Any, more: int = 1, *args: Any, **kwargs: Any) -> None:
        pass

    assert told_of(variant(Fine, __init__=may_have_more)) == []


@pytest.mark.parametrize("keys", ["state", (1,)])
def test_metadata_keys_are_a_tuple_of_names(keys: Any) -> None:
    odd = variant(Fine, reads_metadata=keys)
    assert told_of(odd) == [
        Error(
            f"The grader {HERE}.Odd has reads_metadata {keys!r}, which is no tuple of names.",
            hint='Write a tuple: `reads_metadata = ("state",)`, with the comma.',
            obj=odd,
            id="ai_eval.E008",
        )
    ]


def test_a_judge_without_a_dimension_is_warned_of() -> None:
    odd = variant(Fine, llm=True, sees_tool_calls=True)
    assert told_of(odd) == [
        Warning(
            f"The judge {HERE}.Odd has no dimension: it can't be validated.",
            hint="Set `dimension` to a stable token: gold labels and validations key on it.",
            obj=odd,
            id="ai_eval.W001",
        )
    ]
    assert told_of(variant(Fine, id="other", llm=True, dimension="tone"))[1:] == []


# Other plug-ins

KINDS = [
    ("agent", "2", FineAgent, agents.registry, agents.Agent, ["run"]),
    ("environment", "3", FineEnvironment, environments.registry, environments.Environment, ["open"]),
    ("dataset source", "4", FineSource, datasets.registry, datasets.DatasetSource, ["references", "load"]),
]


@pytest.mark.parametrize(("noun", "tens", "fine", "registry", "base", "methods"), KINDS)
def test_every_plug_in_needs_id_and_label_of_its_own(
    noun: str, tens: str, fine: Any, registry: Any, base: Any, methods: Any
) -> None:
    nameless, twice = variant(fine, id="", label=""), variant(fine)
    for each in (fine, nameless, twice):
        registry.register(each)
    assert checks.check_plugins(None) == [
        Error(f"The {noun} {HERE}.Odd has no id.", hint=ID_HINT, obj=nameless, id=f"ai_eval.E0{tens}0"),
        Error(f"The {noun} {HERE}.Odd has no label.", hint=LABEL_HINT, obj=nameless, id=f"ai_eval.E0{tens}1"),
        Error(
            f'The {noun} id "fine" is taken twice: by {HERE}.{fine.__name__} and {HERE}.Odd.',
            hint=TWICE_HINT,
            obj=twice,
            id=f"ai_eval.E0{tens}2",
        ),
    ]


@pytest.mark.parametrize(("noun", "tens", "fine", "registry", "base", "methods"), KINDS)
def test_every_plug_in_defines_its_methods_and_is_built_without_arguments(
    noun: str, tens: str, fine: Any, registry: Any, base: Any, methods: list[str]
) -> None:
    def needs_more(self: Any, more: int) -> None:
        pass

    odd = variant(base, id="odd", label="Odd", __init__=needs_more)
    registry.register(odd)
    assert checks.check_plugins(None) == [
        Error(
            f"The {noun} {HERE}.Odd can't be built without arguments.",
            hint=ARGUMENTS_HINT,
            obj=odd,
            id=f"ai_eval.E0{tens}4",
        ),
        *(
            Error(
                f"The {noun} {HERE}.Odd does not define {method}.",
                hint=f"Subclass {base.__module__}.{base.__name__} and define `{method}`.",
                obj=odd,
                id=f"ai_eval.E0{tens}3",
            )
            for method in methods
        ),
    ]


def test_fine_plug_ins_are_fine() -> None:
    for _, _, fine, registry, _, _ in KINDS:
        registry.register(fine)  # type: ignore[attr-defined]
    assert checks.check_plugins(None) == []
