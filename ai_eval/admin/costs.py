"""What runs ask and cost, in words. What is unknown is called unknown, and never 0."""

from collections.abc import Sequence

from ai_eval.llm_prices import dollars
from ai_eval.runs.estimate import Estimate, LastRun
from ai_eval.runs.spending import TARGET, Paid
from ai_eval.wording import counted


def calls_told(estimate: Estimate) -> tuple[str, str]:
    """How many calls of models the run makes, and what may add to them."""
    parts = [f"{estimate.target_calls:,} of the target"] if estimate.target_calls else []
    parts += [f"at most {estimate.judge_calls:,} of judges"] if estimate.judge_calls else []
    more = ["a retry, and a judge's second try, may add to them"] if parts else []
    if estimate.agent_runs:
        parts.insert(0, f"{counted(estimate.agent_runs, 'run')} of the agent")
        more.insert(0, "how many models the agent asks, it alone knows")
    return ", ".join(parts) or "none", "; ".join(more)


def expected_told(estimates: Sequence[Estimate]) -> tuple[str, str]:
    """What these runs will probably cost together, and how that is known."""
    amounts = [each.expected.amount for each in estimates if each.expected.amount is not None]
    unknown = list(dict.fromkeys(why for each in estimates for why in each.expected.unknown))
    because = list(dict.fromkeys(known for each in estimates for known in each.expected.because))
    if not amounts:
        return ("unknown", "; ".join(unknown)) if unknown else ("nothing", "no model is asked")
    basis = "; ".join([*because, *unknown])
    amount = dollars(sum(amounts))
    about = amount if amount.startswith("less") else f"about {amount}"
    return f"{about}{' and more' if unknown else ''}", basis


def last_told(last: LastRun) -> tuple[str, str]:
    """What the last complete run cost, and of how much of it that is known."""
    known = [part.cost for part in last.paid if part.cost is not None]
    basis = "; ".join(f"{part.role}: {basis_told(part)}" for part in last.paid)
    if not last.paid:
        return "nothing", "no model was asked"
    if not known:
        return "unknown", basis
    whole = all(part.priced == part.calls for part in last.paid)
    return dollars(sum(known)) if whole else f"{dollars(sum(known))} and more", basis


def cost_told(paid: Paid) -> str:
    """What one role has cost."""
    if paid.cost is None:
        return "unknown"
    return dollars(paid.cost) if paid.priced == paid.calls else f"{dollars(paid.cost)} and more"


def basis_told(paid: Paid) -> str:
    """Of how many calls price and tokens of one role are known."""
    what = "answer" if paid.role == TARGET else "grade"
    price = f"price known for {paid.priced:,} of {counted(paid.calls, what)}"
    if not paid.counted:
        return f"{price}, tokens for none"
    of = "" if paid.counted == paid.calls else f" in {paid.counted:,} of them"
    tokens = f"{paid.prompt_tokens or 0:,} prompt and {paid.completion_tokens or 0:,} completion tokens"
    return f"{price}, {tokens}{of}"
