"""`manage.py riverside_demo`: the main job, on a library that the demo brings along."""

import os
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db.models import Max

from ai_eval.conf import site_settings
from ai_eval.configuration.importing import import_configuration
from ai_eval.datasets.files import read_document
from ai_eval.errors import EvalError
from ai_eval.management.site import check_site
from ai_eval.models import Answer, Run, Target
from ai_eval.runs.document import verdict_of
from ai_eval.runs.outcome import EXIT_CANCELLED
from ai_eval.runs.verdict import Coverage
from evalsite.riverside.shelves import load_library

CONFIGURATION = Path(__file__).resolve().parents[2] / "data" / "riverside-config.yaml"
EXPECTED = {"riverside_doer": "passed", "riverside_talker": "failed"}
MODEL_DRIVEN = "riverside_model"
JUDGE = "fact_match_grader"


class Command(BaseCommand):
    help = (
        "Examine two help desks of a small library on six questions. One does what it is asked, the other "
        "only says so. Exits 0 when the first one passes its gate and the second one fails."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            check_site(self)
            import_configuration([(CONFIGURATION.name, read_document(CONFIGURATION))])
        except EvalError as error:
            raise CommandError(str(error)) from error
        self.stdout.write("Six readers ask the help desk of the Riverside library for something.\n\n")
        runs = {slug: self.examine(slug) for slug in self.targets()}
        examined = [run for slug in EXPECTED if (run := runs[slug]) is not None]
        if len(examined) == len(EXPECTED):
            self.compare(examined)
        problems = [
            f"{slug} should have {EXPECTED.get(slug, 'a verdict')}, {told}"
            for slug, run in runs.items()
            if (told := unexpected(slug, run))
        ]
        if problems:
            raise CommandError("\n".join(problems))

    def targets(self) -> list[str]:
        """Both scripted help desks, then the one driven by a model where one is named."""
        if site_settings().judge_model:
            for target in Target.objects.filter(slug__startswith="riverside_"):
                Target.objects.filter(pk=target.pk).update(graders=[*target.graders, JUDGE])
        if not os.environ.get("RIVERSIDE_MODEL"):
            return list(EXPECTED)
        Target.objects.filter(slug=MODEL_DRIVEN).update(enabled=True)
        return [*EXPECTED, MODEL_DRIVEN]

    def examine(self, slug: str) -> Run | None:
        """A run of the target on a library in its start state; None when it came to no verdict."""
        load_library()
        last = Run.objects.aggregate(last=Max("pk"))["last"] or 0
        try:
            call_command("ai_eval_run", slug, stdout=self.stdout._out, stderr=self.stderr._out)
        except SystemExit as exit:
            # Any other code is a verdict, which the run tells, or a problem that is written already.
            if exit.code == EXIT_CANCELLED:
                raise
        self.stdout.write("")
        # A run of an earlier demo says nothing about this one.
        return Run.objects.filter(target_slug=slug, pk__gt=last).exclude(verdict="").first()

    def compare(self, runs: list[Run]) -> None:
        """What both said, what both did, and which grader could tell, all from what is stored."""
        graders = runs[0].snapshot["graders"]
        question = runs[0].answers.order_by("position").first()
        assert question is not None
        self.stdout.write(f'What they said to "{question.question["input"]}"')
        for run in runs:
            answer = run.answers.get(question_id=question.question_id)
            self.stdout.write(f"  {run.target_slug}: {answer.response}")
            self.stdout.write(f"      called: {called(answer)}")
        self.stdout.write("\nWhat each grader saw (answers that it passed, of those that it scored)")
        for grader in graders:
            sees = "what was done" if grader["observes_actions"] else "the text"
            seen = ", ".join(f"{run.target_slug} {passed(run, grader['id'])}" for run in runs)
            self.stdout.write(f"  {grader['id']} reads {sees}: {seen}")
        fooled = [each["id"] for each in graders if len({passed(run, each["id"]) for run in runs}) == 1]
        if fooled:
            self.stdout.write(
                f"\n{', '.join(fooled)} alone can't tell the two apart, since they write alike. What was "
                "done stands in the tool-call record, and the grader that reads it is required to pass."
            )


def unexpected(slug: str, run: Run | None) -> str:
    """What is wrong with the outcome of a target; empty when it is as expected."""
    if run is None:
        return "it came to none"
    return f"its verdict is {run.verdict}" if EXPECTED.get(slug, run.verdict) != run.verdict else ""


def called(answer: Answer) -> str:
    """The calls of an answer, with their arguments."""
    if answer.tool_calls is None:
        return "nobody knows"
    calls = []
    for call in answer.tool_calls:
        arguments = ", ".join(f"{name}={value}" for name, value in call["arguments"].items())
        calls.append(f"{call['function_name']}({arguments})")
    return ", ".join(calls) or "nothing"


def coverage(run: Run, grader: str) -> Coverage | None:
    """How often the grader scored in the run."""
    verdict = verdict_of(run)
    return next((each for each in verdict.coverage if each.grader == grader), None) if verdict else None


def passed(run: Run, grader: str) -> str:
    """`6 of 6`."""
    seen = coverage(run, grader)
    return f"{seen.passed} of {seen.scored}" if seen else "nothing"
