"""The list of targets."""

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils.html import escape

from ai_eval.models import Run, Target
from ai_eval.runs.launch import launch, prepare
from tests.admin.reading import HOSTILE, SignIn, queries_of, shown, words
from tests.runs.making import make_target, run_target

LIST = "/admin/ai_eval/target/"
READERS = ("olga", "adam", "root")


def labels(client: Client, query: str = "") -> list[str]:
    return re.findall(r'<a class="ae-id"[^>]*><bdi>([^<]*)</bdi>', shown(client, f"{LIST}?{query}"))


def test_a_row_tells_verdict_score_with_interval_and_denominator_and_what_was_scored(olga: Client):
    run = run_target(make_target(["one", "blank"]))
    html = shown(olga, LIST)
    assert re.search(r"target ?, agent", words(html))
    assert "failed" in words(html)
    assert "0.5 (0.0945 to 0.905), n 2" in words(html)
    assert "pass rate; 2 of 2 scored, 1 passed" in words(html)
    assert reverse("admin:ai_eval_run_change", args=[run.pk]) in html


def test_an_undefined_score_says_why(olga: Client):
    run_target(make_target(["one"], graders=["skips_grader"]))
    text = words(shown(olga, LIST))
    assert "undecided" in text
    assert "undefined" in text
    assert "0 of 1 scored, 0 passed, 1 unscored" in text


def test_a_target_without_a_run_says_so_and_shows_no_figure(olga: Client):
    make_target()
    html = shown(olga, LIST)
    assert "no run yet" in words(html)
    assert "ae-sparkline" not in html


def test_the_sparkline_tells_the_last_runs_in_words_and_leads_to_them(olga: Client):
    target = make_target(["one", "blank"])
    run_target(target)
    cancelled = launch(prepare(target))
    Run.objects.filter(pk=cancelled.pk).update(state="cancelled")
    html = shown(olga, LIST)
    assert 'aria-label="Pass rate of the last 2 runs, oldest first: 0.5 failed, cancelled"' in html
    (link,) = re.findall(r'<a href="([^"]*)"><svg class="ae-chart ae-sparkline"', html)
    other = run_target(make_target(["one"], "other"))
    runs = shown(olga, link)
    assert f"Run {cancelled.pk}" in words(runs)
    assert f"Run {other.pk}" not in words(runs)


def test_a_run_that_ended_otherwise_since_is_told_beside_the_last_verdict(olga: Client):
    target = make_target(["one"])
    run_target(target)
    Run.objects.filter(pk=launch(prepare(target)).pk).update(state="error", error="it broke")
    text = words(shown(olga, LIST))
    assert re.search(r"passed .* ended in error", text)


def test_a_target_is_run_by_its_button_and_watched_while_it_runs(olga: Client):
    target = make_target(["one"])
    html = shown(olga, LIST)
    assert f'href="{reverse("admin:ai_eval_launch")}?ids={target.pk}"' in html
    run = launch(prepare(target))
    html = shown(olga, LIST)
    assert f'href="{reverse("admin:ai_eval_progress", args=[run.pk])}"' in html
    assert "?ids=" not in html


def test_the_pages_that_the_buttons_lead_to_are_there(olga: Client):
    target = make_target(["one"])
    assert olga.get(f"{reverse('admin:ai_eval_launch')}?ids={target.pk}").status_code == 200
    run = launch(prepare(target))
    assert olga.get(reverse("admin:ai_eval_progress", args=[run.pk])).status_code == 200


def test_a_disabled_target_has_no_button(olga: Client):
    make_target(enabled=False)
    html = shown(olga, LIST)
    assert "?ids=" not in html
    assert "disabled" in words(html)


def test_advisories_of_the_last_run_and_of_the_target_itself_are_told_once(olga: Client):
    run = run_target(make_target(["one"], gate_threshold=None))
    assert len(run.advisories) == 2
    text = words(shown(olga, LIST))
    assert "2 advisories" in text
    assert text.count("no ticked grader observes actions") == 1
    assert text.count("nothing here can fail") == 1


def test_a_target_that_cant_be_launched_says_why(olga: Client):
    make_target(graders=["nothing_like_it"], dataset_source="file", dataset_reference="vanished.yaml")
    text = words(shown(olga, LIST))
    assert "can’t run" in text
    assert "there is no grader" in text
    assert "there is no file" in text


def test_the_list_takes_as_many_queries_for_many_targets_as_for_few(olga: Client):
    def add(start: int, count: int) -> None:
        for number in range(start, start + count):
            target = make_target(["one"], f"target_{number}", graders=["relevance_grader", "contains_done"])
            copied = {"target": target, "target_slug": target.slug, "planned": 1, "snapshot": run.snapshot}
            for _ in range(number % 14):
                Run.objects.create(state="complete", verdict=run.verdict, result=run.result, **copied)
            Run.objects.create(state=("running", "error", "interrupted")[number % 3], **copied)

    run = run_target(make_target(["one"]))
    add(0, 3)
    few = queries_of(olga, LIST)
    add(3, 27)
    assert queries_of(olga, LIST) == few <= 15


def test_the_list_reads_no_snapshot(olga: Client):
    run_target(make_target(["one"]))
    with CaptureQueriesContext(connection) as queries:
        shown(olga, LIST)
    assert not [query["sql"] for query in queries if "snapshot" in query["sql"]]


def test_targets_are_filtered_by_last_verdict_mode_and_enabled(olga: Client):
    run_target(make_target(["one"], "good"))
    run_target(make_target(["blank"], "bad"))
    run_target(make_target(["one"], "gateless", gate_threshold=None))
    make_target(slug="fresh", mode="chat", agent="", model="m", enabled=False)
    assert labels(olga, "last_verdict=passed") == ["good"]
    assert labels(olga, "last_verdict=failed") == ["bad"]
    assert labels(olga, "last_verdict=undecided") == []
    assert labels(olga, "last_verdict=no_gate") == ["gateless"]
    assert labels(olga, "last_verdict=none") == ["fresh"]
    assert labels(olga, "mode__exact=chat") == ["fresh"]
    assert labels(olga, "enabled__exact=1") == ["bad", "gateless", "good"]


def test_a_verdict_that_a_later_one_replaced_is_not_found(olga: Client):
    target = make_target(["blank"])
    run_target(target)
    Target.objects.update(gate_threshold=0.0)
    target.refresh_from_db()
    run_target(target)
    assert labels(olga, "last_verdict=failed") == []
    assert labels(olga, "last_verdict=passed") == ["target"]


def test_targets_are_searched_by_label_id_agent_and_dataset(olga: Client):
    make_target(slug="desk", label="Help desk")
    make_target(slug="bot", agent="echo")
    assert labels(olga, "q=help") == ["Help desk"]
    assert labels(olga, "q=echo") == ["bot"]
    assert labels(olga, "q=desk_questions") == ["Help desk"]


@pytest.mark.parametrize("name", READERS)
def test_who_may_see_targets_sees_the_list_and_may_run(signed_in: SignIn, name: str):
    make_target()
    html = shown(signed_in(name), LIST)
    assert "run_selected" in html
    assert "Run…" in html


def test_an_operator_may_use_the_action_and_add_nothing(olga: Client):
    target = make_target()
    response = olga.post(LIST, {"action": "run_selected", "_selected_action": [target.pk]})
    assert response.status_code == 302
    assert response["Location"] == f"{reverse('admin:ai_eval_launch')}?ids={target.pk}"
    html = shown(olga, LIST)
    assert reverse("admin:ai_eval_target_add") not in html
    assert "delete_selected" not in html


@pytest.mark.parametrize("name", ["anna", "vera", "nina"])
def test_others_may_not_see_the_list(signed_in: SignIn, name: str):
    client = signed_in(name)
    assert client.get(LIST).status_code == 403
    assert client.post(LIST, {"action": "run_selected", "_selected_action": [1]}).status_code == 403


@pytest.mark.django_db
def test_a_stranger_is_led_to_the_login():
    response = Client().get(LIST)
    assert response.status_code == 302
    assert "/login/" in response["Location"]


@pytest.mark.parametrize(
    "query",
    [
        "last_verdict=sideways",
        "last_verdict=%00",
        "mode__exact=%00",
        "mode__exact=nowhere",
        "enabled__exact=perhaps",
        "q=%00",
        "q=" + "x" * 5000,
        "p=99999999999999999999",
        "p=-1",
        "o=99.-99.x",
        "o=%F0%9F%8E%89",
        "id__exact=99999999999999999999",
        "runs__snapshot__x=1",
        "nothing=1",
        "e=1",
        "%00=1",
        "label=%ED%A0%80",
        "all=",
    ],
)
def test_garbage_in_the_address_breaks_nothing(olga: Client, query: str):
    run_target(make_target(["one"]))
    assert olga.get(f"{LIST}?{query}").status_code in (200, 302, 400)


@pytest.mark.parametrize("selected", ["x", "", "\x00", "-1", "9" * 30, "1" * 18, "１"])
def test_garbage_among_the_selected_breaks_nothing(olga: Client, selected: str):
    make_target()
    response = olga.post(LIST, {"action": "run_selected", "_selected_action": [selected]})
    assert response.status_code in (302, 400)


def test_text_of_people_comes_out_as_it_went_in(olga: Client):
    make_target(label=HOSTILE, graders=["<b>x</b>"], dataset_source="<i>", dataset_reference="%s{{ 1 }}")
    html = shown(olga, LIST)
    assert "<script>alert" not in html
    assert "<b>x" not in html
    assert "<i>" not in html
    assert "<img src=x" not in html
    assert f"{escape(HOSTILE)}</bdi>" in html


def test_stored_values_that_no_form_lets_through_break_nothing(olga: Client):
    make_target(graders={"a": 1}, required="x", gate_metric="nothing", gate_threshold=float(7))
    assert "can’t run" in words(shown(olga, LIST))


def test_a_run_of_one_split_is_told_as_such(olga: Client):
    target = make_target([{"input": "one", "split": "dev"}, {"input": "two", "split": "test"}])
    run_target(target, split="dev")
    assert "split dev" in words(shown(olga, LIST))
