"""The tool-call record: absent until the agent wraps its first tool or tells of a call."""

import functools
import inspect
import threading
from collections.abc import Callable
from typing import Any

from ai_eval.agents.arguments import recorded_call


class Recorder:
    """Collects the calls that an agent executes, in the order in which they began."""

    def __init__(self) -> None:
        self._calls: list[dict[str, Any]] | None = None
        self._lock = threading.Lock()

    @property
    def calls(self) -> list[dict[str, Any]] | None:
        """None where there is no record; each call has `plugin_id`, `function_name`, `arguments`."""
        with self._lock:
            return None if self._calls is None else list(self._calls)

    def start(self) -> None:
        """From here on a record exists, be it empty."""
        with self._lock:
            if self._calls is None:
                self._calls = []

    def record(self, function_name: str, arguments: object = None, plugin_id: str = "") -> None:
        """Tell of a call that was executed. `arguments`: a mapping, JSON text, or nothing."""
        self.start()
        call = recorded_call(function_name, arguments, plugin_id)
        with self._lock:
            assert self._calls is not None
            self._calls.append(call)

    def tool(self, function: Callable[..., Any], name: str = "") -> Callable[..., Any]:
        """`function`, plain or async, wrapped so that each call of it is recorded."""
        self.start()
        shown = name or getattr(function, "__name__", type(function).__name__)
        signature = inspect.signature(function)

        def note(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            try:
                arguments = dict(signature.bind(*args, **kwargs).arguments)
            except TypeError:
                # A call that does not fit is a call all the same; the function itself will refuse it.
                arguments = {**{str(i): value for i, value in enumerate(args)}, **kwargs}
            for parameter in signature.parameters.values():
                if parameter.kind is parameter.VAR_KEYWORD and parameter.name in arguments:
                    arguments.update(arguments.pop(parameter.name))
            self.record(shown, arguments)

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def recorded_async(*args: Any, **kwargs: Any) -> Any:
                note(args, kwargs)
                return await function(*args, **kwargs)

            return recorded_async

        @functools.wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            note(args, kwargs)
            return function(*args, **kwargs)

        return recorded
