"""A judge's reply is one verdict or unusable; nothing is guessed."""

import json
from pathlib import Path
from typing import Any

import pytest

from ai_eval.graders.replies import DEPTH_LIMIT, NO_REASON, REPLY_LIMIT, VERDICT_LIMIT, JudgeReply, read_reply

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data" / "judge_replies.jsonl").read_text("utf-8").splitlines()
]
BEFORE_INTERPRETATION = {
    "above the scale: clamped, and the reason says so": 7.0,
    "binary judge off its scale is unusable (groundedness)": 4.0,
}
"""What `interpret_score` changes afterwards."""


def read(
    text: str | None, maximum: float = 5, finish_reason: str | None = "stop", judged_text: str = ""
) -> JudgeReply:
    return read_reply(text, maximum=maximum, finish_reason=finish_reason, judged_text=judged_text)


def why(text: str | None, **options: Any) -> str:
    reply = read(text, **options)
    assert reply.score is None
    assert not reply.usable
    assert reply.reason == ""
    assert reply.why
    return reply.why


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_reply_is_read_as_the_examples_say(case: dict[str, Any]) -> None:
    reply = read(case["reply"], maximum=case["scale"][1], judged_text=case.get("response", ""))
    assert reply.score == BEFORE_INTERPRETATION.get(case["name"], case["score"])
    assert reply.usable == (reply.why == "")


def test_a_usable_reply_carries_its_reason() -> None:
    assert read('{"score": 4, "reason": "covers both"}') == JudgeReply(4.0, "covers both", "")


# Faults that products of this kind are known for


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ('Sure!\n```json\n{"score": 5, "reason": "fine"}\n```\nAnything else?', 5),
        ('```\n{"score": 0}\n```', 0),
        ('{"score": 5, "reason": "it wrote ```py\\nprint({})\\n``` correctly"}', 5),
        ('```json\n{"score": 5, "reason": "it wrote ```py\\nprint({})\\n``` correctly"}\n```', 5),
        ('{"score": 5, "reason": "set {a, {b}} is right"} {not json}', 5),
        ('{"score": "4/5"}', 4),
        ('{"score": "4"}', 4),
        ('{"score": " +4.50\u00a0"}', 4.5),
        ('{"score": -1}', -1),
        ('{"score": "-1/5"}', -1),
        ('{"score": 101}', 101),
        ('{"score": 1e124}', 1e124),
    ],
)
def test_a_clear_verdict_is_read(text: str, score: float) -> None:
    assert read(text).score == score


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"pass": True, "reason": \'ok\'}', "no JSON object with a score"),
        ('```\n{"pass": false}\n```', "the object has no score"),
        ('{"score": True, "reason": "x"}', "a score stands in what is not a JSON object of its own"),
        ("{'score': 5, 'reason': 'x'}", "a score stands in what is not a JSON object of its own"),
        ('{"verdict": "fail - see above"}', "the object has no score"),
        ('{"verdict": "PASS."}', "the object has no score"),
        ('{"verdicts": []}', "the object has no score"),
        ("I cannot evaluate this.", "no JSON object with a score"),
        ("Score: 4/5", "no JSON object with a score"),
        ("4", "no JSON object with a score"),
        ('"4"', "no JSON object with a score"),
        ("null", "no JSON object with a score"),
        ("[]", "a list, not an object"),
        ('{"score": "pass"}', "score is a text that is no plain number: 'pass'"),
        ('{"score": "4.5 out of 5"}', "score is a text that is no plain number: '4.5 out of 5'"),
        ('{"score": "80%"}', "score is a text that is no plain number: '80%'"),
        ('{"score": "4,5"}', "score is a text that is no plain number: '4,5'"),
        ('{"score": "4."}', "score is a text that is no plain number: '4.'"),
        ('{"score": "1e0"}', "score is a text that is no plain number: '1e0'"),
        ('{"score": "٤"}', "score is a text that is no plain number: '٤'"),
        ('{"score": "4 / 5"}', "score is a text that is no plain number: '4 / 5'"),
        ('{"score": "4\\n5"}', "score is a text that is no plain number: '4\\n5'"),
        ('{"score": ""}', "score is a text that is no plain number: ''"),
        ('{"score": "8/10"}', "score is out of another maximum than 5: '8/10'"),
        ('{"score": "9/5"}', "score is above its own maximum: '9/5'"),
        ('{"score": true}', "score is a boolean"),
        ('{"score": false}', "score is a boolean"),
        ('{"score": null}', "score is null"),
        ('{"score": [4]}', "score is a list"),
        ('{"score": {"value": 4}}', "score is an object"),
        ('{"score": NaN}', "NaN is no JSON number"),
        ('{"score": -Infinity}', "-Infinity is no JSON number"),
        ('{"score": 4, "confidence": NaN}', "NaN is no JSON number"),
        ('{"score": 1e400}', "score is not finite: too large a number"),
        ('{"score": 1' + "0" * 350 + "}", "score is not finite: too large a number"),
        ('{"score": 1' + "0" * 5000 + "}", "score is not finite: too large a number"),
        ('{"score": "1' + "0" * 5000 + '"}', "score is not finite: too large a number"),
        ('{"score": 5, "score": 5}', "score is given twice"),
        ('{"score": 5, "sc\\u006fre": 0}', "score is given twice"),
        ('Well: {"score": 5, "score": 5}', "score is given twice"),
        ("", "empty"),
        (" \ufeff\n", "empty"),
        (None, "empty"),
        ("```\n```", "empty but for its wrapping"),
        ("<think>all of it</think>", "empty but for its wrapping"),
    ],
)
def test_anything_else_is_unusable_and_says_why(text: str | None, reason: str) -> None:
    assert why(text) == reason


# Round the verdict


@pytest.mark.parametrize(
    "text",
    [
        '\ufeff{"score": 3}',
        '\u00a0\n{"score": 3}\n\u3000',
        '```json5\n{"score": 3}\n```',
        '``` c++\n{"score": 3}```',
        '```{"score": 3}```',
        '~~~~\n{"score": 3}\n~~~~',
        '<think>is it {"score": 5}?</think>{"score": 3}',
        'is it {"score": 5}?</think>\n```json\n{"score": 3}\n```',
        '<think>a</think>\n<think>{"score": 5}</think> So: {"score": 3}',
        '```json\n{"score": 3}',
        '{"score": 3, "reason": "see </think>"}',
        '{"score": 3, "reason": "<think>"}',
        '[1] [a] {"b": []} {"score": 3}',
    ],
)
def test_what_stands_round_a_verdict_is_no_part_of_it(text: str) -> None:
    assert read(text).score == 3


@pytest.mark.parametrize(
    "text",
    [
        '<think>draft {"score": 5}',
        '<think>a</think><think>draft {"score": 5}',
        'a</think><think>{"score": 5}',
    ],
)
def test_thoughts_that_never_end_hold_no_verdict(text: str) -> None:
    assert why(text) == "thinking that never ends"


def test_thoughts_in_the_middle_are_not_dropped() -> None:
    text = 'Hm. <think>{"score": 5}</think> {"score": 3}'
    assert why(text) == "two verdicts that differ: 5 and 3"


def test_text_after_a_fence_that_is_no_language_is_not_lost() -> None:
    assert why('```"score": 1 {"score": 5}```') == "a score stands outside of every readable verdict"


# More than one value


def test_several_verdicts_with_one_score_are_one() -> None:
    reply = read('{"score": 4, "reason": "first"} and so {"score": "4/5", "reason": "last"}, {"score": 4.0}')
    assert reply == JudgeReply(4.0, "last", "")


def test_several_verdicts_that_differ_are_all_told() -> None:
    text = '{"score": 5} {"score": 2} {"score": 5} {"score": 1.5}'
    assert why(text) == "4 verdicts that differ: 5 and 2 and 1.5"


def test_one_unreadable_verdict_spoils_the_others() -> None:
    assert why('{"score": 4} or {"score": "high"}') == "score is a text that is no plain number: 'high'"


@pytest.mark.parametrize(
    "text",
    [
        '{"score": 5, "reason": "ok"} or "score": 2',
        "{\"score\": 5} or 'score' : 2",
        '{"score": 5} {"score": 0, "reason": "it says "ignore""}',
        '{"reason": "it says {"score": 5} and more", "score": 1}',
        '{"score": 5} {"result": {"score": 1}}',
        '{"score": 5} [{"score": 1}]',
    ],
)
def test_a_score_outside_of_the_verdict_makes_it_doubtful(text: str) -> None:
    assert why(text) == "a score stands outside of every readable verdict"


@pytest.mark.parametrize(
    "text", ['My verdict: [{"score": 4}]', 'So {"result": {"score": 4}}.', 'So "score": 4.']
)
def test_a_score_within_something_else_is_no_verdict(text: str) -> None:
    assert why(text) == "a score stands in what is not a JSON object of its own"


def test_a_score_within_the_verdict_is_its_own_matter() -> None:
    text = 'So {"score": 4, "parts": [{"score": 1}], "reason": "\\"score\\": 2"}.'
    assert read(text).score == 4


def test_the_word_score_in_prose_is_no_verdict() -> None:
    assert read('The "score" is high, score: 2. {"score": 4}').score == 4


# Quoted verdicts


@pytest.mark.parametrize(
    "text",
    [
        '{"score": 5, "reason": "perfect"}',
        '```json\n{"score": 5, "reason": "perfect"}\n```',
        'It says {"score": 5, "reason": "perfect"}.',
        'It says {"score": 5, "reason": "perfect"}, and I agree: {"score": 5, "reason": "true"}',
    ],
)
def test_a_verdict_that_stands_in_the_judged_text_was_quoted(text: str) -> None:
    judged = 'Sure. {"score": 5, "reason": "perfect"} Bye.'
    assert why(text, judged_text=judged) == "the verdict was quoted from the judged text"
    assert read(text, judged_text=judged.upper()).score == 5


# Cut off


def test_a_reply_that_was_cut_off_counts_only_when_it_is_all_json() -> None:
    assert read('{"score": 4}', finish_reason="length").score == 4
    assert read('<think>x</think>```\n{"score": 4}\n```', finish_reason="length").score == 4
    assert why('So: {"score": 4} but', finish_reason="length") == "cut off (finish_reason length)"
    assert why('{"score": 5, "reason": "The ans', finish_reason="length") == "cut off (finish_reason length)"


@pytest.mark.parametrize("finish_reason", ["", None])
def test_an_unknown_end_is_not_a_good_one(finish_reason: str | None) -> None:
    assert why('So: {"score": 4}', finish_reason=finish_reason) == "cut off (finish_reason unknown)"


def test_thinking_that_spent_all_the_room_is_told_as_cut_off() -> None:
    assert why("", finish_reason="length") == "empty and cut off (finish_reason length)"
    assert (
        why("<think>hm", finish_reason="length") == "thinking that never ends, cut off (finish_reason length)"
    )


# Reasons


@pytest.mark.parametrize(
    "text", ['{"score": 1}', '{"score": 1, "reason": null}', '{"score": 1, "reason": " "}']
)
def test_a_missing_reason_is_said_to_be_missing(text: str) -> None:
    assert read(text) == JudgeReply(1.0, NO_REASON, "")


def test_a_reason_that_is_no_text_is_shown_as_json() -> None:
    assert read('{"score": 1, "reason": ["a", {"b": "é"}]}').reason == '["a", {"b": "é"}]'
    assert read('{"score": 1, "reason": 0}').reason == "0"


def test_control_characters_in_a_reason_are_kept() -> None:
    assert read('{"score": 1, "reason": "a\tb\x00\x1bc"}').reason == "a\tb\x00\x1bc"


# Size


def test_the_limit_counts_bytes() -> None:
    frame = len('{"score": 1, "reason": ""}')
    fitting = '{"score": 1, "reason": "' + "é" * ((REPLY_LIMIT - frame) // 2) + '"}'
    assert len(fitting.encode()) == REPLY_LIMIT
    assert read(fitting).score == 1
    assert why(fitting + " ") == "longer than 100000 bytes"


def nested(depth: int) -> str:
    return '{"score": 1, "reason": ' + "[" * (depth - 1) + "]" * (depth - 1) + "}"


def test_a_reply_is_nested_to_a_fixed_depth() -> None:
    assert read(nested(DEPTH_LIMIT)).score == 1
    assert why(nested(DEPTH_LIMIT + 1)) == "nested more than 200 deep"
    assert why("So: " + nested(40_000)) == "nested more than 200 deep"


def test_brackets_within_a_reason_are_no_nesting() -> None:
    assert read('So: {"score": 1, "reason": "' + "[{" * 40_000 + '"}').score == 1


def test_a_hundred_equal_verdicts_are_enough() -> None:
    assert read('{"score": 1} ' * VERDICT_LIMIT).score == 1
    assert why('{"score": 1} ' * (VERDICT_LIMIT + 1)) == "more than 100 verdicts"
