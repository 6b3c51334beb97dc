"""The page of a run: its verdict with denominators and reasons, its graders, its filtered answers."""

import json
from html import unescape

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from ai_eval.models import Grade, Run
from ai_eval.runs.control import cancel
from ai_eval.runs.document import run_summary
from ai_eval.runs.launch import launch, prepare
from tests.admin.reading import HOSTILE, SignIn, shown, words
from tests.runs.making import make_target, run_target


def page_of(run: Run) -> str:
    return reverse("admin:ai_eval_run_change", args=[run.pk])


def test_the_verdict_stands_with_its_value_its_threshold_and_its_denominators(olga: Client):
    run = run_target(make_target(["one", "two", "blank"]))
    text = words(shown(olga, page_of(run)))
    assert "failed: pass_rate 0.6667 is below 0.9 (hard gate)" in text
    assert "0.667 (0.208 to 0.939), n 3" in text
    assert "3 of 3 scored, 2 passed, 1 empty" in text


def test_an_undecided_run_tells_why_and_what_low_and_high_are(olga: Client):
    run = run_target(make_target(["one", "two"], graders=["contains_done", "raises_grader"]))
    text = words(shown(olga, page_of(run)))
    assert run.verdict == "undecided"
    assert "undecided: pass_rate 0 against 0.9 (hard gate): 2 of 2 answers have something missing" in text
    assert "2 of 2 answers have something missing, more than the allowed share of 0.1" in text
    assert "If all that is missing had failed, or passed 0 to 1" in text


def test_the_same_figures_stand_on_the_page_and_in_the_document(olga: Client):
    run = run_target(make_target(["one", "blank"], gate_threshold=None))
    summary = run_summary(run)
    text = words(shown(olga, page_of(run)))
    assert f"{summary['avg_score']:.3g} (" in text
    for advisory in summary["advisories"]:
        assert advisory in text


def test_each_grader_shows_how_often_it_scored_and_its_mean(olga: Client):
    graders = ["contains_done", "skips_grader", "raises_grader"]
    run = run_target(make_target(["one", "blank"], graders=graders, required=["contains_done"]))
    text = words(shown(olga, page_of(run)))
    assert (
        "Says done contains_done required deterministic 1 of 2 see the 1 that did not 2.50 2 of 2 0 0 0"
        in text
    )
    assert "Skips skips_grader deterministic 0 of 0 undefined 0 of 2 2 0 0" in text
    assert "Raises raises_grader deterministic 0 of 0 undefined 0 of 2 0 2 0" in text


def test_a_run_at_work_has_no_verdict_and_a_link_to_its_progress(olga: Client):
    run = launch(prepare(make_target()))
    html = shown(olga, page_of(run))
    assert "3 of 3 answers are to come, and there is no verdict yet" in words(html)
    assert reverse("admin:ai_eval_progress", args=[run.pk]) in html


def test_a_cancelled_run_tells_what_is_missing_and_can_be_resumed(olga: Client):
    run = launch(prepare(make_target()))
    cancel(run.pk)
    html = shown(olga, page_of(run))
    assert "3 of 3 answers are missing" in words(html)
    assert f'action="{reverse("admin:ai_eval_resume", args=[run.pk])}"' in html


def test_a_run_that_ended_in_error_says_what_happened(olga: Client):
    run = launch(prepare(make_target()))
    Run.objects.filter(pk=run.pk).update(state="error", error=f"the agent is gone {HOSTILE}")
    html = shown(olga, page_of(run))
    assert f"the agent is gone {HOSTILE}" in unescape(html)
    assert "<script>alert" not in html


def test_the_run_of_a_deleted_target_stays_readable(olga: Client):
    run = run_target(make_target(["one"]))
    assert run.target is not None
    run.target.delete()
    assert "target (deleted meanwhile)" in words(shown(olga, page_of(run)))


def test_a_filter_shows_its_answers_and_says_how_many_of_all(olga: Client):
    run = run_target(make_target(["one", "blank", "raise"]))
    text = words(shown(olga, page_of(run) + "?status=errored"))
    assert "1 of 3 answers, in the order of the dataset" in text
    assert "RuntimeError: no luck with {this} %s" in text
    assert "q1" not in text


def test_a_filter_that_does_not_exist_is_told_and_shows_all(olga: Client):
    run = run_target(make_target(["one", "two"]))
    text = words(shown(olga, page_of(run) + "?status=lost&after=abc"))
    assert 'there is no filter "lost", only failed' in text
    assert 'after is "abc", not the position of an answer' in text
    assert "2 of 2 answers" in text


@pytest.mark.parametrize(
    "query",
    ["?grade=%00", "?tag=%00", "?after=-5", "?before=9e9", pytest.param("?status=" + "x" * 9000, id="long")],
)
def test_garbage_in_the_address_breaks_nothing(olga: Client, query: str):
    run = run_target(make_target(["one"]))
    assert "1 of 1 answers" in words(shown(olga, page_of(run) + query))


@pytest.mark.parametrize("key", ["99999999999999999999", "0", "-1", "x", "%00"])
def test_a_run_that_is_not_there_leads_back_with_a_word(olga: Client, key: str):
    response = olga.get(f"/admin/ai_eval/run/{key}/change/", follow=True)
    assert response.status_code == 200
    assert "doesn’t exist. Perhaps it was deleted?" in response.content.decode()


def test_a_page_of_many_answers_takes_as_many_queries_as_one_of_few(olga: Client):
    few = run_target(make_target(["blank", "two"], slug="few", graders=["contains_done", "raises_grader"]))
    questions = [{"input": "blank", "tags": [f"tag {n}"]} for n in range(120)]
    many = run_target(make_target(questions, slug="many", graders=["contains_done", "raises_grader"]))
    counted = {}
    for run, query in ((few, ""), (many, ""), (many, "?after=60"), (many, "?status=failed&tag=tag+7")):
        shown(olga, page_of(run))
        with CaptureQueriesContext(connection) as queries:
            shown(olga, page_of(run) + query)
        counted[run.target_slug + query] = len(queries)
    assert set(counted.values()) == {counted["few"]}, counted
    assert counted["few"] <= 14


def test_the_filter_is_kept_from_page_to_page(olga: Client):
    run = run_target(make_target([{"input": "blank", "tags": ["a&b <i>"]} for _ in range(60)]))
    html = shown(olga, page_of(run) + "?status=failed&tag=a%26b+%3Ci%3E")
    assert "?status=failed&amp;tag=a%26b+%3Ci%3E&amp;after=50#answers" in html


def test_the_snapshot_tells_what_produced_the_run(olga: Client):
    run = run_target(make_target(["one"], parameters={}, time_limit=7.5))
    text = words(shown(olga, reverse("admin:ai_eval_run_snapshot", args=[run.pk])))
    assert "Agent scripted" in text
    assert "Time limit of an answer 7.5 seconds" in text
    assert "database:target_questions" in text
    assert run.snapshot["dataset"]["hash"] in text


def test_the_download_is_the_document_of_the_command(olga: Client):
    run = run_target(make_target(["one", "odd"]))
    response = olga.get(reverse("admin:ai_eval_run_json", args=[run.pk]))
    document = json.loads(response.getvalue())
    assert document["runs"][0]["id"] == run.pk
    assert [each["question_id"] for each in document["runs"][0]["answers"]] == ["q1", "q2"]
    assert response.headers["Content-Disposition"] == f'attachment; filename="run-{run.pk}.json"'


def test_hostile_text_of_questions_and_reasons_comes_out_as_it_went_in(olga: Client):
    run = run_target(make_target([{"id": "q<b>", "input": HOSTILE, "tags": [HOSTILE]}]))
    Grade.objects.filter(answer__run=run).update(reason=HOSTILE, composite=0.0)
    run.answers.update(passed=False)
    html = shown(olga, page_of(run))
    assert "<script>alert" not in html
    assert "<img src=x" not in html
    assert "q<b>" not in html
    assert unescape(html).count(HOSTILE) >= 3


@pytest.mark.parametrize(
    ("name", "status"),
    [("olga", 200), ("adam", 200), ("anna", 403), ("vera", 403), ("nina", 403), ("root", 200)],
)
def test_who_may_read_a_run(signed_in: SignIn, name: str, status: int):
    run = run_target(make_target(["one"]))
    client = signed_in(name)
    answer = run.answers.get()
    for url in (
        page_of(run),
        reverse("admin:ai_eval_run_changelist"),
        reverse("admin:ai_eval_run_snapshot", args=[run.pk]),
        reverse("admin:ai_eval_run_json", args=[run.pk]),
        reverse("admin:ai_eval_answer", args=[answer.pk]),
        reverse("admin:ai_eval_answer_text", args=[answer.pk, "response"]),
        reverse("admin:ai_eval_grade", args=[answer.grades.get().pk]),
        reverse("admin:ai_eval_grade_text", args=[answer.grades.get().pk, "reason"]),
    ):
        assert client.get(url).status_code == status, url


def test_whoever_is_not_signed_in_is_asked_to(client: Client, db: None):
    run = run_target(make_target(["one"]))
    response = client.get(page_of(run))
    assert response.status_code == 302
    assert response.headers["Location"].startswith("/admin/login/")


def test_a_stored_result_can_not_be_posted_to(olga: Client):
    run = run_target(make_target(["one"]))
    assert olga.post(page_of(run), {"verdict": "passed"}).status_code == 405
