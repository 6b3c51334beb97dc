import json
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_eval.datasets.base import LoadedDataset
from ai_eval.datasets.rows import validate_rows
from ai_eval.datasets.schema import KNOWN_KEYS
from ai_eval.datasets.yaml_text import read_yaml
from ai_eval.errors import DatasetError

SCHEMA = json.loads((Path("ai_eval") / "schemas" / "dataset.schema.json").read_text())


def load(text: str) -> LoadedDataset:
    return validate_rows(read_yaml(text, "riverside.yaml"), "riverside.yaml")


def load_row(**row: object) -> dict:
    (loaded,) = validate_rows({"questions": [row]}, "riverside.yaml").rows
    return loaded


def problems(document: object) -> list[str]:
    read = read_yaml(document, "riverside.yaml") if isinstance(document, str) else document
    with pytest.raises(DatasetError) as caught:
        validate_rows(read, "riverside.yaml")
    return caught.value.problems


def row_problems(**row: object) -> list[str]:
    return problems({"questions": [{"id": "renew", "input": "x", **row}]})


def warnings(**row: object) -> list[str]:
    return list(
        validate_rows({"questions": [{"id": "renew", "input": "x", **row}]}, "riverside.yaml").warnings
    )


def test_the_schema_is_a_valid_one_and_knows_every_key():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert tuple(SCHEMA["$defs"]["question"]["properties"]) == KNOWN_KEYS


def test_a_question_with_every_key_comes_out_as_it_went_in():
    row = {
        "id": "renew",
        "input": "Renew %s {0} {{ x }} $question <script> \u202e",
        "criteria": "says when",
        "expected": {"format": "json", "max_characters": 400},
        "expected_facts": ["14 days"],
        "must_not_contain": ["sorry"],
        "expected_tools": [
            "look_up",
            {
                "name": "renew",
                "args": {"card": "C-1", "days": {"any": [7, 14]}},
                "after": "look_up",
                "times": 1,
            },
            {"name": "renew", "times": {"min": 1, "max": 2}},
            {"not": "pay_fee"},
            {"not": "renew", "args": {"card": {"contains": "C-2"}}},
        ],
        "rubric_ref": "house",
        "tags": ["loans"],
        "bundle": "loans",
        "split": "test",
        "enabled": False,
        "metadata": {"state": [1, 2.5, None]},
        "branch": {"name": "Riverside"},
    }
    assert load_row(**row) == row
    jsonschema.validate({"questions": [row]}, SCHEMA)


def test_a_question_of_several_turns_has_messages_instead_of_input():
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"}]
    row = {"id": "a", "messages": [*messages, {"role": "user", "content": "Renew it"}]}
    assert load_row(**row) == row


def test_ids_inputs_and_expected_texts_are_text_as_they_were_written():
    (row,) = load(
        """
        questions:
          - id: 1
            input: 2024
            criteria: 1.50
            expected: false
            expected_facts: [no, 0010, 1_000, 1e3, 2.0, true]
            must_not_contain: [3]
            tags: [1]
            split: 2
        """
    ).rows
    assert row == {
        "id": "1",
        "input": "2024",
        "criteria": "1.50",
        "expected": "false",
        "expected_facts": ["no", "0010", "1_000", "1e3", "2.0", "true"],
        "must_not_contain": ["3"],
        "tags": ["1"],
        "split": "2",
    }


def test_arguments_and_metadata_keep_their_types():
    (row,) = load(
        "questions: [{id: a, input: b, metadata: {n: 2, on: on},"
        " expected_tools: [{name: r, args: {days: 14}}]}]"
    ).rows
    assert row["metadata"] == {"n": 2, "on": "on"}
    assert row["expected_tools"][0]["args"] == {"days": 14}


def test_null_for_an_optional_key_is_the_same_as_leaving_it_out():
    assert load_row(id="a", input="b", criteria=None, expected_tools=None, other=None) == {
        "id": "a",
        "input": "b",
        "other": None,
    }


def test_what_no_database_takes_is_replaced_by_visible_marks():
    row = load_row(id="a", input="x\x00y", metadata={"k\x00": "\ud83d"})
    assert row == {"id": "a", "input": "x␀y", "metadata": {"k␀": "�"}}


def test_label_and_fixtures_come_along():
    loaded = load("label: 2024\nfixtures: [loans, 7]\nquestions: []")
    assert (loaded.label, loaded.fixtures, loaded.rows) == ("2024", ("loans", "7"), [])


@pytest.mark.parametrize(
    ("document", "said"),
    [
        (None, "riverside.yaml: is null, must be a mapping with the key questions"),
        ([{"id": "a"}], "riverside.yaml: is a list, must be a mapping with the key questions"),
        ({}, 'riverside.yaml, key "questions": is missing, must be a list of questions'),
        ({"question": []}, 'riverside.yaml, key "questions": is missing ("question" is there: is it meant?)'),
        ({"questions": ""}, 'riverside.yaml, key "questions": is empty, must be a list of questions'),
        ({"questions": {"id": "a"}}, 'riverside.yaml, key "questions": is a mapping, must be a list'),
        ({"questions": [], "fixtures": "loans"}, 'key "fixtures": is "loans", must be a list of names'),
        (
            {"questions": ["renew"]},
            'riverside.yaml, 1st question: is "renew", must be a mapping with id and input',
        ),
    ],
)
def test_a_document_of_another_form_is_refused(document: object, said: str):
    assert said in problems(document)[0]


def test_a_problem_names_file_question_position_key_line_and_what_would_be_right():
    text = """
questions:
  - {id: a, input: x}
  - {id: b, input: x}
  - id: renew
    input: x
    enabled: no
"""
    assert problems(text) == [
        'riverside.yaml, question "renew" (3rd), key "enabled": is "no", must be true or false (line 7)'
    ]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"id": None}, '1st question, key "id": is missing'),
        ({"id": ""}, 'key "id": is empty, must be text of 1 to 200 characters'),
        ({"id": "x" * 201}, 'key "id": has 201 characters, must be text of 1 to 200'),
        ({"id": ["a"]}, '1st question, key "id": is a list'),
        ({"id": " a"}, 'key "id": has white space at its ends'),
        ({"id": "a\nb"}, 'key "id": has white space at its ends or a sign that can\'t be seen'),
        ({"input": None}, 'key "input": is missing; a question has input (text) or messages'),
        (
            {"input": " \n"},
            'key "input": is " ',
        ),
        ({"input": "\u200b"}, 'key "input": shows nothing'),
        ({"input": ["x"]}, 'key "input": is a list, must be text'),
        ({"messages": [{"role": "user", "content": "x"}]}, 'key "messages": stands beside input'),
        ({"criteria": ["a"]}, 'key "criteria": is a list, must be text'),
        ({"expected": ["a"]}, 'key "expected": is a list, must be text, or a mapping'),
        ({"expected": {"format": ["json"]}}, 'key "expected.format": is a list'),
        ({"expected_facts": "a"}, 'key "expected_facts": is "a", must be a list of texts'),
        ({"expected_facts": ["a", ""]}, 'key "expected_facts[2]": is empty, must be text that is not empty'),
        ({"must_not_contain": [{"a": 1}]}, 'key "must_not_contain[1]": is a mapping, must be text'),
        ({"tags": "a"}, 'key "tags": is "a", must be a list of texts'),
        ({"split": "x" * 101}, 'key "split": has 101 characters'),
        ({"enabled": "yes"}, 'key "enabled": is "yes", must be true or false'),
        ({"enabled": 1}, 'key "enabled": is 1, must be true or false'),
        ({"metadata": []}, 'key "metadata": is a list, must be a mapping'),
        (
            {"expected_tools": "renew"},
            'key "expected_tools": is "renew", must be a list of at most 200 tools',
        ),
        (
            {"expected_tools": ["a"] * 201},
            'key "expected_tools": has 201 entries, must be a list of at most 200',
        ),
        ({"expected_tools": [5]}, 'key "expected_tools[1]": is 5, must be a tool\'s name, or a mapping'),
        ({"expected_tools": [""]}, 'key "expected_tools[1]": is empty'),
        ({"expected_tools": [{"nam": "a"}]}, 'key "expected_tools[1].nam": is not known, did you mean name?'),
        ({"expected_tools": [{"args": {"a": 1}}]}, 'key "expected_tools[1]": has neither name nor not'),
        ({"expected_tools": [{"name": "a", "not": "b"}]}, 'key "expected_tools[1]": has both name and not'),
        ({"expected_tools": [{"not": "b", "times": 1}]}, 'key "expected_tools[1]": has times beside not'),
        ({"expected_tools": [{"name": "a", "args": []}]}, 'key "expected_tools[1].args": is a list'),
        (
            {"expected_tools": [{"name": "a", "args": {}}]},
            'key "expected_tools[1].args": is empty',
        ),
        (
            {"expected_tools": [{"name": "a", "times": {"min": 0}}]},
            "has min 0 and no max, which asks for nothing",
        ),
        ({"expected_tools": [{"name": "a", "args": {"x": {"any": 5}}}]}, "args.x: any is 5, must be a list"),
        ({"expected_tools": [{"name": "a", "args": {"x": {"regexp": "a"}}}]}, "did you mean regex?"),
        ({"expected_tools": [{"name": "a", "after": []}]}, 'key "expected_tools[1].after": is a list'),
        ({"expected_tools": [{"name": "a", "times": -1}]}, 'key "expected_tools[1].times": is -1'),
        ({"expected_tools": [{"name": "a", "times": "2"}]}, 'key "expected_tools[1].times": is "2"'),
        ({"expected_tools": [{"name": "a", "times": True}]}, 'key "expected_tools[1].times": is true'),
        (
            {"expected_tools": [{"name": "a", "times": {}}]},
            'key "expected_tools[1].times": is empty',
        ),
        ({"expected_tools": [{"name": "a", "times": {"minimum": 1}}]}, 'times.minimum": is not known'),
        ({"expected_tools": [{"name": "a", "times": {"min": 3, "max": 1}}]}, "has min 3 above max 1"),
        ({"expected_tools": [{"name": "a", "args": {"x": {"regex": "("}}}]}, "is no regular expression"),
        ({"expected_tools": [{"name": "a", "args": {"x": {"contains": ""}}}]}, "contains is empty"),
        ({"metadata": json.loads("[" * 45 + "]" * 45)}, "is nested deeper than 40 levels"),
    ],
)
def test_a_bad_value_is_told_with_its_key(row: dict, said: str):
    found = row_problems(**row)
    assert any(said in problem for problem in found), found
    assert all(problem.startswith("riverside.yaml, ") for problem in found)


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        ([], 'key "messages": is empty, must be a list of turns'),
        ("hi", 'key "messages": is "hi", must be a list of turns'),
        (["hi"], 'key "messages[1]": is "hi", must be a mapping with role and content'),
        ([{"rol": "user"}], 'key "messages[1].role": is missing ("rol" is there: is it meant?)'),
        ([{"rol": "user"}], 'key "messages[1].content": is missing'),
        ([{"role": "you", "content": "x"}], 'key "messages[1].role": is "you", must be system, user'),
        ([{"role": "user", "content": None}], 'key "messages[1].content": is null, must be text'),
        ([{"role": "assistant", "content": "x"}], "the last turn must be the user's"),
    ],
)
def test_bad_turns_are_told(messages: object, said: str):
    found = problems({"questions": [{"id": "a", "messages": messages}]})
    assert any(said in problem for problem in found), found


def test_a_misspelt_key_that_is_needed_is_named_beside_the_one_that_is_missing():
    assert problems({"questions": [{"id": "a", "inptu": "x"}]})[0].startswith(
        'riverside.yaml, question "a" (1st), key "input": is missing ("inptu" is there: is it meant?)'
    )


def test_an_id_given_twice_is_refused_with_both_lines():
    text = "questions:\n- id: q1\n  input: x\n- id: q2\n  input: x\n- id: q1\n  input: x\n"
    assert problems(text) == [
        'riverside.yaml, question "q1" (3rd), key "id": is taken by the 1st question in line 2; '
        "ids are unique (line 6)"
    ]


def test_the_number_1_and_the_text_1_are_the_same_id_and_01_is_another():
    text = 'questions: [{id: 1, input: x}, {id: "1", input: x}, {id: 01, input: x}, {id: 1.0, input: x}]'
    assert len(problems(text)) == 1
    text = "questions: [{id: 1, input: x}, {id: 01, input: x}, {id: 1.0, input: x}]"
    assert [row["id"] for row in load(text).rows] == ["1", "01", "1.0"]


def test_ids_that_become_the_same_text_are_refused():
    found = problems({"questions": [{"id": "a␀", "input": "x"}, {"id": "a\x00", "input": "x"}]})
    assert "is taken by the 1st question" in found[0]


def test_all_problems_are_told_and_from_the_twenty_first_on_their_number():
    assert len(problems({"questions": [{"id": str(n)} for n in range(20)]})) == 20
    many = problems({"questions": [{"id": str(n)} for n in range(50)]})
    assert len(many) == 21
    assert many[-1] == "and 30 more"


@pytest.mark.parametrize(
    ("key", "value"), [("tool_calls", []), ("environment", "x"), ("response_char_limit", 5)]
)
def test_a_reserved_key_is_data_that_is_told_to_be_ignored(key: str, value: object):
    assert load_row(id="renew", input="x", **{key: value})[key] == value
    assert warnings(**{key: value}) == [
        f'riverside.yaml, question "renew" (1st), key "{key}": is set by the runner, '
        "the row's value is ignored"
    ]


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("expected_tool", "expected_tools"),
        ("expectedTools", "expected_tools"),
        ("Expected-Facts", "expected_facts"),
        ("must_not_contian", "must_not_contain"),
        ("metdata", "metadata"),
        ("tag", "tags"),
    ],
)
def test_a_near_miss_of_a_known_key_is_kept_and_told_with_both_names(key: str, meant: str):
    assert load_row(id="renew", input="x", **{key: ["y"]})[key] == ["y"]
    assert warnings(**{key: ["y"]}) == [
        f'riverside.yaml, question "renew" (1st), key "{key}": is no known key and is kept as it is, '
        f"did you mean {meant}?"
    ]


def test_another_key_is_kept_without_a_word():
    assert warnings(difficulty=3, author="me", branch="Riverside") == []


def test_what_graders_read_beside_metadata_is_told_when_it_stands_in_it():
    assert "expected_tools stands beside metadata, not in it" in warnings(metadata={"expected_tools": []})[0]
    assert warnings(metadata={"expected_tools": []}, expected_tools=[]) == []


def test_a_warning_about_many_questions_is_one_sentence():
    rows = [{"id": str(n), "input": "x", "expected_tool": "a"} for n in range(500)]
    found = validate_rows({"questions": rows}, "riverside.yaml").warnings
    assert len(found) == 1
    assert found[0].startswith('riverside.yaml, question "0" (1st) and 499 more, key "expected_tool"')


def test_an_unknown_key_of_the_document_is_told_to_be_unread():
    assert load("lable: x\nquestions: []").warnings == (
        'riverside.yaml, key "lable": is not read, did you mean label?',
    )


def test_a_message_is_one_line_without_signs_that_move_a_cursor():
    (found,) = row_problems(enabled="\x1b[2J\u202e" + "x" * 1000 + "\n")
    assert found.isprintable()
    assert len(found) < 250


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*KNOWN_KEYS, "name", "not", "times", "args", "min", "role", "content", "regex"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.lists(st.dictionaries(st.sampled_from([*KNOWN_KEYS, "tool_calls"]), JSON, max_size=6), max_size=3))
def test_whatever_a_row_holds_it_is_valid_or_told(rows: list[dict]):
    try:
        loaded = validate_rows({"questions": rows}, "riverside.yaml")
    except DatasetError as error:
        loaded, told = None, error.problems
    if loaded is None:
        assert all(problem.startswith(("riverside.yaml, ", "and ")) for problem in told)
        return
    jsonschema.validate({"questions": loaded.rows}, SCHEMA)
    assert len({row["id"] for row in loaded.rows}) == len(rows)
    assert validate_rows({"questions": loaded.rows}, "again").rows == loaded.rows
