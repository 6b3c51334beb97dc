"""The dataset schema, and its findings as sentences.

Each part of the schema has a description that completes “it must be …”, so that what the schema asks
for and what a message says can't differ.
"""

import json
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from ai_eval.wording import hint, listed, near, quoted, shown

KNOWN_KEYS = (
    "id",
    "input",
    "messages",
    "criteria",
    "expected",
    "expected_facts",
    "must_not_contain",
    "expected_tools",
    "rubric_ref",
    "tags",
    "bundle",
    "split",
    "enabled",
    "metadata",
)
DOCUMENT_KEYS = ("id", "label", "fixtures", "questions")


@cache
def _validators() -> tuple[Draft202012Validator, Draft202012Validator]:
    schema = json.loads((files("ai_eval") / "schemas" / "dataset.schema.json").read_text("utf-8"))
    around = {**schema, "properties": {**schema["properties"], "questions": {}}, "required": []}
    question = {"$defs": schema["$defs"], "$ref": "#/$defs/question"}
    return Draft202012Validator(around), Draft202012Validator(question)


def document_problems(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Pairs of key and problem of everything round the questions."""
    return _problems(_validators()[0], document)


def question_problems(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Pairs of key (`expected_tools[2].times`) and problem of one question."""
    return _problems(_validators()[1], row)


def instead_of(missing: str, there: Iterable[str], known: Container[str]) -> str:
    """` ("inptu" is there: is it meant?)`, where a key that is there may stand for one that is missing."""
    meant = next((key for key in there if key not in known and near(key, [missing])), None)
    return f" ({quoted(meant)} is there: is it meant?)" if meant else ""


def key_path(path: Sequence[str | int]) -> str:
    """`expected_tools[2].times`; positions count from 1, as a reader does."""
    text = ""
    for part in path:
        text += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def _problems(validator: Draft202012Validator, instance: Mapping[str, Any]) -> list[tuple[str, str]]:
    found = [pair for error in validator.iter_errors(instance) for pair in _sentences(error)]
    return list(dict.fromkeys(found))


def _sentences(error: ValidationError) -> Iterator[tuple[str, str]]:
    path = list(error.absolute_path)
    # Typed as Any: the library's own types allow for what a finished error never has.
    schema: Any = error.schema
    wanted = schema.get("description", "of another form")
    instance: Any = error.instance
    value: Any = error.validator_value
    if error.validator == "required":
        for key in value:
            if key not in instance:
                yield key_path([*path, key]), f"is missing{instead_of(key, instance, schema['properties'])}"
    elif error.validator == "additionalProperties":
        known = list(schema["properties"])
        for key in instance:
            if key not in known:
                yield (
                    key_path([*path, key]),
                    f"is not known{hint(key, known) or f'; known are {listed(known)}'}",
                )
    elif error.validator in ("minItems", "minProperties"):
        yield key_path(path), f"is empty, must be {wanted}"
    elif error.validator == "maxItems":
        yield key_path(path), f"has {len(instance)} entries, must be {wanted}"
    elif error.validator == "maxLength":
        yield key_path(path), f"has {len(instance)} characters, must be {wanted}"
    else:
        yield key_path(path), f"is {shown(instance)}, must be {wanted}"
