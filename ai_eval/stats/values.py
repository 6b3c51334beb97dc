"""What a statistic answers with."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Interval:
    """A two-sided 95 % interval; both bounds belong to it."""

    low: float
    high: float


@dataclass(frozen=True)
class Figure:
    """One figure with its denominator.

    Nothing here is ever NaN: what is undefined is None, and `why` says so in words that can be shown.
    The fields are flat, so that `Figure(**dataclasses.asdict(figure))` is the same figure.

    Raises ValueError for an undefined value without a reason, and for half an interval.
    """

    value: float | None
    """None where it is undefined."""
    low: float | None
    """Lower bound of the 95 % interval. None, with `high`, where there is none."""
    high: float | None
    n: int | float
    """What the value is a mean over: the number of questions that count."""
    why: str = ""
    """Why the value, or the interval of a defined value, is undefined. Empty otherwise."""
    standard_error: float | None = None
    """In the unit of `value`. None where it is undefined or not part of the figure."""
    left_out: int = 0
    """Questions that were given and do not count, for want of trials."""

    def __post_init__(self) -> None:
        if self.value is None and not self.why:
            raise ValueError("why: an undefined figure has to say why it is undefined")
        if (self.low is None) != (self.high is None):
            raise ValueError("low, high: an interval has two bounds or none")

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval; None where there is none."""
        if self.low is None or self.high is None:
            return None
        return Interval(self.low, self.high)
