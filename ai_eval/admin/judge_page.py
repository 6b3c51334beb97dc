"""The page of one judge: its form, the check of its prompt, and the preview on a real answer."""

import copy
import json
from collections.abc import Sequence
from functools import partial
from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseNotAllowed
from django.http import HttpResponseRedirect as Redirect
from django.urls import URLPattern, register_converter
from django.urls.converters import get_converters

from ai_eval.admin.answer_view import long_text
from ai_eval.admin.base import key_of
from ai_eval.admin.judge_form import (
    PROMPT_LIMIT,
    JudgeForm,
    prompt_as_written,
    saved_sentence,
    template_faults,
)
from ai_eval.admin.lost_update import or_told
from ai_eval.admin.single_row import SingleRowPage
from ai_eval.configuration.grader_catalogue import app_of, choice_label, targets_by_grader
from ai_eval.configuration.judge_catalogue import (
    OWN,
    built_in_template,
    judge_fingerprint,
    key_story,
    lost_because,
    site_model_source,
)
from ai_eval.graders import GraderInfo, registry
from ai_eval.graders.judge import configured
from ai_eval.graders.prompts import SLOTS, check_template
from ai_eval.models import Answer, JudgeSettings, effective_settings
from ai_eval.permissions import READ, VALIDATE_JUDGES, allowed
from ai_eval.runs.preview import answers_to_preview, preview_prompt
from ai_eval.text import clean_text, is_blank
from ai_eval.trust import UNVALIDATED
from ai_eval.wording import one_line

CHANGES_SHOWN = 10


class GraderIdConverter:
    """The id of a grader in an address, whatever an app has put into it."""

    regex = r"[\s\S]+"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


if "ai_eval_grader" not in get_converters():
    register_converter(GraderIdConverter, "ai_eval_grader")


class JudgePage(SingleRowPage):
    def judge_urls(self) -> list[URLPattern]:
        seen_by = (*READ, VALIDATE_JUDGES)
        return [
            self.route("judge/<ai_eval_grader:grader>/", "judge", self.judge_view, *seen_by),
            self.route(
                "preview/<ai_eval_grader:grader>/", "judge_preview", self.judge_preview_view, *seen_by
            ),
        ]

    def judge_view(self, request: HttpRequest, grader: str) -> HttpResponseBase:
        grader = clean_text(grader)
        info, why = registry.get(grader), lost_because(grader)
        if info is None or why:
            return self._lost(request, grader, why)
        if request.method == "POST":
            return self._posted(request, info)
        form = JudgeForm(instance=_stored(grader), info=info)
        return self._form_page(request, info, form, answer=request.GET.get("answer", ""))

    def judge_preview_view(self, request: HttpRequest, grader: str) -> HttpResponseBase:
        """The check of the prompt that is being typed, and the preview with it. Nothing is stored."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        info = registry.get(clean_text(grader))
        if info is None or lost_because(info.id):
            raise Http404("There is no such judge.")
        prompt, answer = request.POST.get("prompt", ""), request.POST.get("answer", "")
        shown = _preview(info, _stored(info.id).prompt, prompt, answer)
        return self.fragment(request, "ai_eval/judges/preview.html", swapped=True, **shown)

    def _lost(self, request: HttpRequest, grader: str, why: str) -> HttpResponseBase:
        """Settings that nothing reads any more, shown so that they can be read and removed."""
        stored = JudgeSettings.objects.filter(grader=grader).first()
        if request.method == "POST":
            raise PermissionDenied
        if stored is None:
            raise Http404(f"There is no judge {one_line(grader)}: {why}.")
        return self.page(
            request,
            "ai_eval/judges/lost.html",
            f"Settings for {one_line(grader)}",
            stored=stored,
            prompt=long_text(stored.prompt),
            why=why,
            is_missing=registry.get(grader) is None,
            parameters=json.dumps(stored.parameters, ensure_ascii=False) if stored.parameters else "",
            targets=targets_by_grader().get(grader, ()),
            may_see_targets=allowed(request.user, *READ),
            may_edit=allowed(request.user, VALIDATE_JUDGES),
        )

    def _posted(self, request: HttpRequest, info: GraderInfo) -> HttpResponseBase:
        if not allowed(request.user, VALIDATE_JUDGES):
            raise PermissionDenied
        given = request.POST
        refilled = {"_built_in": built_in_template(info), "_leave": ""}
        for button, prompt in refilled.items():
            if button in given:
                form = JudgeForm.refilled(given, _stored(info.id), prompt=prompt)
                return self._form_page(request, info, form, given.get("answer", ""), typed=True)
        if "_preview" in given:
            form = JudgeForm.refilled(given, _stored(info.id))
            return self._form_page(request, info, form, given.get("answer", ""), typed=True)
        return or_told(partial(self._save, request, info))

    def _save(self, request: HttpRequest, info: GraderInfo) -> HttpResponseBase:
        with transaction.atomic():
            before = _stored(info.id)
            form = JudgeForm(request.POST, instance=copy.copy(before), info=info)
            if form.is_valid():
                self._store(request, info, form, before)
                again = "_continue" in request.POST
                return Redirect(self.url(*(["judge", info.id] if again else ["judgesettings_changelist"])))
        return self._form_page(request, info, form, request.POST.get("answer", ""))

    def _store(self, request: HttpRequest, info: GraderInfo, form: JudgeForm, before: JudgeSettings) -> None:
        """Writes the row, or removes it where nothing is left in it; both are logged."""
        removed = form.is_empty and before.pk is not None
        if removed:
            changed = form.changed_fields(before)
            self.log_deletions(request, JudgeSettings.objects.filter(pk=before.pk))
            before.delete()
        else:
            changed = self.write_row(request, form, before)
        self.message_user(request, saved_sentence(choice_label(info), form, changed, removed))

    def _form_page(
        self, request: HttpRequest, info: GraderInfo, form: Any, answer: str, typed: bool = False
    ) -> HttpResponse:
        may_edit = allowed(request.user, VALIDATE_JUDGES)
        stored = _stored(info.id)
        config = configured(stored, effective_settings())
        mark, no_mark = judge_fingerprint(info, config)
        prompt = form["prompt"].value() or ""
        return self.page(
            request,
            "ai_eval/judges/form.html",
            choice_label(info),
            info=info,
            form=form,
            stored=stored if stored.pk is not None else None,
            may_edit=may_edit,
            may_see_targets=allowed(request.user, *READ),
            typed=typed,
            app=app_of(info.grader),
            class_path=f"{info.grader.__module__}.{info.grader.__qualname__}",
            trust=UNVALIDATED,
            config=config,
            model_from=OWN if stored.model else site_model_source(),
            key=key_story(config.model, config.api_base),
            fingerprint=mark,
            no_fingerprint=no_mark,
            site_model=effective_settings().judge_model,
            built_in=built_in_template(info),
            built_in_problems=check_template(built_in_template(info)),
            slots=[f"${slot}" for slot in SLOTS],
            targets=targets_by_grader().get(info.id, ()),
            changes=_changes(info.id),
            **_preview(info, stored.prompt, prompt, answer),
        )


def _stored(grader: str) -> JudgeSettings:
    """The judge's row, or a new one."""
    return JudgeSettings.objects.filter(grader=grader).first() or JudgeSettings(grader=grader)


def _changes(grader: str) -> QuerySet[LogEntry]:
    """Who changed what last. A removed row had the same name, so its changes are among them."""
    kind = ContentType.objects.get_for_model(JudgeSettings)
    entries = LogEntry.objects.filter(content_type=kind, object_repr=grader[:200])
    return entries.select_related("user").order_by("-action_time")[:CHANGES_SHOWN]


def _preview(info: GraderInfo, stored: str, prompt: str, answer: str) -> dict[str, Any]:
    """What the part of the page below the prompt shows: faults, or the prompt filled for one answer."""
    prompt = prompt_as_written(prompt)
    template = built_in_template(info) if is_blank(prompt) else prompt
    faults = template_faults(
        template, None if template in (stored, built_in_template(info)) else PROMPT_LIMIT
    )
    offered = answers_to_preview(info.id)
    chosen, note = _chosen_answer(answer)
    if chosen is None and not note and offered.answers:
        chosen = Answer.objects.select_related("run").filter(pk=offered.answers[0].pk).first()
    preview = preview_prompt(info, template, chosen) if chosen is not None and not faults else None
    return {
        "offered": offered,
        "options": _options(offered.answers, chosen),
        "chosen": chosen,
        "answer_note": note,
        "faults": faults,
        "from_built_in": is_blank(prompt),
        "preview": preview,
        "filled": long_text(preview.prompt) if preview and preview.prompt else None,
    }


def _options(offered: Sequence[Answer], chosen: Answer | None) -> list[tuple[int, str]]:
    """The answers to choose from, the chosen one among them."""
    known = {each.pk for each in offered}
    first = [chosen] if chosen is not None and chosen.pk not in known else []
    return [
        (
            each.pk,
            f"Run {each.run_id} of {one_line(each.run.target_label)}: {one_line(each.question_id)}, "
            f"trial {each.trial}",
        )
        for each in (*first, *offered)
    ]


def _chosen_answer(given: str) -> tuple[Answer | None, str]:
    """The answer that was asked for; else why there is none, empty when none was asked for."""
    if not given:
        return None, ""
    key = key_of(given)
    found = None if key is None else Answer.objects.select_related("run").filter(pk=key).first()
    gone = "There is no such answer; perhaps it was deleted meanwhile. Choose another."
    return found, "" if found else gone
