"""What the form of a judge does with what is typed, however much it is, and who else may do what with it."""

import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse

from ai_eval.admin.judge_form import PROMPT_LIMIT, template_faults
from ai_eval.graders import registry
from ai_eval.models import Answer, EvalSettings, JudgeSettings
from tests.admin.judge_pages import PROMPT, RELEVANCE, judge, preview, typed
from tests.admin.reading import HOSTILE, SignIn, form_errors, shown, words
from tests.llm_server import LLMServer
from tests.runs.making import make_target, run_target

MEGABYTE = 10**6


def stored(**fields: Any) -> JudgeSettings:
    return JudgeSettings.objects.create(grader=RELEVANCE, **fields)


def seen(row: JudgeSettings) -> str:
    row.refresh_from_db()
    return row.changed_at.isoformat()


def delete(row: JudgeSettings) -> str:
    return reverse("admin:ai_eval_judgesettings_delete", args=[row.pk])


# Who may


@pytest.mark.parametrize(
    ("name", "status"),
    [("olga", 200), ("adam", 200), ("vera", 200), ("anna", 403), ("nina", 403), ("root", 200)],
)
def test_who_may_read_a_judge_may_preview_its_prompt(signed_in: SignIn, name: str, status: int):
    assert signed_in(name).post(preview(), {"prompt": PROMPT}).status_code == status


@pytest.mark.parametrize(
    ("name", "may"),
    [("olga", False), ("adam", True), ("vera", True), ("anna", False), ("nina", False), ("root", True)],
)
def test_who_may_edit_a_judge_may_remove_its_settings(signed_in: SignIn, name: str, may: bool):
    client, row = signed_in(name), stored(model="openai/x")
    for reply in (client.get(delete(row)), client.post(delete(row), {"post": "yes"})):
        assert reply.status_code in ((200, 302) if may else (403,))
    assert JudgeSettings.objects.exists() != may


def test_a_reader_gets_no_button_that_saves_and_can_choose_an_answer(signed_in: SignIn, graded: Any):
    olga, row = signed_in("olga"), stored(model="openai/x")
    reply = olga.get(judge(), {"answer": Answer.objects.get().pk})
    html = reply.content.decode()
    assert 'method="get"' in html
    assert '<fieldset class="module" disabled>' in html
    assert 'name="_save"' not in html
    assert delete(row) not in html
    assert reply.context["chosen"] == Answer.objects.get()


def test_settings_that_nothing_reads_take_no_form(vera: Client):
    JudgeSettings.objects.create(grader="gone", model="openai/x")
    assert vera.post(judge("gone"), typed(model="openai/y")).status_code == 403
    assert JudgeSettings.objects.get().model == "openai/x"


def test_a_grader_that_asks_no_model_has_no_form(vera: Client):
    assert vera.get(judge("format_grader")).status_code == 404
    JudgeSettings.objects.create(grader="format_grader", model="openai/x")
    text = words(shown(vera, judge("format_grader")))
    assert "This grader asks no model" in text
    assert "missing" not in text


# What is typed


@pytest.mark.parametrize("unit", ["x", "$ ", "$nothing ", "$\n", "${", "<b>\u202e"])
def test_a_prompt_of_megabytes_is_refused_in_one_sentence(vera: Client, graded: Any, unit: str):
    prompt = unit * (2 * MEGABYTE // len(unit.encode()))
    reply = vera.post(judge(), typed(prompt=prompt))
    (sentence,) = form_errors(reply)["prompt"]
    assert "the form takes 100,000" in sentence
    assert reply.context["preview"] is None
    assert not JudgeSettings.objects.exists()
    (fault,) = vera.post(preview(), {"prompt": prompt}).context["faults"]
    assert "the form takes 100,000" in fault.sentence


def test_a_prompt_is_sent_in_the_encoding_that_makes_it_no_longer(vera: Client):
    """Django takes 2.5 MB; written for an address, a prompt of other letters has three times its size."""
    form = re.findall(r'<form method="post" class="judge-form"[^>]*>', shown(vera, judge()))
    assert 'enctype="multipart/form-data"' in form[0]
    assert 'hx-encoding="multipart/form-data"' in form[0]


def test_a_longest_prompt_full_of_faults_tells_the_first_of_them():
    faults = template_faults("$ " * (PROMPT_LIMIT // 2))
    assert len(faults) == 21
    assert faults[0].sentence == "line 1, column 1: a dollar sign is written $$"
    assert faults[-1].sentence.startswith("and ")


def test_a_fault_shows_the_line_round_it_as_text(vera: Client):
    html = vera.post(preview(), {"prompt": f"{PROMPT}\n<b>{'y' * 50} $nothing <i>"}).content.decode()
    assert "<mark>$nothing</mark> &lt;i&gt;" in html
    assert "Line 5, column 55" in html
    assert "<i>" not in html


def test_a_prompt_that_is_stored_longer_than_the_form_takes_can_stay(vera: Client):
    row = stored(prompt=PROMPT + "\n" + "x" * PROMPT_LIMIT, model="openai/x")
    assert vera.post(judge(), typed(prompt=row.prompt, model="openai/y", seen=seen(row))).status_code == 302
    assert JudgeSettings.objects.get().model == "openai/y"


def test_line_ends_of_browsers_and_space_round_a_prompt_are_no_change(vera: Client):
    row = stored(prompt=f"\n  {PROMPT}\n\n")
    reply = vera.post(judge(), typed(prompt=row.prompt.replace("\n", "\r\n"), seen=seen(row)), follow=True)
    assert "Nothing was changed of Relevance" in words(reply.content.decode())
    assert JudgeSettings.objects.get().prompt == f"\n  {PROMPT}\n\n"
    assert not LogEntry.objects.exists()


def test_a_prompt_of_nothing_but_space_is_none(vera: Client):
    vera.post(judge(), typed(prompt=" \u200b\r\n", model="openai/x"))
    assert JudgeSettings.objects.get().prompt == ""


@pytest.mark.parametrize("button", ["_built_in", "_leave", "_preview"])
def test_the_buttons_of_the_prompt_fill_the_form_and_save_nothing(vera: Client, graded: Any, button: str):
    row = stored(prompt=PROMPT, model="openai/x")
    given = typed(
        prompt=f"Mine {PROMPT}", model="mo del", parameters='{"a', seen="as it was", **{button: "1"}
    )
    reply = vera.post(judge(), given)
    form = reply.context["form"]
    built_in = registry.get(RELEVANCE).grader.default_template  # type: ignore[union-attr]
    expected = {"_built_in": built_in, "_leave": "", "_preview": f"Mine {PROMPT}"}[button]
    assert form["prompt"].value() == expected
    assert (form["model"].value(), form["seen"].value()) == ("mo del", "as it was")
    assert "{&quot;a</textarea>" in reply.content.decode()
    assert "Nothing is saved yet." in words(reply.content.decode())
    row.refresh_from_db()
    assert (row.prompt, row.model) == (PROMPT, "openai/x")
    assert reply.context["preview"].prompt.startswith(
        "Mine Judge relevance" if button == "_preview" else "You"
    )


def test_what_was_refused_stays_in_the_form_and_its_key_goes_nowhere_else(vera: Client):
    reply = vera.post(judge(), typed(model="openai/x", parameters='{"stop": ["sk-abc123def456"]}'))
    assert list(form_errors(reply)) == ["parameters"]
    assert "sk-abc" not in str(form_errors(reply))
    assert not JudgeSettings.objects.exists()
    assert not LogEntry.objects.exists()


@pytest.mark.parametrize(("field", "length"), [("model", 201), ("api_base", 501)], ids=["model", "address"])
def test_a_text_longer_than_its_column_is_refused(vera: Client, field: str, length: int):
    start = {"model": "openai/", "api_base": "https://host/"}[field]
    found = form_errors(vera.post(judge(), typed(**{field: start + "x" * (length - len(start))})))
    assert list(found) == [field]


# Two people at once


def test_whoever_was_told_of_a_change_may_save_over_it_but_not_over_the_next_one(vera: Client):
    row = stored(model="openai/first")
    opened = seen(row)
    row.model = "openai/second"
    row.save()
    offered = vera.post(judge(), typed(model="openai/mine", seen=opened)).context["form"].conflict
    row.model = "openai/third"
    row.save()
    again = vera.post(judge(), typed(model="openai/mine", seen=opened, overwrite=offered))
    assert "openai/third" in str(form_errors(again))
    offered = again.context["form"].conflict
    assert vera.post(judge(), typed(model="openai/mine", seen=opened, overwrite=offered)).status_code == 302
    assert JudgeSettings.objects.get().model == "openai/mine"


def test_settings_that_somebody_removed_are_made_again_once_that_was_told(vera: Client):
    row = stored(model="openai/first")
    given = typed(model="openai/mine", seen=seen(row))
    vera.post(delete(row), {"post": "yes"})
    reply = vera.post(judge(), given)
    assert f'value="{reply.context["form"].conflict}"' in reply.content.decode()
    given["overwrite"] = reply.context["form"].conflict
    assert vera.post(judge(), given).status_code == 302
    assert JudgeSettings.objects.get().model == "openai/mine"


def test_emptying_what_somebody_changed_meanwhile_is_told_and_removes_nothing(vera: Client):
    row = stored(model="openai/first")
    opened = seen(row)
    row.save()
    assert "saved this after you opened it" in str(form_errors(vera.post(judge(), typed(seen=opened))))
    assert JudgeSettings.objects.exists()


def test_the_address_of_a_row_leads_to_its_judge_and_that_of_a_removed_one_to_the_list(vera: Client):
    row = JudgeSettings.objects.create(grader="odd/id ?#%", model="openai/x")
    address = reverse("admin:ai_eval_judgesettings_change", args=[row.pk])
    assert vera.get(address)["Location"] == judge("odd/id ?#%")
    row.delete()
    reply = vera.get(address, follow=True)
    assert reply.redirect_chain == [("/admin/ai_eval/judgesettings/", 302)]
    assert "These settings are gone" in words(reply.content.decode())


def test_settings_that_are_removed_twice_are_told_to_be_gone(vera: Client):
    row = stored(model="openai/x")
    address = delete(row)
    vera.post(address, {"post": "yes"})
    assert vera.post(address, {"post": "yes"}, follow=True).status_code == 200
    assert not JudgeSettings.objects.exists()


# What is kept and used


def test_the_history_names_the_fields_that_changed_and_who_changed_them(vera: Client):
    vera.post(judge(), typed(model="openai/x"))
    row = JudgeSettings.objects.get()
    vera.post(judge(), typed(model="openai/y", prompt=PROMPT, seen=seen(row)))
    messages = [str(entry) for entry in LogEntry.objects.order_by("pk")]
    assert messages == [
        "Added “relevance_grader”.",
        "Changed “relevance_grader” — Changed Model and Prompt.",
    ]
    assert "vera: Changed Model and Prompt." in words(shown(vera, judge()))
    history = shown(vera, reverse("admin:ai_eval_judgesettings_history", args=[row.pk]))
    assert "Changed Model and Prompt." in history


@pytest.mark.django_db(transaction=True)
def test_what_was_saved_is_what_the_next_run_asks_with(signed_in: SignIn, llm_server: LLMServer):
    root = signed_in("root")
    EvalSettings.objects.create(judge_model="openai/of-the-site", judge_api_base="http://127.0.0.1:9/v1")
    given = typed(
        model="openai/its-own",
        api_base=llm_server.url,
        parameters='{"temperature": null, "seed": 7}',
        prompt=f"From the form. {PROMPT}",
    )
    assert root.post(judge(), given).status_code == 302
    run = run_target(make_target(["where?"], agent="echo", graders=[RELEVANCE]))
    body = llm_server.last.body
    assert (body["model"], body["seed"], "temperature" in body) == ("its-own", 7, False)
    assert body["messages"][0]["content"].startswith("From the form. Judge relevance")
    root.post(judge(), typed(model="openai/other", seen=seen(JudgeSettings.objects.get())))
    run.refresh_from_db()
    assert run.snapshot["judges"][RELEVANCE]["config"]["model"] == "openai/its-own"


def test_the_part_that_is_swapped_in_brings_the_check_and_the_preview_and_no_script(
    vera: Client, graded: Any
):
    Answer.objects.update(question_id=HOSTILE, response=HOSTILE)
    html = vera.post(preview(), {"prompt": PROMPT}, headers={"HX-Request": "true"}).content.decode()
    assert 'id="judge-check" class="judge-check" hx-swap-oob="true"' in html
    assert 'id="judge-preview"' in html
    assert "<html" not in html
    assert "<script" not in html
    assert "&lt;script&gt;alert(1)" in html


def test_the_answers_to_choose_from_turn_no_line_round(vera: Client, graded: Any):
    Answer.objects.update(question_id=HOSTILE)
    html = shown(vera, judge())
    (option,) = re.findall(r"<option.*?</option>", html)
    assert "\u202e" not in option
    assert "&lt;script&gt;" in option
