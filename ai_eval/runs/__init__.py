"""How a run goes: launch, work, score, finish."""
