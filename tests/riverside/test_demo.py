import io

import pytest
from django.core.management import call_command

from ai_eval.models import Run, Target

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _dataset_directory(settings) -> None:
    directory = settings.BASE_DIR / "evalsite" / "riverside" / "data"
    settings.AI_EVAL = {**settings.AI_EVAL, "DATASET_PATH": str(directory)}


def demo() -> str:
    out = io.StringIO()
    call_command("riverside_demo", stdout=out, stderr=out)
    return out.getvalue()


def test_the_demo_passes_the_one_that_does_it_and_fails_the_one_that_only_says_so():
    out = demo()
    assert dict(Run.objects.values_list("target_slug", "verdict")) == {
        "riverside_doer": "passed",
        "riverside_talker": "failed",
    }
    assert "format_grader reads the text: riverside_doer 6 of 6, riverside_talker 6 of 6" in out
    assert "tool_usage_grader reads what was done: riverside_doer 6 of 6, riverside_talker 0 of 6" in out


def test_the_demo_gives_the_same_result_a_second_time():
    first = demo()
    assert (
        demo().replace("run 3", "run 1").replace("run 4", "run 2").splitlines()[-8:]
        == first.splitlines()[-8:]
    )
    assert Target.objects.filter(enabled=True).count() == 2
