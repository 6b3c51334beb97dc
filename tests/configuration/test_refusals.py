"""What an import refuses, by the sentence that says what would be right."""

import pytest

from tests.configuration.making import entry, problems

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"id": ...}, 'c.yaml, 1st target, key "id": is missing, and is needed'),
        ({"id": ..., "Id": "x"}, 'key "id": is missing ("Id" is there: is it meant?)'),
        ({"id": "a b"}, 'key "id": is "a b", must be 1 to 100 letters, digits, hyphens or underscores'),
        ({"id": "x" * 101}, "must be 1 to 100 letters"),
        ({"id": True}, 'key "id": is true'),
        ({"label": "x" * 201}, 'key "label": has 201 characters, must be text of at most 200 characters'),
        ({"label": []}, 'key "label": is a list, must be text'),
        ({"mode": ...}, 'key "mode": is missing, and is needed'),
        ({"mode": "Chat"}, 'key "mode": is "Chat", must be one of agent, chat, recorded, did you mean chat?'),
        ({"enabled": "no"}, 'key "enabled": is "no", must be true or false'),
        ({"dataset": ...}, 'key "dataset": is missing, and is needed'),
        ({"dataset": "a.yaml"}, 'key "dataset": is "a.yaml", must be a mapping with source, reference'),
        ({"dataset": {"source": "file"}}, 'key "dataset.reference": is missing, and is needed'),
        (
            {"dataset": {"source": "fiel", "reference": "a"}},
            'key "dataset.source": there is no dataset source "fiel", did you mean file?',
        ),
        ({"dataset": {"source": "file", "ref": "a"}}, 'key "dataset.ref": is not known'),
        ({"graders": ...}, 'key "graders": is missing, and is needed'),
        ({"graders": "config_plain"}, 'key "graders": is "config_plain", must be a list of names'),
        ({"graders": [["a"]]}, 'key "graders": has a list in the 1st place'),
        ({"graders": ["config_pain"]}, 'target "help_desk": there is no grader "config_pain", did you mean'),
        ({"graders": []}, "no grader is ticked"),
        ({"required": ["gone"]}, 'required names "gone", which is not ticked'),
        ({"required": "config_plain"}, 'key "required": is "config_plain", must be a list of names'),
        ({"trials": 1.5}, 'key "trials": is 1.5, must be a whole number from 1 to 100'),
        ({"trials": True}, 'key "trials": is true'),
        ({"trials": 101}, 'key "trials": is 101'),
        ({"gate": 0.9}, 'key "gate": is 0.9, must be a mapping with metric, threshold, type'),
        ({"gate": {}}, 'key "gate.threshold": is missing, and is needed'),
        ({"gate": {"treshold": 0.9}}, 'key "gate.treshold": is not known, did you mean threshold?'),
        ({"gate": {"threshold": "0.9"}}, 'key "gate.threshold": is "0.9", must be a number'),
        ({"gate": {"threshold": 1.5}}, "the gate's threshold of pass_rate is 1.5, not within 0 to 1"),
        (
            {"gate": {"threshold": 6, "metric": "avg_score"}},
            "threshold of avg_score is 6.0, not within 0 to 5",
        ),
        ({"gate": {"threshold": 1, "metric": "score"}}, 'key "gate.metric": is "score"'),
        ({"gate": {"threshold": 1, "type": "firm"}}, 'key "gate.type": is "firm"'),
        ({"pass_threshold": 5.5}, 'key "pass_threshold": is 5.5, must be a number from 0 to 5'),
        ({"pass_threshold": 10**400}, 'key "pass_threshold": is out of range'),
        ({"max_error_rate": -1}, 'key "max_error_rate": is -1, must be a number from 0 to 1'),
        ({"response_char_limit": 0}, 'key "response_char_limit": is 0'),
        ({"response_char_limit": 2**31}, 'key "response_char_limit": is 2147483648'),
        ({"time_limit": 0}, 'key "time_limit": is 0, must be a number from 0.1 on'),
        ({"demand_trust": "yes"}, 'key "demand_trust": is "yes", must be one of provisional, trusted'),
        ({"parameters": [1]}, 'key "parameters": is a list, must be a mapping'),
        ({"parameters": {"api_key": "sk-1"}}, "'api_key' is not allowed"),
        ({"api_key": "sk-1"}, 'key "api_key": is not known: keys of providers come from the environment'),
        ({"api_base": "http://a:b@c/"}, "api_base holds a user name"),
        ({"agent": "echo"}, "agent belongs to agent mode, and the mode is chat"),
        ({"model": ...}, "chat mode needs a model"),
        ({"budget": {"usd": 5}}, 'key "budget": is not in this version: leave it out'),
        ({"trails": 3}, 'key "trails": is not known, did you mean trials?'),
        ({"zzz": 3}, 'key "zzz": is not known; known are id, label'),
    ],
)
def test_a_bad_target_is_told(keys: dict, said: str):
    found = problems({"targets": [entry(**keys)]})
    assert any(said in problem for problem in found), found


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ([], "c.yaml: is a list, must be a mapping with any of settings, targets"),
        ({"target": []}, 'c.yaml, key "target": is not known, did you mean targets?'),
        ({"targets": {"id": "x"}}, 'c.yaml, key "targets": is a mapping, must be a list'),
        ({"targets": ["x"]}, 'c.yaml, 1st target: is "x", must be a mapping with id'),
        ({"settings": []}, 'c.yaml, key "settings": is a list, must be a mapping'),
        ({"rubrics": [{"id": "x"}]}, 'c.yaml, key "rubrics": is not in this version: leave it out'),
        ({"failure_modes": ["x"]}, 'c.yaml, key "failure_modes": is not in this version'),
        (
            {"settings": {"gold_target_n": 30}},
            'c.yaml, settings, key "gold_target_n": is not in this version',
        ),
        ({"settings": {"require_review": True}}, 'key "require_review": is not in this version'),
        ({"settings": {"judge_provider": "x"}}, "judge_model holds both, as provider/model"),
        ({"settings": {"judge_response_char_limit": 5}}, "response_char_limit is what a judge sees"),
        ({"settings": {"judge_modell": "x"}}, 'key "judge_modell": is not known, did you mean judge_model?'),
        ({"settings": {"judge_model": ["x"]}}, 'key "judge_model": is a list, must be text'),
        ({"settings": {"openai_api_key": "x"}}, "keys of providers come from the environment"),
        ({"settings": {"question_pass_threshold": 6}}, "is 6, must be a number from 0 to 5"),
        ({"settings": {"rate_limit_max_retries": 21}}, "is 21, must be a whole number from 0 to 20"),
        ({"settings": {"judge_api_base": "x"}}, 'key "judge_api_base": does not begin with http'),
        ({"judges": [{"model": "m"}]}, 'c.yaml, 1st judge, key "grader": is missing'),
        (
            {"judges": [{"grader": "config_juge"}]},
            'there is no judge "config_juge", did you mean config_judge?',
        ),
        ({"judges": [{"grader": "config_plain"}]}, '"config_plain" asks no model: it is no judge'),
        (
            {"judges": [{"grader": "config_judge", "prompt": "$question"}]},
            'key "prompt": the slot $dimension',
        ),
        (
            {"judges": [{"grader": "config_judge", "parameters": {"api_key": "x"}}]},
            "'api_key' is not allowed",
        ),
        (
            {"judges": [{"grader": "config_judge", "promt": "x"}]},
            'key "promt": is not known, did you mean prompt?',
        ),
        ({"judges": [{"grader": "config_judge"}] * 2}, 'key "grader": is taken already, in c.yaml'),
        ({"datasets": [{"id": "d"}]}, 'c.yaml, dataset "d", key "questions": is missing'),
        ({"datasets": [{"questions": []}]}, 'c.yaml, 1st dataset, key "id": is missing'),
        ({"datasets": [{"id": "d", "questions": [], "fixture": ["x"]}]}, "did you mean fixtures?"),
        (
            {"datasets": [{"id": "d", "questions": [{"id": "a", "input": "x"}] * 2}]},
            'c.yaml, dataset "d", question "a" (2nd), key "id": is taken by the 1st question',
        ),
    ],
)
def test_a_bad_document_is_told(document: object, said: str):
    found = problems(document)
    assert any(said in problem for problem in found), found


def test_a_secret_that_was_put_in_is_not_repeated_by_the_message():
    found = problems({"targets": [entry(api_key="sk-123", api_base="http://me:sk-123@x/")]})
    assert "sk-123" not in "".join(found)


def test_all_problems_are_told_up_to_twenty():
    found = problems({"targets": [entry(id=f"t{n}", trials=0) for n in range(30)]})
    assert len(found) == 21
    assert found[-1] == "and 10 more"
