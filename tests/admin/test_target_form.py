"""The form of a target: what it shows, however much there is and whatever is gone."""

import re
from html import unescape
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from ai_eval.graders import registry
from tests.admin.reading import SignIn
from tests.admin.target_forms import ADD, HOSTILE, box, change, filled, page
from tests.runs.making import make_dataset, make_target


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


def test_hostile_text_comes_out_as_it_went_in_and_runs_nowhere(adam: Client, signed_in: SignIn):
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
