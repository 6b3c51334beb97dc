"""A site with everything on it, its texts hostile: what each page of the admin is shown with."""

import csv
import json
from dataclasses import dataclass, field
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

from django.apps import apps
from django.db import connection
from django.utils import timezone

from ai_eval.models import (
    Answer,
    Dataset,
    EvalSettings,
    JudgeSettings,
    Question,
    Run,
    Target,
    WorkItem,
)
from ai_eval.runs.control import cancel
from ai_eval.runs.derive import regrade, retry_missing
from ai_eval.runs.finish import end_in_error, interrupt_if_dead, start_if_pending
from ai_eval.runs.launch import launch, prepare
from ai_eval.runs.worker import Worker
from tests.browser.hostile import LINK, hostile, hostile_id
from tests.cast import make_user
from tests.llm_server import LLMServer, Reply, Seen, failing
from tests.runs.making import make_target, run_target

TAGS = ["tag one", hostile("tag")]
MANY_CALLS = 300
TURNS = 40
FILE = "library.yaml"
REPLIES = "replies.csv"


@dataclass
class Site:
    """Keys of the rows that pages are opened on, by what is special about them."""

    targets: dict[str, int] = field(default_factory=dict)
    runs: dict[str, int] = field(default_factory=dict)
    answers: dict[str, int] = field(default_factory=dict)
    dataset: int = 0
    question: int = 0
    judge: str = "house_tone"


def make_groups() -> None:
    """A test that empties its tables takes with it what a migration has put there."""
    migration = import_module("ai_eval.migrations.0003_groups")
    migration.make_groups(apps, connection.SchemaEditorClass(connection))


def make_cast() -> None:
    make_groups()
    for name in ("olga", "adam", "anna", "vera", "nina", "root"):
        make_user(name)


def make_site(directory: Path) -> Site:
    """Targets of each mode, runs in each state, answers of each outcome. Files go to the directory."""
    site = Site()
    make_cast()
    with LLMServer(reply) as server:
        make_settings(server, directory)
        agents(site)
        chats(site, server)
        recorded(site)
        broken(site)
        unfinished(site)
    JudgeSettings.objects.filter(grader="relevance_grader").update(api_base=LINK)
    made = Dataset.objects.get(slug="agents_questions")
    Dataset.objects.filter(pk=made.pk).update(label=hostile("dataset label"))
    site.dataset = made.pk
    site.question = Question.objects.filter(dataset=made, key=hostile_id("question id")).get().pk
    return site


def make_settings(server: LLMServer, directory: Path) -> None:
    EvalSettings.objects.create(
        dataset_path=str(directory),
        judge_model="openai/judge",
        judge_api_base=server.url,
        rate_limit_max_retries=0,
        rate_limit_base_delay=0.01,
    )
    JudgeSettings.objects.create(
        grader="house_tone",
        model=f"openai/{hostile('judge model')}",
        api_base=server.url,
        prompt=f"{hostile('prompt').replace('$', '$$')}\n$dimension\n$question\n$criteria\n$response",
        parameters={"top_p": 0.5},
    )
    JudgeSettings.objects.create(grader="relevance_grader", model="openai/another", api_base=server.url)
    document = {
        "label": hostile("file label"),
        "questions": [{"id": "q1", "input": hostile("file question"), "tags": TAGS}],
    }
    (directory / FILE).write_text(json.dumps(document))  # JSON is YAML
    (directory / "broken.yaml").write_text("questions: [{id: 1, inptu: x}]\n")


def verdict(score: float, reason: str, around: str = "") -> Reply:
    return Reply(text=f"{around}{json.dumps({'score': score, 'reason': reason})}")


def reply(seen: Seen) -> Reply:
    """As the question asks for, whoever is asked: the model or a judge of its answer."""
    prompt = seen.prompt
    if "response_format" not in seen.body and "score" not in prompt:
        if "fails" in prompt:
            return failing(500, hostile("provider message"))
        return Reply(text="" if "silent" in prompt else f"done {hostile('response')}")
    if "judge errs" in prompt:
        return Reply(text=hostile("unusable reply"))
    if "clamped" in prompt:
        return verdict(9, hostile("clamped reason"))
    if "bad" in prompt:
        return verdict(1, hostile("bad reason"), around=hostile("raw reply"))
    return verdict(5, hostile("good reason"))


def outcome(run: Run, name: str, **chosen: Any) -> tuple[str, int]:
    return name, Answer.objects.filter(run=run, **chosen).order_by("position").first().pk


def agents(site: Site) -> None:
    """An agent with all that can become of an answer, a passing one, and one that acts on a shelf."""
    questions: list[str | dict[str, Any]] = [
        {"id": hostile_id("question id"), "input": hostile("question"), "tags": TAGS},
        {"input": "blank", "criteria": hostile("criteria"), "metadata": {hostile("key"): hostile("value")}},
        *("raise", "raise " + hostile("agent error"), "nothing", "limit", "odd"),
        *("no record", "empty record", "false record"),
        "long " + "x" * 3000,
    ]
    target = make_target(
        questions,
        slug="agents",
        label=hostile("target label"),
        graders=["contains_done", "read_only_run", "skips_grader", "raises_grader", "always_pass"],
        trials=2,
    )
    run = run_target(target)
    site.targets["agent"], site.runs["failed"] = target.pk, run.pk
    site.answers |= dict(
        [
            outcome(run, "hostile", question_id=hostile_id("question id")),
            outcome(run, "empty", outcome="empty"),
            outcome(run, "target error", outcome="target_error", error__contains="agent error"),
            outcome(run, "no record", question_id="q8"),
            outcome(run, "empty record", question_id="q9"),
        ]
    )
    derived = regrade(run.pk)
    Worker(derived.pk).run()
    site.runs["regraded"] = derived.pk
    passing = make_target([f"question {n}" for n in range(30)], slug="passing", gate_threshold=0.5)
    site.runs["passed"] = run_target(passing).pk
    site.runs["passed again"] = run_target(passing).pk
    ungated = make_target(["look_up " + hostile("argument")], slug="ungated", agent="renewer")
    Target.objects.filter(pk=ungated.pk).update(gate_threshold=None)
    ungated.refresh_from_db()
    site.runs["no gate"] = run_target(ungated).pk
    site.answers["one call"] = Answer.objects.get(run=site.runs["no gate"]).pk
    shelf = make_target(
        ["take one", "leave it"],
        slug="shelf",
        agent="borrower",
        environment="shelf",
        graders=["needs_environment_grader"],
    )
    site.runs["environment"] = run_target(shelf).pk
    site.answers["changes"] = outcome(Run.objects.get(pk=site.runs["environment"]), "")[1]


def chats(site: Site, server: LLMServer) -> None:
    """A model whose every answer has a judge, with every way in which either fails."""
    turns = [
        {"role": ("user", "assistant")[n % 2], "content": f"turn {n} {hostile('turn')}"}
        for n in range(TURNS + 1)
    ]
    questions = [
        {"id": "good", "input": hostile("chat question"), "tags": ["chat"]},
        {"id": "bad", "input": "bad"},
        {"id": "silent", "input": "silent"},
        {"id": "fails", "input": "fails"},
        {"id": "judge", "input": "judge errs"},
        {"id": "clamped", "input": "clamped"},
        {"id": "turns", "messages": turns},
    ]
    target = make_target(
        questions,
        slug="chat",
        label="Chat " + hostile("chat label"),
        mode="chat",
        agent="",
        model=f"openai/{hostile('model')}",
        api_base=server.url,
        system_prompt=hostile("system prompt"),
        parameters={"temperature": 0.5},
        graders=["relevance_grader", "house_tone"],
        required=["relevance_grader"],
        gate_threshold=0.5,
    )
    run = run_target(target)
    site.targets["chat"], site.runs["undecided"] = target.pk, run.pk
    for name in ("bad", "fails", "judge", "clamped", "turns"):
        site.answers[name] = Answer.objects.get(run=run, question_id=name).pk
    retried = retry_missing(run.pk)
    Worker(retried.pk).run()
    site.runs["retried"] = retried.pk


def recorded(site: Site) -> None:
    """Replies that came from elsewhere, one of them with many calls."""
    directory = Path(EvalSettings.objects.get().dataset_path or "")
    calls = [
        {"name": f"tool_{n}", "arguments": {"text": hostile("call"), hostile("call key"): n}}
        for n in range(MANY_CALLS)
    ]
    with (directory / REPLIES).open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["question_id", "trial", "response", "tool_calls"])
        writer.writerow(["q1", 1, hostile("recorded response"), json.dumps(calls)])
        writer.writerow(["q2", 1, "done", ""])
        writer.writerow(["q3", 1, "done", "[]"])
    target = make_target(
        slug="recorded",
        mode="recorded",
        agent="",
        replies=REPLIES,
        graders=["contains_done", "read_only_run"],
    )
    run = run_target(target)
    site.targets["recorded"], site.runs["recorded"] = target.pk, run.pk
    site.answers["many calls"] = Answer.objects.get(run=run, question_id="q1").pk


def broken(site: Site) -> None:
    """A target of which everything is gone, one that is disabled, and a run whose target was deleted."""
    gone = make_target(
        slug="gone",
        label="Gone",
        agent=hostile_id("agent"),
        environment=hostile_id("environment"),
        graders=["contains_done", hostile("grader")],
    )
    Target.objects.filter(pk=gone.pk).update(
        dataset_source="file", dataset_reference=f"{hostile('file')}.yaml"
    )
    site.targets["gone"] = gone.pk
    site.targets["disabled"] = make_target(slug="disabled", enabled=False).pk
    deleted = make_target(slug="deleted", label=hostile("deleted label"))
    site.runs["without target"] = run_target(deleted).pk
    deleted.delete()


def unfinished(site: Site) -> None:
    """A run in each state but complete, each with some of its answers."""
    tomorrow = timezone.now() + timedelta(days=1)
    for state in ("pending", "running", "interrupted", "cancelled", "error"):
        target = make_target(
            [f"question {n}" for n in range(10)], slug=state, label=f"{state} {hostile('label')}"
        )
        run = launch(prepare(target))
        site.targets[state], site.runs[state] = target.pk, run.pk
        if state != "pending":
            some_answers(run)
        if state == "cancelled":
            cancel(run.pk)
        elif state == "error":
            end_in_error(run.pk, hostile("run error"))
        elif state == "interrupted":
            Run.objects.filter(pk=run.pk).update(woken_at=timezone.now() - timedelta(days=1))
            assert interrupt_if_dead(run.pk, 1)
        else:  # somebody is at it for as long as a test may take
            Run.objects.filter(pk=run.pk).update(woken_at=tomorrow)


def some_answers(run: Run, ended: int = 4) -> None:
    """The first answers of the run, as a worker that goes on leaves them."""
    start_if_pending(run.pk)
    items = list(WorkItem.objects.filter(run=run).order_by("answer__position"))
    later = [item.pk for item in items[ended:]]
    # Another worker has these, so that this one is done after the first.
    WorkItem.objects.filter(pk__in=later).update(
        state="claimed", lease_until=timezone.now() + timedelta(days=1)
    )
    worker = Worker(run.pk)
    worker.run(lambda: worker.stop() if _waiting(run) == 0 else None)
    WorkItem.objects.filter(pk__in=later).update(state="waiting", lease_until=None, token=None)


def _waiting(run: Run) -> int:
    return WorkItem.objects.filter(run=run, state="waiting").count() + (
        WorkItem.objects.filter(run=run, state="claimed", token__isnull=False).count()
    )
