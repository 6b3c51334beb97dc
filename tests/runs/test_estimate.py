"""What a launch says it will ask and cost."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from ai_eval.admin.costs import calls_told, expected_told, last_told
from ai_eval.llm_prices import FILE, Price, dollars, list_price
from ai_eval.models import JudgeSettings, Run
from ai_eval.runs.derive import regrade
from ai_eval.runs.estimate import Estimate, estimate
from ai_eval.runs.launch import launch, prepare
from ai_eval.runs.spending import TARGET, paid_in
from ai_eval.runs.worker import Worker
from tests.llm_server import LLMServer, Reply, failing
from tests.runs.making import make_target, run_target

pytestmark = pytest.mark.django_db(transaction=True)

LISTED = "gpt-4.1-mini"


def listed(model: str) -> dict:
    """The entry of the installed list, read by itself."""
    spec = find_spec("litellm")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return json.loads((Path(spec.submodule_search_locations[0]) / FILE).read_text())[model]


def chat_target(server: LLMServer, questions=("one", "two", "three"), **fields):
    more = {"mode": "chat", "agent": "", "model": f"openai/{LISTED}", "api_base": server.url, **fields}
    return make_target(questions, **more)


def estimated(target, **options) -> Estimate:
    return estimate(prepare(target, **options))


@pytest.fixture
def _judge(settings, llm_server: LLMServer) -> None:
    settings.AI_EVAL = {
        **settings.AI_EVAL,
        "JUDGE_MODEL": "openai/judge",
        "JUDGE_API_BASE": llm_server.url,
        "RATE_LIMIT_MAX_RETRIES": 0,
    }


def test_the_list_price_of_a_model_is_read_without_importing_litellm():
    code = (
        "import sys; from ai_eval.llm_prices import list_price; "
        f"price, why = list_price('openai/{LISTED}'); "
        "assert price is not None and 'litellm' not in sys.modules, (price, why)"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENAI_")}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


@pytest.mark.parametrize("model", [LISTED, f"openai/{LISTED}"])
def test_a_listed_model_has_the_price_of_the_list(model: str, monkeypatch: pytest.MonkeyPatch):
    for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)
    entry = listed(LISTED)
    wanted = Price(entry["input_cost_per_token"], entry["output_cost_per_token"])
    assert list_price(model) == (wanted, "")
    assert list_price(model, "https://api.openai.com/v1") == (wanted, "")


@pytest.mark.parametrize(
    ("model", "api_base", "why"),
    [
        ("openai/nobody-knows-me", "", "does not name"),
        (f"openai/{LISTED}", "http://127.0.0.1:9/v1", "127.0.0.1"),
        (f"groq/{LISTED}", "", "does not name"),
        ("ollama/llama2", "", "without a price"),
        ("", "", "does not name"),
        ("sample_spec", "", "does not name"),
    ],
)
def test_a_price_that_is_not_known_is_none_with_the_reason(model, api_base, why, monkeypatch):
    for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)
    price, told = list_price(model, api_base)
    assert price is None
    assert why in told


def test_an_endpoint_from_the_environment_sets_its_own_price(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://proxy.example/v1")
    assert list_price(LISTED) == (None, "what proxy.example charges is not known here")


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        (0, "$0.00"),
        (0.00001, "less than $0.0001"),
        (0.0042, "$0.0042"),
        (0.4, "$0.40"),
        (0.1234, "$0.1234"),
        (12.3, "$12.30"),
        (1234.5, "$1,234.50"),
    ],
)
def test_an_amount_that_is_too_little_to_show_is_not_shown_as_zero(amount: float, shown: str):
    assert dollars(amount) == shown


def test_an_agent_makes_no_call_that_can_be_counted_before():
    found = estimated(make_target(["one", "two"]), trials=3)
    assert (found.questions, found.trials, found.answers, found.agent_runs) == (2, 3, 6, 6)
    assert (found.target_calls, found.judge_calls) == (0, 0)
    assert calls_told(found) == ("6 runs of the agent", "how many models the agent asks, it alone knows")
    assert expected_told([found]) == ("unknown", "the target: no complete run yet to judge by")


@pytest.mark.usefixtures("_judge")
def test_each_judge_is_asked_once_for_each_answer(llm_server: LLMServer):
    target = chat_target(llm_server, graders=["relevance_grader", "groundedness_grader", "contains_done"])
    found = estimated(target, trials=2)
    assert (found.target_calls, found.judge_calls) == (6, 12)
    assert [each.role for each in found.askings] == [TARGET, "relevance_grader", "groundedness_grader"]
    assert all(each.price is None and each.price_unknown for each in found.askings)


@pytest.mark.usefixtures("_judge")
def test_recorded_replies_that_are_blank_cost_no_judge(settings, tmp_path: Path):
    settings.AI_EVAL = {**settings.AI_EVAL, "DATASET_PATH": str(tmp_path)}
    rows = [{"question_id": "q1", "response": "done"}, {"question_id": "q2", "response": " "}]
    (tmp_path / "replies.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    target = make_target(["one", "two"], mode="recorded", agent="", replies="replies.jsonl")
    found = estimated(target)
    assert (found.answers, found.agent_runs, found.target_calls) == (2, 0, 0)
    assert expected_told([found]) == ("nothing", "no model is asked")
    target.graders = ["relevance_grader"]
    target.save()
    assert estimated(target).judge_calls == 1


@pytest.mark.usefixtures("_judge")
def test_the_last_complete_run_tells_its_price_and_how_much_of_it_is_known(llm_server: LLMServer):
    llm_server.script(Reply(text="one"), failing(401), Reply(text="three"))
    run = run_target(chat_target(llm_server))
    (paid,) = paid_in(run)
    entry = listed(LISTED)
    one = 20 * entry["input_cost_per_token"] + 9 * entry["output_cost_per_token"]
    assert (paid.role, paid.calls, paid.priced, paid.counted) == (TARGET, 3, 2, 2)
    assert paid.cost == pytest.approx(2 * one)
    assert (paid.prompt_tokens, paid.completion_tokens) == (40, 18)
    found = estimated(run.target, trials=2)
    assert found.last is not None
    assert found.last.run == run
    amount, of = last_told(found.last)
    assert amount.endswith(" and more")
    assert "price known for 2 of 3 answers" in of
    assert found.expected.amount == pytest.approx(6 * one)
    assert found.expected.because == [f"the target: as run {run.pk} paid for 2 of 3"]


@pytest.mark.usefixtures("_judge")
def test_a_judge_whose_price_nobody_knows_makes_the_sum_a_lower_bound(llm_server: LLMServer):
    run = run_target(chat_target(llm_server, graders=["relevance_grader"]))
    found = estimated(run.target)
    told, of = expected_told([found])
    assert told == "less than $0.0001 and more"
    assert f"relevance_grader: run {run.pk} tells its tokens, and no list their price" in of


def test_a_model_that_changed_is_priced_by_the_tokens_of_the_last_run(llm_server: LLMServer, monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_API_BASE", raising=False)
    run = run_target(chat_target(llm_server, model="openai/unlisted"))
    assert expected_told([estimated(run.target)])[0] == "unknown"
    target = run.target
    target.model, target.api_base = f"openai/{LISTED}", ""
    target.save()
    found = estimated(target)
    entry = listed(LISTED)
    one = 20 * entry["input_cost_per_token"] + 9 * entry["output_cost_per_token"]
    assert found.expected.amount == pytest.approx(3 * one)
    assert "at the list price" in found.expected.because[0]


def test_another_model_has_not_the_price_that_the_last_one_had(llm_server: LLMServer):
    target = run_target(chat_target(llm_server)).target
    target.model = "openai/unlisted"
    target.save()
    assert estimated(target).expected.amount is None


@pytest.mark.usefixtures("_judge")
def test_a_regraded_run_paid_only_its_judges(llm_server: LLMServer):
    run = run_target(chat_target(llm_server, graders=["relevance_grader"]))
    again = regrade(run.pk)
    Worker(again.pk).run()
    assert [part.role for part in paid_in(Run.objects.get(pk=run.pk))] == [TARGET, "relevance_grader"]
    assert [part.role for part in paid_in(Run.objects.get(pk=again.pk))] == ["relevance_grader"]
    found = estimated(run.target)
    assert found.last is not None
    assert found.last.run == run


def test_an_interrupted_run_is_not_what_a_run_costs():
    target = make_target()
    launch(prepare(target))
    assert estimated(target).last is None


def test_what_advises_before_a_launch_is_told_with_the_estimate():
    target = make_target([{"input": "one", "expeted": "x"}], gate_threshold=None)
    advisories = "\n".join(estimated(target).advisories)
    assert "expeted" in advisories
    assert "observes actions" in advisories
    assert "no gate" in advisories


@pytest.mark.parametrize("questions", [3, 30])
def test_an_estimate_takes_the_same_queries_for_few_and_many_questions(
    questions: int, django_assert_num_queries, llm_server: LLMServer
):
    JudgeSettings.objects.create(grader="relevance_grader", model="openai/judge", api_base=llm_server.url)
    target = chat_target(
        llm_server, [f"question {n}" for n in range(questions)], graders=["relevance_grader"]
    )
    run_target(target)
    plan = prepare(target)
    with django_assert_num_queries(3):
        estimate(plan)
