"""Only how a model decodes may be stored with a target or a judge."""

from typing import Any

import pytest

from ai_eval.llm import check_parameters


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"temperature": 0, "top_p": 0.5, "top_k": 40, "min_p": 0.1, "seed": 0},
        {"temperature": None},
        {"max_tokens": 1, "max_completion_tokens": 100, "stop": "END"},
        {"stop": ["a", "b"], "frequency_penalty": -2, "presence_penalty": 2.0, "repetition_penalty": 1.1},
        {"reasoning_effort": "low", "verbosity": "high", "logit_bias": {"50256": -100}},
        {"thinking": {"type": "enabled", "budget_tokens": 1024}},
    ],
)
def test_decoding_parameters_are_good(parameters: dict[str, Any]) -> None:
    assert check_parameters(parameters) == []


FORBIDDEN = [
    "api_key",
    "api_base",
    "base_url",
    "headers",
    "extra_headers",
    "extra_body",
    "callbacks",
    "success_callback",
    "model",
    "messages",
    "timeout",
    "max_retries",
    "num_retries",
    "fallbacks",
    "custom_llm_provider",
    "client",
    "mock_response",
    "metadata",
    "stream",
    "n",
    "tools",
    "user",
    "aws_secret_access_key",
    "organization",
    "Temperature",
]


@pytest.mark.parametrize("name", [*FORBIDDEN, "temperature ", ""])
def test_anything_else_is_refused_even_when_it_is_none(name: str) -> None:
    for value in ("x", None):
        (problem,) = check_parameters({name: value})
        assert repr(name) in problem
        assert "temperature" in problem


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", True),
        ("temperature", "0"),
        ("temperature", -0.1),
        ("temperature", 2.1),
        ("temperature", float("nan")),
        ("temperature", float("inf")),
        ("top_p", [1]),
        ("max_tokens", 0),
        ("max_tokens", 1.5),
        ("max_tokens", True),
        ("seed", "1"),
        ("stop", ""),
        ("stop", []),
        ("stop", [""]),
        ("stop", [1]),
        ("stop", {"a": 1}),
        ("reasoning_effort", "huge"),
        ("reasoning_effort", ["low"]),
        ("logit_bias", {"x": 1}),
        ("logit_bias", {"1": True}),
        ("logit_bias", [1]),
        ("thinking", {"type": "enabled", "url": "x"}),
        ("thinking", "enabled"),
    ],
)
def test_a_value_that_can_not_be_is_refused_by_name(name: str, value: Any) -> None:
    (problem,) = check_parameters({name: value})
    assert problem.startswith(f"parameter {name!r} must ")


@pytest.mark.parametrize("parameters", [None, [], "temperature", 5])
def test_parameters_are_an_object(parameters: Any) -> None:
    assert check_parameters(parameters) == ["parameters must be an object of names and values"]


def test_each_problem_is_told() -> None:
    assert len(check_parameters({"api_key": "x", "temperature": 9, "top_p": 1, 5: 5})) == 3
