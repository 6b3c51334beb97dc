"""The list of runs, and deleting them."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from ai_eval.models import Answer, Run
from ai_eval.runs.launch import launch, prepare
from tests.admin.reading import SignIn, shown, words
from tests.runs.making import make_target, run_target

LIST = "/admin/ai_eval/run/"


def test_a_row_tells_verdict_figures_with_denominators_and_what_was_scored(olga: Client):
    run = run_target(make_target(["one", "blank"]))
    text = words(shown(olga, LIST))
    assert f"Run {run.pk} target failed 0.5 (0.0945 to 0.905), n 2" in text
    assert "2 of 2" in text


def test_a_run_without_a_verdict_shows_its_state_and_no_figure(olga: Client):
    launch(prepare(make_target()))
    text = words(shown(olga, LIST))
    assert "pending – – 3 planned" in text


def test_a_site_without_runs_says_so(olga: Client):
    assert "0 runs" in words(shown(olga, LIST))


def test_the_list_takes_as_many_queries_for_many_runs_as_for_few(olga: Client):
    target = make_target(["one"])
    run_target(target)
    shown(olga, LIST)
    with CaptureQueriesContext(connection) as few:
        shown(olga, LIST)
    for _ in range(7):
        run_target(target)
    with CaptureQueriesContext(connection) as many:
        shown(olga, LIST)
    assert len(many) == len(few)
    assert len(few) <= 9


def test_an_administrator_deletes_a_run_and_is_told_what_goes_with_it(adam: Client):
    run = run_target(make_target(["one", "two"]))
    url = reverse("admin:ai_eval_run_delete", args=[run.pk])
    assert f"Run {run.pk} of target, with its 2 answers and all their grades" in words(shown(adam, url))
    assert adam.post(url, {"post": "yes"}).status_code == 302
    assert not Run.objects.exists()
    assert not Answer.objects.exists()


def test_an_active_run_is_not_deleted_but_told(adam: Client):
    run = launch(prepare(make_target()))
    url = reverse("admin:ai_eval_run_delete", args=[run.pk])
    assert f"Run {run.pk} of target is pending: cancel it first" in words(shown(adam, url))
    adam.post(url, {"post": "yes"})
    assert Run.objects.filter(pk=run.pk).exists()


def test_several_runs_are_deleted_from_the_list(adam: Client):
    target = make_target(["one"])
    gone = [run_target(target).pk for _ in range(3)]
    kept = run_target(target)
    data = {"action": "delete_selected", "_selected_action": gone, "post": "yes"}
    adam.post(LIST, data)
    assert list(Run.objects.all()) == [kept]


def test_an_operator_can_not_delete(olga: Client):
    run = run_target(make_target(["one"]))
    url = reverse("admin:ai_eval_run_delete", args=[run.pk])
    assert olga.post(url, {"post": "yes"}).status_code == 403
    assert url not in shown(olga, reverse("admin:ai_eval_run_change", args=[run.pk]))
    olga.post(LIST, {"action": "delete_selected", "_selected_action": [run.pk], "post": "yes"})
    assert Run.objects.filter(pk=run.pk).exists()


def test_nobody_adds_a_run_by_hand(signed_in: SignIn):
    assert signed_in("root").get("/admin/ai_eval/run/add/").status_code == 403


@pytest.mark.parametrize(
    "query", ["?q=%00", "?state__exact=lost", "?p=abc", "?p=-1", "?o=99", "?target__id__exact=x"]
)
def test_garbage_in_the_address_of_the_list_breaks_nothing(olga: Client, query: str):
    run_target(make_target(["one"]))
    assert olga.get(LIST + query, follow=True).status_code in (200, 400)
