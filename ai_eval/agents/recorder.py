"""The tool-call record: absent until the agent wraps its first tool or tells of a call."""

import functools
import inspect
import threading
from collections.abc import Callable
from typing import Any

from ai_eval.agents.arguments import recorded_call

_OWNER = "_ai_eval_recorder"


class Recorder:
    """Collects the calls that an agent executes, in the order in which they began."""

    def __init__(self) -> None:
        self._calls: list[dict[str, Any]] | None = None
        self._lock = threading.Lock()

    @property
    def calls(self) -> list[dict[str, Any]] | None:
        """None where there is no record; each call has `plugin_id`, `function_name`, `arguments`. A copy."""
        with self._lock:
            if self._calls is None:
                return None
            return [{**call, "arguments": dict(call["arguments"])} for call in self._calls]

    def start(self) -> None:
        """From here on a record exists, be it empty."""
        with self._lock:
            if self._calls is None:
                self._calls = []

    def record(self, function_name: str, arguments: object = None, plugin_id: str = "") -> None:
        """Tell of a call that was executed. `arguments`: a mapping, JSON text, or nothing."""
        call = recorded_call(function_name, arguments, plugin_id)
        with self._lock:
            if self._calls is None:
                self._calls = []
            self._calls.append(call)

    def tool(self, function: Callable[..., Any], name: str = "") -> Callable[..., Any]:
        """`function`, plain or async, wrapped so that each call of it is recorded as it begins.

        A call that raises, or does not fit the signature, is recorded too; arguments as they were
        passed, without defaults. A generator counts when it is made. Wrapping twice records once.
        """
        self.start()
        if getattr(function, _OWNER, None) is self:
            return function
        shown = name or _name_of(function)
        signature = _signature_of(function)

        def note(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            self.record(shown, _named(signature, args, kwargs))

        if _is_async(function):

            @functools.wraps(function)
            async def recorded_async(*args: Any, **kwargs: Any) -> Any:
                note(args, kwargs)
                return await function(*args, **kwargs)

            setattr(recorded_async, _OWNER, self)
            return recorded_async

        @functools.wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            note(args, kwargs)
            return function(*args, **kwargs)

        setattr(recorded, _OWNER, self)
        return recorded


def _inner(function: Callable[..., Any]) -> Callable[..., Any]:
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _name_of(function: Callable[..., Any]) -> str:
    inner = _inner(function)
    return str(getattr(inner, "__name__", type(inner).__name__))


def _is_async(function: Callable[..., Any]) -> bool:
    """Also for an object whose `__call__` is `async def`."""
    inner = _inner(function)
    return inspect.iscoroutinefunction(inner) or (
        not inspect.isroutine(inner)
        and not inspect.isclass(inner)
        and inspect.iscoroutinefunction(getattr(inner, "__call__", None))  # noqa: B004
    )


def _signature_of(function: Callable[..., Any]) -> inspect.Signature | None:
    """None where Python knows none, as for some functions written in C."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def _named(
    signature: inspect.Signature | None, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """The arguments by name; by position (from 0) where they fit no signature."""
    try:
        bound = signature.bind(*args, **kwargs) if signature else None
    except TypeError:
        # A call that does not fit is a call all the same; the function itself will refuse it.
        bound = None
    if signature is None or bound is None:
        return {**{str(position): value for position, value in enumerate(args)}, **kwargs}
    named: dict[str, Any] = {}
    for position, (name, value) in enumerate(bound.arguments.items()):
        kind = signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            # A name may stand for a positional-only parameter as well: neither value may be lost.
            named.update({key if key not in named else f"{name}.{key}": each for key, each in value.items()})
        elif position > 0 or name not in ("self", "cls"):
            named[name] = value
    return named
