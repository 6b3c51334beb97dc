"""What is told of every grader and of every judge of a site."""

from typing import Any

import pytest

from ai_eval.configuration.grader_catalogue import GraderEntry, app_of, choice_label, grader_catalogue
from ai_eval.configuration.judge_catalogue import (
    ITSELF,
    NOWHERE,
    OWN,
    ROW,
    SITE,
    JudgeEntry,
    judge_catalogue,
    judge_fingerprint,
    key_story,
    lost_because,
)
from ai_eval.graders import Grader, GradeResult, LLMJudge, registry
from ai_eval.graders.judge import judge_config
from ai_eval.models import EvalSettings, JudgeSettings
from tests.registering import Register
from tests.runs.making import make_target

pytestmark = pytest.mark.django_db


def graders() -> dict[str, GraderEntry]:
    found = grader_catalogue()
    return {entry.info.id: entry for entry in (*found.judges, *found.deterministic)}


def judge(id: str = "relevance_grader") -> JudgeEntry:
    (found,) = [entry for entry in judge_catalogue().judges if entry.info.id == id]
    return found


class OwnCode(Grader):
    """Asks a model without the help of LLMJudge."""

    id = "own_code"
    label = "Own code"
    llm = True
    dimension = "own"

    def grade(self, question: str, response: str, context: dict[str, Any]) -> GradeResult:
        return self.result(1.0, "asked it")


# Graders


def test_every_grader_stands_once_on_the_side_where_it_belongs():
    found = grader_catalogue()
    judges, rest = [[each.info.id for each in side] for side in (found.judges, found.deterministic)]
    assert sorted(judges + rest) == sorted(info.id for info in registry.all(include_hidden=True))
    assert {"relevance_grader", "house_tone"} <= set(judges)
    assert {"format_grader", "read_only_run"} <= set(rest)
    assert (found.unusable, found.problems, found.gone) == ([], [], {})


def test_a_grader_tells_its_app_its_keys_and_its_targets():
    target = make_target(slug="desk", graders=["read_only_run", "read_only_run", "gone_grader"])
    entry = graders()["read_only_run"]
    assert (entry.app, entry.module) == ("Dummy", "tests.dummy.read_only_run")
    assert entry.metadata_keys == ["metadata.forbidden_tool_prefixes"]
    assert entry.targets == [target]
    assert grader_catalogue().gone == {"gone_grader": [target]}


def test_a_class_of_no_app_has_none():
    assert app_of(type("Loose", (), {"__module__": "nowhere"})) == ""


def test_what_a_site_hides_or_corrects_is_told_beside_what_the_class_says(settings):
    corrections = {"read_only_run": {"hidden": True, "label": "Reads only", "max_score": 10.0}}
    settings.AI_EVAL = {**settings.AI_EVAL, "GRADERS": corrections}
    entry = graders()["read_only_run"]
    assert entry.label == "Reads only (0-10)"
    assert entry.corrections == [
        "hidden from the target form",
        'label is "Reads only", declared as "Read-only run"',
        "max_score is 10.0, declared as 1.0",
    ]


def test_a_correction_of_no_grader_is_told(settings):
    settings.AI_EVAL = {**settings.AI_EVAL, "GRADERS": {"read_only_ran": {"hidden": True}}}
    (problem,) = grader_catalogue().problems
    assert "read_only_ran" in problem


def test_a_bad_declaration_is_told_at_its_own_class(registered: Register):
    registered(id="flat", label="Flat", min_score=3.0, max_score=3.0, grade=OwnCode.grade)
    found = graders()
    assert len(found["flat"].problems) == 1
    assert "scale" in found["flat"].problems[0] or "max_score" in found["flat"].problems[0]
    assert found["read_only_run"].problems == ()


def test_a_class_without_an_id_and_one_whose_id_is_taken_are_told_apart_from_the_usable(
    registered: Register,
):
    registered(label="Nameless", grade=OwnCode.grade)
    registered(id="read_only_run", label="Second", grade=OwnCode.grade)
    found = grader_catalogue()
    assert [(each.class_path, each.id) for each in found.unusable] == [
        ("tests.dummy.graders.Made", ""),
        ("tests.dummy.graders.Made", "read_only_run"),
    ]
    assert all(each.problems for each in found.unusable)
    assert graders()["read_only_run"].module == "tests.dummy.read_only_run"


@pytest.mark.parametrize("bounds", [("low", "high"), (None, None)])
def test_a_scale_that_is_none_leaves_the_label(registered: Register, bounds: tuple[Any, Any]):
    registered(id="odd", label="Odd", min_score=bounds[0], max_score=bounds[1], grade=OwnCode.grade)
    info = registry.get("odd")
    assert info is not None
    assert choice_label(info) == "Odd"
    assert graders()["odd"].problems


# Judges


def test_each_judge_is_told_with_the_model_that_a_run_would_ask(settings):
    def where() -> tuple[str, str, str]:
        found, config = judge(), judge_config("relevance_grader")
        assert (found.model, found.api_base) == (config.model, config.api_base)
        return found.model_from, found.model, found.api_base

    settings.AI_EVAL = {**settings.AI_EVAL, "JUDGE_MODEL": "", "JUDGE_API_BASE": ""}
    assert where() == (NOWHERE, "", "")
    settings.AI_EVAL = {**settings.AI_EVAL, "JUDGE_MODEL": "openai/a", "JUDGE_API_BASE": "http://a/v1"}
    assert where() == (SITE, "openai/a", "http://a/v1")
    row = EvalSettings.objects.create(judge_model="openai/b", judge_api_base="http://b/v1")
    assert where() == (ROW, "openai/b", "http://b/v1")
    own = JudgeSettings.objects.create(grader="relevance_grader", model="openai/c")
    assert where() == (OWN, "openai/c", ""), "the site's address is that of the site's model"
    own.delete()
    row.judge_model = ""
    row.save()
    assert where()[:2] == (NOWHERE, "")


def test_what_a_judge_has_of_its_own_is_told_without_loading_its_prompt(
    django_assert_max_num_queries: Any,
):
    JudgeSettings.objects.create(grader="relevance_grader", prompt="x" * 1000, parameters={"top_p": 1})
    assert (judge().own_prompt, judge().own_parameters) == (True, True)
    other = judge("completeness_grader")
    assert (other.own_prompt, other.own_parameters) == (False, False)
    with django_assert_max_num_queries(5) as captured:
        judge_catalogue()
    assert not any("x" * 1000 in str(query) for query in captured.captured_queries)
    assert all('"prompt",' not in query["sql"] for query in captured.captured_queries)


def test_a_judge_that_asks_by_its_own_code_reads_no_settings(registered: Register, settings):
    settings.AI_EVAL = {**settings.AI_EVAL, "JUDGE_MODEL": "openai/a"}
    made = registered(OwnCode)
    JudgeSettings.objects.create(grader=made.id, model="openai/x")
    found = judge(made.id)
    assert (found.model_from, found.model, found.is_configurable) == (ITSELF, "", False)
    assert "by code of its own" in lost_because(made.id)


def test_settings_that_nothing_reads_are_told_with_the_reason_and_the_targets():
    target = make_target(graders=["gone", "format_grader"])
    for id in ("gone", "format_grader", "relevance_grader"):
        JudgeSettings.objects.create(grader=id)
    found = {each.settings.grader: each for each in judge_catalogue().lost}
    assert set(found) == {"gone", "format_grader"}
    assert (found["gone"].is_missing, found["format_grader"].is_missing) == (True, False)
    assert "registers" in found["gone"].why
    assert "asks no model" in found["format_grader"].why
    assert [each.targets for each in found.values()] == [[target], [target]]


def test_a_broken_built_in_prompt_is_told(registered: Register):
    registered(LLMJudge, id="broken", label="Broken", dimension="x", default_template="$question $nothing")
    problems = judge("broken").template_problems
    assert any("$nothing" in each for each in problems)
    assert any("$criteria" in each for each in problems)
    assert judge().template_problems == []


def test_a_class_that_can_not_be_built_has_no_fingerprint_and_says_why(registered: Register):
    def fail(self: object) -> None:
        raise RuntimeError("no {luck}")

    registered(LLMJudge, id="unbuilt", label="Unbuilt", dimension="x", __init__=fail)
    info = registry.get("unbuilt")
    assert info is not None
    assert judge_fingerprint(info, judge_config("unbuilt")) == ("", "RuntimeError: no {luck}")


@pytest.mark.parametrize(
    "change",
    [{"model": "openai/z"}, {"api_base": "http://z/v1"}, {"parameters": {"top_p": 1}}, {"prompt": "z"}],
)
def test_each_thing_that_the_form_changes_makes_another_judge_of_it(change: dict[str, Any]):
    info = registry.get("relevance_grader")
    assert info is not None
    before, _ = judge_fingerprint(info, judge_config(info.id))
    assert judge_fingerprint(info, judge_config(info.id)) == (before, "")
    JudgeSettings.objects.create(grader=info.id, **change)
    after, _ = judge_fingerprint(info, judge_config(info.id))
    assert len(before) == len(after) == 64
    assert before != after


# Keys


def test_which_key_goes_where_is_told_by_names_alone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-abc123def456")
    story = key_story("openai/x", "http://127.0.0.1:9/v1")
    assert story is not None
    assert (story.provider, story.host, story.known, story.is_set, story.allowed) == (
        "openai",
        "127.0.0.1",
        True,
        True,
        True,
    )
    assert list(story.variables) == ["OPENAI_API_KEY"]
    assert "sk-abc" not in repr(story)
    monkeypatch.delenv("OPENAI_API_KEY")
    without = key_story("openai/x", "")
    assert without is not None
    assert not without.is_set


def test_a_host_that_gets_no_key_is_told_until_the_site_names_it(settings):
    refused = key_story("openai/x", "https://proxy.example.org/v1")
    assert refused is not None
    assert not refused.allowed
    assert "proxy.example.org" in refused.advisory
    settings.AI_EVAL = {**settings.AI_EVAL, "KEY_HOSTS": ["proxy.example.org"]}
    named = key_story("openai/x", "https://proxy.example.org/v1")
    assert named is not None
    assert (named.allowed, named.advisory) == (True, "")


def test_without_a_model_there_is_no_key_to_tell_of_and_an_unknown_provider_is_called_so():
    assert key_story("", "") is None
    unknown = key_story("nobody/x", "")
    assert unknown is not None
    assert (unknown.known, list(unknown.variables)) == (False, [])
