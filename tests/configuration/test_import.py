import pytest

from ai_eval.configuration.importing import import_configuration
from ai_eval.configuration.reading import place
from ai_eval.configuration.schema import SETTINGS_KEYS, TARGET_KEYS, TARGET_NESTED
from ai_eval.errors import ConfigurationError
from ai_eval.models import Dataset, EvalSettings, JudgeSettings, Question, Target
from tests.configuration.making import bring_in, entry, problems

pytestmark = pytest.mark.django_db


EXAMPLE = """
settings:
  judge_model: openai/judge
  judge_api_base: "http://127.0.0.1:9000/v1"
  question_pass_threshold: 3.5
targets:
  - id: help_desk
    label: Help desk
    mode: chat                      # agent | chat | recorded
    model: openai/some-model
    api_base: http://127.0.0.1:9000/v1
    system_prompt: You answer for a library.
    dataset: {source: database, reference: loans}
    graders: [config_plain, config_judge]
    required: []
    trials: 3
    gate: {metric: avg_score, threshold: 4, type: soft}
    pass_threshold: 3
    max_error_rate: 0.2
    response_char_limit: 500
    time_limit: 30
    parameters: {temperature: 0.5}
    demand_trust: provisional
    enabled: false
judges:
  - grader: config_judge
    model: openai/other
    api_base: http://127.0.0.1:9001/v1
    prompt: $dimension $question $criteria $response
    parameters: {temperature: null}
rubrics: []
failure_modes:
datasets:
  - id: loans
    label: Loans
    fixtures: [books]
    questions:
      - {id: 1, input: no}
      - {id: 01, messages: [{role: user, content: 1:30}], enabled: false, split: test}
"""


def test_a_whole_document_becomes_what_it_says():
    report = bring_in(EXAMPLE)
    assert report.created == ["settings", "dataset loans", "judge config_judge", "target help_desk"]
    assert (report.changed, report.unchanged, list(report.warnings)) == ([], [], [])
    settings = EvalSettings.objects.get()
    assert settings.given() == {
        "judge_model": "openai/judge",
        "judge_api_base": "http://127.0.0.1:9000/v1",
        "question_pass_threshold": 3.5,
    }
    target = Target.objects.get()
    expected = {
        "slug": "help_desk",
        "label": "Help desk",
        "enabled": False,
        "mode": "chat",
        "agent": "",
        "environment": "",
        "model": "openai/some-model",
        "api_base": "http://127.0.0.1:9000/v1",
        "system_prompt": "You answer for a library.",
        "parameters": {"temperature": 0.5},
        "replies": "",
        "dataset_source": "database",
        "dataset_reference": "loans",
        "graders": ["config_plain", "config_judge"],
        "required": [],
        "trials": 3,
        "gate_metric": "avg_score",
        "gate_threshold": 4,
        "gate_type": "soft",
        "pass_threshold": 3,
        "max_error_rate": 0.2,
        "response_char_limit": 500,
        "time_limit": 30,
        "demand_trust": "provisional",
    }
    assert {name: getattr(target, name) for name in expected} == expected
    judge = JudgeSettings.objects.get()
    assert (judge.grader, judge.model, judge.parameters) == (
        "config_judge",
        "openai/other",
        {"temperature": None},
    )
    dataset = Dataset.objects.get()
    assert (dataset.label, dataset.fixtures) == ("Loans", ["books"])
    assert [question.row() for question in dataset.questions.all()] == [
        {"id": "1", "input": "no"},
        {"id": "01", "messages": [{"role": "user", "content": "1:30"}], "split": "test", "enabled": False},
    ]


def test_importing_twice_changes_nothing():
    bring_in(EXAMPLE)
    before = [
        list(model.objects.values()) for model in (Target, Dataset, Question, JudgeSettings, EvalSettings)
    ]
    report = bring_in(EXAMPLE)
    assert report.unchanged == ["settings", "dataset loans", "judge config_judge", "target help_desk"]
    assert (report.created, report.changed) == ([], [])
    after = [
        list(model.objects.values()) for model in (Target, Dataset, Question, JudgeSettings, EvalSettings)
    ]
    assert after == before


def test_a_check_tells_what_would_happen_and_writes_nothing():
    report = bring_in(EXAMPLE, check_only=True)
    assert report.created == ["settings", "dataset loans", "judge config_judge", "target help_desk"]
    assert list(report.warnings) == []
    assert not Target.objects.exists()
    bring_in(EXAMPLE)
    changed = EXAMPLE.replace("trials: 3", "trials: 4").replace("input: no", "input: yes")
    report = bring_in(changed, check_only=True)
    assert report.changed == ["dataset loans", "target help_desk"]
    assert Target.objects.get().trials == 3
    assert Question.objects.get(key="1").input == "no"


def test_a_change_names_the_keys_that_differ_and_writes_only_them():
    bring_in({"targets": [entry(gate={"threshold": 0.5})]})
    report = bring_in({"targets": [entry(gate={"threshold": 0.75, "type": "soft"}, trials=2)]})
    (change,) = report.changes
    assert (change.action, set(change.keys)) == ("changed", {"trials", "gate.threshold", "gate.type"})
    target = Target.objects.get()
    assert (target.trials, target.gate()) == (2, {"metric": "pass_rate", "threshold": 0.75, "type": "soft"})


def test_what_no_document_mentions_is_left_alone():
    bring_in(EXAMPLE)
    bring_in({"settings": {"response_char_limit": 9}, "targets": [entry(id="other")]})
    assert Target.objects.count() == 2
    assert Target.objects.get(slug="help_desk").trials == 3
    assert EvalSettings.objects.get().judge_model == "openai/judge"
    assert EvalSettings.objects.get().response_char_limit == 9
    assert Dataset.objects.exists()
    assert JudgeSettings.objects.exists()


def test_an_object_that_is_mentioned_gets_the_default_of_each_absent_key():
    bring_in(EXAMPLE)
    bring_in({"targets": [entry()]})
    target = Target.objects.get()
    assert (target.label, target.enabled, target.trials, target.required, target.gate()) == (
        "help_desk",
        True,
        1,
        None,
        None,
    )
    assert (target.parameters, target.pass_threshold, target.max_error_rate) == ({}, None, 0.1)


def test_null_is_the_default_and_for_a_setting_leaves_the_say_to_the_site():
    bring_in(EXAMPLE)
    bring_in({"settings": {"judge_model": None}, "targets": [entry(required=None, gate=None, trials=None)]})
    assert EvalSettings.objects.get().judge_model is None
    assert EvalSettings.objects.get().question_pass_threshold == 3.5
    assert Target.objects.get().required is None


def test_an_absent_required_is_not_an_empty_one():
    bring_in({"targets": [entry(id="a"), entry(id="b", required=[])]})
    assert [Target.objects.get(slug=slug).required for slug in "ab"] == [None, []]


def test_a_gate_that_is_absent_is_no_gate_whatever_else_is_stored_of_it():
    bring_in({"targets": [entry()]})
    Target.objects.update(gate_metric="avg_score", gate_type="soft")
    assert bring_in({"targets": [entry()]}).unchanged == ["target help_desk"]


def test_questions_are_replaced_by_key_and_keep_their_rows():
    bring_in(EXAMPLE)
    kept = Question.objects.get(key="01").pk
    report = bring_in(
        "datasets: [{id: loans, label: Loans, fixtures: [books], questions: "
        "[{id: 01, input: x}, {id: new, input: y}]}]"
    )
    assert report.changes[0].keys == ("questions",)
    assert [(q.key, q.position, q.input) for q in Question.objects.all()] == [("01", 1, "x"), ("new", 2, "y")]
    assert Question.objects.get(key="01").pk == kept


def test_another_order_of_the_questions_is_a_change():
    rows = [{"id": "a", "input": "x"}, {"id": "b", "input": "y"}]
    bring_in({"datasets": [{"id": "d", "questions": rows}]})
    assert bring_in({"datasets": [{"id": "d", "questions": rows[::-1]}]}).changed == ["dataset d"]
    assert list(Question.objects.values_list("key", flat=True)) == ["b", "a"]
    assert bring_in({"datasets": [{"id": "d", "questions": rows[::-1]}]}).unchanged == ["dataset d"]


def test_1_and_true_are_different_values():
    row = {"id": "a", "input": "x", "metadata": {"n": 1}}
    bring_in({"datasets": [{"id": "d", "questions": [row]}]})
    changed = {"datasets": [{"id": "d", "questions": [{**row, "metadata": {"n": True}}]}]}
    assert bring_in(changed).changed == ["dataset d"]


def test_several_documents_are_one_import():
    report = import_configuration(
        [
            ("a.yaml", {"targets": [entry()], "settings": {"judge_model": "m"}}),
            ("b.yaml", {"targets": [entry(id="b")], "settings": {"response_char_limit": 5}}),
        ]
    )
    assert report.created == ["settings", "target help_desk", "target b"]


def test_what_two_documents_say_of_one_object_is_refused():
    with pytest.raises(ConfigurationError) as caught:
        import_configuration(
            [
                ("a.yaml", {"targets": [entry()], "settings": {"judge_model": "m"}}),
                ("b.yaml", {"targets": [entry()], "settings": {"judge_model": "n"}}),
            ]
        )
    assert caught.value.problems == [
        'b.yaml, target "help_desk", key "id": is taken already, in a.yaml',
        'b.yaml, settings, key "judge_model": is given in another document already',
    ]
    assert not Target.objects.exists()


def test_one_problem_keeps_everything_out():
    found = problems({"settings": {"judge_model": "m"}, "targets": [entry(), entry(id="b", trials=0)]})
    assert len(found) == 1
    assert not Target.objects.exists()
    assert not EvalSettings.objects.exists()


def test_a_write_that_fails_half_way_leaves_nothing(monkeypatch):
    from django.db import IntegrityError

    def create(**values: object) -> None:
        raise IntegrityError("somebody was faster")

    monkeypatch.setattr(Target._default_manager, "create", create)
    document = {"targets": [entry()], "datasets": [{"id": "d", "questions": [{"id": "a", "input": "x"}]}]}
    assert "at the same time, and nothing was imported" in problems(document)[0]


def test_a_problem_names_document_object_key_line_and_what_would_be_right():
    text = """
targets:
  - id: help_desk
    mode: chat
    model: m
    dataset: {source: file, reference: a.yaml}
    graders: [config_plain]
    trials: many
"""
    assert problems(text) == [
        'c.yaml, target "help_desk", key "trials": is "many", must be a whole number from 1 to 100 (line 8)'
    ]


def test_what_later_versions_hold_may_stand_there_empty():
    document = {"rubrics": [], "failure_modes": None, "targets": [entry(budget=None)]}
    assert bring_in(document).created == ["target help_desk"]


def test_a_target_whose_database_dataset_is_not_there_is_a_warning():
    document = {"targets": [entry(dataset={"source": "database", "reference": "loans"})]}
    assert list(bring_in(document).warnings) == [
        'target help_desk: there is no dataset "loans" in the database yet'
    ]
    document["datasets"] = [{"id": "loans", "questions": []}]
    assert list(bring_in(document, check_only=True).warnings) == []


def test_near_misses_in_questions_are_warnings():
    rows = [{"id": "a", "input": "x", "expected_tool": "y"}]
    (warning,) = bring_in({"datasets": [{"id": "d", "questions": rows}]}).warnings
    assert warning.startswith('c.yaml, dataset "d", question "a" (1st), key "expected_tool"')


def test_an_empty_document_changes_nothing():
    assert bring_in({}).changes == []


def test_every_field_that_can_be_configured_has_a_key():
    settings = {key.name for key in SETTINGS_KEYS}
    assert settings == set(EvalSettings.FIELDS)
    nested = {key.field for keys in TARGET_NESTED.values() for key in keys}
    fields = {field.name for field in Target._meta.concrete_fields} - {"id", "created_at", "changed_at"}
    assert {key.field for key in TARGET_KEYS} | nested == fields


def test_a_place_without_a_line_says_nothing_of_one():
    assert place("c.yaml", "target", "a", "trials") == 'c.yaml, target "a", key "trials"'
