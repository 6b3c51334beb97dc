import enum
import json
import math
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_eval.text import clean_json, clean_text, is_blank, shorten

ANY_TEXT = st.text(st.characters(blacklist_categories=()))
"""Lone surrogates too."""


@given(ANY_TEXT)
def test_clean_text_can_be_stored_anywhere(text: str) -> None:
    cleaned = clean_text(text)
    cleaned.encode("utf-8")
    assert "\x00" not in cleaned
    assert len(cleaned) == len(text)


@given(st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\x00")))
def test_everything_that_can_be_stored_comes_out_as_it_went_in(text: str) -> None:
    assert clean_text(text) == text


@given(ANY_TEXT)
def test_cleaning_twice_changes_nothing(text: str) -> None:
    assert clean_text(clean_text(text)) == clean_text(text)


@pytest.mark.parametrize(
    "odd", ["%s {0} {{ x }} $question <script>", "\u202eright to left", "\x1b[31m", "😀", "\r\n"]
)
def test_odd_but_storable_signs_stay(odd: str) -> None:
    assert clean_text(odd) == odd


def test_what_can_not_be_stored_is_replaced_by_a_mark_that_is_seen() -> None:
    assert clean_text("a\x00b\ud83dc\udc00d") == "a␀b�c�d"


def test_a_pair_of_surrogates_in_json_is_one_sign() -> None:
    assert clean_text(json.loads('"\\ud83d\\ude00"')) == "😀"


# JSON

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_clean_json_is_json_that_every_database_takes(value: Any) -> None:
    cleaned = clean_json(value)
    text = json.dumps(cleaned, allow_nan=False, ensure_ascii=False)
    text.encode("utf-8")
    assert "\x00" not in text
    assert json.loads(text) == cleaned
    assert clean_json(cleaned) == cleaned


@pytest.mark.parametrize(
    ("value", "cleaned"),
    [
        (math.nan, "nan"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        ((1, 2), [1, 2]),
        ({"a": (1,)}, {"a": [1]}),
        ({1: "x"}, {"1": "x"}),
        ({"a\x00": "b\x00"}, {"a␀": "b␀"}),
        (date(2024, 2, 29), "2024-02-29"),
        (Decimal("1.50"), "1.50"),
        (True, True),
        (0, 0),
        (None, None),
        ("", ""),
    ],
)
def test_what_is_no_json_becomes_something_that_tells_it(value: Any, cleaned: Any) -> None:
    assert clean_json(value) == cleaned
    assert type(clean_json(value)) is type(cleaned)


def test_a_number_with_a_name_is_stored_as_the_number() -> None:
    class Level(enum.IntEnum):
        HIGH = 3

    assert json.dumps(clean_json({"level": Level.HIGH})) == '{"level": 3}'


# Blank


@pytest.mark.parametrize(
    "text", ["", " ", "\n\t\r", "\u200b", "\u2060\ufeff", "\u00a0\u3000", "\x00\x07", "\u202e"]
)
def test_a_reader_sees_nothing(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize("text", ["0", ".", " x ", "\u200bx", "-", "␀", "😀", "none"])
def test_a_reader_sees_something(text: str) -> None:
    assert not is_blank(text)


# Shortened


@given(st.text(), st.integers(0, 50))
def test_a_shortened_text_keeps_its_start_and_counts_the_rest(text: str, limit: int) -> None:
    shortened = shorten(text, limit)
    if len(text) <= limit:
        assert shortened == text
    else:
        assert shortened == text[:limit] + f"… [{len(text) - limit} more characters]"
