"""What several people see of one run, and what a page says that lost its run, session or server."""

import os
import signal
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from django.contrib.sessions.models import Session

from ai_eval.models import Answer, Run, Target
from ai_eval.runs.control import cancel, delete
from tests.browser.chromium import Visitor
from tests.browser.desk import AT_ONCE, QUESTIONS, Model
from tests.llm_server import LLMServer
from tests.runs.making import make_target
from tests.runs.processes import worker_pids

Visit = Callable[..., Visitor]
PATIENCE = 60.0


@pytest.fixture
def target(desk: Model, model: tuple[Model, LLMServer]) -> Target:
    return make_target(
        slug="desk",
        mode="chat",
        agent="",
        model="openai/desk",
        api_base=model[1].url,
        graders=["relevance_grader"],
        dataset_reference="shelves",
    )


@pytest.fixture
def olga(target: Target, visit_as: Visit) -> Visitor:
    """An operator who looks at the page before the launch."""
    visitor = visit_as("olga")
    assert visitor.visit(f"/admin/ai_eval/target/launch/?ids={target.pk}") == 200
    return visitor


@pytest.fixture
def watched(olga: Visitor) -> Run:
    """A run of which `AT_ONCE` answers are there and the others are held back, watched by an operator."""
    olga.press_button("Run")
    olga.wait_for_text(f"{AT_ONCE} of {QUESTIONS} answers", PATIENCE)
    return Run.objects.get()


def test_two_presses_of_run_make_one_run(olga: Visitor):
    olga.do(lambda tab: tab.get_by_role("button", name="Run", exact=True).dblclick())
    olga.wait_for_text(f"{AT_ONCE} of {QUESTIONS} answers", PATIENCE)
    assert Run.objects.count() == 1


def test_a_second_person_and_a_reload_see_the_same(desk: Model, olga: Visitor, watched: Run, visit_as: Visit):
    adam = visit_as("adam")
    adam.visit(olga.path)
    olga.do(lambda tab: tab.reload())
    for visitor in (adam, olga):
        visitor.wait_for_text(f"{AT_ONCE} of {QUESTIONS} answers", PATIENCE)
    desk.go_on()
    for visitor in (adam, olga):
        visitor.wait_for_text("The run is complete.", PATIENCE)
        assert f"{QUESTIONS} of {QUESTIONS} answers (100 %)" in visitor.text()


def test_who_watches_is_told_that_somebody_else_cancelled(desk: Model, olga: Visitor, watched: Run):
    cancel(watched.pk)
    olga.wait_for_text("The run was cancelled with", PATIENCE)
    desk.go_on()
    olga.wait_for_text("This page no longer refreshes itself.", PATIENCE)
    assert not polls(olga)


def test_a_run_that_is_deleted_while_it_is_watched_is_told_and_no_longer_asked_for(
    olga: Visitor, watched: Run
):
    cancel(watched.pk)
    for pid in worker_pids():
        os.kill(pid, signal.SIGKILL)
    delete(watched.pk)
    olga.wait_for_text("somebody deleted it", PATIENCE)
    assert not polls(olga)


def test_who_is_signed_out_meanwhile_is_led_to_sign_in(olga: Visitor, watched: Run):
    olga.expect("403")
    Session.objects.all().delete()
    olga.do(lambda tab: tab.wait_for_url("**/admin/login/**", timeout=PATIENCE * 1000))


def test_a_killed_worker_is_told_and_its_run_can_be_resumed(desk: Model, olga: Visitor, watched: Run):
    pids = worker_pids()
    assert pids, "nobody works"
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    olga.wait_for_text("Its workers ended before the run did.", PATIENCE)
    assert f"Resume: {QUESTIONS - AT_ONCE} of {QUESTIONS} answers left" in olga.text()
    desk.go_on()
    olga.press_button(f"Resume: {QUESTIONS - AT_ONCE} of {QUESTIONS} answers left")
    olga.wait_for_text("The run is complete.", PATIENCE)
    assert Answer.objects.filter(run=watched, outcome="scored").count() == QUESTIONS


def test_a_server_that_does_not_answer_is_told_until_it_does(
    desk: Model, watched: Run, visit_as: Visit, live_server
):
    with Way(live_server.url) as way:
        other = visit_as("olga", way.url)
        other.expect("ERR_", "htmx:sendError", "htmx:afterRequest")  # the way is closed for a while
        other.visit(f"/admin/ai_eval/run/{watched.pk}/progress/")
        lost = "The server does not answer"
        assert lost not in other.text()
        way.open = False
        other.wait_for_text(lost, PATIENCE)
        way.open = True
        desk.go_on()
        other.wait_for_text("The run is complete.", PATIENCE)
        assert lost not in other.do(lambda tab: tab.locator("#content-main").inner_text())


def test_of_two_who_edit_one_target_the_second_is_told(target: Target, visit_as: Visit):
    first, second = visit_as("adam"), visit_as("root")
    for visitor in (first, second):
        assert visitor.visit(f"/admin/ai_eval/target/{target.pk}/change/") == 200
    for visitor, label in ((first, "The first"), (second, "The second")):
        visitor.do(lambda tab, label=label: tab.locator("#id_label").fill(label))
        visitor.press_button("Save")
    told = " ".join(second.text().split())
    assert "adam (0 minutes ago) saved this after you opened it, and nothing of yours is saved yet" in told
    assert "Label is The first there" in told
    assert second.do(lambda tab: tab.locator("#id_label").input_value()) == "The second"
    target.refresh_from_db()
    assert target.label == "The first"


def polls(visitor: Visitor) -> bool:
    """Whether the page asks for news within three of its rounds."""
    asked: list[str] = []

    def listen(tab) -> None:
        tab.on("request", lambda request: asked.append(request.url))
        tab.wait_for_timeout(6500)

    visitor.do(listen)
    return bool(asked)


class Way:
    """The way to the server, which can be closed: while it is, every request ends without a reply."""

    def __init__(self, server: str) -> None:
        self.open = True
        way = self

        class Passing(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if not way.open:
                    self.close_connection = True
                    return
                headers = {
                    name: value for name, value in self.headers.items() if name.lower() != "connection"
                }
                try:
                    reply = urlopen(Request(server + self.path, headers=headers))
                except HTTPError as error:
                    reply = error
                with reply:
                    self.send_response(reply.status)
                    for name, value in reply.headers.items():
                        if name.lower() not in ("transfer-encoding", "connection", "date", "server"):
                            self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(reply.read())

            def log_message(self, *args: object) -> None:
                """Nothing: what is asked for is no news."""

        self.server = ThreadingHTTPServer(("localhost", 0), Passing)
        self.url = f"http://localhost:{self.server.server_port}"

    def __enter__(self) -> "Way":
        Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *args: object) -> None:
        self.server.shutdown()
        self.server.server_close()
