"""Entries of a document, one by one, into values of the models; every problem is kept with its place."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ai_eval.configuration.endpoints import address_problem, parameter_problems
from ai_eval.configuration.reading import Wrong, not_in_this_version, place, unknown_key
from ai_eval.configuration.schema import (
    DATASET_KEYS,
    JUDGE_KEYS,
    REQUIRED_NESTED,
    REQUIRED_TARGET_KEYS,
    SETTINGS_KEYS,
    SETTINGS_LATER,
    SETTINGS_OTHERWISE,
    TARGET_KEYS,
    TARGET_LATER,
    TARGET_NESTED,
    Key,
)
from ai_eval.configuration.validation import target_problems, unregistered
from ai_eval.datasets.base import LoadedDataset, registry
from ai_eval.datasets.loading import source_problem
from ai_eval.datasets.placed import line_of, written
from ai_eval.datasets.rows import validate_rows
from ai_eval.datasets.schema import instead_of
from ai_eval.errors import DatasetError
from ai_eval.graders import registry as graders
from ai_eval.graders.prompts import check_template
from ai_eval.models import Target
from ai_eval.wording import quoted, shown

Values = dict[str, Any]
"""Fields of a model and what they are to be."""


class Entry:
    """One object of a document, while it is read."""

    def __init__(self, file: str, kind: str, given: Mapping[str, Any], id: object = "") -> None:
        self.file = file
        self.kind = kind
        self.given = given
        self.id = id
        self.problems: list[str] = []

    def problem(self, key: str, sentence: str, line: int = 0) -> None:
        top = key.partition(".")[0]
        line = line or (line_of(self.given, top) if top else line_of(self.given))
        self.problems.append(f"{place(self.file, self.kind, self.id, key)}: {sentence}{_at(line)}")

    def read(self, keys: Iterable[Key], given: Mapping[str, Any], prefix: str = "") -> Values:
        """The fields of these keys: what was given, else their default."""
        values = {}
        for key in keys:
            value = given.get(key.name)
            values[key.field] = key.default
            if value is not None:
                try:
                    values[key.field] = key.read(value)
                except Wrong as wrong:
                    self.problem(prefix + key.name, str(wrong))
        return values

    def require(
        self, names: Iterable[str], given: Mapping[str, Any], known: Collection[str], prefix: str = ""
    ) -> None:
        for name in names:
            if given.get(name) in (None, ""):
                state = "is empty" if name in given else f"is missing{instead_of(name, given, known)}"
                self.problem(prefix + name, f"{state}, and is needed")

    def refuse_unknown(self, known: Iterable[str], given: Mapping[str, Any], prefix: str = "") -> None:
        known = list(known)
        for key in given:
            if key not in known:
                self.problem(prefix + key, unknown_key(key, known))


def _at(line: int) -> str:
    return f" (line {line})" if line else ""


def read_target(entry: Entry) -> Values:
    """The fields of a target."""
    given = entry.given
    known = [*(key.name for key in TARGET_KEYS), *TARGET_NESTED]
    entry.refuse_unknown([*known, *TARGET_LATER], given)
    for key in TARGET_LATER:
        if refusal := not_in_this_version(given.get(key)):
            entry.problem(key, refusal)
    entry.require(REQUIRED_TARGET_KEYS, given, known)
    values = entry.read(TARGET_KEYS, given)
    values["label"] = values["label"] or values["slug"]
    for name, keys in TARGET_NESTED.items():
        values |= _read_nested(entry, name, keys)
    if not entry.problems:
        for sentence in target_problems(Target(**values)):
            entry.problem("", sentence)
        if registry.get(values["dataset_source"]) is None:
            entry.problem("dataset.source", source_problem(values["dataset_source"]))
    if values["gate_threshold"] is None:
        # Without a threshold there is no gate: what else is stored of it says nothing.
        del values["gate_metric"], values["gate_type"]
    return values


def _read_nested(entry: Entry, name: str, keys: tuple[Key, ...]) -> Values:
    inner = entry.given.get(name)
    if inner is not None and not isinstance(inner, Mapping):
        known = ", ".join(key.name for key in keys)
        entry.problem(name, f"is {shown(inner)}, must be a mapping with {known}")
        inner = None
    if inner is None:
        return {key.field: key.default for key in keys}
    names = [key.name for key in keys]
    entry.refuse_unknown(names, inner, f"{name}.")
    entry.require(REQUIRED_NESTED[name], inner, names, f"{name}.")
    return entry.read(keys, inner, f"{name}.")


def read_judge(entry: Entry) -> Values:
    """The fields of a judge's settings."""
    known = [key.name for key in JUDGE_KEYS]
    entry.refuse_unknown(known, entry.given)
    entry.require(["grader"], entry.given, known)
    values = entry.read(JUDGE_KEYS, entry.given)
    if not values["grader"] or entry.problems:
        return values
    info = graders.get(values["grader"])
    if info is None:
        judges = [each.id for each in graders.all() if each.llm]
        entry.problem("grader", unregistered("judge", values["grader"], judges))
    elif not info.llm:
        entry.problem("grader", f"{quoted(info.id)} asks no model: it is no judge")
    if values["prompt"]:
        for sentence in check_template(values["prompt"]):
            entry.problem("prompt", sentence)
    if unusable := address_problem(values["api_base"]):
        entry.problem("api_base", unusable)
    for sentence in parameter_problems(values["parameters"]):
        entry.problem("parameters", sentence)
    return values


def read_settings(entry: Entry) -> Values:
    """The settings that are mentioned; None for one that is null."""
    known = [key.name for key in SETTINGS_KEYS]
    for key in entry.given:
        if key in SETTINGS_OTHERWISE:
            entry.problem(key, SETTINGS_OTHERWISE[key])
        elif key in SETTINGS_LATER:
            entry.problem(key, "is not in this version: leave it out")
        elif key not in known:
            entry.problem(key, unknown_key(key, known))
    values = entry.read([key for key in SETTINGS_KEYS if key.name in entry.given], entry.given)
    if unusable := address_problem(values.get("judge_api_base") or ""):
        entry.problem("judge_api_base", unusable)
    return values


def read_dataset(entry: Entry) -> tuple[Values, LoadedDataset | None]:
    """The fields of a dataset, and its questions, which are checked as those of a file are."""
    known = [*(key.name for key in DATASET_KEYS), "questions"]
    entry.refuse_unknown(known, entry.given)
    entry.require(["id"], entry.given, known)
    values = entry.read(DATASET_KEYS, entry.given)
    if entry.problems:
        return values, None
    document = {key: entry.given[key] for key in ("questions",) if key in entry.given}
    try:
        return values, validate_rows(document, place(entry.file, entry.kind, written(entry.id)))
    except DatasetError as error:
        entry.problems += error.problems
        return values, None
