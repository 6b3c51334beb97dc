"""The progress page and its parts, and the four ways in which a run goes on; no browser."""

import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from ai_eval.admin.progress import about
from ai_eval.models import Grade, Run, WorkItem
from ai_eval.runs.control import cancel, delete
from ai_eval.runs.finish import start_if_pending
from ai_eval.runs.launch import launch, prepare
from ai_eval.runs.worker import Worker
from tests.admin.reading import HOSTILE, SignIn, shown, words
from tests.llm_server import LLMServer
from tests.runs.making import make_target, run_target

ACTIONS = ("cancel", "resume", "regrade", "retry_missing")
HTMX = {"HX-Request": "true"}


def route(name: str, run: Run) -> str:
    return reverse(f"admin:ai_eval_{name}", args=[run.pk])


def polled(client: Client, run: Run) -> str:
    return client.get(route("progress", run), headers=HTMX).content.decode()


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Runs for which workers were called; none is started."""
    runs: list[int] = []
    monkeypatch.setattr("ai_eval.admin.progress.wake_on_commit", lambda request, run: runs.append(run.pk))
    return runs


def pending(questions: int = 6, slug: str = "target", **fields: Any) -> Run:
    asked = [f"question {n}" for n in range(questions)]
    return launch(prepare(make_target(asked, slug=slug, **fields)))


def at_work(ended: int = 2, questions: int = 6, slug: str = "target", **fields: Any) -> Run:
    """A run of which some answers have ended, and somebody is at the others."""
    run = pending(questions, slug, **fields)
    start_if_pending(run.pk)
    items = list(WorkItem.objects.filter(run=run).order_by("answer__position"))
    later = WorkItem.objects.filter(pk__in=[item.pk for item in items[ended:]])
    later.update(state="claimed", lease_until=timezone.now() + timedelta(days=1))
    worker = Worker(run.pk)
    ended_all = run.work_items.filter(state="done")
    if ended:
        worker.run(lambda: worker.stop() if ended_all.count() == ended else None)
    run.refresh_from_db()
    return run


def cancelled() -> Run:
    """A run that was cancelled, and that nobody holds any more."""
    run = at_work()
    cancel(run.pk)
    run.work_items.filter(state="claimed").update(state="waiting", lease_until=None, token=None)
    return run


def abandoned() -> Run:
    """A run whose workers were called long ago, and are not there."""
    run = at_work()
    long_ago = timezone.now() - timedelta(days=1)
    run.work_items.filter(state="claimed").update(lease_until=long_ago)
    Run.objects.filter(pk=run.pk).update(woken_at=long_ago)
    return run


def test_a_run_at_work_tells_its_counts_and_goes_on_asking(olga: Client):
    html = shown(olga, route("progress", at_work()))
    text = words(html)
    assert "2 of 6 answers (33 %)" in text
    assert "passed 2 of 2" in text
    assert "workers hold 4 answers" in text
    assert 'hx-trigger="every 2s"' in html
    assert "Cancel the run" in text


def test_what_nobody_knows_yet_is_told_as_unknown_and_not_as_zero(olga: Client):
    text = words(shown(olga, route("progress", pending())))
    assert "No answer has ended yet." in text
    assert "Cost so far none known nobody was asked yet" in text
    assert "Speed" not in text
    assert "no worker has taken it yet" in text


def test_a_run_of_which_nothing_ended_has_no_speed_and_no_time_left(olga: Client):
    text = words(shown(olga, route("progress", at_work(0))))
    assert "0 of 6 answers (0 %)" in text
    assert "Speed unknown no answer ended in the last" in text
    assert "Time left unknown too few answers ended to tell" in text


def test_from_a_few_answers_on_speed_and_time_left_are_told(olga: Client):
    run = at_work(3)
    a_minute_ago = timezone.now() - timedelta(seconds=60)
    Run.objects.filter(pk=run.pk).update(started_at=a_minute_ago, woken_at=None)
    text = words(shown(olga, route("progress", run)))
    assert re.search(r"Speed [23](\.\d)? answers a minute 3 in the last \d\d s", text), text
    assert re.search(r"Time left about \d\d s an estimate: 3 answers at that speed", text), text


@pytest.mark.parametrize(
    ("seconds", "told"), [(0.0, "1.0 s"), (0.03, "1.0 s"), (40.2, "40 s"), (600, "10 min")]
)
def test_a_time_on_a_page_that_is_asked_for_now_and_then_is_no_less_than_a_second(seconds: float, told: str):
    assert about(seconds) == told


def test_a_model_without_a_price_has_cost_an_unknown_amount(olga: Client, llm_server: LLMServer):
    run = at_work(2, mode="chat", agent="", model="openai/desk", api_base=llm_server.url)
    text = words(shown(olga, route("progress", run)))
    assert "Cost so far of the target unknown price known for 0 of 2 answers" in text
    assert "40 prompt and 18 completion tokens" in text


def test_a_run_whose_workers_are_gone_is_interrupted_for_whoever_looks(olga: Client):
    run = abandoned()
    text = words(shown(olga, route("progress", run)))
    run.refresh_from_db()
    assert run.state == Run.State.INTERRUPTED
    assert "Its workers ended before the run did. 4 of 6 answers are left" in text
    assert "Resume: 4 of 6 answers left" in text


def test_a_run_that_no_worker_ever_took_is_told_apart_from_one_that_was_left(olga: Client):
    run = pending()
    Run.objects.filter(pk=run.pk).update(woken_at=timezone.now() - timedelta(days=1))
    text = words(shown(olga, route("progress", run)))
    assert "No worker ever took this run. 6 of 6 answers are left" in text
    assert "Resume: 6 of 6 answers left" in text


def test_a_cancelled_run_tells_what_is_kept_and_can_be_resumed_only(olga: Client):
    html = shown(olga, route("progress", cancelled()))
    text = words(html)
    assert "The run was cancelled with 4 of 6 answers left; what was answered is kept" in text
    assert "Resume: 4 of 6 answers left" in text
    assert "This page no longer refreshes itself." in text
    assert "Cancel the run" not in text
    assert "hx-trigger" not in html


def test_a_run_cancelled_a_moment_ago_is_watched_until_its_workers_let_go(olga: Client):
    run = at_work()
    cancel(run.pk)
    html = shown(olga, route("progress", run))
    assert "workers still hold 4 answers, no further call is begun" in words(html)
    assert 'hx-trigger="every 2s"' in html


def test_a_run_that_broke_tells_why_and_offers_nothing_that_would_not_work(olga: Client):
    run = cancelled()
    Run.objects.filter(pk=run.pk).update(state="error", error="the dataset is gone")
    html = shown(olga, route("progress", run))
    assert "the dataset is gone" in words(html)
    assert "All answers so far" in words(html)
    assert "Resume" not in words(html)
    assert "Cancel the run" not in words(html)
    assert "hx-trigger" not in html


def test_a_part_brings_only_what_changed_since_the_last_one(olga: Client):
    run = at_work()
    seen = re.search(r'name="shown" value="([^"]+)"', shown(olga, route("progress", run)))
    assert seen is not None
    url = f"{route('progress', run)}?shown={seen[1]}"
    assert "hx-swap-oob" not in olga.get(url, headers=HTMX).content.decode()
    cancel(run.pk)
    changed = olga.get(url, headers=HTMX).content.decode()
    assert re.findall(r'id="([\w-]+)" hx-swap-oob', changed) == ["ae-said", "ae-actions"]


def test_a_run_that_is_over_is_not_asked_for_again(olga: Client):
    run = run_target(make_target())
    reply = olga.get(route("progress", run), headers=HTMX)
    assert reply.status_code == 286, "htmx stops at this status"
    assert "See the result" in reply.content.decode()
    assert olga.get(route("progress", run))["Location"] == route("run_change", run)


def test_what_is_polled_is_a_part_and_no_page(olga: Client):
    html = polled(olga, at_work())
    assert "<html" not in html
    assert "2 of 6 answers" in words(html)


def test_a_run_that_was_deleted_while_it_was_watched_is_told_to_who_watches(olga: Client):
    run = at_work()
    cancel(run.pk)
    url = route("progress", run)
    delete(run.pk)
    reply = olga.get(url, headers=HTMX)
    assert reply.status_code == 286
    assert "somebody deleted it" in reply.content.decode()
    assert olga.get(url).status_code in (302, 404)


def test_hostile_text_comes_out_as_it_went_in(olga: Client):
    run = run_target(make_target([{"id": "q<b>", "input": HOSTILE}], label=HOSTILE[:150]))
    Run.objects.filter(pk=run.pk).update(state="error", error=HOSTILE)
    Grade.objects.filter(answer__run=run).update(reason=HOSTILE)
    for html in (shown(olga, route("progress", run)), polled(olga, run)):
        assert "<script>alert" not in html
        assert "<img src=x" not in html
        assert "q<b>" not in html
        assert unescape(html).count(HOSTILE) >= 3, "the error, the question and the reason"


@pytest.mark.parametrize("name", ["anna", "vera", "nina"])
def test_who_may_not_see_runs_sees_no_progress_and_moves_none(
    signed_in: SignIn, called: list[int], name: str
):
    run, client = at_work(), signed_in(name)
    assert client.get(route("progress", run)).status_code == 403
    assert [client.post(route(each, run)).status_code for each in ACTIONS] == [403] * 4
    run.refresh_from_db()
    assert (run.state, called, Run.objects.count()) == ("running", [], 1)


@pytest.mark.parametrize("action", ACTIONS)
def test_a_run_is_moved_by_post_only(olga: Client, called: list[int], action: str):
    run = at_work()
    reply = olga.get(route(action, run))
    assert reply["Location"] == route("progress", run)
    assert "Nothing was done" in shown(olga, route("progress", run))
    run.refresh_from_db()
    assert (run.state, called, Run.objects.count()) == ("running", [], 1)


def test_cancel_and_resume_do_what_they_say(olga: Client, called: list[int]):
    run = at_work()
    olga.post(route("cancel", run))
    run.refresh_from_db()
    assert run.state == "cancelled"
    reply = olga.post(route("resume", run))
    run.refresh_from_db()
    assert (run.state, called) == ("running", [run.pk])
    assert reply["Location"] == route("progress", run)


@pytest.mark.parametrize("action", ["cancel", "resume"])
def test_a_complete_run_is_neither_cancelled_nor_resumed_and_that_is_told(
    olga: Client, called: list[int], action: str
):
    run = run_target(make_target())
    reply = olga.post(route(action, run))
    assert reply["Location"] == route("run_change", run)
    run.refresh_from_db()
    assert (run.state, called) == ("complete", [])
    text = words(shown(olga, route("run_change", run)))
    assert {"cancel": "could not be cancelled any more: it is complete", "resume": "Nothing was done"}[
        action
    ] in text


def test_grading_anew_makes_a_run_of_its_own_and_leads_to_it(olga: Client, called: list[int]):
    run = run_target(make_target())
    reply = olga.post(route("regrade", run))
    derived = Run.objects.get(kind="regrade")
    assert (derived.source, called) == (run, [derived.pk])
    assert reply["Location"] == route("progress", derived)


def test_two_presses_of_grade_anew_make_one_run(olga: Client, called: list[int]):
    run = run_target(make_target())
    for _ in range(2):
        olga.post(route("regrade", run), {"seen": str(run.pk)})
    derived = Run.objects.get(kind="regrade")
    assert called == [derived.pk]
    assert f"Nothing was done: run {derived.pk} of it is active" in words(
        shown(olga, route("run_change", run))
    )


def test_retrying_asks_again_where_a_provider_failed(olga: Client, called: list[int]):
    run = run_target(make_target())
    run.answers.filter(question_id="q1").update(ask_failure="provider_error", outcome="provider_error")
    olga.post(route("retry_missing", run))
    derived = Run.objects.get(kind="retry_missing")
    assert (derived.source, called) == (run, [derived.pk])
    text = words(shown(olga, route("progress", derived)))
    assert f"What was taken over from run {run.pk} is counted with the price that it had there." in text


def test_retrying_where_nothing_is_missing_is_told_and_makes_no_run(olga: Client, called: list[int]):
    run = run_target(make_target())
    olga.post(route("retry_missing", run))
    assert (Run.objects.count(), called) == (1, [])
    assert "nothing is missing" in words(shown(olga, route("run_change", run)))


def test_the_page_costs_as_many_queries_for_thirty_answers_as_for_three(olga: Client):
    def queries(run: Run) -> int:
        shown(olga, route("progress", run))
        with CaptureQueriesContext(connection) as found:
            polled(olga, run)
        return len(found)

    assert queries(at_work(30, 40, "many")) == queries(at_work(3, 40, "few"))


@pytest.mark.parametrize("pk", [0, 99999, 2**63 - 1, 2**63])
def test_a_run_that_is_none_is_no_failure(olga: Client, pk: int):
    for name in ("progress", *ACTIONS):
        url = reverse(f"admin:ai_eval_{name}", args=[pk])
        reply = olga.get(url) if name == "progress" else olga.post(url)
        assert reply.status_code in (302, 404)
