"""The whole way in a real Chromium: a target is made, run, watched, cancelled and resumed, a failure read."""

from collections.abc import Callable

from ai_eval.models import Answer, Run, Target
from tests.browser.chromium import Visitor
from tests.browser.desk import AT_ONCE, QUESTIONS, Model
from tests.cast import PASSWORD
from tests.llm_server import LLMServer
from tests.runs.making import make_target

Visit = Callable[..., Visitor]
TARGETS = "/admin/ai_eval/target/"
PATIENCE = 60.0


SEND = """
async () => {
    const body = new FormData(document.querySelector("form:has([name=csrfmiddlewaretoken])"));
    body.set("label", "Of an operator");
    return (await fetch(location.href, {method: "POST", body})).status;
}
"""
"""Sends the page's address a form, with a good token, whatever the page offers."""


def sign_in(visit_as: Visit, name: str) -> Visitor:
    """Through the form, from the page that was asked for to that page."""
    visitor = visit_as(None)
    visitor.visit("/admin/ai_eval/")
    assert visitor.path.startswith("/admin/login/")
    visitor.do(lambda tab: tab.get_by_label("Username").fill(name))
    visitor.do(lambda tab: tab.get_by_label("Password").fill(PASSWORD))
    visitor.press_button("Log in")
    assert visitor.path == "/admin/ai_eval/"
    return visitor


def make_the_target(visit_as: Visit, address: str) -> Target:
    """What an administrator does in the form."""
    adam = sign_in(visit_as, "adam")
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
    desk: Model, model: tuple[Model, LLMServer], visit_as: Visit
):
    target = make_the_target(visit_as, model[1].url)
    assert (target.graders, target.required) == (["relevance_grader", "format_grader"], ["relevance_grader"])

    olga = sign_in(visit_as, "olga")
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

    watch_it_begin(desk, olga)
    olga.press_button("Cancel the run")
    olga.wait_for_text("This page no longer refreshes itself.", PATIENCE)
    desk.go_on()
    assert Answer.objects.filter(run=run).exclude(outcome="").count() == 2 * AT_ONCE

    olga.press_button(f"Resume: {QUESTIONS - 2 * AT_ONCE} of {QUESTIONS} answers left")
    olga.wait_for_text("The run is complete.", PATIENCE)
    olga.follow("See the result")
    run.refresh_from_db()
    assert (run.state, run.verdict) == ("complete", "failed")
    assert "failed: pass_rate 0.9167 is below 0.95 (hard gate)" in olga.text()
    read_the_failure(olga)


def watch_it_begin(desk: Model, olga: Visitor) -> None:
    """The counts change on the page that was loaded once."""
    olga.wait_for_text(f"{AT_ONCE} of {QUESTIONS} answers", PATIENCE)
    olga.do(lambda tab: tab.evaluate("() => { window.loaded = 'once'; }"))
    desk.more.set()
    olga.wait_for_text(f"{2 * AT_ONCE} of {QUESTIONS} answers", PATIENCE)
    assert olga.do(lambda tab: tab.evaluate("window.loaded")) == "once"


def read_the_failure(olga: Visitor) -> None:
    olga.follow("failed 1")
    olga.open_everything()
    read = olga.text()
    assert "Where is book 2?" in read
    assert "It is on the second shelf." in read
    assert "says nothing of the shelf" in read
    assert "No tool-call record" in read
    assert "Where is book 3?" not in read


def test_who_operates_reads_a_target_and_can_change_nothing_of_it(desk: Model, visit_as: Visit):
    target = make_target(slug="desk", label="Desk by a model")
    adam, olga = visit_as("adam"), visit_as("olga")
    for visitor in (adam, olga):
        assert visitor.visit(f"{TARGETS}{target.pk}/change/") == 200
    assert adam.do(lambda tab: tab.evaluate(SEND)) == 200, "what is sent is a form that may be sent"
    assert "Desk by a model" in olga.text()
    assert olga.do(lambda tab: tab.locator("#content input, #content textarea, #content select").count()) == 0
    olga.expect("403")
    assert olga.do(lambda tab: tab.evaluate(SEND)) == 403
    target.refresh_from_db()
    assert target.label == "Desk by a model"
