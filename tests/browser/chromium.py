"""A real Chromium, and a visitor who sits before it and notes whatever goes wrong on a page."""

import os
import re
import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from playwright.sync_api import Browser, ConsoleMessage, Page, Request, Response, sync_playwright

P = ParamSpec("P")
R = TypeVar("R")

PROGRAM = "AI_EVAL_TEST_CHROMIUM"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
WIDE = {"width": 1280, "height": 900}
NARROW = {"width": 360, "height": 800}
PATIENCE_MS = 15_000
SETTLED_MS = 40
"""A page that asked for nothing during this time has what it wanted."""


def find_program() -> str | None:
    """The Chromium of this machine; AI_EVAL_TEST_CHROMIUM names another one."""
    given = os.environ.get(PROGRAM)
    if given:
        return given if Path(given).is_file() else None
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Chromium:
    """One browser, driven from one thread of its own.

    Playwright's synchronous interface keeps an event loop running in the thread that uses it. In the
    thread of the tests Django would refuse the database there, and `async_to_sync` and `asyncio.run`
    would fail in every later test of the process. So nothing of Playwright is touched by any other thread,
    and neither of Django's guards is switched off.
    """

    def __init__(self, program: str) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="chromium")
        self._thread = self.run(threading.current_thread)
        self.run(self._start, program)

    def run(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function in the browser's thread."""
        if threading.current_thread() is getattr(self, "_thread", None):
            return function(*args, **kwargs)
        return self._executor.submit(function, *args, **kwargs).result()

    def _start(self, program: str) -> None:
        self._playwright = sync_playwright().start()
        self.browser: Browser = self._playwright.chromium.launch(executable_path=program, args=list(FLAGS))

    def close(self) -> None:
        self.run(self._stop)
        self._executor.shutdown()

    def _stop(self) -> None:
        self.browser.close()
        self._playwright.stop()


def in_browser(
    method: Callable[Concatenate["Visitor", P], R],
) -> Callable[Concatenate["Visitor", P], R]:
    """Runs a method of a visitor in the browser's thread."""

    @wraps(method)
    def run(self: "Visitor", *args: P.args, **kwargs: P.kwargs) -> R:
        return self.chromium.run(method, self, *args, **kwargs)

    return run


class Visitor:
    """One person with a browser profile of their own, on one page at a time.

    `faults` collects errors of scripts, what the policy refused, alerts, and requests that failed.
    """

    def __init__(self, chromium: Chromium, base: str, cookies: dict[str, str] | None = None) -> None:
        self.chromium = chromium
        self.base = base
        self.faults: list[str] = []
        self._expected: list[str] = []
        self._open: set[Request] = set()
        self._begin(cookies or {})

    @in_browser
    def _begin(self, cookies: dict[str, str]) -> None:
        self.context = self.chromium.browser.new_context(viewport=WIDE, reduced_motion="reduce")
        self.context.add_cookies(
            [{"name": name, "value": value, "url": self.base} for name, value in cookies.items()]
        )
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE_MS)
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self._note(f"script: {error}"))
        self.page.on("dialog", self._dialog)
        self.page.on("request", lambda request: self._open.add(request))
        self.page.on("requestfinished", lambda request: self._open.discard(request))
        self.page.on("requestfailed", self._failed)
        self.page.on("response", self._response)

    def _note(self, fault: str) -> None:
        if not any(re.search(pattern, fault) for pattern in self._expected):
            self.faults.append(fault)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not message.text.startswith("Failed to load resource"):
            self._note(message.text)

    def _failed(self, request: Request) -> None:
        self._open.discard(request)
        if request.failure != "net::ERR_ABORTED":  # a page that is left stops its requests
            self._note(f"{request.failure} {request.method} {request.url}")

    def _dialog(self, dialog: Any) -> None:
        self._note(f"{dialog.type}: {dialog.message}")
        dialog.dismiss()

    def _response(self, response: Response) -> None:
        if response.status >= 400 and not response.url.endswith("/favicon.ico"):
            self._note(f"{response.status} {response.request.method} {response.url}")

    def expect(self, *patterns: str) -> None:
        """Faults that this test brings about, as regular expressions."""
        self._expected += patterns
        self.faults = [fault for fault in self.faults if not any(re.search(each, fault) for each in patterns)]

    @in_browser
    def close(self) -> None:
        self.context.close()

    @in_browser
    def picture(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=path, full_page=True)

    @in_browser
    def do(self, action: Callable[[Page], R]) -> R:
        """Anything that Playwright can do with the page."""
        return action(self.page)

    @in_browser
    def visit(self, path: str) -> int:
        """Open an address and wait until it is quiet. The status of the reply."""
        response = self.page.goto(self.base + path)
        self.settle()
        assert response is not None
        return response.status

    @property
    def path(self) -> str:
        """Where the visitor is, without the host."""
        return self.do(lambda page: page.url).removeprefix(self.base)

    @in_browser
    def settle(self) -> None:
        """Wait until no request is under way."""
        waited = 0
        while True:
            self.page.wait_for_timeout(SETTLED_MS)
            waited += SETTLED_MS
            if not self._open or waited > PATIENCE_MS:
                return

    @in_browser
    def press_button(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).click()
        self.settle()

    @in_browser
    def follow(self, name: str) -> None:
        self.page.get_by_role("link", name=name, exact=True).first.click()
        self.settle()

    @in_browser
    def wait_for_text(self, text: str, seconds: float = PATIENCE_MS / 1000) -> None:
        self.page.get_by_text(text).first.wait_for(timeout=seconds * 1000)

    @in_browser
    def open_everything(self) -> None:
        """Unfold every part of the page, and what was loaded with it."""
        for _ in range(5):
            opened = self.page.evaluate(
                "() => [...document.querySelectorAll('details:not([open])')].map(d => d.open = true).length"
            )
            self.settle()
            if not opened:
                return
        raise AssertionError("there is always one more part to unfold")

    @in_browser
    def text(self) -> str:
        """All that can be read: texts, and what stands in fields and choices."""
        return self.page.evaluate(
            """() => [
                document.body.innerText,
                ...[...document.querySelectorAll("input, textarea")].map(field => field.value),
                ...[...document.querySelectorAll("option, optgroup")].map(o => o.label || o.textContent),
            ].join("\\n")"""
        )

    @in_browser
    def colours(self, scheme: str) -> None:
        """`light` or `dark`, without the moment in which one fades into the other."""
        self.page.emulate_media(color_scheme=scheme)
        self.page.wait_for_timeout(SETTLED_MS)
        self.page.evaluate("document.getAnimations().forEach(each => each.finish())")

    @in_browser
    def width(self, size: dict[str, int]) -> None:
        self.page.set_viewport_size(size)
        self.page.wait_for_timeout(SETTLED_MS)
