import pytest

from ai_eval.configuration.validation import target_problems
from tests.configuration.making import target

AGENT = {"mode": "agent", "agent": "echo", "model": ""}
RECORDED = {"mode": "recorded", "model": "", "replies": "replies.jsonl"}


@pytest.mark.parametrize(
    "fields",
    [
        {},
        AGENT,
        {**AGENT, "environment": "shelf"},
        RECORDED,
        {"api_base": "http://llm:9000/v1", "system_prompt": "x", "parameters": {"temperature": 0.5}},
        {"required": []},
        {"required": ["config_plain"]},
        {"gate_threshold": 0},
        {"gate_threshold": 1.0},
        {"gate_metric": "avg_score", "gate_threshold": 5},
        {"gate_threshold": 0.5, "gate_type": "soft"},
        {
            "pass_threshold": 0,
            "max_error_rate": 0,
            "trials": 100,
            "time_limit": 0.1,
            "response_char_limit": 1,
        },
        {"demand_trust": "trusted"},
    ],
)
def test_a_target_that_can_be_launched_has_no_problems(fields: dict):
    assert target_problems(target(**fields)) == []


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"mode": "workflow"}, 'mode is "workflow", must be one of agent, chat, recorded'),
        ({"agent": "echo"}, "agent belongs to agent mode, and the mode is chat"),
        ({"environment": "shelf"}, "environment belongs to agent mode, and the mode is chat"),
        ({"replies": "r.csv"}, "replies belongs to recorded mode, and the mode is chat"),
        ({**AGENT, "model": "m"}, "model belongs to chat mode, and the mode is agent"),
        ({**AGENT, "system_prompt": "x"}, "system_prompt belongs to chat mode, and the mode is agent"),
        ({**AGENT, "parameters": {"seed": 1}}, "parameters belongs to chat mode, and the mode is agent"),
        ({**RECORDED, "environment": "shelf"}, "environment belongs to agent mode, and the mode is recorded"),
        ({**AGENT, "agent": "ecko"}, 'there is no agent "ecko", did you mean echo?'),
        ({**AGENT, "environment": "shelv"}, 'there is no environment "shelv", did you mean shelf?'),
        ({"model": " "}, "chat mode needs a model, a LiteLLM model string such as openai/gpt-4.1-mini"),
        (
            {**RECORDED, "replies": ""},
            "recorded mode needs replies: a JSONL or CSV file in the dataset directory",
        ),
        ({"api_base": "ftp://x"}, "api_base does not begin with http:// or https://"),
        (
            {"api_base": "https://host.example/sk-abc123def456/v1"},
            "api_base holds what looks like a key; "
            "a key comes from the environment, and is never stored here",
        ),
        (
            {"parameters": {"stop": ["sk-abc123def456"]}},
            "parameter 'stop' looks like a key: a key comes from the environment, and is never stored here",
        ),
        (
            {"api_base": "http://me:secret@x/"},
            "api_base holds a user name; a key comes from the environment",
        ),
        ({"graders": []}, "no grader is ticked"),
        ({"graders": "config_plain"}, "graders must be a list of ids"),
        ({"graders": ["config_plain", "config_plain"]}, "the grader config_plain is ticked 2 times"),
        ({"graders": ["config_pain"]}, 'there is no grader "config_pain", did you mean config_plain?'),
        (
            {"required": ["config_judge"]},
            'required names "config_judge", which is not ticked',
        ),
        ({"required": ["config_plain"] * 2}, "required names config_plain 2 times"),
        (
            {"required": "config_plain"},
            "required must be a list of ids, or null for the graders that observe actions",
        ),
        ({"gate_threshold": 1.01}, "the gate's threshold of pass_rate is 1.01, not within 0 to 1"),
        ({"gate_threshold": -0.1}, "the gate's threshold of pass_rate is -0.1, not within 0 to 1"),
        ({"gate_threshold": float("nan")}, "the gate's threshold of pass_rate is nan, not within 0 to 1"),
        (
            {"gate_metric": "avg_score", "gate_threshold": 5.1},
            "the gate's threshold of avg_score is 5.1, not within 0 to 5",
        ),
        ({"gate_metric": "median"}, 'the gate\'s metric is "median", must be one of pass_rate, avg_score'),
        ({"gate_type": "firm"}, 'the gate\'s type is "firm", must be hard or soft'),
        ({"pass_threshold": 5.5}, "pass_threshold is 5.5, not within 0 to 5"),
        ({"max_error_rate": 2}, "max_error_rate is 2, not within 0 to 1"),
        ({"trials": 0}, "trials is 0, not within 1 to 100"),
        ({"trials": 101}, "trials is 101, not within 1 to 100"),
        ({"response_char_limit": 0}, "response_char_limit is 0, must be 1 or more"),
        ({"time_limit": 0}, "time_limit is 0 seconds, must be 0.1 or more"),
        ({"time_limit": float("inf")}, "time_limit is inf seconds, must be 0.1 or more"),
        ({"demand_trust": "some"}, 'demand_trust is "some", must be empty or provisional, trusted'),
    ],
)
def test_what_is_wrong_with_a_target_is_one_sentence(fields: dict, problem: str):
    assert target_problems(target(**fields)) == [problem]


def test_an_agent_target_without_an_agent_is_told_which_there_are():
    (problem,) = target_problems(target(**{**AGENT, "agent": ""}))
    assert problem.startswith("agent mode needs an agent; there are ")
    assert "echo" in problem


def test_a_key_among_the_parameters_is_refused():
    (problem,) = target_problems(target(parameters={"api_key": "x"}))
    assert "api_key" in problem


def test_everything_that_is_wrong_is_told_at_once():
    assert len(target_problems(target(model="", graders=["gone"], gate_threshold=2, trials=0))) == 4
