"""The form of a target: what it takes, and what it refuses."""

import re
from html import unescape
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from ai_eval.models import Target
from tests.admin.target_forms import ADD, box, change, errors, filled
from tests.runs.making import make_dataset, make_target

# What it takes


def test_a_target_is_made_with_all_that_was_chosen(adam: Client):
    make_dataset("loans", ["one"])
    sent = filled(
        dataset="database:loans",
        environment="shelf",
        graders=["contains_done", "read_only_run"],
        gate_type="soft",
        gate_threshold="0.9",
        trials="3",
        time_limit="2.5",
    )
    assert adam.post(reverse(ADD), sent).status_code == 302
    target = Target.objects.get(slug="desk")
    assert (target.dataset_source, target.dataset_reference) == ("database", "loans")
    assert (target.agent, target.environment, target.trials, target.time_limit) == ("echo", "shelf", 3, 2.5)
    assert sorted(target.graders) == ["contains_done", "read_only_run"]
    assert target.gate() == {"metric": "pass_rate", "threshold": 0.9, "type": "soft"}
    assert target.required is None


def test_saving_without_a_change_changes_nothing(adam: Client):
    target = make_target(graders=["read_only_run", "contains_done"], required=["contains_done"])
    before = {name: value for name, value in vars(target).items() if name not in ("_state", "changed_at")}
    assert adam.post(change(target), filled(target)).status_code == 302
    after = Target.objects.get(pk=target.pk)
    assert {name: getattr(after, name) for name in before} == before


def test_an_empty_label_is_the_id(adam: Client):
    make_dataset("loans", ["one"])
    adam.post(reverse(ADD), filled(dataset="database:loans", label=""))
    assert Target.objects.get().label == "desk"


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ({"required_default": "on", "required": []}, None),
        ({"required_default": None, "required": []}, []),
        ({"required_default": None, "required": ["contains_done"]}, ["contains_done"]),
    ],
)
def test_no_required_grader_and_the_default_are_two_things(adam: Client, sent: dict, stored: list | None):
    target = make_target(required=["contains_done"])
    assert adam.post(change(target), filled(target, **sent)).status_code == 302
    target.refresh_from_db()
    assert target.required == stored


def test_fields_of_another_mode_are_cleared_and_that_is_told(adam: Client):
    target = make_target()
    sent = filled(
        target, mode="chat", model="openai/m", system_prompt="Hello", environment="shelf", replies="no such"
    )
    response = adam.post(change(target), sent, follow=True)
    target.refresh_from_db()
    assert (target.mode, target.model, target.system_prompt) == ("chat", "openai/m", "Hello")
    assert (target.agent, target.environment, target.replies) == ("", "", "")
    (told,) = [str(each) for each in response.context["messages"] if "Cleared" in str(each)]
    assert "Agent (agent mode)" in told
    assert "Environment (agent mode)" in told


def test_what_is_unreadable_in_a_field_of_another_mode_stops_nothing(adam: Client):
    target = make_target()
    assert adam.post(change(target), filled(target, parameters="{not json")).status_code == 302


def test_no_gate_clears_the_threshold_and_nothing_else(adam: Client):
    target = make_target(gate_threshold=4.0, gate_metric="avg_score", gate_type="soft")
    assert (
        adam.post(change(target), filled(target, gate_type="none", gate_metric="pass_rate")).status_code
        == 302
    )
    target.refresh_from_db()
    assert target.gate() is None
    assert (target.gate_metric, target.gate_type) == ("avg_score", "soft")


def test_a_threshold_of_zero_is_a_gate(adam: Client):
    target = make_target()
    adam.post(change(target), filled(target, gate_threshold="0"))
    target.refresh_from_db()
    assert target.gate() == {"metric": "pass_rate", "threshold": 0.0, "type": "hard"}


def test_parameters_are_read_as_strictly_as_a_dataset(adam: Client):
    chat = {"mode": "chat", "model": "openai/m"}
    target = make_target()
    adam.post(change(target), filled(target, **chat, parameters='{"temperature": 0.5, "stop": ["\\u0000"]}'))
    target.refresh_from_db()
    assert target.parameters == {"temperature": 0.5, "stop": ["␀"]}


def test_save_and_run_leads_to_the_launch(adam: Client):
    target = make_target()
    response = adam.post(change(target), filled(target, label="Renamed", _saveandrun="1"))
    assert (response.status_code, response.url) == (302, f"{reverse('admin:ai_eval_launch')}?ids={target.pk}")
    target.refresh_from_db()
    assert target.label == "Renamed"


def test_save_and_continue_stays(adam: Client):
    target = make_target()
    response = adam.post(change(target), filled(target, _continue="1"))
    assert (response.status_code, response.url) == (302, change(target))


def test_a_copy_is_saved_under_an_id_of_its_own(adam: Client):
    target = make_target()
    refused = adam.post(change(target), filled(target, _saveasnew="1"))
    assert "slug" in errors(refused)
    response = adam.post(change(target), filled(target, slug="copy", _saveasnew="1"))
    assert response.status_code == 302
    assert Target.objects.count() == 2
    assert Target.objects.get(slug="copy").graders == target.graders


# What it refuses


@pytest.mark.parametrize(
    ("sent", "field", "word"),
    [
        ({"slug": "two words"}, "slug", "valid"),
        ({"slug": ""}, "slug", "required"),
        ({"slug": "a\x00b"}, "slug", ""),
        ({"label": "a\x00b"}, "label", "Null"),
        ({"label": "x" * 201}, "label", "at most 200"),
        ({"mode": "workflow"}, "mode", "workflow"),
        ({"mode": ""}, "mode", "required"),
        ({"agent": ""}, "agent", "agent mode needs an agent"),
        ({"agent": "ecko"}, "agent", "ecko"),
        ({"environment": "x\x00"}, "environment", ""),
        ({"mode": "chat", "model": ""}, "model", "chat mode needs a model"),
        ({"mode": "chat", "model": "m", "api_base": "ftp://x"}, "api_base", "http"),
        ({"mode": "chat", "model": "m", "api_base": "http://me:pw@x/"}, "api_base", "user name"),
        ({"mode": "chat", "model": "m", "parameters": "{"}, "parameters", "JSON"),
        ({"mode": "chat", "model": "m", "parameters": "[1]"}, "parameters", "must be a mapping"),
        ({"mode": "chat", "model": "m", "parameters": "[" * 100_000}, "parameters", "deeper"),
        ({"mode": "chat", "model": "m", "parameters": '{"seed": ' + "9" * 5000 + "}"}, "parameters", "large"),
        ({"mode": "chat", "model": "m", "parameters": '{"seed": 1, "seed": 2}'}, "parameters", "twice"),
        ({"mode": "chat", "model": "m", "parameters": '{"top_p": NaN}'}, "parameters", "NaN"),
        ({"mode": "chat", "model": "m", "parameters": '{"api_key": "x"}'}, "parameters", "api_key"),
        ({"mode": "recorded"}, "replies", "recorded mode needs replies"),
        ({"mode": "recorded", "replies": "../x.jsonl"}, "replies", "valid choice"),
        ({"dataset": ""}, "dataset", "Choose a dataset"),
        ({"dataset": "::"}, "dataset", "valid choice"),
        ({"dataset": "file:../../etc/passwd"}, "dataset", "valid choice"),
        ({"dataset": None}, "dataset", "Choose a dataset"),
        ({"graders": []}, "graders", "no grader is ticked"),
        ({"graders": ["unknown\x00<script>"]}, "graders", "there is no grader"),
        ({"required_default": None, "required": ["read_only_run"]}, "required", "not ticked"),
        ({"required_default": "on", "required": ["contains_done"]}, "required", "can't be both"),
        ({"gate_type": "firm"}, "gate_type", "valid choice"),
        ({"gate_type": None}, "gate_type", "required"),
        ({"gate_threshold": ""}, "gate_threshold", "needs a threshold"),
        ({"gate_threshold": "1.5"}, "gate_threshold", "not within 0 to 1"),
        ({"gate_threshold": "nan"}, "gate_threshold", "number"),
        ({"gate_threshold": "1e999"}, "gate_threshold", "number"),
        ({"gate_metric": "median"}, "gate_metric", "valid choice"),
        ({"trials": "0"}, "trials", "1"),
        ({"trials": "9" * 5000}, "trials", ""),
        ({"trials": "99999999999999999999"}, "trials", "100"),
        ({"pass_threshold": "5.5"}, "pass_threshold", "5"),
        ({"max_error_rate": "2"}, "max_error_rate", "1"),
        ({"response_char_limit": "99999999999"}, "response_char_limit", "2147483647"),
        ({"time_limit": "0"}, "time_limit", "0.1"),
        ({"time_limit": "-1e400"}, "time_limit", "number"),
        ({"demand_trust": "some"}, "demand_trust", "valid choice"),
    ],
)
def test_what_is_wrong_is_told_at_its_field_and_nothing_is_saved(
    adam: Client, sent: dict, field: str, word: str
):
    target = make_target()
    before = Target.objects.values().get()
    response = adam.post(change(target), filled(target, **sent))
    found = errors(response)
    assert list(found) == [field]
    assert word in " ".join(found[field])
    assert word in unescape(response.content.decode())
    assert Target.objects.values().get() == before


def test_an_empty_form_is_refused_without_an_exception(adam: Client):
    assert errors(adam.post(reverse(ADD), {})).keys() >= {"slug", "mode", "dataset"}


def test_a_name_that_no_column_holds_is_refused(adam: Client, tmp_path: Path, settings):
    settings.AI_EVAL = {**settings.AI_EVAL, "DATASET_PATH": str(tmp_path)}
    name = f"{'x' * 240}.yaml"
    (tmp_path / name).write_text("questions:\n  - {id: a, input: b}\n")
    assert "200" in errors(adam.post(reverse(ADD), filled(dataset=f"file:{name}")))["dataset"][0]


def test_a_refused_form_keeps_what_was_typed(adam: Client):
    target = make_target()
    sent = filled(target, label="My own text", slug="no good", graders=["unknown_one"], required_default=None)
    html = adam.post(change(target), sent).content.decode()
    assert "My own text" in html
    assert "checked" in box(html, "graders", "unknown_one")


def test_two_people_at_once_both_keep_their_text(adam: Client):
    target = make_target()
    mine = filled(target, label="Mine", graders=["read_only_run"])
    theirs = filled(target, label="Theirs")
    assert adam.post(change(target), theirs).status_code == 302
    refused = adam.post(change(target), mine)
    told = " ".join(errors(refused)["__all__"])
    assert "adam" in told
    assert "Label is Theirs there" in told
    html = refused.content.decode()
    assert 'value="Mine"' in html
    (token,) = re.findall(r'name="overwrite" id="id_overwrite" value="([^"]+)"', html)
    assert Target.objects.get().label == "Theirs"
    assert adam.post(change(target), {**mine, "overwrite": token}).status_code == 302
    assert Target.objects.get().label == "Mine"


def test_a_dataset_that_somebody_else_chose_is_named(adam: Client):
    target = make_target()
    make_dataset("loans", ["one"])
    mine = filled(target)
    adam.post(change(target), filled(target, dataset="database:loans"))
    assert "Dataset is database:loans there" in " ".join(errors(adam.post(change(target), mine))["__all__"])


def test_a_target_that_was_deleted_meanwhile_is_told(adam: Client):
    target = make_target()
    url, sent = change(target), filled(target)
    target.delete()
    response = adam.post(url, sent, follow=True)
    assert "doesn’t exist" in response.content.decode()
