"""The confirmation page before a launch, and that one decision makes one run."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.messages import get_messages
from django.db import connections
from django.test import Client
from django.urls import reverse

from ai_eval.admin.launching import MOST_TARGETS
from ai_eval.models import Run, Target
from ai_eval.runs.control import cancel
from ai_eval.runs.launch import launch, prepare
from tests.admin.reading import SignIn
from tests.llm_server import LLMServer
from tests.runs.making import make_target, run_target
from tests.runs.processes import LEASE_SECONDS, database_url, state_of, wait_until

pytestmark = pytest.mark.django_db

HOSTILE = "<script>alert(1)</script> {{ 7*7 }} %s \u202e"


def page_of(*targets: Target, **more: str) -> str:
    query = "&".join(f"{name}={value}" for name, value in more.items())
    ids = ",".join(str(target.pk) for target in targets)
    return f"{reverse('admin:ai_eval_launch')}?ids={ids}&{query}"


def form_of(response, *, ticked: list[Target] | None = None) -> dict:
    """What the page's own form would send."""
    offers = response.context["offers"]
    can_run = [offer for offer in offers if offer.can_run]
    run = can_run if ticked is None else [offer for offer in can_run if offer.target in ticked]
    choice = response.context["choice"]
    form = {
        "ids": response.context["ids"],
        "split": choice.split,
        "trials": "" if choice.trials is None else str(choice.trials),
        "run": [str(offer.target.pk) for offer in run],
        **{f"seen_{offer.target.pk}": str(offer.last_seen) for offer in can_run},
    }
    html = response.content.decode()
    for name, value in form.items():
        for each in value if isinstance(value, list) else [value]:
            assert f'name="{name}"' in html
            assert f'value="{each}"' in html
    return form


def told(response) -> str:
    return "\n".join(str(message) for message in get_messages(response.wsgi_request))


def send(client: Client, form: dict):
    return client.post(reverse("admin:ai_eval_launch"), form)


def test_the_action_of_the_list_leads_to_the_confirmation_of_the_chosen_targets(signed_in: SignIn):
    first, second, _third = make_target(slug="a"), make_target(slug="b"), make_target(slug="c")
    chosen = {"action": "run_selected", "_selected_action": [first.pk, second.pk]}
    response = signed_in("olga").post(reverse("admin:ai_eval_target_changelist"), chosen, follow=True)
    assert [offer.target for offer in response.context["offers"]] == [first, second]
    assert not Run.objects.exists()


def test_the_page_tells_what_will_be_asked_before_anything_is(
    signed_in: SignIn, llm_server: LLMServer, settings
):
    settings.AI_EVAL = {
        **settings.AI_EVAL,
        "JUDGE_MODEL": "openai/judge",
        "JUDGE_API_BASE": llm_server.url,
    }
    target = make_target(mode="chat", agent="", model="openai/m", graders=["relevance_grader"])
    html = signed_in("olga").get(page_of(target, trials="2")).content.decode()
    assert "3 questions × 2 trials" in html
    assert "6 of the target, at most 6 of judges" in html
    assert "unknown: the price list does not name this model" in html
    assert "unknown: what 127.0.0.1 charges is not known here" in html
    assert "unvalidated judge" in html
    assert not llm_server.requests


def test_a_launch_makes_one_run_and_leads_to_its_progress(
    signed_in: SignIn, django_capture_on_commit_callbacks
):
    client, target = signed_in("olga"), make_target()
    form = form_of(client.get(page_of(target, trials="2")))
    with django_capture_on_commit_callbacks() as wakings:
        response = send(client, form)
    run = Run.objects.get()
    assert response.url == reverse("admin:ai_eval_progress", args=[run.pk])
    assert (run.state, run.planned, run.snapshot["target"]["trials"]) == ("pending", 6, 2)
    assert len(wakings) == 1
    entry = LogEntry.objects.get()
    assert (entry.user.username, entry.object_id, entry.change_message) == ("olga", str(run.pk), "Launched.")


def test_several_launches_lead_to_the_list_of_runs(signed_in: SignIn):
    client = signed_in("olga")
    targets = [make_target(slug="a"), make_target(slug="b"), make_target(slug="c")]
    page = client.get(page_of(*targets))
    response = send(client, form_of(page, ticked=targets[:2]))
    assert response.url == reverse("admin:ai_eval_run_changelist")
    assert set(Run.objects.values_list("target_slug", flat=True)) == {"a", "b"}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"graders": ["gone_grader"]}, "gone_grader"),
        ({"dataset_reference": "vanished"}, "vanished"),
        ({"dataset_source": "file", "dataset_reference": "vanished.yaml"}, "vanished.yaml"),
        ({"agent": "nobody"}, "nobody"),
        ({"enabled": False}, "it is disabled"),
        ({"graders": ["house_tone"]}, "house_tone has no model"),
    ],
)
def test_a_target_that_can_not_be_run_says_why_while_others_can(fields, said: str, signed_in: SignIn):
    client = signed_in("olga")
    broken, sound = make_target(slug="broken", **fields), make_target(slug="sound")
    response = client.get(page_of(broken, sound))
    offers = {offer.target.slug: offer for offer in response.context["offers"]}
    assert (offers["broken"].can_run, offers["sound"].can_run) == (False, True)
    assert said in "\n".join(offers["broken"].problems)
    form = {**form_of(response), "run": [str(broken.pk), str(sound.pk)]}
    answer = send(client, form)
    assert [run.target for run in Run.objects.all()] == [sound]
    assert said in told(answer)


def test_a_dataset_that_became_invalid_is_told_with_its_place(signed_in: SignIn, settings, tmp_path: Path):
    settings.AI_EVAL = {**settings.AI_EVAL, "DATASET_PATH": str(tmp_path)}
    (tmp_path / "bad.yaml").write_text("questions:\n  - id: a\n  - id: a\n    input: x\n")
    target = make_target(dataset_source="file", dataset_reference="bad.yaml")
    response = signed_in("olga").get(page_of(target))
    assert response.status_code == 200
    assert "bad.yaml" in "\n".join(response.context["offers"][0].problems)


def test_advisories_stand_on_the_page_before_the_launch(signed_in: SignIn):
    target = make_target([{"input": "one", "expeted": "x"}], gate_threshold=None)
    html = signed_in("olga").get(page_of(target)).content.decode()
    assert "expeted" in html
    assert "observes actions" in html
    assert "nothing here can fail" in html


def test_a_split_that_is_none_is_told_and_a_real_one_is_launched(signed_in: SignIn):
    client = signed_in("olga")
    target = make_target([{"input": "one", "split": "train"}, {"input": "two", "split": "test"}])
    assert "train" in client.get(page_of(target, split="tset")).context["offers"][0].problems[0]
    send(client, form_of(client.get(page_of(target, split="test"))))
    assert (Run.objects.get().split, Run.objects.get().planned) == ("test", 1)


@pytest.mark.parametrize("trials", ["0", "101", "9999"])
def test_trials_out_of_bounds_are_told_and_not_launched(trials: str, signed_in: SignIn):
    client, target = signed_in("olga"), make_target()
    assert "within 1 to 100" in client.get(page_of(target, trials=trials)).context["offers"][0].problems[0]
    send(client, {"ids": target.pk, "run": target.pk, "trials": trials, f"seen_{target.pk}": "0"})
    assert not Run.objects.exists()


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize(
    "given",
    [
        {"ids": "1;DROP"},
        {"ids": "99999999999999999999999"},
        {"ids": "999999999999999999"},
        {"ids": "-1"},
        {"ids": "\x00"},
        {"ids": "٣"},
        {"ids": ",,,"},
        {},
        {"ids": "TARGET", "trials": "many"},
        {"ids": "TARGET", "trials": "9" * 5000},
        {"ids": "TARGET", "trials": "-3"},
        {"ids": "TARGET", "split": "\x00"},
        {"ids": "TARGET", "split": "x" * 10_000},
        {"ids": "TARGET", "split": HOSTILE},
        {"ids": "TARGET", "run": "TARGET", "seen_TARGET": "9" * 5000, "trials": "x"},
        {"ids": "TARGET", "run": ["\x00", "x", "99999999999999999999999"]},
    ],
)
def test_garbage_is_told_and_launches_nothing(given: dict, method: str, signed_in: SignIn):
    pk = str(make_target().pk)

    def filled(value):
        return [filled(each) for each in value] if isinstance(value, list) else value.replace("TARGET", pk)

    form = {filled(name): filled(value) for name, value in given.items()}
    response = getattr(signed_in("olga"), method)(reverse("admin:ai_eval_launch"), form, follow=True)
    assert response.status_code == 200
    assert not Run.objects.exists()


def test_a_garbled_token_does_not_keep_a_first_run_from_being_launched_nor_make_a_second(signed_in: SignIn):
    client, target = signed_in("olga"), make_target()
    form = {"ids": target.pk, "run": target.pk, f"seen_{target.pk}": "x" * 50}
    send(client, form)
    assert Run.objects.count() == 1
    cancel(Run.objects.get().pk)
    assert send(client, form).url.startswith(reverse("admin:ai_eval_launch"))
    assert Run.objects.count() == 1


def test_hostile_labels_come_out_as_they_went_in(signed_in: SignIn):
    client = signed_in("olga")
    target, other = make_target(label=HOSTILE), make_target(slug="b", label="x" * 200, graders=["gone"])
    html = client.get(page_of(target, other)).content.decode()
    assert "<script>alert" not in html
    assert "{{ 7*7 }}" in html
    answer = client.post(reverse("admin:ai_eval_launch"), form_of(client.get(page_of(target))), follow=True)
    assert "<script>alert" not in answer.content.decode()


def test_too_many_targets_at_once_are_told_and_cut(signed_in: SignIn):
    targets = [make_target(slug=f"t{n}") for n in range(MOST_TARGETS + 1)]
    client = signed_in("olga")
    response = client.get(page_of(*targets))
    assert len(response.context["offers"]) == MOST_TARGETS
    assert "too many targets" in told(response)
    ids = ",".join(str(target.pk) for target in targets)
    send(client, {"ids": ids, "run": [target.pk for target in targets]})
    assert not Run.objects.exists()


def test_a_deleted_target_is_told_beside_those_that_are_there(signed_in: SignIn):
    client, gone, there = signed_in("olga"), make_target(slug="a"), make_target(slug="b")
    url, pk = page_of(gone, there), gone.pk
    page = client.get(url)
    form = form_of(page)
    gone.delete()
    response = client.get(url)
    assert f"There is no target {pk} any more" in told(response)
    assert [offer.target for offer in response.context["offers"]] == [there]
    send(client, form)
    assert [run.target for run in Run.objects.all()] == [there]


def test_nothing_ticked_launches_nothing_and_says_so(signed_in: SignIn):
    client, first, second = signed_in("olga"), make_target(slug="a"), make_target(slug="b")
    response = send(client, form_of(client.get(page_of(first, second)), ticked=[]))
    assert "no target is ticked" in told(response)
    assert not Run.objects.exists()


def test_a_target_that_is_being_run_is_not_offered(signed_in: SignIn):
    client, target = signed_in("olga"), make_target()
    run = launch(prepare(target))
    response = client.get(page_of(target))
    assert not response.context["can_run"]
    assert reverse("admin:ai_eval_progress", args=[run.pk]) in response.content.decode()


def test_a_run_whose_workers_died_does_not_keep_its_target_from_being_run(signed_in: SignIn):
    client, target = signed_in("olga"), make_target()
    run = launch(prepare(target))
    Run.objects.filter(pk=run.pk).update(woken_at="2000-01-01T00:00:00Z")
    response = client.get(page_of(target))
    assert state_of(run) == "interrupted"
    send(client, form_of(response))
    assert Run.objects.count() == 2


def test_pressing_run_twice_leads_both_times_to_the_one_run(signed_in: SignIn):
    client, target = signed_in("olga"), make_target()
    form = form_of(client.get(page_of(target)))
    first, second = send(client, form), send(client, form)
    assert first.url == second.url == reverse("admin:ai_eval_progress", args=[Run.objects.get().pk])
    assert "is being run already" in told(second)


def test_a_run_that_came_and_went_since_the_page_was_opened_makes_it_ask_again(signed_in: SignIn):
    client, target = signed_in("olga"), make_target()
    form = form_of(client.get(page_of(target, trials="2")))
    Run.objects.filter(pk=launch(prepare(target)).pk).update(state="complete")
    response = send(client, form)
    assert Run.objects.count() == 1
    assert "since you opened this page" in told(response)
    assert response.url == f"{reverse('admin:ai_eval_launch')}?ids={target.pk}&trials=2"
    send(client, form_of(client.get(response.url)))
    assert Run.objects.count() == 2


@pytest.mark.parametrize(
    ("name", "status"), [("olga", 200), ("adam", 200), ("anna", 403), ("vera", 403), ("nina", 403)]
)
def test_only_who_may_run_sees_the_page(name: str, status: int, signed_in: SignIn):
    client, target = signed_in(name), make_target()
    assert client.get(page_of(target)).status_code == status
    form = {"ids": target.pk, "run": target.pk, f"seen_{target.pk}": "0"}
    assert send(client, form).status_code == (302 if status == 200 else 403)
    assert Run.objects.exists() == (status == 200)


def test_somebody_who_is_not_signed_in_is_asked_to(client: Client):
    target = make_target()
    assert client.get(page_of(target)).url.startswith(reverse("admin:login"))
    assert send(client, {"ids": target.pk, "run": target.pk}).url.startswith(reverse("admin:login"))
    assert not Run.objects.exists()


def test_the_page_takes_the_same_queries_for_few_and_many_questions(
    signed_in: SignIn, django_assert_max_num_queries
):
    client = signed_in("olga")
    counted = []
    for number in (3, 30):
        target = make_target([f"question {n}" for n in range(number)], slug=f"t{number}")
        run_target(target)
        with django_assert_max_num_queries(40) as queries:
            client.get(page_of(target))
        counted.append(len(queries))
    assert counted[0] == counted[1]


@pytest.fixture
def _workers(monkeypatch: pytest.MonkeyPatch, transactional_db) -> None:
    """Workers that the pages start share the test's database."""
    monkeypatch.setenv("DATABASE_URL", database_url())
    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", "tests.settings")
    monkeypatch.setenv("AI_EVAL_LEASE_SECONDS", LEASE_SECONDS)


def at_once(*calls: Callable[[], object]) -> list:
    """The results of calls that begin at the same moment, each in a thread of its own."""
    barrier = Barrier(len(calls))

    def begin(call):
        try:
            barrier.wait()
            return call()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result() for future in [pool.submit(begin, call) for call in calls]]


@pytest.mark.django_db(transaction=True)
@pytest.mark.processes
@pytest.mark.usefixtures("_workers")
def test_two_users_who_press_run_at_once_make_one_run(signed_in: SignIn):
    # Superusers: a test that commits leaves no groups behind.
    rita = Client()
    rita.force_login(User.objects.create_superuser("rita"))
    target, clients = make_target(), [signed_in("root"), rita]
    forms = [form_of(client.get(page_of(target))) for client in clients]
    responses = at_once(*(lambda c=c, f=f: send(c, f) for c, f in zip(clients, forms, strict=True)))
    run = Run.objects.get()
    wait_until(lambda: state_of(run) == "complete", "the workers that the page started")
    assert {response.url for response in responses} <= {
        reverse("admin:ai_eval_progress", args=[run.pk]),
        f"{reverse('admin:ai_eval_launch')}?ids={target.pk}",
    }
    assert run.answers.exclude(outcome="").count() == 3


@pytest.mark.django_db(transaction=True)
def test_a_second_press_makes_no_second_run_even_when_the_first_run_is_over(signed_in: SignIn):
    """The constraint alone, which lets one run be active, would let it through."""
    target, client = make_target(), signed_in("root")
    form = form_of(client.get(page_of(target)))
    assert run_target(target).state == "complete"
    send(client, form)
    assert Run.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_site_that_can_start_no_process_says_so(signed_in: SignIn, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    client, target = signed_in("root"), make_target()
    response = client.post(reverse("admin:ai_eval_launch"), form_of(client.get(page_of(target))), follow=True)
    assert "no worker process could be started" in response.content.decode()
    assert Run.objects.get().state == "pending"
