from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_eval.agents.arguments import recorded_call
from ai_eval.graders import patterns as patterns_module
from ai_eval.graders.argument_matching import Match, equal, matcher_of
from tests.graders.tool_grading import call, grade, satisfied


def test_the_reason_tells_expected_first_and_found_second() -> None:
    result = grade([{"name": "renew", "args": {"card": "42"}}], call("renew", card="41"))
    assert result.reason.endswith('; renew(card="42"): expected a call, found renew(card="41")')


def test_the_arguments_stand_in_one_and_the_same_call() -> None:
    entry = {"name": "renew", "args": {"card": "42", "days": 14}}
    assert not satisfied(entry, call("renew", card="42", days=7), call("renew", card="41", days=14))
    assert satisfied(entry, call("renew", card="42", days=14, note="x"))


def test_an_argument_that_is_not_there_is_not_null() -> None:
    assert not satisfied({"name": "renew", "args": {"card": None}}, call("renew"))
    assert satisfied({"name": "renew", "args": {"card": None}}, call("renew", card=None))


@pytest.mark.parametrize(
    ("expected", "found", "same"),
    [
        (1, 1, True),
        (1, 1.0, True),
        (1.0, 1, True),
        (1, True, False),
        (True, 1, False),
        (0, False, False),
        (True, True, True),
        (False, True, False),
        (1, "1", False),
        ("1", 1, False),
        ("42", "42", True),
        ("42", "42 ", False),
        ("a", "A", False),
        ("", "", True),
        ("", None, False),
        (None, None, True),
        (None, "", False),
        (None, False, False),
        (9007199254740993, 9007199254740992.0, False),
        ([1, "a"], [1, "a"], True),
        ([1, "a"], ["a", 1], False),
        ([1], [True], False),
        ([1], [1.0], True),
        ([], [], True),
        ([], {}, False),
        ({"a": 1, "b": [None]}, {"b": [None], "a": 1}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": 1, "b": 2}, {"a": 1}, False),
        ({"a": {"b": "é"}}, {"a": {"b": "é"}}, True),
        ([1], "no list", False),
        ([1], 1, False),
        (["x" * 400], ["x" * 400], True),
    ],
)
def test_arguments_are_compared_by_value_as_json(expected: Any, found: Any, same: bool) -> None:
    assert satisfied({"name": "renew", "args": {"it": expected}}, call("renew", it=found)) is same


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    # Long texts are cut and names such as "token" redacted, which has tests of its own.
    | st.text("abé ", max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abcd", max_size=3), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(JSON)
def test_every_recorded_value_is_equal_to_itself(value: Any) -> None:
    assert equal(value, recorded_call("renew", {"it": value})["arguments"]["it"]) is Match.YES


@given(JSON, JSON)
def test_values_are_told_apart_as_recorded_as_they_are_before(one: Any, other: Any) -> None:
    stored = recorded_call("renew", {"it": other})["arguments"]["it"]
    if isinstance(one, list | dict) == isinstance(other, list | dict):
        assert equal(one, stored) is equal(one, other)


@pytest.mark.parametrize(
    ("matcher", "found", "same"),
    [
        ({"contains": "Emma"}, "by Austen: Emma", True),
        ({"contains": "emma"}, "by Austen: Emma", False),
        ({"contains": "B-17"}, ["B-17", "B-18"], True),
        ({"contains": "4"}, 142, True),
        ({"regex": "^B-[0-9]+$"}, "B-17", True),
        ({"regex": "^B-[0-9]+$"}, "xB-17", False),
        ({"regex": "^14$"}, 14, True),
        ({"any": [1, "one"]}, "one", True),
        ({"any": [1, "one"]}, True, False),
        ({"any": [{"contains": "x"}, {"regex": "^y"}]}, "yes", True),
        ({"any": [[1], [2]]}, [2], True),
        ({"any": True}, "whatever", True),
        ({"any": True}, None, True),
        ({"contains": "x", "regex": "y"}, {"contains": "x", "regex": "y"}, True),
        ({"title": "Emma"}, {"title": "Emma"}, True),
    ],
)
def test_a_matcher_says_how_an_argument_is_compared(matcher: Any, found: Any, same: bool) -> None:
    assert satisfied({"name": "renew", "args": {"it": matcher}}, call("renew", it=found)) is same


def test_any_value_asks_for_the_argument_to_be_there() -> None:
    assert not satisfied({"name": "renew", "args": {"it": {"any": True}}}, call("renew"))


# What nobody can tell


LONG = "x" * 5000


@pytest.mark.parametrize(
    ("arguments", "expected", "name"),
    [
        ({"password": "hunter2"}, {"password": "hunter2"}, "password"),
        ({"password": "hunter2"}, {"password": "other"}, "password"),
        ({"password": "hunter2"}, {"password": {"regex": "redacted"}}, "password"),
        ({"password": "hunter2"}, {"password": {"contains": "redacted"}}, "password"),
        ({"password": "hunter2"}, {"password": {"any": ["hunter2", "[redacted]"]}}, "password"),
        ({"login": {"user": "ann", "pwd": "x"}}, {"login": {"user": "ann", "pwd": "x"}}, "login"),
        ({"text": LONG}, {"text": LONG}, "text"),
        ({"text": LONG}, {"text": {"contains": "y"}}, "text"),
        ({"text": LONG}, {"text": {"contains": "more characters"}}, "text"),
        ({"text": LONG}, {"text": {"regex": "^x+$"}}, "text"),
        ({"list": [LONG]}, {"list": [LONG]}, "list"),
    ],
)
def test_what_was_redacted_or_cut_neither_passes_nor_fails_in_silence(
    arguments: dict[str, Any], expected: dict[str, Any], name: str
) -> None:
    for entry in ({"name": "renew", "args": expected}, {"not": "renew", "args": expected}):
        result = grade([entry], call("renew", **arguments))
        assert result.score == 0.0
        assert f"what was recorded of {name} is redacted, cut" in result.reason
        assert "hunter2" not in result.reason.partition("found")[2]


@pytest.mark.parametrize("expected", ["x" * 1000, "y" * 5000, "short", {"contains": "x" * 1001}])
def test_what_is_kept_of_a_cut_text_tells_some_texts_apart(expected: Any) -> None:
    result = grade([{"name": "renew", "args": {"text": expected}}], call("renew", text=LONG))
    assert result.score == 0.0
    assert ("can't be compared" in result.reason) == isinstance(expected, dict)


def test_what_is_kept_of_a_cut_text_may_hold_what_is_asked() -> None:
    assert satisfied({"name": "renew", "args": {"text": {"contains": "xxx"}}}, call("renew", text=LONG))


def test_a_call_that_can_be_compared_makes_up_for_one_that_can_not() -> None:
    entry = {"name": "renew", "args": {"text": LONG[:10]}}
    assert satisfied(entry, call("renew", text=LONG), call("renew", text=LONG[:10]))


def test_an_argument_that_differs_decides_whatever_was_redacted() -> None:
    entry = {"not": "login", "args": {"user": "ann", "password": "x"}}
    assert satisfied(entry, call("login", user="bob", password="x"))


def test_any_redacted_value_is_one_that_is_there() -> None:
    assert satisfied({"name": "login", "args": {"password": {"any": True}}}, call("login", password="x"))


def test_a_count_is_not_told_where_a_call_may_count_or_not() -> None:
    entry = {"name": "login", "args": {"password": "x"}, "times": {"max": 0}}
    assert not satisfied(entry, call("login", password="y"))
    assert satisfied({**entry, "times": {"max": 1}}, call("login", password="y"))


def test_an_expression_that_takes_too_long_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns_module, "PATTERN_SECONDS", 0.05)
    assert matcher_of({"regex": r"^(?:(?:a|aa)+)+\b$"})("a" * 40 + "!") is Match.UNKNOWN
