"""The landing page of the app."""

import re

import pytest
from django.test import Client, override_settings
from django.urls import reverse
from django.utils.html import escape

from ai_eval.models import EvalSettings, JudgeSettings, Run, Target
from ai_eval.runs.launch import launch, prepare
from tests.admin.reading import HOSTILE, SignIn, queries_of, shown, words
from tests.runs.making import make_dataset, make_target, run_target

LANDING = "/admin/ai_eval/"


@pytest.fixture
def no_files(tmp_path, settings) -> None:
    settings.AI_EVAL = {**settings.AI_EVAL, "DATASET_PATH": str(tmp_path)}


def steps(html: str) -> list[str]:
    """What each of the three steps says."""
    return [words(each) for each in re.findall(r"<li><h3>.*?</li>", html, re.DOTALL)]


def links(html: str) -> set[str]:
    main = html[html.index('id="content-main"') :]
    return {each.partition("?")[0].partition("#")[0] for each in re.findall(r'href="([^"]+)"', main)}


@pytest.mark.usefixtures("no_files")
def test_an_empty_site_shows_an_administrator_the_three_steps_with_buttons(adam: Client):
    html = shown(adam, LANDING)
    dataset, target, run = steps(html)
    assert not any("done" in each for each in (dataset, target, run))
    assert "Add a dataset" in dataset
    assert "Add a target" in target
    assert "nothing to run yet" in run
    assert {reverse("admin:ai_eval_dataset_add"), reverse("admin:ai_eval_target_add")} <= links(html)


@pytest.mark.usefixtures("no_files")
def test_an_empty_site_tells_an_operator_who_can_begin(olga: Client):
    html = shown(olga, LANDING)
    dataset, target, _ = steps(html)
    assert "AI Eval administrators" in dataset
    assert "AI Eval administrators" in target
    assert reverse("admin:ai_eval_target_add") not in links(html)


@pytest.mark.usefixtures("no_files")
def test_each_step_says_when_it_is_done(adam: Client):
    make_dataset("questions", ["one"])
    dataset, target, _ = steps(shown(adam, LANDING))
    assert ("done" in dataset, "done" in target) == (True, False)
    made = make_target(slug="first")
    dataset, target, run = steps(shown(adam, LANDING))
    assert ("done" in dataset, "done" in target) == (True, True)
    assert f"Run {made}" in run
    assert f"{reverse('admin:ai_eval_launch')}?ids={made.pk}" in shown(adam, LANDING)


def test_the_steps_are_gone_with_the_first_run(olga: Client):
    launch(prepare(make_target()))
    assert steps(shown(olga, LANDING)) == []


def test_targets_are_shown_with_their_state(olga: Client):
    run_target(make_target(["one", "blank"]))
    text = words(shown(olga, LANDING))
    assert "0.5 (0.0945 to 0.905), n 2" in text
    assert "1 failed" in text


def test_a_full_site_shows_ten_targets_and_leads_to_all(olga: Client):
    for number in range(12):
        make_target(slug=f"target_{number}")
    launch(prepare(Target.objects.first()))
    html = shown(olga, LANDING)
    assert html.count('class="field-name"') == 10
    assert "All 12 targets" in words(html)
    assert reverse("admin:ai_eval_target_changelist") in links(html)


def test_a_run_in_progress_tells_how_far_it_is_and_leads_to_its_page(olga: Client):
    run = launch(prepare(make_target()))
    html = shown(olga, LANDING)
    assert "0 of 3 answered" in words(html)
    assert 'aria-label="Answered: 0 of 3 (3 to come)"' in html
    assert reverse("admin:ai_eval_progress", args=[run.pk]) in links(html)


def test_what_needs_attention_leads_to_where_it_is_mended(adam: Client):
    failed = run_target(make_target(["blank"], "failed"))
    lost = make_target(slug="lost", dataset_source="file", dataset_reference="vanished.yaml")
    make_target(slug="judged", graders=["relevance_grader"])
    stopped = launch(prepare(make_target(slug="stopped")))
    Run.objects.filter(pk=stopped.pk).update(state="interrupted")
    broken = launch(prepare(make_target(slug="broken")))
    Run.objects.filter(pk=broken.pk).update(state="error", error="it broke")
    html = shown(adam, LANDING)
    wanted = {
        reverse("admin:ai_eval_run_change", args=[failed.pk]),
        reverse("admin:ai_eval_target_change", args=[lost.pk]),
        reverse("admin:ai_eval_judge", args=["relevance_grader"]),
        reverse("admin:ai_eval_progress", args=[stopped.pk]),
        reverse("admin:ai_eval_run_change", args=[broken.pk]),
    }
    assert wanted <= links(html)
    for each in wanted:
        assert adam.get(each).status_code == 200
    assert "it broke" in words(html)


def test_more_than_a_few_concerns_lead_to_a_list_of_just_them(olga: Client):
    for number in range(7):
        run_target(make_target(["blank"], f"bad_{number}"))
    run_target(make_target(["one"], "good"))
    html = shown(olga, LANDING)
    (link,) = re.findall(r'<a href="([^"]*)">and 2 more</a>', html)[:1]
    listed = shown(olga, link)
    assert "bad_6" in words(listed)
    assert "good" not in words(listed)


def test_a_site_in_order_says_that_nothing_was_found_and_what_was_looked_at(olga: Client):
    run_target(make_target(["one"], graders=["contains_done", "tool_usage_grader"], mode="agent"))
    Run.objects.update(verdict="passed")
    text = words(shown(olga, LANDING))
    assert "nothing found" in text
    assert "Datasets are looked up and not read" in text


def test_all_lists_are_linked_for_an_administrator(adam: Client):
    names = ("target", "run", "dataset", "question", "judgesettings", "evalsettings")
    lists = {reverse(f"admin:ai_eval_{name}_changelist") for name in names}
    wanted = {*lists, reverse("admin:ai_eval_graders")}
    assert wanted <= links(shown(adam, LANDING))
    for each in wanted:
        assert adam.get(each, follow=True).status_code == 200


@pytest.mark.parametrize("name", ["olga", "adam", "vera", "root"])
def test_every_link_of_the_page_is_open_to_whoever_sees_it(signed_in: SignIn, name: str):
    client = signed_in(name)
    for slug, questions in {"good": ["one"], "bad": ["blank"]}.items():
        run_target(make_target(questions, slug))
    make_target(slug="judged", graders=["relevance_grader"], agent="nobody")
    launch(prepare(Target.objects.get(slug="good")))
    for each in links(shown(client, LANDING)):
        assert client.get(each, follow=True).status_code == 200, each


def test_an_operator_is_led_to_no_settings(olga: Client):
    assert reverse("admin:ai_eval_evalsettings_changelist") not in links(shown(olga, LANDING))


def test_who_validates_judges_sees_judges_and_nothing_of_targets(signed_in: SignIn):
    run_target(make_target(["blank"], "secret_target"))
    make_target(slug="secret_judged", graders=["relevance_grader"])
    client = signed_in("vera")
    html = shown(client, LANDING)
    assert "secret" not in html
    assert "relevance_grader has no model" in words(html)
    assert "Targets and runs are not shown" in words(html)
    JudgeSettings.objects.create(grader="relevance_grader", model="openai/small")
    assert "relevance_grader" not in shown(client, LANDING)


@pytest.mark.parametrize("name", ["anna", "nina"])
def test_who_may_see_no_list_has_no_landing_page(signed_in: SignIn, name: str):
    assert signed_in(name).get(LANDING).status_code == 404


@pytest.mark.django_db
def test_a_stranger_is_led_to_the_login():
    assert "/login/" in Client().get(LANDING)["Location"]


def test_the_index_of_the_site_stays_the_stock_one(adam: Client):
    html = shown(adam, "/admin/")
    assert "ai_eval.css" not in html
    assert "What needs attention" not in html


def test_the_page_takes_as_many_queries_for_many_targets_as_for_few(olga: Client):
    def add(start: int, count: int) -> None:
        for number in range(start, start + count):
            make_target(slug=f"lost_{number}", graders=["relevance_grader"], agent="nobody")
            launch(prepare(make_target(["one"], f"running_{number}")))
            for state, verdict in {"complete": "failed", "error": "", "interrupted": ""}.items():
                target = make_target(["one"], f"{state}_{number}")
                Run.objects.create(
                    target=target,
                    target_label=target.label,
                    state=state,
                    verdict=verdict,
                    result=run.result if verdict else None,
                    snapshot=run.snapshot,
                )

    run = run_target(make_target(["blank"]))
    add(0, 3)
    few = queries_of(olga, LANDING)
    add(3, 27)
    assert queries_of(olga, LANDING) == few <= 20


def test_text_of_people_comes_out_as_it_went_in(olga: Client):
    target = make_target(["blank"], label=HOSTILE, graders=["contains_done", "<b>x</b>"])
    Target.objects.update(graders=["contains_done"])
    target.refresh_from_db()
    run_target(target)
    broken = launch(prepare(target))
    Run.objects.filter(pk=broken.pk).update(state="error", error=HOSTILE)
    Target.objects.update(graders=["contains_done", "<b>x</b>"])
    html = shown(olga, LANDING)
    assert "<script>alert" not in html
    assert "<b>x" not in html
    assert "<img src=x" not in html
    assert escape(HOSTILE) in html


def test_a_dataset_directory_that_is_gone_is_told_and_breaks_nothing(olga: Client):
    make_target()
    EvalSettings.objects.create(dataset_path="/nowhere/at/all")
    assert "/nowhere/at/all is not there" in words(shown(olga, LANDING))


def test_a_run_whose_target_was_deleted_is_still_shown_in_progress(olga: Client):
    run = launch(prepare(make_target()))
    Run.objects.update(target=None, woken_at=None)
    html = shown(olga, LANDING)
    assert reverse("admin:ai_eval_progress", args=[run.pk]) in links(html)


@override_settings(LANGUAGE_CODE="de", USE_THOUSAND_SEPARATOR=True)
def test_charts_are_drawn_in_a_language_with_decimal_commas(olga: Client):
    run_target(make_target(["one", "blank", "two"]))
    html = shown(olga, LANDING)
    assert not re.search(r'(?:x|y|width|height|d|cx|cy|points)="[^"]*\d,\d{3}"', html)
