"""The shared scale: every score is mapped onto 0 to 5 before scores are averaged."""

COMPOSITE_MAX = 5.0


def composite(score: float, min_score: float, max_score: float) -> float:
    """`score` on the composite scale: 5 × (score - min) / (max - min), within 0 to 5.

    `score` lies within its own scale; `min_score` is below `max_score` (ValueError otherwise).
    """
    if not min_score < max_score:
        raise ValueError(f"a scale needs min below max, not {min_score} to {max_score}")
    share = (score - min_score) / (max_score - min_score)
    return COMPOSITE_MAX * max(0.0, min(1.0, share))


def describe_scale(min_score: float, max_score: float) -> str:
    """`binary, 0-1`, `gradient, 0-5`, or the bounds alone."""
    bounds = f"{min_score:g}-{max_score:g}"
    if (min_score, max_score) == (0.0, 1.0):
        return f"binary, {bounds}"
    if (min_score, max_score) == (0.0, 5.0):
        return f"gradient, {bounds}"
    return bounds
