"""Checks of what statistics are given. Each error names the argument and what it was."""

import math
from collections.abc import Iterable
from numbers import Integral


def whole(name: str, value: int, at_least: int = 0) -> int:
    """`value` as an int; ValueError unless it is a whole number (no boolean) of at least `at_least`."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise ValueError(f"{name}: expected a whole number, not {value!r}")
    if value < at_least:
        raise ValueError(f"{name}: expected at least {at_least}, not {value!r}")
    return int(value)


def within(name: str, value: float, low: float, high: float) -> float:
    """`value` as a float; ValueError unless it is a finite number from `low` to `high`."""
    if not math.isfinite(value):
        raise ValueError(f"{name}: expected a finite number, not {value!r}")
    if not low <= value <= high:
        raise ValueError(f"{name}: expected {low:g} to {high:g}, not {value!r}")
    return float(value)


def part_of_whole(pairs: Iterable[tuple[int, int]], part_name: str, whole_name: str) -> list[tuple[int, int]]:
    """The (whole, part) pairs, in their order, as ints.

    Raises ValueError under the given names unless both are whole numbers with 0 <= part <= whole.
    """
    checked = []
    for total, part in pairs:
        total, part = whole(whole_name, total), whole(part_name, part)
        if part > total:
            raise ValueError(f"{part_name}: {part} is more than {whole_name}, {total}")
        checked.append((total, part))
    return checked
