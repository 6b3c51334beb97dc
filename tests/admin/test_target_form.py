"""The form of a target: what it shows, what it takes, and what it refuses."""

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from ai_eval.graders import registry
from ai_eval.models import Target
from tests.runs.making import make_dataset, make_target

SignedIn = Callable[[str], Client]
ADD = "admin:ai_eval_target_add"
HOSTILE = "<script>alert(1)</script> {{ 7*7 }} %s \u202e" + "w" * 50


def change(target: Target) -> str:
    return reverse("admin:ai_eval_target_change", args=[target.pk])


def filled(target: Target | None = None, **fields: Any) -> dict[str, Any]:
    """What a browser sends for this target, with some fields changed; None leaves a field out."""
    given = target or Target(
        slug="desk", label="Desk", mode="agent", agent="echo", graders=["contains_done"], gate_threshold=None
    )
    data: dict[str, Any] = {
        "label": given.label,
        "slug": given.slug,
        "enabled": "on" if given.enabled else None,
        "mode": given.mode,
        "agent": given.agent,
        "environment": given.environment,
        "model": given.model,
        "api_base": given.api_base,
        "system_prompt": given.system_prompt,
        "replies": given.replies,
        "parameters": "{}",
        "dataset": f"{given.dataset_source}:{given.dataset_reference}",
        "graders": given.graders,
        "required": given.required or [],
        "required_default": "on" if given.required is None else None,
        "gate_type": "none" if given.gate_threshold is None else given.gate_type,
        "gate_metric": given.gate_metric,
        "gate_threshold": "" if given.gate_threshold is None else given.gate_threshold,
        "trials": given.trials,
        "pass_threshold": "",
        "max_error_rate": given.max_error_rate,
        "response_char_limit": "",
        "time_limit": "",
        "demand_trust": "",
    }
    if target is not None:
        data["seen"] = target.changed_at.isoformat()
    return {name: value for name, value in {**data, **fields}.items() if value is not None}


def errors(response: Any) -> dict[str, list[str]]:
    assert response.status_code == 200, "nothing was refused"
    return {name: list(found) for name, found in response.context["adminform"].form.errors.items()}


def page(client: Client, url: str) -> str:
    response = client.get(url)
    assert response.status_code == 200
    return response.content.decode()


def box(html: str, name: str, value: str) -> str:
    """The tag of one checkbox."""
    (found,) = re.findall(rf'<input type="checkbox" name="{name}" value="{re.escape(value)}"[^>]*>', html)
    return str(found)


@pytest.fixture
def adam(signed_in: SignedIn) -> Client:
    return signed_in("adam")


# What it shows


def test_each_grader_is_one_checkbox_with_its_kind_and_scale(adam: Client):
    html = page(adam, reverse(ADD))
    for info in registry.all():
        assert "checked" not in box(html, "graders", info.id)
        assert box(html, "required", info.id)
        assert info.choice_label in unescape(html)
    assert "Read-only run (binary, 0-1)" in html


def test_judges_and_deterministic_graders_stand_apart(adam: Client):
    response = adam.get(reverse(ADD))
    groups = {group.title: [row.id for row in group.rows] for group in response.context["grader_groups"]}
    assert list(groups) == ["Judges", "Deterministic"]
    assert all(registry.get(id).llm for id in groups["Judges"])  # type: ignore[union-attr]
    assert "read_only_run" in groups["Deterministic"]


def test_what_a_grader_looks_at_is_told_in_words(adam: Client):
    response = adam.get(reverse(ADD))
    rows = {row.id: row for group in response.context["grader_groups"] for row in group.rows}
    assert [mark.word for mark in rows["read_only_run"].marks] == ["observes actions"]
    assert [mark.word for mark in rows["accuracy_grader"].marks] == ["sees tool calls"]
    assert [mark.word for mark in rows["needs_environment_grader"].marks] == [
        "observes actions",
        "needs an environment",
    ]


def test_a_grader_that_is_gone_stays_ticked_as_missing_and_can_be_unticked(adam: Client):
    target = make_target(graders=["contains_done", "gone_grader"])
    html = page(adam, change(target))
    assert "checked" in box(html, "graders", "gone_grader")
    assert "missing" in html
    assert adam.post(change(target), filled(target, graders=["contains_done"])).status_code == 302
    target.refresh_from_db()
    assert target.graders == ["contains_done"]


def test_a_hidden_grader_shows_only_where_it_is_ticked(adam: Client, settings):
    settings.AI_EVAL = {**settings.AI_EVAL, "GRADERS": {"contains_done": {"hidden": True}}}
    assert 'value="contains_done"' not in page(adam, reverse(ADD))
    html = page(adam, change(make_target()))
    assert "checked" in box(html, "graders", "contains_done")
    assert "hidden by the site" in html


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("agent", {"agent": "gone_agent"}),
        ("environment", {"environment": "gone_environment"}),
        ("replies", {"mode": "recorded", "agent": "", "replies": "gone.jsonl"}),
        ("dataset", {"dataset_source": "file", "dataset_reference": "gone.yaml"}),
        ("dataset", {"dataset_source": "gone_source", "dataset_reference": "x"}),
    ],
)
def test_what_vanished_stays_chosen_as_missing(adam: Client, name: str, fields: dict):
    target = make_target(**fields)
    html = page(adam, change(target))
    (chosen,) = re.findall(
        rf'<select name="{name}".*?<option value="[^"]+" selected>(.*?)</option>', html, re.S
    )
    assert "missing" in chosen


def test_a_target_whose_things_vanished_can_still_be_disabled(adam: Client):
    target = make_target(
        agent="gone_agent",
        environment="gone_env",
        graders=["gone_grader"],
        dataset_source="file",
        dataset_reference="gone.yaml",
    )
    response = adam.post(change(target), filled(target, enabled=None), follow=True)
    target.refresh_from_db()
    assert (target.enabled, target.agent, target.graders) == (False, "gone_agent", ["gone_grader"])
    told = [str(message) for message in response.context["messages"]]
    assert sum("can't be run as it stands" in each for each in told) == 3


def test_datasets_are_grouped_by_source_with_counts_where_they_cost_nothing(adam: Client):
    make_dataset("loans", ["one", "two"])
    html = page(adam, reverse(ADD))
    assert re.search(
        r'<optgroup label="Database">\s*<option value="database:loans">loans, 2 questions</option>', html
    )


def test_the_address_preselects_a_dataset(adam: Client):
    make_dataset("loans", ["one"])
    html = page(adam, f"{reverse(ADD)}?dataset=database:loans")
    assert '<option value="database:loans" selected>' in html


@pytest.mark.parametrize("asked", ["::", "database:none", "%00", "<script>alert(1)</script>", "x" * 5000])
def test_an_address_that_names_no_dataset_is_told(adam: Client, asked: str):
    response = adam.get(reverse(ADD), {"dataset": asked})
    assert response.status_code == 200
    html = response.content.decode()
    assert "There is no dataset" in html
    assert "<script>alert(1)" not in html


@pytest.mark.parametrize("name", ["graders", "required", "mode", "trials", "parameters", "seen", "label"])
def test_nothing_else_of_the_address_enters_the_form(adam: Client, name: str):
    html = page(adam, f"{reverse(ADD)}?{name}=sneaked")
    assert "sneaked" not in html.replace(f"?{name}=sneaked", "")


def test_what_is_wrong_with_a_stored_target_is_shown_at_its_field(adam: Client):
    target = make_target(graders=["gone_grader"], gate_threshold=7)
    response = adam.get(change(target))
    rows = {row.field.name: row for _, rows in response.context["sections"] for row in rows}
    assert any("gone_grader" in each.text for each in rows["graders"].notes)
    assert any("not within 0 to 1" in each.text for each in rows["gate_threshold"].notes)


def test_advanced_fields_are_folded_unless_one_says_something(adam: Client):
    assert '<details id="advanced">' in page(adam, change(make_target()))
    assert '<details open id="advanced">' in page(adam, change(make_target(slug="other", trials=3)))
    response = adam.post(reverse(ADD), filled(trials="0"))
    assert '<details open id="advanced">' in response.content.decode()


def test_hostile_text_comes_out_as_it_went_in_and_runs_nowhere(adam: Client, signed_in: SignedIn):
    target = make_target(
        label=HOSTILE[:190],
        mode="chat",
        agent="",
        model=HOSTILE[:190],
        system_prompt=f"</textarea>{HOSTILE}",
        parameters={"stop": [HOSTILE]},
        graders=[HOSTILE],
        required=[HOSTILE],
        dataset_reference=HOSTILE,
    )
    for html in (page(adam, change(target)), page(signed_in("olga"), change(target))):
        assert "<script>alert(1)" not in html
        assert "&lt;script&gt;alert(1)&lt;/script&gt; {{ 7*7 }} %s" in html


def test_as_many_queries_for_thirty_datasets_as_for_three(
    adam: Client, django_assert_num_queries, django_assert_max_num_queries
):
    target = make_target(graders=[info.id for info in registry.all()])
    for number in range(3):
        make_dataset(f"few{number}", ["one"])
    page(adam, change(target))
    with django_assert_max_num_queries(40) as first:
        page(adam, change(target))
    for number in range(27):
        make_dataset(f"many{number}", ["one"])
    with django_assert_num_queries(len(first)):
        page(adam, change(target))


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


# Many, large, broken


def test_two_hundred_graders_are_shown_and_saved(adam: Client):
    from ai_eval.graders import Grader

    made = [
        type(f"Many{number}", (Grader,), {"id": f"many_{number}", "label": f"Many {number}"})
        for number in range(200)
    ]
    for each in made:
        registry.register(each)
    try:
        target = make_target()
        assert page(adam, change(target)).count('name="graders"') >= 200
        ticked = [f"many_{number}" for number in range(200)]
        sent = filled(target, graders=ticked, required=ticked, required_default=None)
        assert adam.post(change(target), sent).status_code == 302
        target.refresh_from_db()
        assert target.graders == target.required == ticked
    finally:
        for each in made:
            registry.unregister(each)


def test_five_hundred_files_are_listed_and_none_is_read(adam: Client, tmp_path: Path, settings):
    settings.AI_EVAL = {**settings.AI_EVAL, "DATASET_PATH": str(tmp_path)}
    for number in range(500):
        (tmp_path / f"d{number}.yaml").write_text("this: [is no dataset")
    html = page(adam, reverse(ADD))
    assert html.count('<option value="file:d') == 500
    assert "is no dataset" not in html


def test_a_broken_file_is_told_at_the_dataset(adam: Client, tmp_path: Path, settings):
    settings.AI_EVAL = {**settings.AI_EVAL, "DATASET_PATH": str(tmp_path)}
    (tmp_path / "broken.yaml").write_text("questions:\n  - id: a\n    inptu: x\n")
    target = make_target(dataset_source="file", dataset_reference="broken.yaml")
    response = adam.get(change(target))
    (row,) = [row for _, rows in response.context["sections"] for row in rows if row.field.name == "dataset"]
    assert any("inptu" in each.text and each.tone == "bad" for each in row.notes)


def test_a_directory_that_is_gone_is_told_and_the_form_opens(adam: Client, settings):
    settings.AI_EVAL = {**settings.AI_EVAL, "DATASET_PATH": "/no/such/directory"}
    target = make_target(dataset_source="file", dataset_reference="x.yaml")
    assert "the dataset directory /no/such/directory is not there" in page(adam, change(target))


@pytest.mark.parametrize("pk", ["99999999999999999999", "abc", "1%00", "0", "%F0%9F%98%80"])
def test_an_address_of_no_target_is_told(adam: Client, pk: str):
    response = adam.get(f"/admin/ai_eval/target/{pk}/change/")
    assert response.status_code in (302, 404)
