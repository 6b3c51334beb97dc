"""What is wrong with the model, the address and the parameters of an endpoint that are to be stored.

Every door asks here. A key among them is refused, with the place where it belongs: what is stored is shown.
"""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from ai_eval.agents.credentials import looks_like_credential
from ai_eval.llm_keys import base_problem, scrub

WHERE = "a key comes from the environment, and is never stored here"


def address_problem(address: str) -> str:
    """Why an address can't be stored, or nothing; an empty one is the provider's own."""
    if unusable := base_problem(address):
        return unusable
    named = [name for name, _ in parse_qsl(urlsplit(address).query, keep_blank_values=True)]
    if any(looks_like_credential(name) or name.lower() == "key" for name in named):
        return f"holds a key in its query; {WHERE}"
    return f"holds what looks like a key; {WHERE}" if holds_key(address) else ""


def model_problem(model: str) -> str:
    """Why a model's name can't be stored, as a whole sentence, or nothing."""
    if not model.isprintable() or any(sign.isspace() for sign in model):
        return "A model's name has no space and no character that can't be seen."
    return f"This looks like a key: {WHERE}." if holds_key(model) else ""


def parameter_problems(parameters: object) -> list[str]:
    """What is wrong with parameters, one sentence each: keys first, then what no call can take."""
    from ai_eval.llm import check_parameters

    if not isinstance(parameters, Mapping):
        return check_parameters(parameters)
    keys = {name: problem for name, value in parameters.items() if (problem := _key_problem(name, value))}
    others = {name: value for name, value in parameters.items() if name not in keys}
    return [*keys.values(), *check_parameters(others)]


def holds_key(text: str) -> bool:
    """Whether the text holds a secret of this process's environment, or what looks like a key."""
    return scrub(text) != text


def _key_problem(name: object, value: Any) -> str:
    told = f"parameter {name!r} looks like a key: {WHERE}"
    if isinstance(name, str) and looks_like_credential(name):
        return f"{told}, so {name!r} is not allowed"
    return told if any(holds_key(text) for text in _texts(value)) else ""


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
