"""What a browser sends and reads with the form of a target."""

import re
from typing import Any

from django.test import Client
from django.urls import reverse

from ai_eval.models import Target

ADD = "admin:ai_eval_target_add"
HOSTILE = "<script>alert(1)</script> {{ 7*7 }} %s \u202e" + "w" * 50


def change(target: Target) -> str:
    return reverse("admin:ai_eval_target_change", args=[target.pk])


def filled(target: Target | None = None, **fields: Any) -> dict[str, Any]:
    """What a browser sends for this target, with some fields changed; None leaves a field out."""
    given = target or Target(
        slug="desk", label="Desk", mode="agent", agent="echo", graders=["contains_done"], gate_threshold=None
    )
    data: dict[str, Any] = {
        "label": given.label,
        "slug": given.slug,
        "enabled": "on" if given.enabled else None,
        "mode": given.mode,
        "agent": given.agent,
        "environment": given.environment,
        "model": given.model,
        "api_base": given.api_base,
        "system_prompt": given.system_prompt,
        "replies": given.replies,
        "parameters": "{}",
        "dataset": f"{given.dataset_source}:{given.dataset_reference}",
        "graders": given.graders,
        "required": given.required or [],
        "required_default": "on" if given.required is None else None,
        "gate_type": "none" if given.gate_threshold is None else given.gate_type,
        "gate_metric": given.gate_metric,
        "gate_threshold": "" if given.gate_threshold is None else given.gate_threshold,
        "trials": given.trials,
        "pass_threshold": "",
        "max_error_rate": given.max_error_rate,
        "response_char_limit": "",
        "time_limit": "",
        "demand_trust": "",
    }
    if target is not None:
        data["seen"] = target.changed_at.isoformat()
    return {name: value for name, value in {**data, **fields}.items() if value is not None}


def errors(response: Any) -> dict[str, list[str]]:
    assert response.status_code == 200, "nothing was refused"
    return {name: list(found) for name, found in response.context["adminform"].form.errors.items()}


def page(client: Client, url: str) -> str:
    response = client.get(url)
    assert response.status_code == 200
    return response.content.decode()


def box(html: str, name: str, value: str) -> str:
    """The tag of one checkbox."""
    (found,) = re.findall(rf'<input type="checkbox" name="{name}" value="{re.escape(value)}"[^>]*>', html)
    return str(found)
