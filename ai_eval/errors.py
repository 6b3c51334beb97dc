"""Expected failures: told to the user as they stand, without a traceback."""

from collections.abc import Sequence


class EvalError(Exception):
    """Something that the user can mend. `problems` holds one sentence each, at least one."""

    def __init__(self, problems: str | Sequence[str]) -> None:
        self.problems: list[str] = [problems] if isinstance(problems, str) else list(problems)
        super().__init__("\n".join(self.problems))


class ConfigurationError(EvalError):
    """A target, dataset, grader or setting can't be used as it stands."""


class DatasetError(EvalError):
    """A dataset can't be read, or a row of it is not valid."""


class StateError(EvalError):
    """The run is not in a state that allows this."""
