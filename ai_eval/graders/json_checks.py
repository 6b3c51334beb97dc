"""JSON read strictly, and JSON Schema without the network and with a time limit for its expressions."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any, NoReturn

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.validators import extend, validator_for
from referencing import Registry, Resource
from referencing.exceptions import Unresolvable
from referencing.jsonschema import DRAFT202012, UnknownDialect

from ai_eval.graders.patterns import PatternError, compile_pattern, found
from ai_eval.text import shorten
from ai_eval.wording import quoted

DEPTH_LIMIT = 200
"""Containers within one another; fixed, so that what is JSON does not depend on the caller's stack."""

ERRORS_SHOWN = 3
MESSAGE_LENGTH = 200


class NotJSON(ValueError):
    """The text is no JSON; the message says why."""


class BadSchema(ValueError):
    """The schema itself is at fault; the message says why."""


def read_strictly(text: str) -> Any:
    """The JSON value that `text` is, white space around it aside; RFC 8259 and nothing more.

    NotJSON for NaN and infinities, a key given twice, a byte order mark, a code fence, anything after
    the value, and more than `DEPTH_LIMIT` levels.
    """
    stripped = text.strip(" \t\n\r")
    if not stripped:
        raise NotJSON("there is nothing")
    if stripped.startswith(("```", "~~~")):
        raise NotJSON("a code fence stands round it, and a fence is no JSON")
    try:
        value = _DECODER.decode(stripped)
    except json.JSONDecodeError as error:
        raise NotJSON(f"{error.msg} at line {error.lineno}, column {error.colno}") from error
    except RecursionError as error:
        raise NotJSON(f"nested deeper than {DEPTH_LIMIT} levels") from error
    if _deeper_than(value, DEPTH_LIMIT):
        raise NotJSON(f"nested deeper than {DEPTH_LIMIT} levels")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for key, value in pairs:
        if key in members:
            raise NotJSON(f"the key {quoted(key)} is given twice in one object")
        members[key] = value
    return members


def _constant(text: str) -> NoReturn:
    raise NotJSON(f"{text} is no JSON number")


def _number(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise NotJSON("a number is larger than any reader takes")
    return number


def _integer(text: str) -> int:
    _number(text)
    return int(text)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_constant=_constant, parse_int=_integer, parse_float=_number
)


def _deeper_than(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [item for each in level for item in _items(each) if isinstance(each, dict | list)]
        if not level:
            return False
    return True


def _items(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def schema_problems(value: Any, schema: Any) -> list[str]:
    """What about `value` is against `schema`, the first few, each with its place; none when it fits.

    Draft 2020-12 unless `$schema` names another; `format` is checked. References stay within the
    schema. BadSchema when the schema itself is at fault; PatternTimeout when an expression of it
    takes too long.
    """
    validator = checked_validator(schema)
    try:
        errors = list(islice(validator.iter_errors(value), ERRORS_SHOWN))
    except Unresolvable as error:
        raise BadSchema(f"a reference leads nowhere: {error}") from error
    except RecursionError as error:
        raise BadSchema("refers to itself without end") from error
    return [_sentence(error) for error in errors]


def checked_validator(schema: Any) -> Any:
    """A validator for the schema. BadSchema says what is wrong with it."""
    if not isinstance(schema, Mapping) or not schema:
        raise BadSchema("must be a JSON Schema: a mapping that is not empty")
    try:
        return _validator_of(json.dumps(schema))
    except (TypeError, ValueError, RecursionError) as error:
        if isinstance(error, BadSchema):
            raise
        raise BadSchema(f"can't be written as JSON: {type(error).__name__}") from error


# Every answer brings a copy of the same few schemas.
@lru_cache(maxsize=100)
def _validator_of(text: str) -> Any:
    schema = json.loads(text)
    chosen: Any = validator_for(schema, default=Draft202012Validator)
    try:
        # Without format checks: its expressions are those of another library, checked below.
        chosen.check_schema(schema, format_checker=FormatChecker(formats=()))
        parts = list(_parts(schema))
        for part in parts:
            _check_part(part)
        root: Resource[Any] = Resource.from_contents(schema, default_specification=DRAFT202012)
        resolver = Registry().resolver_with_root(root)
        for part in parts:
            if isinstance(part.get("$ref"), str):
                resolver.lookup(part["$ref"])
    except SchemaError as error:
        place = "".join(f"[{step!r}]" for step in error.absolute_path)
        raise BadSchema(f"is no JSON Schema: {place} {_bounded(error.message)}") from error
    except UnknownDialect as error:
        raise BadSchema(f"names a $schema that nobody knows: {quoted(str(error.uri))}") from error
    except Unresolvable as error:
        raise BadSchema(f"a reference leads nowhere: {_bounded(str(error))}") from error
    timed = extend(chosen, _TIMED)
    return timed(schema, registry=Registry(), format_checker=chosen.FORMAT_CHECKER)


_DATA = ("const", "enum", "default", "examples")
"""Keywords whose values are data, not schemas."""


def _parts(schema: Any) -> Iterator[Mapping[str, Any]]:
    """Every mapping in the schema that may be one itself."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            yield part
            waiting += [value for key, value in part.items() if key not in _DATA]
        elif isinstance(part, list):
            waiting += part


def _check_part(part: Mapping[str, Any]) -> None:
    reference = part.get("$ref")
    if isinstance(reference, str) and not reference.startswith("#"):
        raise BadSchema(f"refers to {quoted(reference)}; only references within it (#…) are followed")
    patterns = [part["pattern"]] if isinstance(part.get("pattern"), str) else []
    if isinstance(part.get("patternProperties"), Mapping):
        patterns += [each for each in part["patternProperties"] if isinstance(each, str)]
    for pattern in patterns:
        try:
            compile_pattern(pattern)
        except PatternError as error:
            raise BadSchema(f"the pattern {quoted(pattern)} {error}") from error


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if validator.is_type(instance, "string") and not found(pattern, instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _pattern_properties(
    validator: Any, patterns: Mapping[str, Any], instance: Any, schema: Any
) -> Iterator[ValidationError]:
    if not validator.is_type(instance, "object"):
        return
    for pattern, part in patterns.items():
        for name, value in instance.items():
            if found(pattern, name):
                yield from validator.descend(value, part, path=name, schema_path=pattern)


def _additional_properties(
    validator: Any, allowed: Any, instance: Any, schema: Mapping[str, Any]
) -> Iterator[ValidationError]:
    if not validator.is_type(instance, "object"):
        return
    named = schema.get("properties", {})
    patterns = schema.get("patternProperties", {})
    extras = [name for name in instance if name not in named and not any(found(p, name) for p in patterns)]
    if validator.is_type(allowed, "object"):
        for name in extras:
            yield from validator.descend(instance[name], allowed, path=name)
    elif not allowed and extras:
        yield ValidationError(f"{', '.join(map(quoted, extras[:5]))} is not allowed here")


_TIMED = {
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
}


def _sentence(error: ValidationError) -> str:
    place = error.json_path
    return f"{shorten(place, MESSAGE_LENGTH)}: {_bounded(error.message)}"


def _bounded(message: str) -> str:
    return shorten(message, MESSAGE_LENGTH)
