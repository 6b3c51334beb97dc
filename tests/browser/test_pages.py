"""What holds for every page of the admin, seen in a real browser with hostile text everywhere."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.chromium import NARROW, Visitor
from tests.browser.hostile import RENDERED, hostile, hostile_id
from tests.browser.pages import PAGES, POSTED, Page, each_page, names
from tests.browser.site import Site

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text("utf-8")
SERIOUS = ("serious", "critical")
Visit = Callable[..., Visitor]


def test_every_page_of_the_admin_is_on_the_list_of_pages():
    assert names() == {page.name for page in PAGES} | POSTED


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
    links = visitor.do(
        lambda tab: tab.eval_on_selector_all(
            "[href], [src], [action]", "all => all.map(each => each.outerHTML)"
        )
    )
    assert [link for link in links if _runs(link)] == []
    missing = [name for name in page.shows if not ({hostile(name), hostile_id(name)} & _within(text, name))]
    assert missing == [], f"not readable as they came: {missing}"


def _runs(link: str) -> bool:
    head = link.partition(">")[0].lower()
    return any(f'{attribute}="javascript:' in head for attribute in ("href", "src", "action"))


def _within(text: str, name: str) -> set[str]:
    # Headings may be shown in capitals.
    folded = text.casefold()
    return {each for each in (hostile(name), hostile_id(name)) if each.casefold() in folded}


WIDER = """
() => {
    const width = document.documentElement.clientWidth;
    const scrolls = element => {
        for (let each = element.parentElement; each; each = each.parentElement) {
            if (getComputedStyle(each).overflowX !== "visible") return true;
        }
        return false;
    };
    return [...document.body.querySelectorAll("*")]
        .filter(each => each.getBoundingClientRect().right > width + 1 && !scrolls(each))
        .map(each => each.outerHTML.slice(0, 120));
}
"""


@each_page
def test_a_page_fits_on_a_narrow_screen(opened: Visitor):
    visitor = opened
    visitor.width(NARROW)
    width = visitor.do(lambda tab: tab.evaluate("document.documentElement.scrollWidth"))
    assert width <= NARROW["width"], "\n".join(visitor.do(lambda tab: tab.evaluate(WIDER)))
