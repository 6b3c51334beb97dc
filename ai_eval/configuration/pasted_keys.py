"""Keys pasted where they would be stored and shown: refused, with the place where they belong."""

from collections.abc import Iterator, Mapping
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
    return f"holds what looks like a key; {WHERE}" if holds_key(address) else ""


def query_key_problem(address: str) -> str:
    """The sentence about a key under a name of its own in the address's query, or nothing."""
    named = [name for name, _ in parse_qsl(urlsplit(address).query, keep_blank_values=True)]
    if any(looks_like_credential(name) or name.lower() == "key" for name in named):
        return f"holds a key in its query; {WHERE}"
    return ""


def holds_key(text: str) -> bool:
    """Whether the text holds a secret of this process's environment, or what looks like a key."""
    return scrub(text) != text


def parameter_key_problems(parameters: Mapping[str, Any]) -> list[str]:
    """One sentence for each parameter that would hold a key."""
    return [
        f"parameter {name!r} looks like a key: {WHERE}"
        for name, value in parameters.items()
        if looks_like_credential(name) or any(holds_key(text) for text in _texts(value))
    ]


def _texts(value: Any) -> Iterator[str]:
    """Every text in a value of JSON, names among them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield name
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
