import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ai_eval.configuration.exporting import export_configuration
from ai_eval.configuration.writing import same
from ai_eval.configuration.yaml_writing import write_yaml
from ai_eval.datasets.placed import plain
from ai_eval.datasets.yaml_text import read_yaml
from ai_eval.models import Dataset, EvalSettings, JudgeSettings, Question, Target
from ai_eval.text import clean_json, clean_text
from tests.configuration.making import bring_in, entry, target
from tests.configuration.test_import import EXAMPLE
from tests.datasets.test_yaml_text import TEXTS

TEXT = st.text().map(clean_text) | st.lists(
    st.sampled_from(
        [*"\n \t:#-'\"%{|>\\&*!?,[]@`~aé0\r", "\x85", "\u2028", "\ufeff", "😀", "---", "...", ": "]
    )
).map("".join)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT | st.sampled_from(TEXTS),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=15,
)


@given(st.dictionaries(TEXT, JSON, max_size=4))
def test_whatever_is_written_is_read_back_as_it_was(document: dict):
    assert repr(plain(read_yaml(write_yaml(document), "x"))) == repr(document)


@given(st.dictionaries(TEXT, JSON, max_size=4))
def test_any_other_reader_of_yaml_finds_the_same_texts(document: dict):
    from ruamel.yaml import YAML

    def texts(value: object) -> list[str]:
        if isinstance(value, dict):
            return [text for pair in value.items() for part in pair for text in texts(part)]
        if isinstance(value, list):
            return [text for each in value for text in texts(each)]
        return [value] if isinstance(value, str) else []

    reader = YAML(typ="safe", pure=True)
    # The reader of the old version gives the most texts another type.
    reader.version = (1, 1)  # type: ignore[assignment]
    assert texts(reader.load(write_yaml(document))) == texts(document)


@pytest.mark.django_db
def test_nothing_configured_is_an_empty_document():
    assert export_configuration() == "{}\n"


@pytest.mark.django_db
def test_what_is_exported_and_imported_again_is_unchanged():
    bring_in(EXAMPLE)
    text = export_configuration()
    report = bring_in(text)
    assert report.unchanged == ["settings", "dataset loans", "judge config_judge", "target help_desk"]
    assert (report.created, report.changed) == ([], [])
    for model in (Target, Dataset, JudgeSettings, EvalSettings):
        model.objects.all().delete()
    assert len(bring_in(text).created) == 4
    assert export_configuration() == text


@pytest.mark.django_db
def test_defaults_are_left_out_and_the_keys_stand_in_the_order_of_the_documentation():
    bring_in({"targets": [entry(label="help_desk", gate={"threshold": 0.9})]})
    assert export_configuration() == (
        "targets:\n"
        "  - id: help_desk\n"
        "    mode: chat\n"
        "    model: openai/some-model\n"
        "    dataset:\n"
        "      source: file\n"
        "      reference: riverside.yaml\n"
        "    graders: [config_plain]\n"
        "    gate:\n"
        "      metric: pass_rate\n"
        "      threshold: 0.9\n"
        "      type: hard\n"
    )


@pytest.mark.django_db
def test_an_empty_required_and_a_null_one_stay_two_things():
    target(slug="a", required=[]).save()
    target(slug="b", required=None).save()
    first, second = read_yaml(export_configuration(), "x")["targets"]
    assert first["required"] == []
    assert "required" not in second


@pytest.mark.django_db
@pytest.mark.parametrize("text", TEXTS)
def test_what_looks_like_another_type_survives_export_and_import(text: str):
    dataset = Dataset.objects.create(slug="d", label=text, fixtures=[text])
    Question.objects.create(
        dataset=dataset, key="q", input=text, data={"expected": text, "other": {text: [text]}}
    )
    exported = export_configuration()
    dataset.delete()
    bring_in(exported)
    question = Question.objects.get()
    assert (question.dataset.label, question.dataset.fixtures, question.input) == (text, [text], text)
    assert question.data == {"expected": text, "other": {text: [text]}}


@pytest.mark.django_db(transaction=True)
@given(prompt=TEXT, data=JSON, number=st.floats(0, 5))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_value_survives_export_and_import(prompt: str, data: object, number: float):
    with transaction.atomic():
        target(system_prompt=prompt, label=prompt[:200] or "x", pass_threshold=number).save()
        dataset = Dataset.objects.create(slug="d")
        Question.objects.create(
            dataset=dataset, key="q", input=f"x{prompt}", data={"other": clean_json(data)}
        )
        exported = export_configuration()
        assert len(bring_in(exported).unchanged) == 2
        Target.objects.all().delete()
        Dataset.objects.all().delete()
        assert len(bring_in(exported).created) == 2
        stored = Target.objects.get()
        assert (stored.system_prompt, stored.pass_threshold) == (prompt, number)
        assert stored.label == (prompt[:200] or "x")
        question = Question.objects.get()
        assert question.input == f"x{prompt}"
        assert same(question.data["other"], clean_json(data))
        transaction.set_rollback(True)
