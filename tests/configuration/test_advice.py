"""Advice on a target that is being configured, and the fields at which its problems are shown."""

import time
from pathlib import Path

import pytest

from ai_eval.configuration import dataset_summary
from ai_eval.configuration.advice import (
    Advice,
    field_problems,
    judges_without_model,
    problem_field,
    target_advice,
    vanished,
)
from ai_eval.configuration.validation import target_problems
from ai_eval.errors import ConfigurationError
from ai_eval.graders import registry
from ai_eval.models import EvalSettings, JudgeSettings, Target
from ai_eval.runs.advisories import observing_advisory
from ai_eval.runs.launch import prepare
from tests.configuration.making import target
from tests.dummy.awkward_graders import NeedsEnvironment
from tests.dummy.read_only_run import ReadOnlyRun
from tests.runs.making import make_dataset

pytestmark = pytest.mark.django_db
QUESTION = "questions:\n  - id: a\n    input: How long?\n"


@pytest.fixture
def directory(tmp_path: Path, settings) -> Path:
    settings.AI_EVAL = {**settings.AI_EVAL, "DATASET_PATH": str(tmp_path), "JUDGE_MODEL": ""}
    (tmp_path / "riverside.yaml").write_text(QUESTION)
    return tmp_path


def agent(**fields) -> Target:
    return target(**{"mode": "agent", "agent": "echo", "model": "", **fields})


def told(given: Target, field: str) -> list[tuple[str, str]]:
    return [(each.tone, each.text) for each in target_advice(given) if each.field == field]


def test_an_agent_target_that_nothing_observes_is_told_in_the_words_of_a_run(directory: Path):
    assert told(agent(), "graders") == [("unsure", observing_advisory("agent", [])[0])]


def test_an_agent_target_with_an_observing_grader_is_not_told(directory: Path):
    assert observing_advisory("agent", ["read_only_run"]) == []
    texts = [text for _, text in told(agent(graders=[ReadOnlyRun.id]), "graders")]
    assert not any("observes" in text for text in texts)


def test_a_chat_target_needs_nothing_that_observes(directory: Path):
    assert told(target(), "graders") == []


def test_a_judge_without_a_model_is_told_in_the_words_of_a_launch(directory: Path):
    given = target(graders=["relevance_grader"])
    given.save()
    (sentence,) = [text for tone, text in told(given, "graders") if tone == "bad"]
    with pytest.raises(ConfigurationError) as refused:
        prepare(given)
    assert f"help_desk: {sentence}" in refused.value.problems


def test_a_model_in_the_settings_or_of_its_own_is_enough_for_a_judge(directory: Path):
    infos = [info for info in registry.all() if info.id in ("relevance_grader", "accuracy_grader")]
    assert len(judges_without_model(infos)) == 2
    JudgeSettings.objects.create(grader="accuracy_grader", model="openai/judge")
    assert [text.split()[2] for text in judges_without_model(infos)] == ["relevance_grader"]
    EvalSettings.objects.create(judge_model="openai/judge")
    assert judges_without_model(infos) == []


def test_many_judges_are_looked_up_at_once(directory: Path, django_assert_num_queries):
    infos = [info for info in registry.all() if info.llm]
    with django_assert_num_queries(2):
        judges_without_model(infos[:1])
    with django_assert_num_queries(2):
        judges_without_model(infos)


def test_a_grader_that_needs_an_environment_is_told_in_the_words_of_a_launch(directory: Path):
    given = agent(graders=[NeedsEnvironment.id])
    given.save()
    ((tone, sentence),) = told(given, "environment")
    assert tone == "bad"
    with pytest.raises(ConfigurationError) as refused:
        prepare(given)
    assert f"help_desk: {sentence}" in refused.value.problems
    assert told(agent(graders=[NeedsEnvironment.id], environment="shelf"), "environment") == []


def test_a_grader_that_needs_an_environment_is_told_where_no_mode_has_one(directory: Path):
    ((tone, sentence),) = told(target(graders=[NeedsEnvironment.id]), "graders")
    assert tone == "bad"
    assert sentence == f"the grader {NeedsEnvironment.id} needs an environment, and only agent mode has one"


def test_a_key_that_no_question_has_is_told_at_the_graders(directory: Path):
    sentence = "the grader read_only_run reads metadata.forbidden_tool_prefixes: no question has that"
    assert ("unsure", sentence) in told(agent(graders=[ReadOnlyRun.id]), "graders")
    (directory / "riverside.yaml").write_text(f"{QUESTION}    metadata: {{forbidden_tool_prefixes: [x]}}\n")
    assert told(agent(graders=[ReadOnlyRun.id]), "graders") == []


def test_a_near_miss_of_a_key_names_both(directory: Path):
    (directory / "riverside.yaml").write_text(f"{QUESTION}    metadata: {{forbidden_tool_prefix: [x]}}\n")
    texts = [text for _, text in told(agent(graders=[ReadOnlyRun.id]), "dataset")]
    assert any("did you mean metadata.forbidden_tool_prefixes?" in text for text in texts)


def test_a_disabled_question_does_not_count_for_a_key(directory: Path):
    (directory / "riverside.yaml").write_text(
        f"{QUESTION}  - id: b\n    input: x\n    enabled: false\n"
        "    metadata: {forbidden_tool_prefixes: [x]}\n"
    )
    assert "no question has that" in told(agent(graders=[ReadOnlyRun.id]), "graders")[0][1]
    assert ("idle", "2 questions, 1 of them disabled") in told(agent(graders=[ReadOnlyRun.id]), "dataset")


@pytest.mark.parametrize(
    ("name", "content", "word"),
    [
        ("gone.yaml", None, "there is no such file"),
        ("broken.yaml", "questions:\n  - id: a\n    inptu: x\n", "inptu"),
        ("off.yaml", "questions:\n  - {id: a, input: x, enabled: false}\n", "has no enabled question"),
        ("nul\x00.yaml", None, "is a path"),
    ],
)
def test_a_dataset_that_can_not_be_used_says_why(directory: Path, name: str, content: str | None, word: str):
    if content is not None:
        (directory / name).write_text(content)
    found = told(target(dataset_reference=name), "dataset")
    assert [tone for tone, _ in found] == ["bad"]
    assert word in found[0][1]


def test_an_unknown_source_says_which_there_are(directory: Path):
    ((tone, text),) = told(target(dataset_source="fiel"), "dataset")
    assert (tone, "did you mean file?" in text) == ("bad", True)


def test_a_dataset_of_the_database_is_told_as_well():
    make_dataset("loans", ["one", "two"])
    assert told(target(dataset_source="database", dataset_reference="loans"), "dataset") == [
        ("idle", "2 questions")
    ]


def test_a_large_file_is_not_read_while_a_page_waits(directory: Path):
    rows = "".join(f"  - id: q{n}\n    input: How long may I keep it?\n" for n in range(2000))
    (directory / "riverside.yaml").write_text(f"questions:\n{rows}")
    given = target()
    (first,) = [each for each in target_advice(given, wait=False) if each.field == "dataset"]
    assert first.tone == "busy"
    assert told(given, "dataset") == [("idle", "2000 questions")]
    known = [each for each in target_advice(given, wait=False) if each.field == "dataset"]
    assert known == [Advice("dataset", "2000 questions", "idle")]


def test_a_file_that_changed_is_read_again(directory: Path):
    assert told(target(), "dataset") == [("idle", "1 question")]
    (directory / "riverside.yaml").write_text(f"{QUESTION}  - id: b\n    input: x\n")
    assert told(target(), "dataset") == [("idle", "2 questions")]


def test_a_file_that_is_too_large_for_any_page_says_so(directory: Path):
    with (directory / "riverside.yaml").open("a") as file:
        file.write("#" * (dataset_summary.TOO_LARGE[".yaml"] + 1))
    begun = time.monotonic()
    ((tone, text),) = told(target(), "dataset")
    assert (tone, "too large" in text) == ("unsure", True)
    assert time.monotonic() - begun < 5


def test_no_more_datasets_are_kept_than_there_is_room_for(directory: Path):
    for number in range(dataset_summary.KEPT + 5):
        (directory / f"d{number}.yaml").write_text(QUESTION)
        target_advice(target(dataset_reference=f"d{number}.yaml"))
    assert len(dataset_summary._kept) <= dataset_summary.KEPT


AGENT = {"mode": "agent", "agent": "echo", "model": ""}


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"mode": "workflow"}, "mode"),
        ({"agent": "echo"}, "agent"),
        ({"environment": "shelf"}, "environment"),
        ({"replies": "r.csv"}, "replies"),
        ({**AGENT, "model": "m"}, "model"),
        ({**AGENT, "parameters": {"seed": 1}}, "parameters"),
        ({**AGENT, "agent": ""}, "agent"),
        ({**AGENT, "agent": "ecko"}, "agent"),
        ({**AGENT, "environment": "shelv"}, "environment"),
        ({"model": " "}, "model"),
        ({"mode": "recorded", "model": ""}, "replies"),
        ({"api_base": "ftp://x"}, "api_base"),
        ({"parameters": {"api_key": "x"}}, "parameters"),
        ({"parameters": ["x"]}, "parameters"),
        ({"graders": []}, "graders"),
        ({"graders": "config_plain"}, "graders"),
        ({"graders": ["config_plain"] * 2}, "graders"),
        ({"graders": ["config_pain"]}, "graders"),
        ({"required": ["config_judge"]}, "required"),
        ({"required": "config_plain"}, "required"),
        ({"gate_threshold": 1.01}, "gate_threshold"),
        ({"gate_metric": "median"}, "gate_metric"),
        ({"gate_type": "firm"}, "gate_type"),
        ({"pass_threshold": 5.5}, "pass_threshold"),
        ({"max_error_rate": 2}, "max_error_rate"),
        ({"trials": 0}, "trials"),
        ({"response_char_limit": 0}, "response_char_limit"),
        ({"time_limit": 0}, "time_limit"),
        ({"demand_trust": "some"}, "demand_trust"),
    ],
)
def test_a_problem_stands_at_its_field(fields: dict, field: str):
    given = target(**fields)
    found = field_problems(given)
    assert [each.text for each in found] == target_problems(given)
    assert [each.field for each in found] == [field]


def test_a_sentence_of_no_field_is_about_the_whole():
    assert problem_field("something new is wrong") == ""


def test_only_what_the_site_took_away_has_vanished():
    given = agent(agent="gone", environment="lost", graders=["config_plain", "away"], gate_threshold=7)
    assert [text.split('"')[1] for text in vanished(given)] == ["gone", "lost", "away"]
    assert set(vanished(given)) < set(target_problems(given))
