"""The list of runs, and deleting them."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from ai_eval.models import Answer, Run
from ai_eval.runs.launch import launch, prepare
from tests.admin.test_run_page import shown, words
from tests.runs.making import make_target, run_target

SignIn = Callable[[str], Client]
LIST = "/admin/ai_eval/run/"


@pytest.fixture
def operator(signed_in: SignIn) -> Client:
    return signed_in("olga")


@pytest.fixture
def administrator(signed_in: SignIn) -> Client:
    return signed_in("adam")


def test_a_row_tells_verdict_figures_with_denominators_and_what_was_scored(operator: Client):
    run = run_target(make_target(["one", "blank"]))
    text = words(shown(operator, LIST))
    assert f"Run {run.pk} target failed 0.5 (0.0945 to 0.905), n 2" in text
    assert "2 of 2" in text


def test_a_run_without_a_verdict_shows_its_state_and_no_figure(operator: Client):
    launch(prepare(make_target()))
    text = words(shown(operator, LIST))
    assert "pending – – 3 planned" in text


def test_a_site_without_runs_says_so(operator: Client):
    assert "0 runs" in words(shown(operator, LIST))


def test_the_list_takes_as_many_queries_for_many_runs_as_for_few(operator: Client):
    target = make_target(["one"])
    run_target(target)
    shown(operator, LIST)
    with CaptureQueriesContext(connection) as few:
        shown(operator, LIST)
    for _ in range(7):
        run_target(target)
    with CaptureQueriesContext(connection) as many:
        shown(operator, LIST)
    assert len(many) == len(few)
    assert len(few) <= 9


def test_an_administrator_deletes_a_run_and_is_told_what_goes_with_it(administrator: Client):
    run = run_target(make_target(["one", "two"]))
    url = reverse("admin:ai_eval_run_delete", args=[run.pk])
    assert f"Run {run.pk} of target, with its 2 answers and all their grades" in words(
        shown(administrator, url)
    )
    assert administrator.post(url, {"post": "yes"}).status_code == 302
    assert not Run.objects.exists()
    assert not Answer.objects.exists()


def test_an_active_run_is_not_deleted_but_told(administrator: Client):
    run = launch(prepare(make_target()))
    url = reverse("admin:ai_eval_run_delete", args=[run.pk])
    assert f"Run {run.pk} of target is pending: cancel it first" in words(shown(administrator, url))
    administrator.post(url, {"post": "yes"})
    assert Run.objects.filter(pk=run.pk).exists()


def test_several_runs_are_deleted_from_the_list(administrator: Client):
    target = make_target(["one"])
    gone = [run_target(target).pk for _ in range(3)]
    kept = run_target(target)
    data = {"action": "delete_selected", "_selected_action": gone, "post": "yes"}
    administrator.post(LIST, data)
    assert list(Run.objects.all()) == [kept]


def test_an_operator_can_not_delete(operator: Client):
    run = run_target(make_target(["one"]))
    url = reverse("admin:ai_eval_run_delete", args=[run.pk])
    assert operator.post(url, {"post": "yes"}).status_code == 403
    assert url not in shown(operator, reverse("admin:ai_eval_run_change", args=[run.pk]))
    operator.post(LIST, {"action": "delete_selected", "_selected_action": [run.pk], "post": "yes"})
    assert Run.objects.filter(pk=run.pk).exists()


def test_nobody_adds_a_run_by_hand(signed_in: SignIn):
    assert signed_in("root").get("/admin/ai_eval/run/add/").status_code == 403


@pytest.mark.parametrize(
    "query", ["?q=%00", "?state__exact=lost", "?p=abc", "?p=-1", "?o=99", "?target__id__exact=x"]
)
def test_garbage_in_the_address_of_the_list_breaks_nothing(operator: Client, query: str):
    run_target(make_target(["one"]))
    assert operator.get(LIST + query, follow=True).status_code in (200, 400)
