import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_eval.datasets.placed import plain, written
from ai_eval.datasets.yaml_text import DEPTH_LIMIT, read_yaml
from ai_eval.errors import DatasetError

TEXTS = [
    *("no", "yes", "on", "off", "y", "n", "No", "NO", "~", "Null", "NULL", "True", "FALSE"),
    *(
        "0010",
        "012",
        "1e3",
        "1E3",
        "1_000",
        "0x1f",
        "0o17",
        "0b1",
        "+5",
        ".5",
        "5.",
        "1.5e3",
        "00",
        "-01",
        "01.5",
    ),
    *("1:30", "12:30:45", "2024-01-01", "2024-01-01T00:00:00Z", ".inf", "-.inf", ".nan", "NaN", "Infinity"),
    *("1,000", "1 000", "5%", "-", "--1", "١٢"),
]


def read(text: str):
    return read_yaml(text, "f.yaml")


def problem(text: str) -> str:
    with pytest.raises(DatasetError) as caught:
        read(text)
    assert len(caught.value.problems) == 1
    return caught.value.problems[0]


@pytest.mark.parametrize("text", [text for text in TEXTS if text != "-"])
def test_what_other_readers_give_a_type_stays_text(text: str):
    assert read(f"expected: {text}") == {"expected": text}
    assert read(f"[{text}]") == ([text] if text != "1,000" else [1, "000"])
    assert read(f"{text}: x") == {text: "x"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("null", None),
        ("true", True),
        ("false", False),
        ("0", 0),
        ("3", 3),
        ("-2", -2),
        ("3.5", 3.5),
        ("-0.25", -0.25),
        ("10.50", 10.5),
        ("12345678901234567890", 12345678901234567890),
    ],
)
def test_these_and_nothing_else_have_a_type(text: str, value: object):
    found = read(f"a: {text}")["a"]
    assert found == value
    assert type(plain(found)) is type(value)
    assert read(f'a: "{text}"')["a"] == read(f"a: '{text}'")["a"] == read(f"a: |-\n  {text}")["a"] == text


@pytest.mark.parametrize("text", ["1", "-2", "3.50", "0.0", "true"])
def test_a_number_or_boolean_can_be_had_as_it_was_written(text: str):
    assert written(read(f"a: {text}")["a"]) == text


def test_nothing_at_all_is_empty_text():
    assert read("a:\nb: []") == {"a": "", "b": []}


def test_a_key_is_always_text():
    assert list(read("1: a\ntrue: b\nnull: c")) == ["1", "true", "null"]


def test_what_looks_like_a_template_is_text():
    text = "%s {0} {{ 7*7 }} {% for %} {# x $question ${x} <script>"
    assert read(f"a: '{text}'\nb: |-\n  {text}\nc: x {text}".replace("{# x", "{#x")) == {
        "a": text.replace("{# x", "{#x"),
        "b": text.replace("{# x", "{#x"),
        "c": "x " + text.replace("{# x", "{#x"),
    }


def test_a_surrogate_pair_in_two_escapes_is_one_character_and_a_lone_one_stays_alone():
    assert read(r'["\ud83d\ude00", "\ud83d"]') == ["😀", "\ud83d"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\nb: 2\na: 3", 'f.yaml, line 3, column 1: the key "a" is given twice, first in line 1'),
        ("{b: {a: 1, 'a': 2}}", 'line 1, column 12: the key "a" is given twice'),
        ("a: &x 1", 'f.yaml, line 1, column 4: an anchor ("x")'),
        ("a: &x [1]", 'f.yaml, line 1, column 4: an anchor ("x")'),
        ("&k a: 1", 'an anchor ("k")'),
        ("a: 1\nb: *a", 'f.yaml, line 2, column 4: an alias ("a"); write the value out'),
        ("a: !!str 1", "f.yaml, line 1, column 4: a tag"),
        ("a: !thing {}", "a tag"),
        ("a: ! x", "a tag"),
        ("a: !!python/object/apply:os.system [ls]", "a tag"),
        ("<<: {a: 1}", "a merge key (<<); write the keys out"),
        ("? [a]\n: b", "a key that is a list or a mapping"),
        ("a: 1\n---\nb: 2", "f.yaml, line 2, column 1: a second document begins"),
        ("%YAML 1.1\n---\na: no", "a %YAML directive"),
        ("", "f.yaml: is empty"),
        ("# only a remark\n", "f.yaml: is empty"),
        (
            "a: b: c",
            "f.yaml, line 1, column 5: mapping values are not allowed here (a text that holds a colon",
        ),
        (
            "a:\n\t- b",
            "f.yaml, line 2, column 1: found character '\\t' that cannot start any token (indent with",
        ),
        ("a: 'x\nb: c\n", "that begins in line 1 (a quote is not closed)"),
        ("a: [b\nc: d", "f.yaml, line 2, column 2"),
        ("a: @x", "a text that begins with @ has to stand in quotes"),
        ("a: 1\nb: \x07", "f.yaml, line 2, column 4: a control character (U+0007)"),
        ("a: " + "9" * 500, "f.yaml, line 1, column 4: a number that is too large"),
        ("a: " + "9" * 350 + ".5", "f.yaml, line 1, column 4: a number that is too large"),
    ],
)
def test_what_is_refused_is_told_with_line_and_column(text: str, said: str):
    assert said in problem(text)


def test_nesting_is_bounded():
    assert read("[" * DEPTH_LIMIT + "]" * DEPTH_LIMIT)
    deeper = DEPTH_LIMIT + 1
    assert problem("[" * deeper + "]" * deeper) == (
        f"f.yaml, line 1, column {deeper}: nested deeper than {DEPTH_LIMIT} levels"
    )
    assert "nested deeper" in problem("[" * 200_000)
    assert "nested deeper" in problem("{a: " * 200_000)
    assert "nested deeper" in problem("? " * 100_000 + "x")


def told(text: str) -> list[str]:
    """The problems of a text; none when it can be read."""
    try:
        read(text)
    except DatasetError as error:
        return error.problems
    return []


@given(st.text(st.characters(codec="utf-8"), max_size=60))
def test_whatever_is_read_ends_in_data_or_in_a_message_with_its_place(text: str):
    assert all(problem.startswith("f.yaml") for problem in told(text))


@given(st.text("ab:-[]{}'\"#&*!|>%@`,?~ \n\t0", max_size=40))
def test_broken_structure_ends_in_data_or_in_a_message_with_its_place(text: str):
    assert all(problem.startswith("f.yaml") for problem in told(text))
