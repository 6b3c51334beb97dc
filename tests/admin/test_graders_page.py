"""The page of all graders: what each reader sees of it, and what is wrong with a grader or with the site."""

from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from ai_eval.graders import Grader, LLMJudge, registry
from tests.admin.reading import HOSTILE, SignIn, shown, words
from tests.registering import Register
from tests.runs.making import make_target

GRADERS = "/admin/ai_eval/judgesettings/graders/"


def grade(self: Grader, question: str, response: str, context: dict[str, Any]) -> Any:
    return self.result(1.0, "fine")


@pytest.mark.parametrize(
    ("name", "judges", "targets"),
    [("anna", False, False), ("vera", True, False), ("olga", True, True), ("adam", True, True)],
)
def test_nobody_is_led_to_a_page_that_they_may_not_see(
    signed_in: SignIn, name: str, judges: bool, targets: bool
):
    target = make_target(label="Desk", graders=["relevance_grader"])
    html = shown(signed_in(name), GRADERS)
    assert (reverse("admin:ai_eval_judge", args=["relevance_grader"]) in html) == judges
    assert (reverse("admin:ai_eval_target_change", args=[target.pk]) in html) == targets
    assert "Desk" in html


def test_every_registered_grader_stands_on_the_page_once(adam: Client):
    html = shown(adam, GRADERS)
    for info in registry.all(include_hidden=True):
        assert html.count(f'<code class="ae-code ae-break">{info.id}</code>') == 1


def test_what_a_grader_reads_and_needs_is_told(adam: Client):
    text = words(shown(adam, GRADERS))
    assert "Read-only run (binary, 0-1) read_only_run observes actions" in text
    assert "Reads metadata.forbidden_tool_prefixes" in text
    assert "needs_environment_grader observes actions needs an environment" in text
    assert "accuracy_grader sees tool calls" in text


def test_a_hidden_and_a_corrected_grader_say_so(adam: Client, settings):
    corrections = {"read_only_run": {"hidden": True, "label": "Only reads"}, "nobody": {"hidden": True}}
    settings.AI_EVAL = {**settings.AI_EVAL, "GRADERS": corrections}
    text = words(shown(adam, GRADERS))
    assert "Only reads (binary, 0-1) hidden" in text
    assert "declared as &quot;Read-only run&quot;" in text or 'declared as "Read-only run"' in text
    assert 'AI_EVAL["GRADERS"] has mistakes' in text
    assert "nobody" in text


def test_a_class_that_no_target_can_tick_is_told_with_the_reason(adam: Client, registered: Register):
    registered(label="Nameless", grade=grade)
    registered(id="read_only_run", label="Second", grade=grade)
    text = words(shown(adam, GRADERS))
    assert "Registered, and no target can tick them tests.dummy.graders.Made" in text
    assert "tests.dummy.graders.Made id read_only_run" in text


def test_ids_labels_and_keys_of_any_characters_come_out_as_they_went_in(adam: Client, registered: Register):
    registered(
        LLMJudge,
        id=f"odd/{HOSTILE}",
        label=HOSTILE,
        description=HOSTILE,
        dimension=HOSTILE,
        reads_metadata=(HOSTILE,),
    )
    make_target(label=HOSTILE, graders=[f"odd/{HOSTILE}", f"gone {HOSTILE}"])
    html = shown(adam, GRADERS)
    assert "<script>alert" not in html
    assert "<img src=x" not in html
    assert html.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 7
    address = reverse("admin:ai_eval_judge", args=[f"odd/{HOSTILE}"])
    assert address in unescape(html)
    assert adam.get(address).status_code == 200


def test_a_scale_that_is_none_does_not_break_the_page(adam: Client, registered: Register):
    registered(id="odd_scale", label="Odd", min_score="low", max_score=None, grade=grade)
    text = words(shown(adam, GRADERS))
    assert "Odd badly declared odd_scale" in text
