"""Markdown of a model as HTML that can do nothing: what is on the list below stays, all else goes."""

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt

LIMIT = 20_000
"""Characters. Markdown is parsed in more than linear time, and a page is no place for a book."""

TAGS = frozenset(
    {
        *("p", "br", "hr", "strong", "em", "s", "code", "pre", "blockquote"),
        *("ul", "ol", "li", "h1", "h2", "h3", "h4", "h5", "h6"),
        *("table", "thead", "tbody", "tr", "th", "td"),
    }
)
NOT_READ = ("link", "image", "autolink", "reference", "html_block", "html_inline")
"""A link is shown as it was written: it would lead where its words don't say, or tell its host who reads."""


def formatted(markdown: str) -> SafeString:
    """The first `LIMIT` characters of a Markdown text as HTML without links, images and attributes.

    HTML in the text is text. A heading is a bold paragraph: those of a page are its own.
    """
    parser = (
        MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable(list(NOT_READ))
    )
    html = parser.render(markdown[:LIMIT])
    clean = nh3.clean(html, tags=set(TAGS), attributes={"*": set(), "ol": {"start"}})
    for level in range(1, 7):
        clean = clean.replace(f"<h{level}>", "<p><strong>").replace(f"</h{level}>", "</strong></p>")
    return mark_safe(clean)  # noqa: S308 - the one place that makes HTML of foreign text, by an allow-list
