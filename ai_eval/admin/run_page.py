"""The page of a run: its verdict, its graders, and every answer down to what a judge was sent."""

import io
import json
import tempfile
from collections.abc import Mapping
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import Prefetch
from django.http import (
    FileResponse,
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseNotAllowed,
)
from django.urls import URLPattern
from django.utils.http import content_disposition_header

from ai_eval.admin.answer_view import answer_context, call_page, grader_labels, long_text, turns
from ai_eval.admin.base import EvalAdmin, is_fragment
from ai_eval.admin.words import STATUS_WORDS
from ai_eval.formatted import LIMIT, formatted
from ai_eval.models import Answer, Grade, Run
from ai_eval.runs.browse import (
    GRADED,
    LAST_POSITION,
    PAGE_SIZE,
    AnswerFilter,
    answer_page,
    read_filter,
    read_position,
    status_counts,
    tag_counts,
)
from ai_eval.runs.document import verdict_of, write_document
from ai_eval.runs.verdict import Verdict
from ai_eval.runs.wording import counts_sentence, gate_sentence

GRADED_WORDS = {
    "below": "below the threshold",
    "errored": "errored",
    "skipped": "skipped",
    "clamped": "clamped",
    "reached": "reached the threshold",
}
LAUNCHED_WITH = {
    "mode": "mode",
    "agent": "agent",
    "environment": "environment",
    "model": "model",
    "api_base": "API base",
    "replies": "recorded replies",
    "trials": "trials of each question",
    "max_error_rate": "share of answers that may have something missing",
    "demand_trust": "demanded trust of judges",
}


class RunPages(EvalAdmin):
    def get_urls(self) -> list[URLPattern]:
        own = [
            self.route("<int:pk>/snapshot/", "run_snapshot", self.snapshot_view),
            self.route("<int:pk>/run.json", "run_json", self.json_view),
            self.route("answer/<int:pk>/", "answer", self.answer_view),
            self.route("answer/<int:pk>/formatted/", "answer_formatted", self.formatted_view),
            self.route("answer/<int:pk>/calls/", "answer_calls", self.calls_view),
            self.route("answer/<int:pk>/<slug:part>.txt", "answer_text", self.answer_text_view),
            self.route("grade/<int:pk>/", "grade", self.grade_view),
            self.route("grade/<int:pk>/<slug:part>.txt", "grade_text", self.grade_text_view),
        ]
        return [*own, *super().get_urls()]

    def change_view(  # type: ignore[override]
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponseBase:
        """The page of the run. Nothing of a run is edited, so there is no form."""
        if request.method not in ("GET", "HEAD"):
            return HttpResponseNotAllowed(["GET", "HEAD"])
        if not self.has_view_permission(request):
            raise PermissionDenied
        run = self.get_object(request, object_id)
        if run is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)  # type: ignore[attr-defined]
        graders = grader_labels(run)
        wanted, problems = read_filter(request.GET, list(graders))
        after, wrong_after = read_position(request.GET, "after")
        before, wrong_before = read_position(request.GET, "before")
        counts = status_counts(run)
        verdict = verdict_of(run)
        return self.page(
            request,
            "ai_eval/run/page.html",
            f"Run {run.pk} of {run.target_label}",
            run=run,
            verdict=verdict,
            took=run.finished_at - run.started_at if run.finished_at and run.started_at else None,
            gate_sentence=gate_sentence(verdict) if verdict else "",
            counts_sentence=counts_sentence(verdict) if verdict else "",
            thresholds=_thresholds(verdict),
            missing=_something_is_missing(verdict),
            coverage=_coverage_rows(run, verdict),
            derived=run.derived.order_by("pk").only("pk", "kind", "state", "verdict"),
            active=run.state in Run.ACTIVE,
            resumable=run.state in Run.RESUMABLE,
            counts=counts,
            wanted=wanted,
            problems=[*problems, *wrong_after, *wrong_before],
            statuses=_status_links(wanted, counts),
            grade_choices=[
                (label, [(f"{id}:{graded}", GRADED_WORDS[graded]) for graded in GRADED])
                for id, label in graders.items()
            ],
            chosen_grade=f"{wanted.grader}:{wanted.graded}" if wanted.grader else "",
            tags=_tag_choices(run, wanted),
            answers=answer_page(run, wanted, after=after, before=before),
            page_size=PAGE_SIZE,
            end=LAST_POSITION,
            labels=graders,
            trials=run.snapshot["target"]["trials"],
            may_delete=self.has_delete_permission(request, run),
        )

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        found = super().get_object(request, object_id, from_field)
        return None if found is None else Run.objects.select_related("target", "source").get(pk=found.pk)

    def snapshot_view(self, request: HttpRequest, pk: int) -> HttpResponseBase:
        """All that produced the run, as it was frozen at launch."""
        run = _found(Run.objects.filter(pk=pk).first(), "run")
        target = run.snapshot["target"]
        return self._part_or_page(
            request,
            "ai_eval/run/snapshot.html",
            f"Snapshot of run {pk}",
            run=run,
            target=target,
            facts=[
                (word, target[key])
                for key, word in LAUNCHED_WITH.items()
                if target.get(key) not in ("", None)
            ],
            system_prompt=long_text(target["system_prompt"]),
            parameters=json.dumps(target["parameters"], ensure_ascii=False),
            whole_snapshot=long_text(json.dumps(run.snapshot, ensure_ascii=False, indent=2)),
        )

    def json_view(self, request: HttpRequest, pk: int) -> HttpResponseBase:
        """The document that `ai_eval_run --json` writes, of this run alone."""
        run = _found(Run.objects.filter(pk=pk).first(), "run")
        file = tempfile.TemporaryFile()  # noqa: SIM115 - the response closes it
        text = io.TextIOWrapper(file, encoding="utf-8")
        write_document([run], text)
        text.detach()
        file.seek(0)
        return FileResponse(
            file, as_attachment=True, filename=f"run-{pk}.json", content_type="application/json"
        )

    def answer_view(self, request: HttpRequest, pk: int) -> HttpResponseBase:
        grades = Grade.objects.order_by("pk").defer("sent", "raw_reply")
        answers = Answer.objects.select_related("run").prefetch_related(Prefetch("grades", grades), "tags")
        answer = _found(answers.filter(pk=pk).first(), "answer")
        around = Answer.objects.filter(run_id=answer.run_id).only(
            "pk", "run_id", "position", "question_id", "trial"
        )
        whole = not is_fragment(request)
        before = around.filter(position__lt=answer.position).order_by("-position").first() if whole else None
        after = around.filter(position__gt=answer.position).order_by("position").first() if whole else None
        return self._part_or_page(
            request,
            "ai_eval/run/answer.html",
            f"Answer to {answer.question_id}, trial {answer.trial}",
            **answer_context(answer.run, answer),
            before=before,
            after=after,
        )

    def formatted_view(self, request: HttpRequest, pk: int) -> HttpResponseBase:
        """The response read as Markdown."""
        answer = _found(
            Answer.objects.select_related("run").only("run", "response").filter(pk=pk).first(), "answer"
        )
        if not answer.response:
            raise Http404("This answer has no response.")
        return self._part_or_page(
            request,
            "ai_eval/run/formatted.html",
            "The response as Markdown",
            run=answer.run,
            answer=answer,
            formatted=formatted(answer.response),
            limit=LIMIT,
            total=len(answer.response),
        )

    def calls_view(self, request: HttpRequest, pk: int) -> HttpResponseBase:
        """A hundred calls of the record, from `first` on."""
        answer = _found(
            Answer.objects.select_related("run").only("run", "tool_calls").filter(pk=pk).first(), "answer"
        )
        first, problems = read_position(request.GET, "first")
        if problems or answer.tool_calls is None:
            raise Http404("; ".join(problems) or "This answer has no tool-call record.")
        return self._part_or_page(
            request,
            "ai_eval/run/calls.html",
            f"Tool calls of answer {pk}",
            run=answer.run,
            answer=answer,
            record=call_page(answer.tool_calls, max(first or 1, 1)),
        )

    def grade_view(self, request: HttpRequest, pk: int) -> HttpResponseBase:
        """What the judge was sent, and what came back."""
        grade = _found(Grade.objects.select_related("answer__run").filter(pk=pk).first(), "grade")
        return self._part_or_page(
            request,
            "ai_eval/run/grade.html",
            f"What {grade.grader} was sent and replied",
            run=grade.answer.run,
            answer=grade.answer,
            grade=grade,
            sent=turns(grade.sent),
            raw_reply=None if grade.raw_reply is None else long_text(grade.raw_reply),
            attempts=[each for each in grade.attempts if isinstance(each, Mapping)],
        )

    def answer_text_view(self, request: HttpRequest, pk: int, part: str) -> HttpResponseBase:
        answer = _found(Answer.objects.filter(pk=pk).first(), "answer")
        parts = {
            "response": answer.response,
            "error": answer.error,
            "question": answer.question.get("input") or _pretty(answer.question.get("messages")),
            "row": _pretty(answer.question),
            "tool_calls": None if answer.tool_calls is None else _pretty(answer.tool_calls),
            "changes": None if answer.changes is None else _pretty(answer.changes),
        }
        return _text(f"answer-{pk}-{part}.txt", parts.get(part))

    def grade_text_view(self, request: HttpRequest, pk: int, part: str) -> HttpResponseBase:
        grade = _found(Grade.objects.filter(pk=pk).first(), "grade")
        parts = {"reply": grade.raw_reply, "sent": _pretty(grade.sent), "reason": grade.reason}
        return _text(f"grade-{pk}-{part}.txt", parts.get(part))

    def _part_or_page(
        self, request: HttpRequest, template: str, title: str, **context: Any
    ) -> HttpResponseBase:
        """One template for both: it extends the frame unless htmx asks."""
        if is_fragment(request):
            return self.fragment(request, template, frame="ai_eval/bare.html", **context)
        return self.page(request, template, title, frame="ai_eval/page.html", **context)


def _found(row: Any, what: str) -> Any:
    if row is None:
        raise Http404(f"There is no such {what}; perhaps it was deleted.")
    return row


def _pretty(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _text(name: str, text: str | None) -> HttpResponse:
    """Untrusted text as a file to keep: never shown by the browser as anything but text."""
    if text is None:
        raise Http404("There is no such text.")
    headers = {
        "Content-Disposition": content_disposition_header(True, name) or "attachment",
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "sandbox",
    }
    return HttpResponse(text, content_type="text/plain; charset=utf-8", headers=headers)


def _thresholds(verdict: Verdict | None) -> dict[str, float]:
    """The gate's threshold under the name of its metric."""
    return {verdict.gate.metric: verdict.gate.threshold} if verdict and verdict.gate else {}


def _something_is_missing(verdict: Verdict | None) -> bool:
    return verdict is not None and bool(
        verdict.counts["provider_errors"] or any(each.errored or each.clamped for each in verdict.coverage)
    )


def _coverage_rows(run: Run, verdict: Verdict | None) -> list[dict[str, Any]]:
    """Each grader as it was at launch, with what it made of the answers once the run is complete."""
    found = {each.grader: each for each in verdict.coverage} if verdict else {}
    required = run.snapshot["target"]["required"]
    return [
        {
            "info": info,
            "required": info["id"] in required,
            "judge": run.snapshot["judges"].get(info["id"]),
            "figures": (figures := found.get(info["id"])),
            "below": figures.scored - figures.passed if figures else 0,
            "links": {
                graded: AnswerFilter(grader=info["id"], graded=graded).query() for graded in GRADED_WORDS
            },
        }
        for info in run.snapshot["graders"]
    ]


def _status_links(wanted: AnswerFilter, counts: Mapping[str, int]) -> list[dict[str, Any]]:
    """Every status of which there is an answer, and the chosen one."""
    chips = [("", "all", counts["all"])]
    chips += [(name, word, counts[name]) for name, word in STATUS_WORDS.items()]
    return [
        {"word": word, "count": count, "query": wanted.query(status=name), "chosen": name == wanted.status}
        for name, word, count in chips
        if count or name in ("", "failed", wanted.status)
    ]


def _tag_choices(run: Run, wanted: AnswerFilter) -> list[tuple[str, int | None]]:
    """The run's tags with their numbers; a chosen one that is not among them has none."""
    known: list[tuple[str, int | None]] = list(tag_counts(run))
    if wanted.tag and wanted.tag not in dict(known):
        known.insert(0, (wanted.tag, None))
    return known
