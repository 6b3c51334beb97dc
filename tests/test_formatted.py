"""Markdown of a model becomes HTML that can do nothing."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_eval.formatted import LIMIT, TAGS, formatted

HARMLESS = re.compile(rf"</?(?:{'|'.join(TAGS)})>|<ol start=\"\d+\">")
ATTACKS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[x](javascript:alert(1))",
    "[x](/admin/logout/)",
    "![x](http://127.0.0.1/pixel.png)",
    "<http://127.0.0.1/>",
    "[x]: javascript:alert(1)\n\n[x]",
    "<a href='javascript:alert(1)'>x</a>",
    "<svg><style><!--</style><img src=x onerror=alert(1)>",
    "```html\n</code></pre><script>alert(1)</script>\n```",
    "| <script> |\n|---|\n| <b onclick=x> |",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
]


def markup(html: str) -> list[str]:
    """The tags in `html` that are not on the list."""
    return [tag for tag in re.findall(r"<[^>]*>?", html) if not HARMLESS.fullmatch(tag)]


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_but_the_listed_tags_without_attributes_comes_out(attack: str):
    assert markup(formatted(attack)) == []


@given(
    st.lists(st.sampled_from([*ATTACKS, "<", ">", '"', "`", "*", "[", "](", "\n", "\n\n", "- ", "# ", "x"]))
)
def test_no_mixture_of_attacks_comes_through(parts: list[str]):
    assert markup(formatted("".join(parts))) == []


@given(st.text())
def test_any_text_can_be_read(text: str):
    assert markup(formatted(text)) == []


def test_what_markdown_is_for_is_there():
    html = formatted(
        "# Opening\n\nOpen **daily** from `nine`:\n\n1. a\n2. b\n\n| day | hour |\n|---|---|\n| Mon | 9 |"
    )
    assert "<p><strong>Opening</strong></p>" in html
    assert "<strong>daily</strong> from <code>nine</code>" in html
    assert "<ol>\n<li>a</li>\n<li>b</li>\n</ol>" in html
    assert "<td>Mon</td>" in html


def test_a_link_is_shown_as_it_was_written_so_that_its_words_hide_nothing():
    assert (
        formatted("[your account](http://127.0.0.1/steal)")
        == "<p>[your account](http://127.0.0.1/steal)</p>\n"
    )


@pytest.mark.parametrize("sign", [">", "[", "*", "`", "- ", "a\n", "[a](", "<", "|"])
def test_what_grows_without_end_is_cut(sign: str):
    assert formatted(sign * 100_000) == formatted((sign * 100_000)[:LIMIT])
