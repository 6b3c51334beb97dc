"""What a launch will ask and cost, told before anything is asked. Unknown is unknown, never 0."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ai_eval.llm_prices import Price, list_price
from ai_eval.models import Run, Target
from ai_eval.runs.advisories import observing_advisory
from ai_eval.runs.launch import Plan, PlannedAnswer
from ai_eval.runs.spending import TARGET, Paid, paid_in
from ai_eval.text import is_blank


@dataclass(frozen=True)
class Asking:
    """A model that the run asks itself. `calls` without retries and reminders, which may add to them."""

    role: str
    model: str
    calls: int
    price: Price | None
    price_unknown: str
    """Why there is no price; empty where there is one."""
    trust: str = ""


@dataclass(frozen=True)
class LastRun:
    """The last complete run in which everything was asked, and what it paid to each role."""

    run: Run
    paid: Sequence[Paid]


@dataclass(frozen=True)
class Expected:
    """US dollars that this run will probably cost; None when nothing of it can be told."""

    amount: float | None
    because: Sequence[str]
    """How the amount is known, one sentence for each part that has one."""
    unknown: Sequence[str]
    """Of each role whose cost can't be told, why."""


@dataclass(frozen=True)
class Estimate:
    plan: Plan
    questions: int
    trials: int
    answers: int
    agent_runs: int
    """How often the site's own agent runs. How many models it asks, it alone knows."""
    askings: Sequence[Asking]
    last: LastRun | None
    expected: Expected
    advisories: Sequence[str]

    @property
    def target_calls(self) -> int:
        return sum(each.calls for each in self.askings if each.role == TARGET)

    @property
    def judge_calls(self) -> int:
        return sum(each.calls for each in self.askings if each.role != TARGET)


def estimate(plan: Plan) -> Estimate:
    """What the checked launch would ask and cost. In a fixed number of queries."""
    snapshot = plan.snapshot
    target = snapshot["target"]
    answers = len(plan.answers)
    askings = _askings(plan)
    agent_runs = answers if target["mode"] == Target.Mode.AGENT else 0
    last = last_complete_run(plan.target)
    observing = [each["id"] for each in snapshot["graders"] if each["observes_actions"]]
    no_gate = [] if target["gate"] else ["the target has no gate: nothing here can fail"]
    return Estimate(
        plan=plan,
        questions=len({each.question_id for each in plan.answers}),
        trials=target["trials"],
        answers=answers,
        agent_runs=agent_runs,
        askings=askings,
        last=last,
        expected=_expected(snapshot, askings, agent_runs, last),
        advisories=[*snapshot["advisories"], *observing_advisory(target["mode"], observing), *no_gate],
    )


def _askings(plan: Plan) -> list[Asking]:
    target = plan.snapshot["target"]
    found = []
    if target["mode"] == Target.Mode.CHAT:
        price = list_price(target["model"], target["api_base"])
        found.append(Asking(TARGET, target["model"], len(plan.answers), *price))
    judged = sum(_is_judged(each) for each in plan.answers)
    for id, judge in plan.snapshot["judges"].items():
        config = judge["config"]
        price = list_price(config["model"], config["api_base"])
        found.append(Asking(id, config["model"], judged, *price, trust=judge["trust"]))
    return found


def _is_judged(planned: PlannedAnswer) -> bool:
    """Whether judges will be asked about it, as far as that is known before."""
    if planned.asked is None:
        return True
    return not planned.asked.failure and not is_blank(planned.asked.response or "")


def last_complete_run(target: Target) -> LastRun | None:
    """In three queries, from what is stored."""
    runs = Run.objects.filter(target=target, state=Run.State.COMPLETE, kind=Run.Kind.FULL)
    run = runs.defer("result").order_by("-pk").first()
    return LastRun(run, paid_in(run)) if run else None


def _expected(
    snapshot: dict[str, Any], askings: Sequence[Asking], agent_runs: int, last: LastRun | None
) -> Expected:
    amounts: list[float] = []
    because: list[str] = []
    unknown: list[str] = []
    wanted: list[tuple[str, int, Price | None]] = [(each.role, each.calls, each.price) for each in askings]
    if agent_runs:
        wanted.insert(0, (TARGET, agent_runs, None))
    for role, calls, price in wanted:
        known = _known_amount(snapshot, role, calls, price, last)
        if known is None:
            unknown.append(f"{role}: {_why_unknown(role, last)}")
        else:
            amounts.append(known[0])
            because.append(known[1])
    return Expected(sum(amounts) if amounts else None, because, unknown)


def _known_amount(
    snapshot: dict[str, Any], role: str, calls: int, price: Price | None, last: LastRun | None
) -> tuple[float, str] | None:
    """Dollars of one role, and how they are known: as the last run paid, else by the list price."""
    before = next((part for part in last.paid if part.role == role), None) if last else None
    if last is None or before is None:
        return None
    same = _who(snapshot, role) == _who(last.run.snapshot, role)
    if same and before.cost is not None:
        known = f"{role}: as run {last.run.pk} paid for {before.priced} of {before.calls}"
        return before.cost / before.priced * calls, known
    if price is not None and before.counted:
        amount = price.of(before.prompt_tokens or 0, before.completion_tokens or 0)
        tokens = f"the tokens of {before.counted} of {before.calls} in run {last.run.pk}"
        return amount / before.counted * calls, f"{role}: {tokens}, at the list price"
    return None


def _why_unknown(role: str, last: LastRun | None) -> str:
    if last is None:
        return "no complete run yet to judge by"
    before = next((part for part in last.paid if part.role == role), None)
    if before is None:
        return f"run {last.run.pk} did not ask it"
    if not before.counted:
        return f"run {last.run.pk} tells neither price nor tokens"
    return f"run {last.run.pk} tells its tokens, and no list their price"


def _who(snapshot: dict[str, Any], role: str) -> tuple[str, ...] | None:
    """Who is asked in this role by a snapshot."""
    if role == TARGET:
        target = snapshot["target"]
        return (target["mode"], target["agent"], target["model"], target["api_base"])
    judge = snapshot["judges"].get(role)
    return (judge["config"]["model"], judge["config"]["api_base"]) if judge else None
