"""The tests' own visitor: a fault of a page that it did not notice would make every other test worthless."""

from collections.abc import Callable

import pytest

from tests.browser.chromium import Visitor
from tests.browser.site import make_cast

ADDED = """
html => {
    const place = document.createElement("div");
    document.body.append(place);
    place.append(document.createRange().createContextualFragment(html));
}
"""


@pytest.fixture
def visitor(live_server, visit_as: Callable[..., Visitor]) -> Visitor:
    make_cast()
    visitor = visit_as("adam")
    assert visitor.visit("/admin/") == 200
    assert visitor.faults == []
    return visitor


@pytest.mark.parametrize(
    ("html", "noted"),
    [
        ("<script>window.hacked = 1</script>", "inline script"),
        ("<img src=x onerror='window.hacked = 1'>", "inline event handler"),
        ("<p style='color: red'>x</p>", "inline style"),
        ("<style>p { color: red }</style>", "inline style"),
        ("<script src='https://example.org/x.js'></script>", "script 'https://example.org/x.js'"),
    ],
    ids=["script", "handler", "style", "stylesheet", "elsewhere"],
)
def test_what_a_strict_policy_refuses_is_noted(visitor: Visitor, html: str, noted: str):
    visitor.do(lambda tab: tab.evaluate(ADDED, html))
    visitor.settle()
    faults, visitor.faults = visitor.faults, []
    assert any(noted in fault for fault in faults), faults
    assert visitor.do(lambda tab: tab.evaluate("window.hacked")) is None


@pytest.mark.parametrize(
    ("script", "noted"),
    [
        ("alert(1)", "alert: 1"),
        ("setTimeout(() => { throw new Error('of the page') })", "of the page"),
        ("console.error('told by the page')", "told by the page"),
        ("void fetch('/admin/nowhere/')", "404 GET"),
    ],
    ids=["alert", "exception", "console", "request"],
)
def test_what_goes_wrong_on_a_page_is_noted(visitor: Visitor, script: str, noted: str):
    visitor.do(lambda tab: tab.evaluate(f"() => {{ {script} }}"))
    visitor.settle()
    faults, visitor.faults = visitor.faults, []
    assert any(noted in fault for fault in faults), faults


def test_the_tests_keep_the_database_and_event_loops_of_their_own(visitor: Visitor):
    import asyncio

    from django.contrib.auth.models import User

    async def answer() -> int:
        return 42

    assert asyncio.run(answer()) == 42
    assert User.objects.filter(username="adam").exists()
