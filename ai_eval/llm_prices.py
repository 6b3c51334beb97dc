"""List prices of models, read from litellm's own list without importing litellm (seconds and 200 MB).

A price that is not known is None, with the reason, and never 0.
"""

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ai_eval.llm_keys import PROVIDERS, host_of, provider_of
from ai_eval.wording import one_line

FILE = "model_prices_and_context_window_backup.json"
MODES = frozenset({"chat", "completion", "responses"})
MILLION = 1_000_000


@dataclass(frozen=True)
class Price:
    """US dollars for one token."""

    prompt: float
    completion: float

    def of(self, prompt_tokens: float, completion_tokens: float) -> float:
        """US dollars for so many tokens."""
        return self.prompt * prompt_tokens + self.completion * completion_tokens

    def __str__(self) -> str:
        return (
            f"{dollars(self.prompt * MILLION)} for a million prompt tokens, "
            f"{dollars(self.completion * MILLION)} for a million completion tokens"
        )


def dollars(amount: float) -> str:
    """`$12.30`, `$0.0042`; what is too little to show says so, and is not 0."""
    if 0 < amount < 0.0001:
        return "less than $0.0001"
    whole, _, fraction = f"{amount:,.4f}".partition(".")
    return f"${amount:,.2f}" if amount >= 1 else f"${whole}.{fraction[:2]}{fraction[2:].rstrip('0')}"


def list_price(model: str, api_base: str = "") -> tuple[Price | None, str]:
    """What the model costs by litellm's list, or None and why that is unknown.

    Only the provider's own endpoint has its prices: what another one charges is its own affair.
    """
    provider = provider_of(model)
    base = api_base or (_openai_base() if provider == "openai" else "")
    known = PROVIDERS.get(provider)
    if base and (known is None or host_of(base) not in known.hosts):
        return None, f"what {one_line(host_of(base)) or 'its endpoint'} charges is not known here"
    prices = _prices()
    if not prices:
        return None, "the installed litellm has no price list"
    listed = prices.get(model)
    if listed is None and "/" in model:
        bare = prices.get(model.partition("/")[2])
        listed = bare if bare is not None and bare[0] == provider else None
    if listed is None:
        return None, "the price list does not name this model"
    if listed[1] is None:
        return None, "the price list names this model without a price for a token"
    return listed[1], ""


def _openai_base() -> str:
    return os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_BASE") or ""


@cache
def _prices() -> Mapping[str, tuple[str, Price | None]]:
    """Model to provider and price; empty where there is no list that can be read."""
    spec = find_spec("litellm")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        try:
            document = json.loads((Path(place) / FILE).read_bytes())
        except (OSError, ValueError):
            continue
        if isinstance(document, dict):
            return {
                name: (str(entry.get("litellm_provider", "")), _price(entry))
                for name, entry in document.items()
                if isinstance(entry, dict) and entry.get("mode") in MODES
            }
    return {}


def _price(entry: Mapping[str, Any]) -> Price | None:
    """Both at 0 is how the list writes that it knows none."""
    amounts = [entry.get("input_cost_per_token"), entry.get("output_cost_per_token")]
    numbers = [
        float(each)
        for each in amounts
        if isinstance(each, int | float) and not isinstance(each, bool) and math.isfinite(each) and each >= 0
    ]
    return Price(*numbers) if len(numbers) == 2 and any(numbers) else None
