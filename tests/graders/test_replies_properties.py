"""A judge's reply, whatever the text: it never raises, takes linear time, and is read by the rules."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_eval.graders import replies
from ai_eval.graders.replies import JudgeReply
from tests.graders.test_replies import read

HOSTILE = [
    "{",
    "[",
    '{"a":',
    '["',
    '[""',
    '["[",',
    '{"",',
    '["["[',
    '["\\"[',
    "[[]",
    '{"":[',
    "[1,[1],",
    '{" ',
    "[ ",
]
HOSTILE += ["1,", '"[",', '"[[1],",']


@pytest.mark.parametrize("unit", HOSTILE)
@pytest.mark.parametrize(
    "before", ["", "so ", '["', '{"a', "[1,", "[" * 150], ids=["", "so", "list", "name", "one", "deep"]
)
def test_a_hostile_reply_is_read_in_linear_time(
    unit: str, before: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts the steps of all attempts together, in units of the text's length."""
    steps = 0
    skip_space = replies._skip_space
    size = 40_000
    text = before + unit * (size // len(unit))

    def counted(text: str, position: int) -> int:
        nonlocal steps
        steps += 1
        return skip_space(text, position)

    monkeypatch.setattr(replies, "_skip_space", counted)
    assert not read(text).usable
    assert steps <= 4 * len(text)


BLANK = st.sampled_from(["", " ", "\n", "\t "])
MARKS = ["{", "}", "[", "]", ",", ":", '"', "\\", "```", "\n", " ", "<think>", "</think>"]
TOKENS = ['{"score": 5}', '"score":', "'score'", '"reason":', '"a"', "json", "1", "-", "1e999", "NaN", "true"]
UNUSUAL = ["\ud800", "\x00", "\ufeff", "é"]
PIECES = st.lists(st.sampled_from(MARKS + TOKENS + UNUSUAL), max_size=30).map("".join)
ANY_TEXT = st.one_of(st.text(st.characters(), max_size=200), PIECES)
WORDS = st.text(st.characters(exclude_characters="{}[]", exclude_categories=["Cs"]), max_size=80).filter(
    lambda words: "score" not in words and "think>" not in words
)


@given(ANY_TEXT, st.sampled_from(["stop", "length", "", "content_filter"]), ANY_TEXT)
def test_no_text_raises_and_a_usable_score_is_finite(text: str, finish_reason: str, judged_text: str) -> None:
    reply = read(text, finish_reason=finish_reason, judged_text=judged_text)
    assert reply.usable == (not reply.why)
    if reply.score is not None:
        assert type(reply.score) is float
        assert math.isfinite(reply.score)
        assert reply.reason


@given(ANY_TEXT.filter(lambda text: "score" not in text and "\\u" not in text))
def test_no_text_without_the_word_score_is_usable(text: str) -> None:
    assert not read(text).usable


@given(
    before=WORDS.map(lambda words: f"So: {words}"),
    after=WORDS,
    score=st.floats(allow_nan=False, allow_infinity=False),
    reason=st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip),
)
def test_prose_round_a_verdict_changes_nothing(before: str, after: str, score: float, reason: str) -> None:
    verdict = json.dumps({"score": score, "reason": reason}, ensure_ascii="é" in reason)
    if "</think>" in verdict:
        return
    assert read(verdict) == read(f"{before}{verdict}{after}") == JudgeReply(score, reason.strip(), "")


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(), max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


def expected_values(text: str) -> list[tuple[int, int]]:
    """The rule as it is written: a decoder tried at every brace and bracket, from left to right."""
    found = []
    position = 0
    while position < len(text):
        end = decoded_to(text, position)
        if end is not None:
            found.append((position, end))
        position = position + 1 if end is None else end
    return found


def decoded_to(text: str, position: int) -> int | None:
    """Where the object or list that begins there ends; None where none begins."""
    if text[position] not in "{[":
        return None
    try:
        return json.JSONDecoder(strict=False).raw_decode(text, position)[1]
    except ValueError:
        return None


@given(
    st.one_of(PIECES, st.lists(st.one_of(JSON_VALUES.map(json.dumps), PIECES), max_size=4).map("".join)),
    st.data(),
)
def test_the_scan_finds_what_a_decoder_finds(text: str, data: st.DataObject) -> None:
    hole = data.draw(st.integers(0, len(text)))
    for tried in (text, text[:hole] + text[hole + 1 :]):
        assert list(replies._values(tried)) == expected_values(tried)
