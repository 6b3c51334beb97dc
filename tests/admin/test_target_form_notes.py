"""The form of a target in mid-edit, its page for readers, its end, and who may do what."""

import re
import time
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from ai_eval.models import Answer, Run, Target
from ai_eval.runs.launch import launch, prepare
from tests.admin.reading import SignIn
from tests.admin.target_forms import ADD, HOSTILE, change, filled, page
from tests.runs.making import make_dataset, make_target

HTMX = {"HX-Request": "true"}


def advice_url(target: Target | None = None) -> str:
    return reverse("admin:ai_eval_target_advice", args=[target.pk] if target else [])


def delete(target: Target) -> str:
    return reverse("admin:ai_eval_target_delete", args=[target.pk])


def notes(response: Any) -> dict[str, str]:
    """The text that goes to each field."""
    assert response.status_code == 200
    parts = re.findall(
        r'<div id="notes-(\w+)" hx-swap-oob="innerHTML">(.*?)</div>', response.content.decode(), re.S
    )
    return {name: text for name, text in parts if text.strip()}


# In mid-edit


def test_notes_follow_what_is_ticked_and_nothing_is_saved(adam: Client):
    target = make_target(graders=["read_only_run"])
    before = Target.objects.values().get()
    first = notes(adam.post(advice_url(target), filled(target), headers=HTMX))
    assert "observes actions" not in first["graders"]
    second = notes(adam.post(advice_url(target), filled(target, graders=["contains_done"]), headers=HTMX))
    assert "no ticked grader observes actions" in second["graders"]
    assert Target.objects.values().get() == before


def test_notes_follow_the_dataset(adam: Client):
    target = make_target()
    make_dataset("loans", ["one"])
    response = adam.post(advice_url(target), filled(target, dataset="database:loans"), headers=HTMX)
    assert "1 question" in notes(response)["dataset"]
    assert "reference=loans" in response.content.decode()


def test_a_wrong_number_is_told_at_once(adam: Client):
    target = make_target()
    told = notes(adam.post(advice_url(target), filled(target, gate_threshold="7"), headers=HTMX))
    assert "not within 0 to 1" in told["gate_threshold"]


def test_what_is_still_empty_is_no_mistake_yet(adam: Client):
    sent = {"mode": "agent", "gate_type": "none", "required_default": "on", "trials": "1"}
    assert notes(adam.post(advice_url(), sent, headers=HTMX)) == {}


def test_an_id_that_is_taken_by_the_target_itself_is_no_mistake(adam: Client):
    target = make_target()
    assert "slug" not in notes(adam.post(advice_url(target), filled(target), headers=HTMX))


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"mode": "workflow", "dataset": "::", "graders": ["\x00"], "required": ["x"]},
        {"parameters": "[" * 100_000, "mode": "chat"},
        {"trials": "9" * 5000, "gate_threshold": "nan", "time_limit": "1e999"},
        {"dataset": "database:\x00", "slug": HOSTILE, "label": HOSTILE, "model": HOSTILE, "agent": HOSTILE},
    ],
)
def test_garbage_gets_notes_and_no_exception(adam: Client, sent: dict):
    target = make_target()
    for url in (advice_url(), advice_url(target)):
        response = adam.post(url, sent, headers=HTMX)
        assert response.status_code == 200
        assert "<script>" not in response.content.decode()


def test_a_target_that_is_gone_is_told(adam: Client):
    target = make_target()
    url, sent = advice_url(target), filled(target)
    target.delete()
    assert "deleted meanwhile" in notes(adam.post(url, sent, headers=HTMX))["whole"]


def test_a_number_that_no_database_takes_is_no_target(adam: Client):
    url = "/admin/ai_eval/target/99999999999999999999/advice/"
    assert "deleted meanwhile" in notes(adam.post(url, {}, headers=HTMX))["whole"]


def test_notes_are_asked_for_by_post_alone(adam: Client):
    assert adam.get(advice_url()).status_code == 405


def test_a_large_dataset_is_read_after_the_page_is_there_and_once(adam: Client, tmp_path: Path, settings):
    settings.AI_EVAL = {**settings.AI_EVAL, "DATASET_PATH": str(tmp_path)}
    rows = "".join(f"  - id: q{number}\n    input: How long may I keep it?\n" for number in range(3000))
    (tmp_path / "large.yaml").write_text(f"questions:\n{rows}")
    target = make_target(dataset_source="file", dataset_reference="large.yaml")
    html = page(adam, change(target))
    assert 'hx-trigger="change delay:300ms, load"' in html
    assert "was not read for this page" in html
    begun = time.perf_counter()
    assert "3000 questions" in notes(adam.post(advice_url(target), filled(target), headers=HTMX))["dataset"]
    reading = time.perf_counter() - begun
    begun = time.perf_counter()
    assert "3000 questions" in notes(adam.post(advice_url(target), filled(target), headers=HTMX))["dataset"]
    assert time.perf_counter() - begun < reading / 2
    assert 'hx-trigger="change delay:300ms"' in page(adam, change(target))


# For readers


def test_an_operator_reads_the_target_and_can_run_it(signed_in: SignIn):
    target = make_target(
        mode="chat", agent="", model="openai/m", system_prompt="You answer.", graders=["read_only_run"]
    )
    html = page(signed_in("olga"), change(target))
    for text in ("openai/m", "You answer.", "Read-only run (binary, 0-1)", "pass rate from 0.9 on, hard"):
        assert text in html
    assert f"{reverse('admin:ai_eval_launch')}?ids={target.pk}" in html
    assert "<form" not in html.split('id="content"')[1]


def test_an_operator_is_told_what_is_wrong(signed_in: SignIn):
    target = make_target(agent="gone_agent", graders=["gone_grader"], dataset_source="gone_source")
    html = page(signed_in("olga"), change(target))
    for name in ("gone_agent", "gone_grader", "gone_source"):
        assert name in html
    assert html.count("missing") >= 3


def test_a_disabled_target_offers_no_run(signed_in: SignIn):
    html = page(signed_in("olga"), change(make_target(enabled=False)))
    assert reverse("admin:ai_eval_launch") not in html


# Who may do what


@pytest.mark.parametrize(
    ("name", "reads", "edits"),
    [
        ("olga", True, False),
        ("adam", True, True),
        ("anna", False, False),
        ("vera", False, False),
        ("nina", False, False),
        ("root", True, True),
    ],
)
def test_operators_read_and_administrators_edit(signed_in: SignIn, name: str, reads: bool, edits: bool):
    target, client = make_target(), signed_in(name)
    history = reverse("admin:ai_eval_target_history", args=[target.pk])
    for url in (change(target), history):
        assert client.get(url).status_code == (200 if reads else 403)
    for url in (reverse(ADD), delete(target)):
        assert client.get(url).status_code == (200 if edits else 403)
    assert client.post(change(target), filled(target, label="New")).status_code == (302 if edits else 403)
    assert client.post(advice_url(target), filled(target)).status_code == (200 if edits else 403)
    assert client.post(advice_url(), {}).status_code == (200 if edits else 403)
    assert client.post(delete(target), {"post": "yes"}).status_code == (302 if edits else 403)
    assert Target.objects.exists() is not edits


@pytest.mark.django_db
def test_a_visitor_is_sent_to_the_login(client: Client):
    target = make_target()
    for url in (change(target), reverse(ADD), delete(target)):
        assert client.get(url).status_code == 302
    assert client.post(advice_url(target), {}).status_code == 302
    assert "HX-Redirect" in client.post(advice_url(target), {}, headers=HTMX).headers
    assert Target.objects.exists()


def test_the_history_tells_who_changed_what(adam: Client):
    target = make_target()
    adam.post(change(target), filled(target, label="New", graders=["read_only_run"]))
    html = page(adam, reverse("admin:ai_eval_target_history", args=[target.pk]))
    assert "Changed Label and Graders." in html


# Its end


@pytest.mark.parametrize("state", Run.ACTIVE)
def test_a_target_with_an_active_run_is_not_deleted(adam: Client, state: str):
    target = make_target()
    run = launch(prepare(target))
    Run.objects.filter(pk=run.pk).update(state=state)
    sentence = f"Run {run.pk} of target is {state}: cancel it first."
    assert sentence in page(adam, delete(target))
    assert sentence in adam.post(delete(target), {"post": "yes"}).content.decode()
    assert Target.objects.exists()


def test_runs_of_a_deleted_target_stay_and_the_page_says_so(adam: Client):
    target = make_target()
    run = launch(prepare(target))
    Run.objects.filter(pk=run.pk).update(state=Run.State.COMPLETE)
    assert re.search(r"Its 1 run\s+stays", page(adam, delete(target)))
    assert adam.post(delete(target), {"post": "yes"}).status_code == 302
    run.refresh_from_db()
    assert (run.target, run.target_slug, run.answers.count()) == (None, "target", 3)


def test_no_run_and_no_answer_is_loaded_for_a_deletion(adam: Client, django_assert_num_queries):
    def made(slug: str, runs: int) -> Target:
        target = make_target(slug=slug)
        rows = [
            Run(target=target, target_slug=slug, target_label=slug, state=Run.State.COMPLETE)
            for _ in range(runs)
        ]
        for run in Run.objects.bulk_create(rows):
            Answer.objects.create(run=run, question_id="q", trial=1, position=1, question={})
        return target

    few, many = made("few", 3), made("many", 30)
    page(adam, delete(few))
    with django_assert_num_queries(10):
        page(adam, delete(few))
    with django_assert_num_queries(10):
        page(adam, delete(many))
    with django_assert_num_queries(20) as queries:
        adam.post(delete(few), {"post": "yes"})
    with django_assert_num_queries(20):
        adam.post(delete(many), {"post": "yes"})
    assert not any("ai_eval_answer" in each["sql"] for each in queries.captured_queries)
    assert Run.objects.filter(target=None).count() == 33
