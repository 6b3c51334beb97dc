"""Checks of the site's settings, by the whole list of what they say."""

import math
from typing import Any

import pytest
from django.core.checks import CheckMessage, Error, Warning
from django.db import connections

from ai_eval import checks
from ai_eval.conf import KEYS
from ai_eval.graders import Grader, GradeResult
from ai_eval.graders.registry import registry as graders


class Fine(Grader):
    id = "fine"
    label = "Fine"

    def grade(self, question: str, response: str, context: dict[str, Any]) -> GradeResult:
        return self.result(5, "fine")


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """One grader, without what the installed apps registered."""
    monkeypatch.setattr(graders, "declared", [Fine])


# AI_EVAL

ALL_KEYS = ", ".join(sorted(KEYS))


def test_without_settings_all_is_well(settings: Any) -> None:
    del settings.AI_EVAL
    assert [*checks.check_settings(None), *checks.check_corrections(None)] == []


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("JUDGE_MODLE", ", did you mean JUDGE_MODEL?"),
        ("judge_model", ", did you mean JUDGE_MODEL?"),
        ("WEATHER", "."),
    ],
)
def test_an_unknown_key_is_told_with_what_was_meant(settings: Any, key: str, told: str) -> None:
    settings.AI_EVAL = {key: "x"}
    assert checks.check_settings(None) == [
        Error(
            f'AI_EVAL has the key "{key}", which is not known{told}',
            hint=f"Known are {ALL_KEYS}.",
            id="ai_eval.E010",
        )
    ]


def test_settings_that_are_no_dictionary_are_told(settings: Any) -> None:
    settings.AI_EVAL = ["JUDGE_MODEL"]
    assert checks.check_settings(None) == [
        Error("AI_EVAL is a list, not a dictionary.", hint=f"Its keys are {ALL_KEYS}.", id="ai_eval.E015")
    ]
    assert checks.check_corrections(None) == []


@pytest.mark.parametrize("executor", ["celery", "Local", "", None])
def test_only_the_local_executor_is_known(settings: Any, executor: Any) -> None:
    settings.AI_EVAL = {"EXECUTOR": executor}
    written = {"": "an empty text", None: "null"}.get(executor, f'"{executor}"')
    assert checks.check_settings(None) == [
        Error(
            f'AI_EVAL["EXECUTOR"] is {written}, which is not known.',
            hint="Known are local.",
            id="ai_eval.E013",
        )
    ]


@pytest.mark.parametrize(
    ("key", "value", "written", "wanted"),
    [
        ("QUESTION_PASS_THRESHOLD", 5.1, "5.1", "a number from 0 to 5"),
        ("QUESTION_PASS_THRESHOLD", -1, "-1", "a number from 0 to 5"),
        ("QUESTION_PASS_THRESHOLD", "3.5", '"3.5"', "a number from 0 to 5"),
        ("QUESTION_PASS_THRESHOLD", math.nan, "nan", "a number from 0 to 5"),
        ("RESPONSE_CHAR_LIMIT", 0, "0", "a whole number from 1 to 10000000"),
        ("RESPONSE_CHAR_LIMIT", 10.0, "10.0", "a whole number from 1 to 10000000"),
        ("RATE_LIMIT_MAX_RETRIES", 21, "21", "a whole number from 0 to 20"),
        ("RATE_LIMIT_MAX_RETRIES", True, "true", "a whole number from 0 to 20"),
        ("RATE_LIMIT_BASE_DELAY", -0.1, "-0.1", "a number from 0 to 3600"),
        ("RATE_LIMIT_DELAY_BETWEEN_CALLS", None, "null", "a number from 0 to 3600"),
        ("PROCESSES", 0, "0", "a whole number from 1 to 256"),
        ("CONCURRENCY", 0, "0", "a whole number from 1 to 1000"),
        ("LEASE_SECONDS", 0, "0", "a number above 0 to 3600"),
        ("TIME_LIMIT", math.inf, "inf", "a number above 0 to 86400"),
        ("LLM_TIMEOUT", -1, "-1", "a number above 0 to 3600"),
        ("KEY_HOSTS", "models.example", '"models.example"', "a list of host names"),
        ("KEY_HOSTS", [5], "a list", "a list of host names"),
        ("JUDGE_MODEL", None, "null", "text, a LiteLLM model string"),
        ("JUDGE_API_BASE", 5, "5", "text, an address"),
        ("DATASET_PATH", None, "null", "the path of a directory"),
    ],
)
def test_a_value_out_of_range_is_told_with_the_range(
    settings: Any, key: str, value: Any, written: str, wanted: str
) -> None:
    settings.AI_EVAL = {key: value}
    assert checks.check_settings(None) == [
        Error(f'AI_EVAL["{key}"] is {written}.', hint=f"It must be {wanted}.", id="ai_eval.E014")
    ]


def test_the_ends_of_the_ranges_are_within(settings: Any, tmp_path: Any) -> None:
    settings.AI_EVAL = {
        "DATASET_PATH": tmp_path,
        "JUDGE_MODEL": "",
        "QUESTION_PASS_THRESHOLD": 0,
        "RESPONSE_CHAR_LIMIT": 1,
        "RATE_LIMIT_MAX_RETRIES": 0,
        "RATE_LIMIT_BASE_DELAY": 0,
        "KEY_HOSTS": (),
        "PROCESSES": 1,
        "LEASE_SECONDS": 0.5,
        "EXECUTOR": "local",
        "GRADERS": {},
    }
    assert checks.check_settings(None) == []


def test_every_setting_has_a_check() -> None:
    assert set(checks.VALUES) | {"GRADERS", "EXECUTOR"} == KEYS


# Corrections of graders

ALLOWED = (
    "hidden, label, description, llm, min_score, max_score, "
    "sees_tool_calls, observes_actions, needs_environment"
)


def corrections(settings: Any, **given: Any) -> list[CheckMessage]:
    settings.AI_EVAL = {"GRADERS": given}
    return checks.check_corrections(None)


def test_fine_corrections_are_fine(settings: Any) -> None:
    assert corrections(settings, fine={"hidden": True, "label": "Finer", "max_score": 10}) == []


@pytest.mark.parametrize(("id", "told"), [("fin", ", did you mean fine?"), ("weather", ".")])
def test_a_correction_of_a_grader_that_is_not_there_is_told(settings: Any, id: str, told: str) -> None:
    assert corrections(settings, **{id: {"hidden": True}}) == [
        Error(
            f'AI_EVAL["GRADERS"]["{id}"]: no app registers such a grader{told}',
            hint="Remove it, or install the app that registers it.",
            id="ai_eval.E011",
        )
    ]


@pytest.mark.parametrize(("name", "told"), [("lable", ", did you mean label?"), ("id", "."), ("grade", ".")])
def test_an_attribute_that_can_not_be_set_is_told(settings: Any, name: str, told: str) -> None:
    assert corrections(settings, fine={name: "x"}) == [
        Error(
            f'AI_EVAL["GRADERS"]["fine"] sets "{name}", which can\'t be set{told}',
            hint=f"It may set {ALLOWED}.",
            id="ai_eval.E012",
        )
    ]


@pytest.mark.parametrize("given", [["fine"], {"fine": "hidden"}, {"fine": None}, "fine"])
def test_corrections_are_dictionaries(settings: Any, given: Any) -> None:
    settings.AI_EVAL = {"GRADERS": given}
    assert checks.check_corrections(None) == [
        Error(
            'AI_EVAL["GRADERS"] is not a dictionary of dictionaries.',
            hint='Write grader ids to attributes: {"house_tone": {"hidden": True}}.',
            id="ai_eval.E015",
        )
    ]


@pytest.mark.parametrize(
    ("correction", "problem"),
    [
        ({"hidden": "no"}, 'hidden is "no", not True or False'),
        ({"observes_actions": 1}, "observes_actions is 1, not True or False"),
        ({"label": ""}, "label is an empty text, not a text that can be read"),
        ({"description": None}, "description is null, not a text that can be read"),
        ({"min_score": 5}, "min_score 5 is not below max_score 5.0"),
        ({"max_score": "10"}, "min_score 0.0 and max_score '10' are not both finite numbers"),
        ({"sees_tool_calls": True}, "sees_tool_calls without llm"),
    ],
)
def test_a_correction_that_would_spoil_the_declaration_is_told(
    settings: Any, correction: dict[str, Any], problem: str
) -> None:
    assert corrections(settings, fine=correction) == [
        Error(f'AI_EVAL["GRADERS"]["fine"]: {problem}.', hint="Correct the correction.", id="ai_eval.E016")
    ]


# The database

GOOD = {
    "transaction_mode": "IMMEDIATE",
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
}


def database(monkeypatch: pytest.MonkeyPatch, **given: Any) -> list[CheckMessage]:
    default = {"ENGINE": "django.db.backends.sqlite3", "NAME": "db.sqlite3", **given}
    monkeypatch.setitem(connections.settings, "default", default)
    return checks.check_sqlite(None)


@pytest.mark.parametrize(
    "given",
    [
        {"OPTIONS": GOOD},
        {"OPTIONS": {"transaction_mode": "exclusive", "init_command": "pragma journal_mode = wal"}},
        {"ENGINE": "django.db.backends.postgresql", "OPTIONS": {}},
        {"NAME": ":memory:"},
    ],
)
def test_a_database_that_takes_several_writers_is_fine(monkeypatch: pytest.MonkeyPatch, given: Any) -> None:
    assert database(monkeypatch, **given) == []


@pytest.mark.parametrize(
    ("options", "missing"),
    [
        ({}, "IMMEDIATE transactions and journal mode WAL"),
        (None, "IMMEDIATE transactions and journal mode WAL"),
        ({**GOOD, "transaction_mode": "DEFERRED"}, "IMMEDIATE transactions"),
        ({**GOOD, "transaction_mode": None}, "IMMEDIATE transactions"),
        ({**GOOD, "init_command": "PRAGMA journal_mode=WALRUS"}, "journal mode WAL"),
        ({"transaction_mode": "IMMEDIATE"}, "journal mode WAL"),
    ],
)
def test_a_database_that_loses_transactions_is_warned_of(
    monkeypatch: pytest.MonkeyPatch, options: Any, missing: str
) -> None:
    assert database(monkeypatch, OPTIONS=options) == [
        Warning(
            f"The default database is SQLite without {missing}: "
            'workers will lose transactions to "database is locked".',
            hint=f'Add to DATABASES["default"]: {checks.SQLITE_OPTIONS}',
            id="ai_eval.W050",
        )
    ]


def test_the_options_of_the_hint_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {}
    exec(f"options = {{{checks.SQLITE_OPTIONS}}}", options)
    assert database(monkeypatch, **options["options"]) == []
