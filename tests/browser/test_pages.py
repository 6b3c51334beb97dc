"""What holds for every page of the admin, seen in a real browser with hostile text everywhere."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page as PlaywrightPage

from ai_eval.models import EvalSettings
from tests.browser.chromium import NARROW, Visitor
from tests.browser.hostile import RENDERED, hostile, hostile_id
from tests.browser.pages import FILES, LED_ON, NOBODY, PAGES, PARTS, POSTED, Page, address, each_page, names
from tests.browser.site import Site

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text("utf-8")
SERIOUS = ("serious", "critical")
Visit = Callable[..., Visitor]


def test_every_page_of_the_admin_is_on_the_list_of_pages():
    assert names() == {page.name for page in PAGES} | POSTED | FILES | PARTS | LED_ON | NOBODY


@pytest.mark.parametrize("name", sorted(NOBODY))
def test_what_nobody_may_do_is_refused_to_a_superuser_too(name: str, site: Site, visit_as: Visit):
    arguments = () if name.endswith("_add") else (EvalSettings.objects.get().pk,)
    visitor = visit_as("root")
    assert visitor.visit(address(name, *arguments)) == 403
    visitor.expect("403")


@pytest.fixture
def opened(page: Page, site: Site, visit_as: Visit) -> Visitor:
    """The page with all its parts unfolded."""
    visitor = visit_as(page.user)
    assert visitor.visit(page.path(site)) == 200
    assert visitor.path == page.path(site)
    visitor.open_everything()
    return visitor


@each_page
def test_axe_finds_nothing_serious(opened: Visitor):
    visitor = opened
    assert visitor.faults == []
    visitor.expect("Applying inline style violates")  # axe tries styles of its own
    visitor.do(lambda tab: tab.evaluate(AXE))
    found = []
    for scheme in ("light", "dark"):
        visitor.colours(scheme)
        result = visitor.do(lambda tab: tab.evaluate("axe.run({resultTypes: ['violations']})"))
        found += [f"{scheme}: {told}" for told in violations(result)]
    assert not found, "\n".join(found)


def violations(result: dict[str, Any]) -> list[str]:
    return [
        f"{rule['id']} ({rule['impact']}): {node['target'][0]}: {node['failureSummary']}"
        for rule in result["violations"]
        if rule["impact"] in SERIOUS
        for node in rule["nodes"]
    ]


@each_page
def test_hostile_text_is_shown_and_does_nothing(page: Page, opened: Visitor):
    visitor = opened
    text = visitor.text()
    assert visitor.do(lambda tab: tab.evaluate("window.hacked")) is None
    assert RENDERED not in text
    assert visitor.do(lambda tab: tab.evaluate(SCRIPTED_LINKS)) == []
    assert [name for name in page.shows if not readable(name, text)] == []


def readable(name: str, text: str) -> bool:
    """Whether the text of that name is there as it came; headings may be shown in capitals."""
    return any(each.casefold() in text.casefold() for each in (hostile(name), hostile_id(name)))


SCRIPTED_LINKS = """
() => [...document.querySelectorAll("[href], [src], [action], [formaction]")]
    .filter(each => ["href", "src", "action", "formaction"]
        .some(name => /^\\s*javascript:/i.test(each.getAttribute(name) || "")))
    .map(each => each.outerHTML)
"""


WIDER = """
() => {
    const scrolls = element => {
        for (let each = element; each !== document.body; each = each.parentElement) {
            if (getComputedStyle(each).overflowX !== "visible") return true;
        }
        return false;
    };
    const within = document.createRange();
    const right = element => {
        within.selectNodeContents(element);  // its texts may stand out where its box does not
        return Math.max(element.getBoundingClientRect().right, within.getBoundingClientRect().right);
    };
    const wider = [...document.body.querySelectorAll("*")]
        .filter(each => right(each) > document.documentElement.clientWidth + 1 && !scrolls(each));
    return wider
        .filter(each => !wider.some(other => other !== each && each.contains(other)))
        .map(each => each.outerHTML.slice(0, 200));
}
"""


@each_page
def test_a_page_fits_on_a_narrow_screen(opened: Visitor):
    visitor = opened
    visitor.width(NARROW)
    width = visitor.do(lambda tab: tab.evaluate("document.documentElement.scrollWidth"))
    assert width <= NARROW["width"], "\n".join(visitor.do(lambda tab: tab.evaluate(WIDER)))


CONTROLS = (Path(__file__).parent / "controls.js").read_text("utf-8")
MORE_STOPS = 100
"""Places that scroll are stops too, and no controls."""


@each_page
def test_the_tab_key_reaches_every_control_and_shows_where_it_is(opened: Visitor):
    controls = opened.do(lambda tab: tab.evaluate(CONTROLS))
    reached, shown = opened.do(lambda tab: walk(tab, len(controls)))
    assert [controls[each] for each in range(len(controls)) if each not in reached] == [], "never reached"
    assert [controls[each] for each in reached if each not in shown] == [], "reached without a sign"


def walk(tab: PlaywrightPage, count: int) -> tuple[list[int], set[int]]:
    """The controls that the Tab key comes to, and those that look different then."""
    reached: list[int] = []
    shown: set[int] = set()
    for _ in range(count + MORE_STOPS):
        tab.keyboard.press("Tab")
        index, differs = tab.evaluate("window.focused()")
        if index >= 0 and index in reached:
            break
        if index >= 0:
            reached.append(index)
        if differs:
            shown.add(index)
        if len(reached) == count:
            break
    return reached, shown
