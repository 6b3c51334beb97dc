"""The list of datasets as a test reads it."""

from django.test import Client
from django.urls import reverse

LIST = reverse("admin:ai_eval_dataset_changelist")
HOSTILE = "<script>alert(1)</script>{{ 7*7 }}%s"


def listed(client: Client, query: str = "") -> str:
    reply = client.get(LIST + query)
    assert reply.status_code == 200
    return reply.content.decode()


def line(html: str, reference: str) -> str:
    """The row of the table that names the reference, with its white space made one."""
    rows = [row for row in html.split("<tr")[1:] if reference in row]
    assert len(rows) == 1, f"{len(rows)} rows name {reference}"
    return " ".join(rows[0].partition("</tr>")[0].split())


def state(client: Client, source: str, reference: str):
    return client.get(reverse("admin:ai_eval_dataset_state"), {"source": source, "reference": reference})
