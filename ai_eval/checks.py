"""System checks. Each has an id, and a hint that says what would be right; docs/checks.md lists them."""

import inspect
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register
from django.db import DEFAULT_DB_ALIAS, connections

from ai_eval import agents, datasets, environments
from ai_eval.conf import KEYS
from ai_eval.graders.base import Grader, readable_score
from ai_eval.graders.registry import CORRECTABLE
from ai_eval.graders.registry import registry as graders
from ai_eval.wording import hint, listed, quoted, shown

TAG = "ai_eval"


def _path(declared: type) -> str:
    return f"{declared.__module__}.{declared.__qualname__}"


def _declared_text(declared: type, name: str) -> str:
    value = getattr(declared, name, "")
    return value.strip() if isinstance(value, str) else ""


def _needs_arguments(declared: type) -> bool:
    try:
        inspect.signature(declared).bind()
    except TypeError:
        return True
    except ValueError:
        return False
    return False


def _identity(declared: list[type], noun: str, ids: tuple[str, str, str, str]) -> Iterator[CheckMessage]:
    """No id, no label, an id taken twice, arguments needed to build one: alike for every kind of plug-in."""
    first: dict[str, type] = {}
    no_id, no_label, twice, arguments = (f"ai_eval.{each}" for each in ids)
    for each in declared:
        id = _declared_text(each, "id")
        if not id or id != each.id:  # type: ignore[attr-defined]
            yield Error(
                f"The {noun} {_path(each)} has no id.",
                hint="Set `id` to a text that is stored and stays: lower-case letters, digits, underscores.",
                obj=each,
                id=no_id,
            )
        elif id in first:
            yield Error(
                f"The {noun} id {quoted(id)} is taken twice: by {_path(first[id])} and {_path(each)}.",
                hint="Give one of them another id; until then only the first one is used.",
                obj=each,
                id=twice,
            )
        else:
            first[id] = each
        if not _declared_text(each, "label"):
            yield Error(
                f"The {noun} {_path(each)} has no label.",
                hint="Set `label` to what people are to read.",
                obj=each,
                id=no_label,
            )
        if _needs_arguments(each):
            yield Error(
                f"The {noun} {_path(each)} can't be built without arguments.",
                hint="A fresh instance is built for each use: give every argument of `__init__` a default.",
                obj=each,
                id=arguments,
            )


def _undefined(declared: list[type], base: type, method: str, noun: str, id: str) -> Iterator[CheckMessage]:
    for each in declared:
        if getattr(each, method, None) in (None, getattr(base, method)):
            yield Error(
                f"The {noun} {_path(each)} does not define {method}.",
                hint=f"Subclass {base.__module__}.{base.__name__} and define `{method}`.",
                obj=each,
                id=f"ai_eval.{id}",
            )


def _scale_problem(minimum: object, maximum: object) -> str:
    low, high = readable_score(minimum), readable_score(maximum)
    if low is None or high is None:
        return f"min_score {minimum!r} and max_score {maximum!r} are not both finite numbers"
    return "" if low < high else f"min_score {minimum!r} is not below max_score {maximum!r}"


@register(TAG)
def check_graders(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Declarations of graders."""
    found = list(_identity(graders.declared, "grader", ("E001", "E002", "E003", "E007")))
    found += _undefined(graders.declared, Grader, "grade", "grader", "E006")
    for each in graders.declared:
        problem = _scale_problem(each.min_score, each.max_score)
        if problem:
            found.append(
                Error(
                    f"The grader {_path(each)} has no scale: {problem}.",
                    hint="Declare the lowest and the highest score that it gives, as 0.0 and 5.0.",
                    obj=each,
                    id="ai_eval.E004",
                )
            )
        if each.sees_tool_calls and not each.llm:
            found.append(
                Error(
                    f"The grader {_path(each)} declares sees_tool_calls without llm.",
                    hint="It is about what a judge is shown; to read the record, declare observes_actions.",
                    obj=each,
                    id="ai_eval.E005",
                )
            )
        keys = each.reads_metadata
        if isinstance(keys, str) or not all(isinstance(key, str) for key in keys):
            found.append(
                Error(
                    f"The grader {_path(each)} has reads_metadata {keys!r}, which is no tuple of names.",
                    hint='Write a tuple: `reads_metadata = ("state",)`, with the comma.',
                    obj=each,
                    id="ai_eval.E008",
                )
            )
        if each.llm and not _declared_text(each, "dimension"):
            found.append(
                Warning(
                    f"The judge {_path(each)} has no dimension: it can't be validated.",
                    hint="Set `dimension` to a stable token: gold labels and validations key on it.",
                    obj=each,
                    id="ai_eval.W001",
                )
            )
    return found


@register(TAG)
def check_plugins(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Declarations of agents, environments and dataset sources."""
    agent = list(agents.registry.declared)
    environment = list(environments.registry.declared)
    source = list(datasets.registry.declared)
    return [
        *_identity(agent, "agent", ("E020", "E021", "E022", "E024")),
        *_undefined(agent, agents.Agent, "run", "agent", "E023"),
        *_identity(environment, "environment", ("E030", "E031", "E032", "E034")),
        *_undefined(environment, environments.Environment, "open", "environment", "E033"),
        *_identity(source, "dataset source", ("E040", "E041", "E042", "E044")),
        *_undefined(source, datasets.DatasetSource, "references", "dataset source", "E043"),
        *_undefined(source, datasets.DatasetSource, "load", "dataset source", "E043"),
    ]


# The dictionary AI_EVAL


def _number(low: float, high: float = math.inf, *, above: bool = False) -> tuple[Any, str]:
    words = f"above {low:g}" if above else f"from {low:g}"
    words += "" if math.isinf(high) else f" to {high:g}"

    def fits(value: Any) -> bool:
        number = readable_score(value)
        return number is not None and number <= high and (number > low if above else number >= low)

    return fits, f"a number {words}"


def _whole(low: int, high: int) -> tuple[Any, str]:
    def fits(value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high

    return fits, f"a whole number from {low} to {high}"


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_path(value: Any) -> bool:
    return isinstance(value, str) or hasattr(value, "__fspath__")


def _are_texts(value: Any) -> bool:
    return isinstance(value, list | tuple | set | frozenset) and all(map(_is_text, value))


VALUES: Mapping[str, tuple[Any, str]] = {
    "DATASET_PATH": (_is_path, "the path of a directory"),
    "JUDGE_MODEL": (_is_text, "text, a LiteLLM model string"),
    "JUDGE_API_BASE": (_is_text, "text, an address"),
    "QUESTION_PASS_THRESHOLD": _number(0, 5),
    "RESPONSE_CHAR_LIMIT": _whole(1, 10_000_000),
    "RATE_LIMIT_MAX_RETRIES": _whole(0, 20),
    "RATE_LIMIT_BASE_DELAY": _number(0, 3600),
    "RATE_LIMIT_DELAY_BETWEEN_CALLS": _number(0, 3600),
    "KEY_HOSTS": (_are_texts, "a list of host names"),
    "PROCESSES": _whole(1, 256),
    "CONCURRENCY": _whole(1, 1000),
    "LEASE_SECONDS": _number(0, 3600, above=True),
    "TIME_LIMIT": _number(0, 86_400, above=True),
    "LLM_TIMEOUT": _number(0, 3600, above=True),
}
"""What each value must be: a test, and the words for it. GRADERS and EXECUTOR have checks of their own."""

EXECUTORS = ("local",)


@register(TAG)
def check_settings(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """The dictionary `AI_EVAL` of the site's settings."""
    given = getattr(settings, "AI_EVAL", {})
    if not isinstance(given, Mapping):
        return [
            Error(
                f"AI_EVAL is {shown(given)}, not a dictionary.",
                hint=f"Its keys are {listed(sorted(KEYS), 99)}.",
                id="ai_eval.E015",
            )
        ]
    found: list[CheckMessage] = []
    for key, value in given.items():
        if key not in KEYS:
            meant = hint(str(key), KEYS) or "."
            found.append(
                Error(
                    f"AI_EVAL has the key {quoted(str(key))}, which is not known{meant}",
                    hint=f"Known are {listed(sorted(KEYS), 99)}.",
                    id="ai_eval.E010",
                )
            )
        elif key in VALUES and not VALUES[key][0](value):
            found.append(
                Error(
                    f'AI_EVAL["{key}"] is {_written(value)}.',
                    hint=f"It must be {VALUES[key][1]}.",
                    id="ai_eval.E014",
                )
            )
    executor = given.get("EXECUTOR", "local")
    if executor not in EXECUTORS:
        found.append(
            Error(
                f'AI_EVAL["EXECUTOR"] is {_written(executor)}, which is not known.',
                hint=f"Known are {listed(EXECUTORS)}.",
                id="ai_eval.E013",
            )
        )
    return found


def _written(value: object) -> str:
    """A value as a message shows it, without what could be a key."""
    return shown(value) if value != "" else "an empty text"


@register(TAG)
def check_corrections(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """`AI_EVAL["GRADERS"]`, which hides and corrects graders."""
    given = getattr(settings, "AI_EVAL", {})
    corrections = given.get("GRADERS", {}) if isinstance(given, Mapping) else {}
    allowed = ("hidden", *CORRECTABLE)
    if not isinstance(corrections, Mapping) or not all(isinstance(e, Mapping) for e in corrections.values()):
        return [
            Error(
                'AI_EVAL["GRADERS"] is not a dictionary of dictionaries.',
                hint='Write grader ids to attributes: {"house_tone": {"hidden": True}}.',
                id="ai_eval.E015",
            )
        ]
    declared = {each.id: each for each in reversed(graders.declared)}
    found: list[CheckMessage] = []
    for id, correction in corrections.items():
        place = f'AI_EVAL["GRADERS"]["{id}"]'
        if id not in declared:
            found.append(
                Error(
                    f"{place}: no app registers such a grader{hint(str(id), declared) or '.'}",
                    hint="Remove it, or install the app that registers it.",
                    id="ai_eval.E011",
                )
            )
            continue
        found += [
            Error(
                f"{place} sets {quoted(str(name))}, which can't be set{hint(str(name), allowed) or '.'}",
                hint=f"It may set {listed(allowed, 99)}.",
                id="ai_eval.E012",
            )
            for name in correction
            if name not in allowed
        ]
        found += [
            Error(f"{place}: {problem}.", hint="Correct the correction.", id="ai_eval.E016")
            for problem in _correction_problems(declared[id], correction)
        ]
    return found


def _correction_problems(grader: type[Grader], correction: Mapping[str, Any]) -> Iterator[str]:
    """What would be wrong with the declaration as corrected."""
    for name in ("hidden", "llm", "sees_tool_calls", "observes_actions", "needs_environment"):
        if not isinstance(correction.get(name, False), bool):
            yield f"{name} is {shown(correction[name])}, not True or False"
    for name in ("label", "description"):
        value = correction.get(name, "-")
        if not _is_text(value) or (name == "label" and not value.strip()):
            yield f"{name} is {_written(value)}, not a text that can be read"
    values = {name: correction.get(name, getattr(grader, name)) for name in CORRECTABLE}
    corrects_scale = "min_score" in correction or "max_score" in correction
    problem = _scale_problem(values["min_score"], values["max_score"]) if corrects_scale else ""
    if problem:
        yield problem
    corrects_sight = "sees_tool_calls" in correction or "llm" in correction
    if corrects_sight and values["sees_tool_calls"] and not values["llm"]:
        yield "sees_tool_calls without llm"


# The database

SQLITE_OPTIONS = (
    '"OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": 20, '
    '"init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"}'
)


@register(TAG)
def check_sqlite(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Options of a default SQLite database that several processes write to."""
    database = connections.settings[DEFAULT_DB_ALIAS]
    if database["ENGINE"] != "django.db.backends.sqlite3" or database.get("NAME") == ":memory:":
        return []
    options = database.get("OPTIONS") or {}
    immediate = str(options.get("transaction_mode") or "").upper() in ("IMMEDIATE", "EXCLUSIVE")
    wal = re.search(r"journal_mode\s*=\s*wal\b", str(options.get("init_command") or ""), re.IGNORECASE)
    missing = [
        name
        for name, there in (("IMMEDIATE transactions", immediate), ("journal mode WAL", wal))
        if not there
    ]
    if not missing:
        return []
    return [
        Warning(
            f"The default database is SQLite without {' and '.join(missing)}: "
            'workers will lose transactions to "database is locked".',
            hint=f'Add to DATABASES["default"]: {SQLITE_OPTIONS}',
            id="ai_eval.W050",
        )
    ]
