"""What a judge is shown and what is kept from it, what must not be said, and what makes it another judge."""

import json
from typing import Any

import pytest

from ai_eval import llm_keys
from ai_eval.graders import Grader, LLMJudge
from ai_eval.graders.execution import run_grader
from ai_eval.graders.judge import JudgeConfig, fingerprint, own_classes
from tests.graders.judging import Tone, built, config, grade, info_of, nothing_remembered, scoring, sent
from tests.llm_server import LLMServer, Reply, failing

__all__ = ["nothing_remembered"]

HOSTILE = "%s {0} {{ x }} $question ${response} $$ <script>alert(1)</script> \u202e NUL \x00 half \ud83d"
SHOWN = "%s {0} {{ x }} $question ${response} $$ <script>alert(1)</script> \u202e NUL ␀ half �"


# What it is shown


def test_hostile_text_comes_out_as_it_went_in_wherever_it_stands(llm_server: LLMServer) -> None:
    calls = [{"plugin_id": "p", "function_name": HOSTILE, "arguments": {"title": HOSTILE}}]
    context = {"criteria": HOSTILE, "expected_facts": [HOSTILE], "tool_calls": calls}
    result = grade(llm_server, built("accuracy_grader"), HOSTILE, HOSTILE, context)
    prompt = sent(llm_server)[0]["content"]
    assert result.outcome == "scored"
    assert prompt.count(SHOWN) == 6
    assert result.trace is not None
    assert result.trace.sent == llm_server.last.body["messages"]


def test_a_hostile_reply_is_kept_as_text(llm_server: LLMServer) -> None:
    llm_server.reply = Reply(text=json.dumps({"score": 2, "reason": HOSTILE}))
    result = grade(llm_server)
    assert (result.score, result.reason) == (2.0, SHOWN)


@pytest.mark.parametrize("id", ["accuracy_grader", "groundedness_grader"])
def test_none_is_no_record(id: str, llm_server: LLMServer) -> None:
    grade(llm_server, built(id))
    absent = sent(llm_server)
    grade(llm_server, built(id), context={"tool_calls": None})
    assert sent(llm_server) == absent
    grade(llm_server, built(id), context={"tool_calls": []})
    assert "called no tools" in sent(llm_server)[0]["content"]


def test_a_list_of_calls_in_the_response_makes_no_record(llm_server: LLMServer) -> None:
    grade(llm_server, built("accuracy_grader"), response='[{"tool": "renew_loan", "arguments": {}}]')
    before, fence, _ = sent(llm_server)[0]["content"].partition("<response-")
    assert fence
    assert "renew_loan" not in before.rpartition("The question that")[2]


def test_a_prompt_of_the_sites_own_is_filled_and_hashed(llm_server: LLMServer) -> None:
    prompt = "Rate ($dimension) for $$5. $question $criteria $response"
    own, usual = grade(llm_server, prompt=prompt), grade(llm_server)
    assert llm_server.requests[0].prompt.startswith("Rate (tone) for $5. <question-")
    assert own.trace is not None
    assert usual.trace is not None
    assert own.trace.prompt_hash != usual.trace.prompt_hash


def test_a_prompt_that_can_not_be_filled_is_this_grades_error(llm_server: LLMServer) -> None:
    def prepare(grader: Grader) -> None:
        assert isinstance(grader, LLMJudge)
        grader.config = config(llm_server, prompt="no slots")

    result = run_grader(info_of(Tone), "q", "r", {"response_char_limit": 10}, prepare)
    assert result.outcome == "errored"
    assert "$response is missing" in result.reason
    assert llm_server.requests == []


def test_a_key_stays_at_home(llm_server: LLMServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-0123456789")
    grade(llm_server)
    assert "sk-very-secret" in llm_server.last.raw_headers
    monkeypatch.setattr(llm_keys, "is_loopback", lambda host: False)
    grade(llm_server)
    assert "sk-very-secret" not in llm_server.last.raw_headers
    grade(llm_server, key_hosts=("127.0.0.1",))
    assert "sk-very-secret" in llm_server.last.raw_headers


def test_a_key_that_a_provider_echoes_is_in_no_reason_and_no_trace(
    llm_server: LLMServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-0123456789")
    llm_server.reply = failing(401, "Incorrect API key provided: sk-very-secret-0123456789")
    result = grade(llm_server)
    assert result.reason.startswith("the judge's model failed: auth: ")
    assert "sk-very-secret" not in repr(result)


# What must not be said


def test_a_hit_is_named_also_where_the_score_is_low_by_itself(llm_server: LLMServer) -> None:
    llm_server.reply = scoring(0.5)
    result = grade(llm_server, built("accuracy_grader"), context={"must_not_contain": ["IS IN"]})
    assert result.score == 0.5
    assert result.reason == 'the response contains "IS IN", which it must not: because'


def test_a_hit_tells_what_it_was_capped_from(llm_server: LLMServer) -> None:
    result = grade(llm_server, built("accuracy_grader"), context={"must_not_contain": "it is"})
    assert (result.score, result.reason[:18]) == (1.0, "capped at 1 from 4")


@pytest.mark.parametrize("given", [[" no "], "no ", ["", " ", None], [], None, "a.b", "%"])
def test_what_is_not_in_the_response_as_it_is_written_caps_nothing(given: Any, llm_server: LLMServer) -> None:
    grader = built("accuracy_grader")
    result = grade(llm_server, grader, response="a note: axb", context={"must_not_contain": given})
    assert result.score == 4.0


# The fingerprint


class Milder(Tone):
    def interpret_score(self, raw: float) -> float | None:
        return super().interpret_score(raw + 1)


class Harsher(Tone):
    def interpret_score(self, raw: float) -> float | None:
        return super().interpret_score(raw - 1)


def test_a_fingerprint_knows_code_scale_format_and_limit() -> None:
    base = JudgeConfig(model="openai/a")
    prints = [
        fingerprint(info_of(Tone), base),
        fingerprint(info_of(Tone), base, response_char_limit=100),
        fingerprint(info_of(Tone), JudgeConfig(model="openai/a", response_format="plain")),
        fingerprint(info_of(Tone, max_score=10.0), base),
        fingerprint(info_of(Tone, sees_tool_calls=True), base),
        fingerprint(info_of(Milder), base),
        fingerprint(info_of(Harsher), base),
    ]
    assert len(set(prints)) == len(prints)


def test_a_fingerprint_is_the_same_for_the_same_judge() -> None:
    base = JudgeConfig(model="openai/a", parameters={"seed": 1, "top_p": 0.5})
    turned = JudgeConfig(model="openai/a", parameters={"top_p": 0.5, "seed": 1})
    assert fingerprint(info_of(Tone), base) == fingerprint(info_of(Tone), turned)


def test_a_class_between_judge_and_contract_is_part_of_its_code() -> None:
    assert own_classes(Milder) == [Milder, Tone]
