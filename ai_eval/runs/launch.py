"""Launching a run: everything is checked before a row is written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from ai_eval.conf import SiteSettings, site_settings
from ai_eval.configuration.validation import target_problems
from ai_eval.datasets.loading import choose_rows, dataset_hash, load_dataset, metadata_warnings
from ai_eval.datasets.replies import load_replies
from ai_eval.errors import ConfigurationError, EvalError, StateError
from ai_eval.graders import GraderInfo, registry
from ai_eval.graders.judge import JudgeConfig, LLMJudge, judge_config
from ai_eval.llm import key_advisory
from ai_eval.models import Answer, AnswerTag, Run, Target, WorkItem, effective_settings
from ai_eval.runs.finish import interrupt_if_dead
from ai_eval.runs.jobs import Asked
from ai_eval.runs.snapshot import freeze
from ai_eval.runs.writer import ASKED_FIELDS, asked_values
from ai_eval.wording import bounded, quoted

BATCH = 2000
TAG_LENGTH = 200


@dataclass(frozen=True)
class PlannedAnswer:
    """One question and trial; `asked` where its response is known before the run."""

    question_id: str
    trial: int
    row: Mapping[str, Any]
    asked: Asked | None = None


@dataclass(frozen=True)
class Plan:
    """A checked launch. `launch` writes it."""

    target: Target
    snapshot: dict[str, Any]
    answers: Sequence[PlannedAnswer]
    split: str = ""
    kind: str = Run.Kind.FULL
    source: Run | None = None


def prepare(target: Target, *, split: str = "", trials: int | None = None) -> Plan:
    """Check the target and all that it names. ConfigurationError tells every problem at once."""
    site = effective_settings()
    trials = target.trials if trials is None else trials
    problems: list[str] = [] if target.enabled else ["it is disabled"]
    problems += target_problems(target)
    if trials != target.trials and not 1 <= trials <= 100:
        problems.append(f"trials is {trials}, not within 1 to 100")
    infos = [info for id in target.graders if (info := registry.get(id)) is not None]
    judges, judge_problems = _judges(infos, site)
    problems += judge_problems + _environment_problems(target, infos)
    rows: list[dict[str, Any]] = []
    dataset: dict[str, Any] = {}
    advisories: list[str] = []
    try:
        rows, dataset, advisories = _dataset(target, infos, split)
    except EvalError as error:
        problems += error.problems
    answers: list[PlannedAnswer] = []
    if rows and not problems:
        try:
            answers = _plan_answers(target, rows, trials, advisories)
        except EvalError as error:
            problems += error.problems
    if problems:
        raise ConfigurationError([f"{target.slug}: {problem}" for problem in problems])
    advisories += _key_advisories(target, judges, site)
    snapshot = freeze(
        target, site=site, infos=infos, judges=judges, dataset=dataset, trials=trials, advisories=advisories
    )
    return Plan(target, snapshot, answers, split)


def _judges(infos: list[GraderInfo], site: SiteSettings) -> tuple[dict[str, JudgeConfig], list[str]]:
    judges = {info.id: judge_config(info.id) for info in infos if issubclass(info.grader, LLMJudge)}
    problems = [
        f"the judge {id} has no model: set judge_model in the settings, or a model of its own"
        for id, config in judges.items()
        if not config.model
    ]
    return judges, problems


def _environment_problems(target: Target, infos: list[GraderInfo]) -> list[str]:
    if target.environment:
        return []
    return [
        f"the grader {info.id} needs an environment, and the target names none"
        for info in infos
        if info.needs_environment
    ]


def _dataset(
    target: Target, infos: list[GraderInfo], split: str
) -> tuple[list[dict[str, Any]], dict[str, Any], list[str]]:
    loaded = load_dataset(target.dataset_source, target.dataset_reference)
    rows = choose_rows(loaded.rows, split)
    if not rows:
        raise ConfigurationError(
            f"the dataset {target.dataset_source}:{target.dataset_reference} has no enabled question"
        )
    reads = sorted({key for info in infos for key in info.reads_metadata})
    dataset = {
        "source": target.dataset_source,
        "reference": target.dataset_reference,
        "hash": dataset_hash(rows),
        "label": loaded.label,
        "fixtures": list(loaded.fixtures),
        "questions": len(rows),
    }
    return rows, dataset, [*loaded.warnings, *metadata_warnings(rows, reads)]


def _plan_answers(
    target: Target, rows: list[dict[str, Any]], trials: int, advisories: list[str]
) -> list[PlannedAnswer]:
    if target.mode != Target.Mode.RECORDED:
        return [PlannedAnswer(row["id"], trial, row) for row in rows for trial in range(1, trials + 1)]
    replies = load_replies(target.replies)
    problems = []
    answers = []
    for row in rows:
        for trial in range(1, trials + 1):
            reply = replies.get(row["id"], trial)
            if reply is None:
                problems.append(f"{target.replies} has no reply to question {row['id']}, trial {trial}")
                continue
            asked = Asked(response=reply.response, tool_calls=reply.tool_calls, ended="done")
            if reply.response is None:
                asked = replace(asked, failure="target_error", error="the recorded reply has no response")
            answers.append(PlannedAnswer(row["id"], trial, row, asked))
    if problems:
        raise ConfigurationError(bounded(problems))
    unused = sorted(set(replies.by_key) - {(each.question_id, each.trial) for each in answers})
    if unused:
        (question_id, trial), count = unused[0], len(unused)
        advisories.append(
            f"{target.replies} has {count} replies that this run does not use, "
            f"the first to {quoted(question_id)}, trial {trial}"
        )
    return answers


def _key_advisories(target: Target, judges: Mapping[str, JudgeConfig], site: SiteSettings) -> list[str]:
    asked = [(target.model, target.api_base)] if target.mode == Target.Mode.CHAT else []
    asked += [(config.model, config.api_base) for config in judges.values()]
    found = {key_advisory(model, api_base, site.key_hosts): None for model, api_base in asked}
    return [advisory for advisory in found if advisory]


def launch(plan: Plan) -> Run:
    """Write the run and its planned answers. StateError when the target has an active run.

    A run of the target that nobody works on is turned into an interrupted one first.
    """
    for pk in Run.objects.filter(target=plan.target, state__in=Run.ACTIVE).values_list("pk", flat=True):
        interrupt_if_dead(pk, site_settings().lease_seconds)
    try:
        with transaction.atomic():
            run = Run.objects.create(
                target=plan.target,
                target_slug=plan.target.slug,
                target_label=plan.target.label,
                kind=plan.kind,
                source=plan.source,
                split=plan.split,
                planned=len(plan.answers),
                snapshot=plan.snapshot,
            )
            _write_answers(run, plan.answers)
            Run.objects.filter(pk=run.pk).update(woken_at=Now())
    except IntegrityError as error:
        if Run.objects.filter(target=plan.target, state__in=Run.ACTIVE).exists():
            raise StateError(f"{plan.target.slug}: a run of it is active already") from error
        raise
    return run


def _write_answers(run: Run, planned: Sequence[PlannedAnswer]) -> None:
    for start in range(0, len(planned), BATCH):
        rows = []
        for position, each in enumerate(planned[start : start + BATCH], start + 1):
            row = Answer(
                run=run,
                question_id=each.question_id,
                trial=each.trial,
                position=position,
                question=each.row,
            )
            if each.asked is not None:
                for name, value in zip(ASKED_FIELDS, asked_values(each.asked), strict=True):
                    setattr(row, name, value)
            rows.append(row)
        Answer.objects.bulk_create(rows)
        AnswerTag.objects.bulk_create(
            [AnswerTag(run=run, answer=row, tag=tag) for row in rows for tag in tags_of(row.question)]
        )
        WorkItem.objects.bulk_create([WorkItem(answer=row, run=run) for row in rows])


def tags_of(row: Mapping[str, Any]) -> list[str]:
    """The distinct tags of a question, each cut to what its column holds."""
    tags = row.get("tags")
    return list(dict.fromkeys(str(tag)[:TAG_LENGTH] for tag in tags)) if isinstance(tags, list) else []
