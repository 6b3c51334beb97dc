"""Keys pasted where they would be stored and shown: refused, with the place where they belong."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from ai_eval.agents.credentials import looks_like_credential
from ai_eval.configuration.validation import address_problem
from ai_eval.llm_keys import scrub

WHERE = "a key comes from the environment, and is never stored here"


def endpoint_problem(address: str) -> str:
    """Why an address can't be stored, or nothing; an empty one is the provider's own."""
    if unusable := address_problem(address):
        return unusable
    named = [name for name, _ in parse_qsl(urlsplit(address).query, keep_blank_values=True)]
    if any(looks_like_credential(name) or name.lower() == "key" for name in named):
        return f"holds a key in its query; {WHERE}"
    return f"holds what looks like a key; {WHERE}" if holds_key(address) else ""


def holds_key(text: str) -> bool:
    """Whether the text holds a secret of this process's environment, or what looks like a key."""
    return scrub(text) != text


def parameter_key_problems(parameters: Mapping[str, Any]) -> list[str]:
    """One sentence for each parameter that would hold a key."""
    return [
        f"parameter {name!r} looks like a key: {WHERE}"
        for name, value in parameters.items()
        if looks_like_credential(name) or (isinstance(value, str) and holds_key(value))
    ]
