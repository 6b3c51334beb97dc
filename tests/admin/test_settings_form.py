"""The form of the site's settings, and the catalogue of graders."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from ai_eval.graders import Grader, register, registry
from ai_eval.models import EvalSettings, effective_settings
from tests.admin.test_run_page import HOSTILE, shown, words
from tests.runs.making import make_target

SignedIn = Callable[[str], Client]
SETTINGS = "/admin/ai_eval/evalsettings/"
GRADERS = "/admin/ai_eval/judgesettings/graders/"
EVERYBODY = ("olga", "adam", "anna", "vera", "nina", "root")


def typed(**fields: Any) -> dict[str, Any]:
    return {**dict.fromkeys(EvalSettings.FIELDS, ""), "seen": "", **fields}


def errors(response: Any) -> dict[str, list[str]]:
    assert response.status_code == 200, "nothing was refused"
    return {name: list(found) for name, found in response.context["form"].errors.items()}


@pytest.fixture
def adam(signed_in: SignedIn) -> Client:
    return signed_in("adam")


@pytest.mark.parametrize("name", EVERYBODY)
def test_only_administrators_see_and_save_the_settings(signed_in: SignedIn, name: str):
    client, may = signed_in(name), name in ("adam", "root")
    assert client.get(SETTINGS).status_code == (200 if may else 403)
    assert client.post(SETTINGS, typed(judge_model="openai/x")).status_code == (302 if may else 403)
    assert EvalSettings.objects.exists() == may


def test_a_saved_setting_holds_and_an_empty_one_is_left_to_the_settings_module(adam: Client, settings):
    settings.AI_EVAL = {**settings.AI_EVAL, "JUDGE_MODEL": "openai/of-the-module"}
    adam.post(SETTINGS, typed(question_pass_threshold="4.25", rate_limit_max_retries="7"))
    site = effective_settings()
    assert (site.question_pass_threshold, site.rate_limit_max_retries) == (4.25, 7)
    assert site.judge_model == "openai/of-the-module"
    text = words(shown(adam, SETTINGS))
    assert "openai/of-the-module AI_EVAL" in text


def test_a_text_can_be_set_to_nothing_which_is_not_the_same_as_empty(adam: Client, settings):
    settings.AI_EVAL = {**settings.AI_EVAL, "JUDGE_MODEL": "openai/of-the-module"}
    adam.post(SETTINGS, typed(judge_model_nothing="on"))
    assert EvalSettings.objects.get().judge_model == ""
    assert effective_settings().judge_model == ""


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("dataset_path", "relative/folder"),
        ("dataset_path", "/nowhere/at/all"),
        ("judge_api_base", "ftp://host"),
        ("judge_api_base", "https://host/?api_key=abc"),
        ("question_pass_threshold", "6"),
        ("question_pass_threshold", "nan"),
        ("response_char_limit", "0"),
        ("rate_limit_max_retries", "-1"),
        ("rate_limit_base_delay", "soon"),
        ("rate_limit_max_retries", "9" * 400),
    ],
)
def test_what_a_setting_can_not_be_is_told_at_its_field(adam: Client, field: str, value: str):
    assert list(errors(adam.post(SETTINGS, typed(**{field: value})))) == [field]
    assert not EvalSettings.objects.exists()


def test_of_two_who_edit_the_settings_the_second_is_told(adam: Client):
    adam.post(SETTINGS, typed(rate_limit_max_retries="1"))
    seen = EvalSettings.objects.get().changed_at.isoformat()
    adam.post(SETTINGS, typed(rate_limit_max_retries="2", seen=seen))
    found = errors(adam.post(SETTINGS, typed(rate_limit_max_retries="3", seen=seen)))
    assert "saved this after you opened it" in str(found)
    assert EvalSettings.objects.get().rate_limit_max_retries == 2


def test_clearing_saves_nothing_before_it_is_saved(adam: Client, tmp_path: Path):
    adam.post(SETTINGS, typed(dataset_path=str(tmp_path)))
    text = words(adam.post(SETTINGS, typed(_clear="1")).content.decode())
    assert "Nothing is saved yet" in text
    assert EvalSettings.objects.get().dataset_path == str(tmp_path)


def test_hostile_settings_come_out_as_they_went_in(adam: Client):
    EvalSettings.objects.create(judge_model=HOSTILE, dataset_path=HOSTILE, judge_api_base=HOSTILE)
    html = shown(adam, SETTINGS)
    assert "<script>alert" not in html
    assert "<img src=x" not in html


# The catalogue of graders


def test_the_catalogue_tells_scale_sight_and_who_ticks_each_grader(adam: Client):
    make_target(slug="desk", label="Desk", graders=["tool_usage_grader", "gone_grader"])
    text = words(shown(adam, GRADERS))
    assert "Tool usage (gradient, 0-5) tool_usage_grader observes actions" in text
    assert "Relevance (gradient, 0-5)" in text
    assert "Missing: a target ticks them, and no app registers them gone_grader" in text
    assert "Desk" in text


@pytest.mark.parametrize("name", EVERYBODY)
def test_whoever_works_with_evaluations_may_read_the_catalogue(signed_in: SignedIn, name: str):
    assert signed_in(name).get(GRADERS).status_code == (403 if name == "nina" else 200)


def test_a_badly_declared_grader_is_told_with_what_is_wrong(adam: Client):
    class Broken(Grader):
        id = "broken_scale"
        label = f"Broken {HOSTILE}"
        min_score = 3
        max_score = 3

    register(Broken)
    try:
        html = shown(adam, GRADERS)
    finally:
        registry.unregister(Broken)
    assert "badly declared" in html
    assert "<script>alert" not in html


def test_the_catalogue_costs_as_many_queries_for_thirty_targets_as_for_three(adam: Client):
    def queries() -> int:
        with CaptureQueriesContext(connection) as found:
            shown(adam, GRADERS)
        return len(found)

    for number in range(3):
        make_target(slug=f"few{number}")
    shown(adam, GRADERS)
    few = queries()
    for number in range(30):
        make_target(slug=f"more{number}", graders=["format_grader", f"gone{number}"])
    assert queries() == few


def test_the_address_of_the_settings_row_leads_to_the_form(adam: Client):
    stored = EvalSettings.objects.create()
    reply = adam.get(reverse("admin:ai_eval_evalsettings_change", args=[stored.pk]))
    assert reply["Location"] == SETTINGS
