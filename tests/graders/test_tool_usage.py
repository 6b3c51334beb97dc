from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_eval.graders import ToolUsageGrader
from tests.graders.tool_grading import call, grade, grade_text, satisfied

# Absent, empty, not asked


@pytest.mark.parametrize("context", [{}, {"expected_tools": None}, {"expected_tools": []}])
@pytest.mark.parametrize("record", [{}, {"tool_calls": []}])
def test_a_question_that_expects_no_tools_is_skipped(context: Any, record: Any) -> None:
    result = ToolUsageGrader().grade("q", "r", {**context, **record})
    assert result.outcome == "skipped"
    assert result.reason == "no expected_tools in context, skipping"


def test_an_empty_record_is_not_an_absent_one() -> None:
    empty = grade(["renew"])
    assert empty.score == 0.0
    assert "the agent called nothing" in empty.reason
    assert ToolUsageGrader.FALLBACK_MARKER not in empty.reason
    assert ToolUsageGrader.FALLBACK_MARKER in grade_text(["renew"], "response").reason


def test_a_mention_in_the_response_is_no_call_where_there_is_a_record() -> None:
    context = {"expected_tools": ["renew"], "tool_calls": []}
    assert ToolUsageGrader().grade("q", "I called renew.", context).score == 0.0


@pytest.mark.parametrize("expected", ["renew", {"name": "renew"}, 5, {}, "", False, 0])
def test_expected_tools_that_are_no_list_are_an_error(expected: Any) -> None:
    result = grade(expected, call("renew"))
    assert result.outcome == "errored"
    assert "must be a list of tools" in result.reason


@pytest.mark.parametrize("record", [None, "renew", {}])
def test_a_record_that_is_no_list_is_an_error(record: Any) -> None:
    result = ToolUsageGrader().grade("q", "r", {"expected_tools": ["renew"], "tool_calls": record})
    assert result.outcome == "errored"


# Presence and counts


def test_each_entry_counts_alike() -> None:
    result = grade(["renew", "look_up", {"not": "delete"}, {"name": "renew", "times": 2}], call("renew"))
    assert result.score == 2.5
    assert result.reason == (
        "2 of 4 satisfied (from the tool-call record: renew); look_up: expected a call, found none; "
        "renew: expected 2 calls, found 1"
    )


def test_details_tell_every_entry() -> None:
    assert grade(["renew", {"not": "delete"}], call("delete")).details == {
        "expectations": [
            {"asked": "renew", "problem": "expected a call, found none"},
            {"asked": "not delete", "problem": "expected no call, found 1"},
        ]
    }


def test_a_tool_is_known_by_either_of_its_names() -> None:
    record = call("renew", plugin_id="desk:renew")
    assert satisfied("renew", record)
    assert satisfied("desk:renew", record)
    assert not satisfied("desk", record)
    assert not satisfied("Renew", record)


def test_order_and_further_calls_do_not_matter_unless_asked() -> None:
    assert grade(["a", "b"], call("b"), call("c"), call("a"), call("a")).score == 5.0


def test_the_same_entry_twice_asks_for_two_calls() -> None:
    result = grade(["renew", {"name": "renew"}], call("renew"))
    assert result.score == 2.5
    assert "renew: expected a 2nd call, found 1" in result.reason
    assert grade(["renew", "renew"], call("renew"), call("renew")).score == 5.0


def test_entries_with_different_arguments_do_not_add_up() -> None:
    entries = [{"name": "renew", "args": {"n": 1}}, {"name": "renew", "args": {"n": True}}]
    assert grade(entries, call("renew", n=1), call("renew", n=True)).score == 5.0


@pytest.mark.parametrize(
    ("times", "allowed"),
    [
        (0, {0}),
        (1, {1}),
        (2, {2}),
        (2.0, {2}),
        ({"min": 1}, {1, 2, 3}),
        ({"max": 1}, {0, 1}),
        ({"min": 1, "max": 2}, {1, 2}),
        ({"min": 0, "max": 2}, {0, 1, 2}),
    ],
)
def test_times_bounds_the_number_of_calls(times: Any, allowed: set[int]) -> None:
    found = {n for n in range(4) if satisfied({"name": "renew", "times": times}, *[call("renew")] * n)}
    assert found == allowed


def test_times_counts_only_calls_with_the_expected_arguments() -> None:
    entry = {"name": "renew", "args": {"card": "42"}, "times": 1}
    assert satisfied(entry, call("renew", card="42"), call("renew", card="43"))
    assert not satisfied(entry, call("renew", card="42"), call("renew", card="42"))


def test_what_must_not_happen_fails_when_it_did() -> None:
    assert satisfied({"not": "delete"}, call("renew"))
    assert not satisfied({"not": "delete"}, call("delete"))


def test_what_must_not_happen_may_be_told_by_arguments() -> None:
    entry = {"not": "delete", "args": {"card": "42"}}
    assert satisfied(entry, call("delete", card="43"))
    result = grade([entry], call("delete", card="42"))
    assert result.reason.endswith('not delete(card="42"): expected no call, found 1: delete(card="42")')


# Order


@pytest.mark.parametrize(
    ("order", "problem"),
    [
        ("ab", ""),
        ("bab", ""),
        ("acb", ""),
        ("ba", "expected b after a, found b before a only"),
        ("b", "expected b after a, found no call of a"),
        ("a", "expected a call, found none"),
        ("", "expected a call, found none"),
    ],
)
def test_after_asks_for_an_order(order: str, problem: str) -> None:
    result = grade([{"name": "b", "after": "a"}], *map(call, order))
    assert result.score == (0.0 if problem else 5.0)
    assert problem in result.reason


def test_only_a_call_with_the_expected_arguments_counts_for_the_order() -> None:
    entry = {"name": "pay", "args": {"fee": 2}, "after": "check"}
    assert not satisfied(entry, call("pay", fee=2), call("check"), call("pay", fee=1))
    assert satisfied(entry, call("check"), call("pay", fee=2))


def test_a_tool_after_itself_needs_two_calls() -> None:
    entry = {"name": "a", "after": "a"}
    assert not satisfied(entry, call("a"))
    assert satisfied(entry, call("a"), call("a"))


def test_an_order_that_turns_on_a_redacted_argument_is_not_told() -> None:
    entry = {"name": "login", "args": {"password": "x"}, "after": "a", "times": {"max": 1}}
    result = grade([entry], call("a"), call("login", password="x"))
    assert result.score == 0.0
    assert "can't be compared" in result.reason


# Entries that nobody can read


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        (None, "is null, must be a tool's name, or a mapping"),
        (5, "is 5, must be a tool's name"),
        (["renew"], "is a list, must be a tool's name"),
        ("", "name is empty"),
        (" ", 'name is " "'),
        ({}, "has neither name nor not"),
        ({"name": "renew", "not": "renew"}, "has both name and not"),
        ({"name": None}, "name is null"),
        ({"name": "renew", "arg": {"a": 1}}, 'the key "arg" is not known, did you mean args?'),
        ({"name": "renew", "before": "x"}, 'the key "before" is not known; known are name, args'),
        ({"name": "renew", "args": {}}, "must be a mapping that is not empty"),
        ({"name": "renew", "args": ["a"]}, "args is a list"),
        ({"name": "renew", "args": None}, "args is null"),
        (
            {"name": "renew", "args": {"a": {"contain": "x"}}},
            '"contain" is not known, did you mean contains?',
        ),
        ({"name": "renew", "args": {"a": {"contains": ""}}}, "contains is empty"),
        ({"name": "renew", "args": {"a": {"contains": 5}}}, "contains is 5"),
        ({"name": "renew", "args": {"a": {"regex": "("}}}, 'regex "(" is no regular expression'),
        ({"name": "renew", "args": {"a": {"regex": ""}}}, "is empty, and would be found in any text"),
        ({"name": "renew", "args": {"a": {"regex": None}}}, "regex is null"),
        ({"name": "renew", "args": {"a": {"any": []}}}, "must be a list of alternatives"),
        ({"name": "renew", "args": {"a": {"any": "x"}}}, 'any is "x"'),
        ({"name": "renew", "args": {"a": {"any": [{"regex": "("}]}}}, "is no regular expression"),
        ({"name": "renew", "times": -1}, "times has -1"),
        ({"name": "renew", "times": True}, "times has true"),
        ({"name": "renew", "times": 1.5}, "times has 1.5"),
        ({"name": "renew", "times": float("nan")}, "times has nan"),
        ({"name": "renew", "times": float("inf")}, "times has inf"),
        ({"name": "renew", "times": "1"}, 'times has "1"'),
        ({"name": "renew", "times": None}, "times has null"),
        ({"name": "renew", "times": {}}, "a mapping with min, max or both"),
        ({"name": "renew", "times": {"mn": 1}}, "a mapping with min, max or both"),
        ({"name": "renew", "times": {"min": 0}}, "asks for nothing"),
        ({"name": "renew", "times": {"min": 2, "max": 1}}, "times has min 2 above max 1"),
        ({"name": "renew", "times": {"min": None}}, "times has null"),
        ({"name": "renew", "after": ""}, "after is empty"),
        ({"name": "renew", "after": ["a"]}, "after is a list"),
        ({"name": "renew", "after": "a", "times": 0}, "after beside a number of calls that is 0"),
        ({"not": "delete", "times": 1}, "has times beside not"),
        ({"not": "delete", "after": "renew"}, "has after beside not"),
        ({"not": "delete", "args": {}}, "must be a mapping that is not empty"),
    ],
)
@pytest.mark.parametrize("record", [[], [call("renew", a=1), call("renew", a=1)], None])
def test_an_entry_that_can_not_be_read_is_unsatisfied_and_named(
    entry: Any, problem: str, record: list[dict[str, Any]] | None
) -> None:
    expected = [{"name": "renew"}, entry]
    result = grade_text(expected, "renew") if record is None else grade(expected, *record)
    assert result.score == (0.0 if record == [] else 2.5)
    assert "entry 2: can't be read: " in result.reason
    assert problem in result.reason


# Without a record


@pytest.mark.parametrize(
    ("response", "points"),
    [
        ("I called renew().", 5.0),
        ("renew", 5.0),
        ("I called `desk.renew`", 5.0),
        ("I will renew_loan", 0.0),
        ("prerenew", 0.0),
        ("Renew", 0.0),
        ("", 0.0),
    ],
)
@pytest.mark.parametrize("entry", ["renew", {"name": "renew"}])
def test_without_a_record_a_name_is_looked_up_in_the_response(
    entry: Any, response: str, points: float
) -> None:
    result = grade_text([entry], response)
    assert result.score == points
    assert ToolUsageGrader.FALLBACK_MARKER in result.reason


@pytest.mark.parametrize(
    "entry",
    [
        {"name": "renew", "args": {"card": "42"}},
        {"name": "renew", "after": "look_up"},
        {"name": "renew", "times": 1},
        {"name": "renew", "times": 0},
        {"name": "renew", "times": {"max": 3}},
        {"not": "delete"},
        {"not": "delete", "args": {"card": "42"}},
    ],
)
def test_without_a_record_what_only_a_record_tells_fails_loudly(entry: Any) -> None:
    result = grade_text([entry], "look_up renew card 42")
    assert result.score == 0.0
    assert "found no record, and only a record can tell" in result.reason
    assert ToolUsageGrader.FALLBACK_MARKER in result.reason


def test_the_marker_is_the_one_that_the_advisory_looks_for() -> None:
    assert ToolUsageGrader.FALLBACK_MARKER == "no tool-call record available"


# Odd names and records


@pytest.mark.parametrize(
    "name", ["a.*", "a(", "%s", "{0}", "$name", "{{ x }}", "re\nnew", "<script>", "日本"]
)
def test_a_name_is_data(name: str) -> None:
    assert satisfied(name, call(name))
    assert grade_text([name], f"I called {name} now").score == 5.0
    assert not satisfied(name, call("other"))


@pytest.mark.parametrize("odd", [None, "renew", 5, [], {}, {"function_name": None}, {"arguments": "x"}])
def test_an_odd_call_in_a_record_is_no_call_of_the_tool(odd: Any) -> None:
    assert grade(["renew", {"not": "delete"}], odd).score == 2.5
    assert grade(["renew", {"not": "delete"}], odd, call("renew")).score == 5.0


def test_a_call_without_arguments_has_none_of_them() -> None:
    assert not satisfied(
        {"name": "renew", "args": {"card": "42"}}, {"function_name": "renew", "plugin_id": "renew"}
    )


ENTRIES = st.one_of(
    st.sampled_from("ab"),
    st.fixed_dictionaries(
        {"name": st.sampled_from("ab")},
        optional={
            "after": st.sampled_from("ab"),
            "times": st.integers(0, 3),
            "args": st.fixed_dictionaries({"n": st.integers(0, 1)}),
        },
    ),
    st.fixed_dictionaries({"not": st.sampled_from("ab")}),
)


@given(
    st.lists(ENTRIES, min_size=1, max_size=5), st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 1)))
)
def test_the_score_is_the_share_of_entries_that_are_not_named(entries: Any, made: Any) -> None:
    result = grade(entries, *(call(name, n=n) for name, n in made))
    problems = [each["problem"] for each in result.details["expectations"]]
    assert len(problems) == len(entries)
    assert result.score == pytest.approx(5 * problems.count("") / len(entries))
    assert all(problem in result.reason for problem in problems)
