import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_eval.graders import GradeResult
from ai_eval.graders import patterns as patterns_module
from ai_eval.graders.format import FormatGrader
from ai_eval.graders.json_checks import NotJSON, read_strictly


def grade(response: str, expected: Any) -> GradeResult:
    return FormatGrader().grade("question", response, {"expected": expected})


def score(response: str, **expected: Any) -> float | None:
    result = grade(response, expected)
    assert result.outcome == "scored", result.reason
    return result.score


# When there is nothing to say


@pytest.mark.parametrize("context", [{}, {"expected": None}, {"expected": "Emma"}, {"expected": ["json"]}])
def test_a_question_that_expects_no_form_is_skipped(context: dict[str, Any]) -> None:
    assert FormatGrader().grade("q", "{}", context).outcome == "skipped"


@pytest.mark.parametrize("expected", [{}, {"answer": "Emma"}])
def test_an_expectation_of_something_else_is_skipped(expected: dict[str, Any]) -> None:
    assert grade("{}", expected).outcome == "skipped"


# Expectations that nobody can read


@pytest.mark.parametrize(
    ("expected", "problem"),
    [
        ({"format": "jsn"}, 'format is "jsn", which is not known, did you mean json?'),
        ({"format": "JSON"}, 'format is "JSON", which is not known, did you mean json?'),
        ({"format": "yaml"}, 'format is "yaml", which is not known; known are json, json_object,'),
        ({"format": None}, "format is null"),
        ({"format": ["json"]}, "format is a list"),
        ({"fromat": "json"}, 'the key "fromat" is not known, did you mean format?'),
        ({"format": "json", "maxChars": 5}, 'the key "maxChars" is not known, did you mean max_chars?'),
        ({"format": "regex"}, "format is regex, and there is no pattern"),
        ({"pattern": "("}, "pattern is no regular expression"),
        ({"pattern": ""}, "pattern is empty"),
        ({"pattern": 5}, "pattern is 5"),
        ({"pattern": "x" * 6000}, "pattern has 6000 characters"),
        ({"keys": []}, "must be a list of names that is not empty"),
        ({"keys": "a"}, 'keys is "a", must be a list'),
        ({"keys": [1]}, "keys is a list, must be a list of names"),
        ({"format": "markdown", "keys": ["a"]}, "keys asks for JSON, and format is markdown"),
        ({"format": "regex", "pattern": "x", "schema": {"type": "object"}}, "schema asks for JSON"),
        ({"format": "json_array", "keys": ["a"]}, "keys asks for an object, and format is json_array"),
        ({"schema": {}}, "must be a JSON Schema"),
        ({"schema": True}, "must be a JSON Schema"),
        ({"schema": {"type": "objct"}}, "is no JSON Schema: ['type'] 'objct'"),
        ({"schema": {"minimum": "1"}}, "is no JSON Schema"),
        ({"schema": {"properties": {"a": {"pattern": "("}}}}, 'the pattern "(" is no regular expression'),
        ({"schema": {"patternProperties": {"(": {}}}}, 'the pattern "(" is no regular expression'),
        ({"schema": {"$ref": "http://127.0.0.1:9/schema"}}, "only references within it"),
        ({"schema": {"properties": {"a": {"$ref": "#/$defs/no"}}}}, "a reference leads nowhere"),
        ({"schema": {"$ref": "#"}}, "refers to itself without end"),
        ({"max_chars": 0}, "max_chars is 0, must be a whole number from 1 on"),
        ({"max_chars": True}, "max_chars is true"),
        ({"max_chars": "100"}, 'max_chars is "100"'),
        ({"max_chars": 1.5}, "max_chars is 1.5"),
    ],
)
def test_an_expectation_that_can_not_be_read_is_an_error_and_never_a_score(
    expected: dict[str, Any], problem: str
) -> None:
    result = grade("{}", expected)
    assert result.outcome == "errored"
    assert result.reason.startswith("the question's expected can't be read: ")
    assert problem in result.reason


# JSON


@pytest.mark.parametrize("response", ['{"a": 1}', " [1, 2]\n", "null", "false", "0", '"text"', "1.5e3", "[]"])
def test_any_json_value_is_json(response: str) -> None:
    assert score(response, format="json") == 5.0


@pytest.mark.parametrize(
    ("response", "why"),
    [
        ("", "there is nothing"),
        (" \n", "there is nothing"),
        ('```json\n{"a": 1}\n```', "a code fence stands round it"),
        ('Sure: {"a": 1}', "Expecting value at line 1, column 1"),
        ('{"a": 1} done', "Extra data at line 1, column 10"),
        ('{"a": 1', "Expecting ',' delimiter at line 1, column 8"),
        ("{'a': 1}", "line 1, column 2"),
        ('{"a": True}', "line 1, column 7"),
        ("[NaN]", "NaN is no JSON number"),
        ("-Infinity", "-Infinity is no JSON number"),
        ('{"a": 1, "a": 1}', 'the key "a" is given twice'),
        ('{"b": {"a": 1, "a": 2}}', 'the key "a" is given twice'),
        ('"two\nlines"', "Invalid control character"),
        ("\ufeff{}", "Expecting value"),
        ("[" * 201 + "]" * 201, "nested deeper than 200 levels"),
        ("[" * 100_000, "nested deeper than 200 levels"),
        ("9" * 5000, "larger than any reader takes"),
        ("1e999", "larger than any reader takes"),
        ("{0} %s {{ x }}", "Expecting property name"),
    ],
)
def test_what_is_no_json_scores_nothing_and_is_told(response: str, why: str) -> None:
    result = grade(response, {"format": "json"})
    assert result.score == 0.0
    assert why in result.reason


def test_two_hundred_levels_are_still_json() -> None:
    assert score("[" * 200 + "]" * 200, format="json") == 5.0


@pytest.mark.parametrize(
    ("response", "form", "points"),
    [
        ("{}", "json_object", 5.0),
        ("[]", "json_object", 0.0),
        ("1", "json_object", 0.0),
        ("[]", "json_array", 5.0),
        ("{}", "json_array", 0.0),
    ],
)
def test_an_object_is_no_array(response: str, form: str, points: float) -> None:
    assert score(response, format=form) == points


@given(st.text())
def test_what_is_read_as_json_is_what_the_standard_library_reads(text: str) -> None:
    try:
        value = read_strictly(text)
    except NotJSON:
        return
    assert json.loads(text) == value


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_every_json_value_is_read(value: Any) -> None:
    assert read_strictly(json.dumps(value)) == value


def test_missing_keys_are_named() -> None:
    result = grade('{"a": 1, "c": null}', {"keys": ["a", "b", "c", "d"]})
    assert result.score == 0.0
    assert result.reason == '0 of 1 met; keys: missing "b", "d"; found "a", "c"'


def test_a_key_with_null_is_there() -> None:
    assert score('{"a": null}', format="json", keys=["a"]) == 5.0


def test_keys_of_what_is_no_object_are_not_there() -> None:
    assert grade('["a"]', {"keys": ["a"]}).reason == "0 of 1 met; keys: expected an object, found an array"


SCHEMA = {
    "type": "object",
    "required": ["title"],
    "properties": {"title": {"$ref": "#/$defs/title"}, "year": {"type": "integer"}},
    "$defs": {"title": {"type": "string", "pattern": r"^\p{Lu}"}},
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("response", "problem"),
    [
        ('{"title": "Emma", "year": 1815}', ""),
        ("{}", "$: 'title' is a required property"),
        ('{"title": "emma"}', "$.title: 'emma' does not match"),
        ('{"title": "Emma", "year": "1815"}', "$.year: '1815' is not of type 'integer'"),
        ('{"title": "Emma", "pages": 1}', '$: "pages" is not allowed here'),
    ],
)
def test_a_schema_is_checked_with_the_place(response: str, problem: str) -> None:
    result = grade(response, {"schema": SCHEMA})
    assert result.score == (0.0 if problem else 5.0)
    assert problem in result.reason


@pytest.mark.parametrize(
    ("response", "points"),
    [('{"x_a": 1}', 5.0), ('{"x_a": "1"}', 0.0), ('{"y": "z"}', 5.0), ('{"y": 1}', 0.0)],
)
def test_properties_by_pattern_and_additional_ones(response: str, points: float) -> None:
    schema = {"patternProperties": {"^x_": {"type": "integer"}}, "additionalProperties": {"type": "string"}}
    assert score(response, schema=schema) == points


def test_a_schema_of_an_older_draft_is_read_as_such() -> None:
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "integer"}]}
    assert score('["a"]', schema=schema) == 0.0


def test_a_format_in_a_schema_is_checked() -> None:
    assert score('"2024-02-30"', schema={"format": "date"}) == 0.0


# Texts


@pytest.mark.parametrize(
    "response",
    [
        "# Title\n\ntext",
        "- one\n- two",
        "1. one\n2. two",
        "some **strong** text",
        "some *soft* text",
        "some _soft_ text",
        "see [here](http://x/y)",
        "use `code`",
        "> quoted",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "text\n```\ncode\n```\n",
        "~~~\ncode\n~~~\ntext",
    ],
)
def test_text_with_a_construct_of_markdown_is_markdown(response: str) -> None:
    assert score(response, format="markdown") == 5.0


@pytest.mark.parametrize(
    ("response", "why"),
    [
        ("Just a sentence.", "found no heading"),
        ("5 * 3 * 2 = 30, snake_case_name, #tag", "found no heading"),
        ("text\n```python\ncode", "the code fence in line 2 is never closed"),
        ("```\n~~~", "the code fence in line 1 is never closed"),
        ("```markdown\n# Title\n```", "all of it stands in one code fence"),
        ("", "the response is empty"),
        ("\u200b\n", "the response is empty"),
    ],
)
def test_what_is_no_markdown_is_told(response: str, why: str) -> None:
    result = grade(response, {"format": "markdown"})
    assert result.score == 0.0
    assert why in result.reason


@pytest.mark.parametrize(
    "response",
    [
        "A sentence, with 5 * 3 * 2 and a_b_c; a < b and c > d.",
        "Books:\n- Emma\n- Ulysses\n\n1. first",
        "%s {0} {{ x }} $question",
        "List<String> x",
        "{not JSON}",
        "Room #5",
    ],
)
def test_plain_text_may_have_lists_and_signs(response: str) -> None:
    assert score(response, format="plain_text") == 5.0


@pytest.mark.parametrize(
    ("response", "there"),
    [
        ("# Title", "a heading"),
        ("```\ncode\n```", "a code fence"),
        ("**very**", "strong"),
        ("*very*", "emphasis"),
        ("[x](y)", "a link"),
        ("`x`", "code"),
        ("a | b\n--- | ---", "a table"),
        ("one<br>two", "HTML"),
        ("<script>alert(1)</script>", "HTML"),
        ('{"a": 1}', "JSON"),
        ("[1]", "JSON"),
        ("", "the response is empty"),
    ],
)
def test_formatting_is_no_plain_text(response: str, there: str) -> None:
    result = grade(response, {"format": "plain_text"})
    assert result.score == 0.0
    assert there in result.reason


@pytest.mark.parametrize(
    ("response", "points"),
    [
        ("one", 5.0),
        ("\none \n", 5.0),
        ("one\ntwo", 0.0),
        ("one\rtwo", 0.0),
        ("one\u2028two", 0.0),
        (" ", 0.0),
    ],
)
def test_a_single_line_has_no_break_but_at_its_ends(response: str, points: float) -> None:
    assert score(response, format="single_line") == points


@pytest.mark.parametrize(
    "opened", ["**a ", "*a ", "[a", "`a", "<p a", "_a ", "__a ", "[a](", "- \n", "``` \n"]
)
def test_long_texts_are_read_in_linear_time(opened: str) -> None:
    """In quadratic time this would not end while anybody waits."""
    for form in ("markdown", "plain_text"):
        assert grade(opened * 200_000, {"format": form}).outcome == "scored"


# Expressions


@pytest.mark.parametrize(
    ("pattern", "response", "points"),
    [
        ("B-[0-9]+", "copy B-17 is in", 5.0),
        ("^B-[0-9]+$", "copy B-17 is in", 0.0),
        ("^B-[0-9]+$", "B-17", 5.0),
        (r"\p{Lu}mma", "Emma", 5.0),
        ("^$", "", 5.0),
        (".", "", 0.0),
    ],
)
def test_an_expression_is_found_anywhere_and_anchored_by_its_author(
    pattern: str, response: str, points: float
) -> None:
    assert score(response, format="regex", pattern=pattern) == points


def test_an_expression_that_takes_too_long_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns_module, "PATTERN_SECONDS", 0.05)
    # Not optimised away by the library, and exponential.
    result = grade("a" * 40 + "!", {"pattern": r"^(?:(?:a|aa)+)+\b$"})
    assert result.outcome == "errored"
    assert "still searching after 0.05 s" in result.reason


def test_an_expression_of_a_schema_stops_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns_module, "PATTERN_SECONDS", 0.05)
    result = grade(json.dumps("a" * 40 + "!"), {"schema": {"pattern": r"^(?:(?:a|aa)+)+\b$"}})
    assert result.outcome == "errored"


# Rules together


def test_the_limit_counts_characters_as_they_came() -> None:
    assert score("é😀", max_chars=2) == 5.0
    assert grade("é😀\n", {"max_chars": 2}).reason == "0 of 1 met; max_chars: expected at most 2, found 3"


def test_silence_keeps_no_limit() -> None:
    assert score("", max_chars=10) == 0.0


def test_the_score_is_the_share_of_rules_that_are_met() -> None:
    expected = {"format": "json", "keys": ["a"], "pattern": "z", "max_chars": 100}
    result = grade('{"a": 1}', expected)
    assert result.score == 3.75
    assert result.reason == '3 of 4 met; pattern: "z" not found'
    assert result.details == {
        "asked": ["format json", "keys", "pattern", "max_chars"],
        "unmet": {"pattern": '"z" not found'},
    }


def test_a_response_that_meets_everything_is_told_what() -> None:
    assert grade("{}", {"format": "json", "max_chars": 5}).reason == "2 of 2 met: format json, max_chars"


def test_format_regex_and_its_pattern_are_one_rule() -> None:
    assert grade("x", {"format": "regex", "pattern": "x"}).reason == "1 of 1 met: pattern"


@given(
    st.text(), st.sampled_from(["json", "json_object", "json_array", "markdown", "plain_text", "single_line"])
)
def test_any_response_gets_a_score(response: str, form: str) -> None:
    assert grade(response, {"format": form}).score in (0.0, 5.0)
