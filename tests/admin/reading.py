"""Pages of the admin as a reader and a test read them."""

import re
from collections.abc import Callable
from html import unescape
from typing import Any

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

SignIn = Callable[[str], Client]
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)> {{ 7*7 }} %s {0} \u202egnp"
READS_AND_EDITS = [
    ("adam", 200, 200),
    ("olga", 200, 403),
    ("anna", 403, 403),
    ("vera", 403, 403),
    ("nina", 403, 403),
    ("root", 200, 200),
]
"""Who reads and who edits what administrators look after: name, status of a page, status of a form."""


def shown(client: Client, url: str) -> str:
    response = client.get(url)
    assert response.status_code == 200, response.status_code
    return response.content.decode()


def words(html: str) -> str:
    """What a reader reads of the page, on one line."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def queries_of(client: Client, url: str) -> int:
    """How many the page takes when it is not the first that is shown."""
    shown(client, url)
    with CaptureQueriesContext(connection) as found:
        shown(client, url)
    return len(found)


def form_errors(response: Any) -> dict[str, list[str]]:
    assert response.status_code == 200, "nothing was refused"
    return {name: list(found) for name, found in response.context["form"].errors.items()}
