"""The whole way in a real Chromium: a target is made, run, watched, cancelled and resumed, a failure read."""

from collections.abc import Callable

from ai_eval.models import Answer, Run, Target
from tests.browser.chromium import Visitor
from tests.browser.desk import AT_ONCE, QUESTIONS, Model

Visit = Callable[..., Visitor]
TARGETS = "/admin/ai_eval/target/"
PATIENCE = 60.0


def make_the_target(visit_as: Visit, address: str) -> Target:
    """What an administrator does in the form."""
    adam = visit_as("adam")
    assert adam.visit("/admin/ai_eval/") == 200
    adam.follow("Add a target")
    adam.do(lambda tab: tab.get_by_label("Label:", exact=True).fill("Desk by a model"))
    adam.do(lambda tab: tab.keyboard.press("Tab"))  # the id is proposed when the label is left
    adam.do(lambda tab: tab.get_by_label("Id:", exact=True).fill("desk"))
    adam.do(lambda tab: tab.get_by_label("Chat: a model with a prompt").check())
    assert not adam.do(lambda tab: tab.get_by_label("Agent:", exact=True).is_visible()), (
        "a field of another mode"
    )
    adam.do(lambda tab: tab.get_by_label("Model:", exact=True).fill("openai/desk"))
    adam.do(lambda tab: tab.locator("#id_api_base").fill(address))
    adam.do(lambda tab: tab.locator("#id_dataset").select_option("database:shelves"))
    adam.do(lambda tab: tab.get_by_label("Relevance (gradient, 0-5)", exact=True).check())
    adam.do(lambda tab: tab.get_by_label("Format (gradient, 0-5)", exact=True).check())
    adam.do(lambda tab: tab.get_by_label("Use the default").uncheck())
    adam.do(lambda tab: tab.get_by_label("required: Relevance (gradient, 0-5)").check())
    adam.do(lambda tab: tab.get_by_label("Hard: a failed gate").check())
    adam.do(lambda tab: tab.get_by_label("Threshold:", exact=True).fill("0.95"))
    adam.press_button("Save")
    assert adam.path == TARGETS
    return Target.objects.get(slug="desk")


def test_a_target_is_made_run_watched_cancelled_resumed_and_its_failure_read(
    desk: Model, model, visit_as: Visit
):
    target = make_the_target(visit_as, model[1].url)
    assert (target.graders, target.required) == (["relevance_grader", "format_grader"], ["relevance_grader"])

    olga = visit_as("olga")
    olga.visit(TARGETS)
    olga.do(lambda tab: tab.get_by_label("Select this object for an action").check())
    olga.do(lambda tab: tab.locator("select[name=action]").select_option(label="Run selected targets"))
    olga.press_button("Go")
    offered = olga.text()
    assert f"{QUESTIONS} questions" in offered
    assert f"at most {QUESTIONS}" in offered, "how often a judge is asked"
    olga.press_button("Run")
    run = Run.objects.get(target=target)
    assert olga.path == f"/admin/ai_eval/run/{run.pk}/progress/"

    olga.wait_for_text(f"{AT_ONCE} of {QUESTIONS} answers", PATIENCE)
    olga.press_button("Cancel the run")
    olga.wait_for_text("cancelled", PATIENCE)
    desk.free.set()
    assert Answer.objects.filter(run=run).exclude(outcome="").count() == AT_ONCE

    olga.press_button(f"Resume: {QUESTIONS - AT_ONCE} of {QUESTIONS} answers left")
    olga.wait_for_text("The run is complete.", PATIENCE)
    olga.follow("See the result")
    run.refresh_from_db()
    assert (run.state, run.verdict) == ("complete", "failed")
    assert "failed: pass_rate 0.9167 is below 0.95 (hard gate)" in olga.text()

    olga.follow("failed 1")
    olga.open_everything()
    read = olga.text()
    assert "Where is book 2?" in read
    assert "It is on the second shelf." in read
    assert "says nothing of the shelf" in read
    assert "No tool-call record" in read
    assert "Where is book 3?" not in read


def test_who_operates_reads_a_target_and_has_nothing_to_change_it_with(desk: Model, model, visit_as: Visit):
    target = make_the_target(visit_as, model[1].url)
    olga = visit_as("olga")
    assert olga.visit(f"{TARGETS}{target.pk}/change/") == 200
    assert "Desk by a model" in olga.text()
    assert olga.do(lambda tab: tab.locator("#content input, #content textarea, #content select").count()) == 0
