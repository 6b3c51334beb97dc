"""Text that does harm wherever it is taken for something else than text."""

PARTS = (
    "<script>window.hacked=1</script>",
    "\"><img src=x onerror=window.hacked=1>'",
    "{{7*7777}}%s{0}$x",
    "[a](javascript:window.hacked=1)",
    "\u202egnitirw\u202c\u200f",
)
LINK = "javascript:window.hacked=1"
RENDERED = str(7 * 7777)
"""Stands on a page only if somebody has computed what stands in the text."""


def hostile(name: str) -> str:
    """Such a text, told from the others by its name; one line of fewer than 200 characters."""
    return f"{name} {''.join(PARTS)} end of {name}"


def hostile_id(name: str) -> str:
    """The same for an id, which may hold no sign that can't be seen."""
    return f"{name} {''.join(PARTS[:-1])} end of {name}"
