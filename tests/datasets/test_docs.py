"""The examples of docs/datasets.md are loaded as they stand there."""

import re
from pathlib import Path

import pytest

from ai_eval.datasets import registry
from ai_eval.datasets.loading import load_dataset
from ai_eval.datasets.replies import load_replies
from ai_eval.errors import DatasetError

PAGE = Path("docs/datasets.md").read_text("utf-8")


def examples(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def test_the_dataset_is_valid_and_without_a_warning(put):
    put("riverside.yaml", examples("yaml")[0])
    loaded = load_dataset("file", "riverside.yaml")
    assert [row["id"] for row in loaded.rows] == ["renew", "opening-hours", "follow-up"]
    assert loaded.warnings == ()
    assert loaded.fixtures == ("books", "patrons")


def test_text_stays_text_as_the_page_says(put):
    put("a.yaml", examples("yaml")[1])
    assert load_dataset("file", "a.yaml").rows == [
        {
            "id": "0010",
            "input": "1:30",
            "expected_facts": ["no", "on", "2024-01-01", "1_000", "1e3", "1.50", "true"],
        }
    ]


def test_the_replies_are_read_in_both_forms(put):
    put("r.csv", examples("csv")[0])
    put("r.jsonl", examples("jsonl")[0])
    csv, jsonl = load_replies("r.csv"), load_replies("r.jsonl")
    assert csv.get("renew", 1).tool_calls == jsonl.get("renew", 1).tool_calls
    assert csv.get("opening-hours", 1).tool_calls == []
    assert jsonl.get("renew", 2).response is None


def test_the_message_on_the_page_is_what_is_told(put):
    rows = "".join(f"- {{id: {id}, input: x}}\n" for id in "ab")
    put("riverside.yaml", f"questions:\n{rows}- id: renew\n  input: x\n\n  enabled: no\n")
    with pytest.raises(DatasetError) as caught:
        load_dataset("file", "riverside.yaml")
    assert caught.value.problems == [examples("text")[0].strip()]


def test_the_source_of_your_own_works():
    before = list(registry.declared)
    exec(examples("python")[0], {"__name__": "tests.example"})
    (added,) = [each for each in registry.declared if each not in before]
    try:
        assert load_dataset("tickets", "open").rows == [{"id": "t1", "input": "Where is my hold?"}]
        assert added().references() == [("open", "Open tickets")]
    finally:
        registry.unregister(added)


def test_the_page_tells_every_key():
    from ai_eval.datasets.schema import KNOWN_KEYS

    assert [key for key in KNOWN_KEYS if f"`{key}`" not in PAGE] == []
