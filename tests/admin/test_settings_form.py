"""The form of the site's settings, and the catalogue of graders."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.db.models.signals import pre_save
from django.test import Client
from django.urls import reverse

from ai_eval.graders import Grader, register, registry
from ai_eval.models import EvalSettings, effective_settings
from tests.admin.reading import HOSTILE, SignIn, form_errors, queries_of, shown, words
from tests.llm_server import LLMServer
from tests.runs.making import make_target, run_target

SETTINGS = "/admin/ai_eval/evalsettings/"
GRADERS = "/admin/ai_eval/judgesettings/graders/"
EVERYBODY = ("olga", "adam", "anna", "vera", "nina", "root")


def typed(**fields: Any) -> dict[str, Any]:
    return {**dict.fromkeys(EvalSettings.FIELDS, ""), "seen": "", **fields}


@pytest.mark.parametrize("name", EVERYBODY)
def test_only_administrators_see_and_save_the_settings(signed_in: SignIn, name: str):
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
    assert list(form_errors(adam.post(SETTINGS, typed(**{field: value})))) == [field]
    assert not EvalSettings.objects.exists()


def test_of_two_who_edit_the_settings_the_second_is_told(adam: Client):
    adam.post(SETTINGS, typed(rate_limit_max_retries="1"))
    seen = EvalSettings.objects.get().changed_at.isoformat()
    adam.post(SETTINGS, typed(rate_limit_max_retries="2", seen=seen))
    found = form_errors(adam.post(SETTINGS, typed(rate_limit_max_retries="3", seen=seen)))
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
def test_whoever_works_with_evaluations_may_read_the_catalogue(signed_in: SignIn, name: str):
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
    for number in range(3):
        make_target(slug=f"few{number}")
    few = queries_of(adam, GRADERS)
    for number in range(30):
        make_target(slug=f"more{number}", graders=["format_grader", f"gone{number}"])
    assert queries_of(adam, GRADERS) == few


def test_the_address_of_the_settings_row_leads_to_the_form(adam: Client):
    stored = EvalSettings.objects.create()
    reply = adam.get(reverse("admin:ai_eval_evalsettings_change", args=[stored.pk]))
    assert reply["Location"] == SETTINGS


# What is kept and used


@pytest.mark.django_db(transaction=True)
def test_what_was_saved_is_what_the_next_run_works_with(signed_in: SignIn, llm_server: LLMServer):
    root = signed_in("root")
    given = typed(
        judge_model="openai/from-the-form",
        judge_api_base=llm_server.url,
        response_char_limit="40",
        question_pass_threshold="4.5",
    )
    assert root.post(SETTINGS, given).status_code == 302
    run = run_target(make_target(["x" * 50], agent="echo", graders=["relevance_grader"]))
    assert llm_server.last.body["model"] == "from-the-form"
    assert "10 of 50 characters are missing here" in llm_server.last.prompt
    (answer,) = run.answers.all()
    assert (answer.score, answer.passed) == (4.0, False)
    seen = EvalSettings.objects.get().changed_at.isoformat()
    assert root.post(SETTINGS, typed(question_pass_threshold="1", seen=seen)).status_code == 302
    run.refresh_from_db()
    assert run.snapshot["pass_threshold"] == 4.5


def test_the_history_names_the_fields_that_changed(adam: Client):
    adam.post(SETTINGS, typed(rate_limit_max_retries="1"))
    stored = EvalSettings.objects.get()
    given = typed(rate_limit_max_retries="1", judge_model="openai/x", seen=stored.changed_at.isoformat())
    adam.post(SETTINGS, given)
    assert [entry.get_change_message() for entry in LogEntry.objects.order_by("pk")] == [
        "Added.",
        "Changed Model of the judges.",
    ]
    html = shown(adam, reverse("admin:ai_eval_evalsettings_history", args=[stored.pk]))
    assert "Changed Model of the judges." in html


def test_a_save_without_a_change_says_so_and_is_not_logged(adam: Client):
    reply = adam.post(SETTINGS, typed(), follow=True)
    assert "Nothing was changed." in words(reply.content.decode())
    assert not EvalSettings.objects.exists()
    assert not LogEntry.objects.exists()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("judge_model", "openai/sk-abc123def456"),
        ("judge_model", "openai/a b"),
        ("judge_model", "openai/\u202ea"),
        ("judge_model", "openai/" + "x" * 200),
        ("judge_api_base", "https://user:abcdefgh@host/v1"),
        ("judge_api_base", "https://host/" + "x" * 500),
        ("dataset_path", "/" + "x" * 600),
        ("dataset_path", "/etc/hostname"),
        ("dataset_path", "/tmp/\x00x"),
        ("response_char_limit", "1.5"),
        ("question_pass_threshold", "1e999"),
    ],
)
def test_keys_and_texts_that_no_setting_takes_are_told_at_their_field(adam: Client, field: str, value: str):
    reply = adam.post(SETTINGS, typed(**{field: value}))
    assert list(form_errors(reply)) == [field]
    assert not EvalSettings.objects.exists()
    assert not LogEntry.objects.exists()


def test_a_host_that_the_environment_names_for_keys_can_be_the_address(
    adam: Client, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("AI_EVAL_KEY_HOSTS", "proxy.example.org")
    given = typed(judge_model="openai/x", judge_api_base="https://proxy.example.org/v1")
    assert adam.post(SETTINGS, given).status_code == 302


def test_a_setting_can_not_be_given_and_set_to_nothing(adam: Client, settings):
    settings.AI_EVAL = {**settings.AI_EVAL, "JUDGE_MODEL": "openai/of-the-module"}
    found = form_errors(adam.post(SETTINGS, typed(judge_model="openai/x", judge_model_nothing="on")))
    assert list(found) == ["judge_model"]


def test_settings_that_somebody_made_meanwhile_are_told_and_saved_over_only_when_asked(adam: Client):
    EvalSettings.objects.create(rate_limit_max_retries=1)
    reply = adam.post(SETTINGS, typed(rate_limit_max_retries="2"))
    assert "saved this after you opened it" in str(form_errors(reply))
    assert EvalSettings.objects.get().rate_limit_max_retries == 1
    given = typed(rate_limit_max_retries="2", overwrite=reply.context["form"].conflict)
    assert adam.post(SETTINGS, given).status_code == 302
    assert EvalSettings.objects.get().rate_limit_max_retries == 2


def test_settings_that_somebody_removed_meanwhile_are_told(adam: Client):
    row = EvalSettings.objects.create(rate_limit_max_retries=1)
    seen = row.changed_at.isoformat()
    row.delete()
    found = form_errors(adam.post(SETTINGS, typed(rate_limit_max_retries="2", seen=seen)))
    assert "Somebody removed these settings" in str(found)
    assert not EvalSettings.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_row_that_is_made_between_the_look_and_the_save_is_told_and_kept(signed_in: SignIn):
    if connection.vendor != "postgresql":
        pytest.skip("on SQLite nobody else writes between the look and the save")
    others: list[EvalSettings] = []

    def somebody_else(sender: Any, instance: EvalSettings, **kwargs: Any) -> None:
        if not others:
            others.append(instance)
            with ThreadPoolExecutor(1) as other:
                other.submit(make_row).result()

    def make_row() -> None:
        EvalSettings.objects.create(rate_limit_max_retries=5)
        connection.close()

    root = signed_in("root")
    pre_save.connect(somebody_else, sender=EvalSettings)
    try:
        reply = root.post(SETTINGS, typed(rate_limit_max_retries="6"))
    finally:
        pre_save.disconnect(somebody_else, sender=EvalSettings)
    assert "saved this after you opened it" in str(form_errors(reply))
    assert EvalSettings.objects.get().rate_limit_max_retries == 5


def test_what_holds_now_is_told_with_its_unit_and_where_it_comes_from(adam: Client):
    EvalSettings.objects.create(rate_limit_base_delay=2.5)
    text = words(shown(adam, SETTINGS))
    assert "Delay before the first retry 2.5 seconds set here" in text
    assert "Pass threshold 3.5 of the composite scale the default" in text
    assert "A whole number of retries from 0 to 20." in text


def test_a_directory_that_went_meanwhile_is_told_above_the_form(adam: Client):
    EvalSettings.objects.create(dataset_path="/nowhere/at/all")
    text = words(shown(adam, SETTINGS))
    assert "The dataset directory /nowhere/at/all is not there." in text


def test_the_address_of_the_module_for_a_model_of_the_row_is_told(adam: Client, settings):
    settings.AI_EVAL = {**settings.AI_EVAL, "JUDGE_API_BASE": "http://127.0.0.1:9/v1"}
    EvalSettings.objects.create(judge_model="openai/x")
    assert "it is asked at http://127.0.0.1:9/v1, which AI_EVAL names" in words(shown(adam, SETTINGS))


def test_the_row_of_settings_can_be_neither_added_nor_deleted(signed_in: SignIn):
    stored, root = EvalSettings.objects.create(), signed_in("root")
    assert root.get(reverse("admin:ai_eval_evalsettings_add")).status_code == 403
    delete = reverse("admin:ai_eval_evalsettings_delete", args=[stored.pk])
    assert root.post(delete, {"post": "yes"}).status_code == 403
    assert EvalSettings.objects.exists()
