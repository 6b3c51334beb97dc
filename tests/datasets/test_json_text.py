import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_eval.datasets.json_text import read_json
from ai_eval.datasets.placed import plain, written
from ai_eval.errors import DatasetError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_json_is_read_as_json(value: object):
    assert repr(plain(read_json(json.dumps(value), "f.json"))) == repr(value)


def test_a_number_can_be_had_as_it_was_written():
    assert [written(each) for each in read_json("[1, 1.50, 1e3]", "f.json")] == ["1", "1.50", "1e3"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "f.json: is empty"),
        ('{"a": 1,\n "a": 2}', 'f.json: an object has the key "a" twice'),
        ('{"id": "q1", "x": 1, "x": 2}', 'f.json: an object with the id "q1" has the key "x" twice'),
        ('{"a": NaN}', "NaN is no number that JSON knows"),
        ('{"a": -Infinity}', "-Infinity is no number"),
        ('{"a": 1e999}', 'the number "1e999" is too large'),
        ("1" * 5000, "f.json: a number that is too large"),
        ('{"a": 1} x', "f.json, line 1, column 10: extra data"),
        ('{"a": 1,\n}', "f.json, line 2, column 1"),
        ("{'a': 1}", "f.json, line 1, column 2: expecting property name enclosed in double quotes"),
        ("[" * 51 + "]" * 51, "nested deeper than 50 levels"),
        ("[" * 100_000, "nested deeper than 50 levels"),
    ],
)
def test_what_is_refused_is_told(text: str, said: str):
    with pytest.raises(DatasetError) as caught:
        read_json(text, "f.json")
    assert said in caught.value.problems[0]


def test_fifty_levels_are_read():
    assert read_json("[" * 50 + "]" * 50, "f.json")
