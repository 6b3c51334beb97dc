"""The example of docs/configuration.md is imported as it stands there."""

import re
from pathlib import Path

import pytest

from ai_eval.configuration.schema import SETTINGS_KEYS, TARGET_KEYS, TARGET_NESTED
from ai_eval.models import Target
from tests.configuration.making import bring_in

PAGE = Path("docs/configuration.md").read_text("utf-8")


@pytest.mark.django_db
def test_the_example_is_imported():
    (example,) = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    # The graders of the catalogue are other tests' business.
    example = example.replace("tool_usage_grader", "config_plain").replace("relevance_grader", "config_judge")
    report = bring_in(example)
    assert report.created == ["settings", "dataset loans", "judge config_judge", "target help_desk"]
    assert list(report.warnings) == []
    assert Target.objects.get().trials == 3


def test_the_page_tells_every_key():
    keys = [key.name for key in (*TARGET_KEYS, *SETTINGS_KEYS)] + list(TARGET_NESTED)
    assert [key for key in keys if f"`{key}`" not in PAGE] == []
