"""Trace of the functions of ours that a call enters, as a reader meets them.

A comprehension or lambda counts as its function, and what ``dataclass`` writes does not count.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

_PACKAGE = "tocsin."
_INNER = re.compile(r"\.<locals>\.<(genexpr|listcomp|setcomp|dictcomp|lambda)>.*")
_GENERATED = "__create_fn__"


@dataclass(frozen=True, order=True)
class Function:
    """A function of ours: its module and its qualified name."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


@dataclass
class Trace:
    """The calls from one function of ours to another, in their order."""

    calls: list[tuple[Function | None, Function]] = field(default_factory=list)

    def until(self, module: str, name: str) -> Trace:
        """Return what was entered before this function was."""
        entered = [callee for _, callee in self.calls]
        return Trace(self.calls[: entered.index(Function(module, name))])

    def functions(self) -> set[Function]:
        """Return every function that was entered."""
        return {callee for _, callee in self.calls}

    def functions_from(self, modules: Collection[str]) -> set[Function]:
        """Return the functions in these modules or packages, and those elsewhere that they call."""
        is_inside = _membership(modules)
        return {
            callee
            for caller, callee in self.calls
            if is_inside(callee.module) or (caller is not None and is_inside(caller.module))
        }

    def calls_up(self, layers: tuple[str, ...]) -> set[tuple[Function, Function]]:
        """Return the calls from a lower layer to a higher one; ``layers`` are packages of ours, the highest first."""
        rank = {name: number for number, layer in enumerate(layers) for name in layer.split(" | ")}
        return {
            (caller, callee)
            for caller, callee in self.calls
            if caller is not None and rank[_layer_of(callee)] < rank[_layer_of(caller)]
        }

    def entries(self, module: str) -> int:
        """Return how often a module was entered from another one of ours."""
        return sum(
            callee.module == module and (caller is None or caller.module != module) for caller, callee in self.calls
        )


@contextmanager
def trace_calls() -> Iterator[Trace]:
    """Trace what this thread enters of ours."""
    trace = Trace()

    def note(frame: FrameType, event: str, _argument: object) -> None:
        callee = _function_of(frame) if event == "call" else None
        if callee is None:
            return
        caller = _caller_of(frame)
        if caller != callee:
            trace.calls.append((caller, callee))

    sys.setprofile(note)
    try:
        yield trace
    finally:
        sys.setprofile(None)


def _caller_of(frame: FrameType) -> Function | None:
    outer = frame.f_back
    while outer is not None:
        if (caller := _function_of(outer)) is not None:
            return caller
        outer = outer.f_back
    return None


def _function_of(frame: FrameType) -> Function | None:
    module, name = str(frame.f_globals.get("__name__", "")), frame.f_code.co_qualname
    if not module.startswith(_PACKAGE) or name.startswith(_GENERATED):
        return None
    return Function(module, _INNER.sub("", name))


def _layer_of(function: Function) -> str:
    return function.module.split(".")[1]


def _membership(modules: Collection[str]) -> Callable[[str], bool]:
    return lambda module: any(module == name or module.startswith(f"{name}.") for name in modules)
