"""Keys that somebody pastes where they would be stored, and what only looks like one."""

from typing import Any

import pytest

from ai_eval.configuration.endpoints import address_problem, holds_key, parameter_problems

OWN = "correct-horse-battery"


@pytest.mark.parametrize(
    "address",
    [
        "https://host.example/v1?api_key=abc",
        "https://host.example/v1?api-key=abc&version=2",
        "https://host.example/v1?version=2&KEY=abc",
        "https://host.example/v1?access_token=",
        "https://host.example/v1?%61pi_key=abc",
        "https://user:abcdefgh@host.example/v1",
        "https://host.example/sk-abc123def456/v1",
        "https://host.example/v1#api_key=abcdefghijkl",
        "https://host.example/AIzaSyA1234567890abcdefgh",
    ],
)
def test_an_address_with_a_key_is_refused_and_says_where_keys_come_from(address: str):
    assert "comes from the environment" in address_problem(address)


@pytest.mark.parametrize(
    "address",
    [
        "",
        "https://host.example/v1",
        "http://127.0.0.1:9000/v1?api-version=2024-10-21",
        "https://keys.example/token-service/v1",
        "https://host.example/v1?max_tokens=5&author=x",
    ],
)
def test_an_address_without_a_key_is_let_through(address: str):
    assert address_problem(address) == ""


@pytest.mark.parametrize("address", ["ftp://host", "host", "https://", "https://ho st", "https://[::1"])
def test_what_is_no_address_is_told_as_that(address: str):
    assert "key" not in address_problem(address)
    assert address_problem(address) != ""


def test_a_key_under_a_name_of_its_own_is_no_address_of_a_target_or_an_import_either():
    assert "holds a key in its query" in address_problem("https://host.example/v1?api_key=abc")


def test_a_secret_of_this_process_is_known_by_its_value(monkeypatch: pytest.MonkeyPatch):
    assert not holds_key(f"openai/{OWN}")
    monkeypatch.setenv("SOME_PROVIDER_API_KEY", OWN)
    assert holds_key(f"openai/{OWN}")
    assert "looks like a key" in address_problem(f"https://host.example/{OWN}/v1")
    assert OWN not in address_problem(f"https://host.example/{OWN}/v1")


def test_a_host_that_may_have_keys_is_no_key(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AI_EVAL_KEY_HOSTS", "proxy.example.org")
    assert address_problem("https://proxy.example.org/v1") == ""


@pytest.mark.parametrize("name", ["api_key", "apiKey", "authorization", "password", "x-api-key"])
def test_a_parameter_that_is_named_like_a_key_is_refused_whatever_it_holds(name: str):
    for value in ("x", "", None, 5, {"a": 1}):
        (problem,) = parameter_problems({name: value})
        assert problem.startswith(f"parameter {name!r} looks like a key")


@pytest.mark.parametrize(
    "value",
    [
        "Bearer abcdef123456",
        ["fine", "sk-abc123def456"],
        {"type": "sk-abc123def456"},
        {"sk-abc123def456": 1},
        [[{"deep": ["sk-abc123def456"]}]],
    ],
)
def test_a_key_is_found_however_deep_it_lies_in_a_parameter(value: Any):
    (problem,) = parameter_problems({"temperature": 0, "stop": value, "seed": 3})
    assert problem.startswith("parameter 'stop' looks like a key")
    assert "sk-abc" not in problem


def test_parameters_that_say_how_a_model_decodes_hold_no_key():
    fine = {"max_tokens": 9, "stop": ["\n", "token"], "logit_bias": {"50256": -100}, "temperature": None}
    assert parameter_problems(fine) == []
