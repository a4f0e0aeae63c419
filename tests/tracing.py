"""Trace of a call: the functions of Tocsin that it enters, and which of them calls which."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType

import tocsin

_SOURCE = str(Path(tocsin.__file__).parent.parent) + "/"


@dataclass
class Trace:
    """Functions as ``module:name``, each once; comprehensions and lambdas belong to the function around them.

    ``calls`` are the pairs of caller and called function, ``steps`` every call in its order, the first of them without
    a caller.
    """

    steps: list[tuple[str | None, str]] = field(default_factory=list)

    @property
    def calls(self) -> set[tuple[str, str]]:
        """Return the pairs of caller and called function."""
        return {(caller, function) for caller, function in self.steps if caller is not None}

    @property
    def functions(self) -> set[str]:
        """Return every function that was entered."""
        return {function for _, function in self.steps}

    def until(self, function: str) -> Trace:
        """Return the trace before a function was first entered."""
        return Trace(self.steps[: [callee for _, callee in self.steps].index(function)])

    def calls_around(self, packages: Sequence[str]) -> Trace:
        """Return the calls of functions in these packages, whoever calls them, and the calls that these make."""
        inside = tuple(f"{package}{end}" for package in packages for end in ".:")
        return Trace([step for step in self.steps if step[1].startswith(inside) or (step[0] or "").startswith(inside)])

    def entry_count(self, module: str) -> int:
        """Return how often a module was entered from another one."""
        inside = f"{module}:"
        return sum(
            function.startswith(inside) and not (caller or "").startswith(inside) for caller, function in self.steps
        )

    def calls_up(self, layers: Sequence[str]) -> list[tuple[str, str]]:
        """Return the calls from a lower to a higher one of these layers: prefixes of modules, the highest first."""
        ranks = {function: _rank(function, layers) for call in self.calls for function in call}
        return sorted(call for call in self.calls if ranks[call[1]] < ranks[call[0]])


@contextmanager
def trace_calls() -> Iterator[Trace]:
    """Yield the trace of what this thread does within."""
    trace = Trace()

    def note(frame: FrameType, event: str, _argument: object) -> None:
        name = _name_of(frame.f_code)
        if event != "call" or name is None:
            return
        caller = _caller_of(frame)
        if caller != name:
            trace.steps.append((caller, name))

    sys.setprofile(note)
    try:
        yield trace
    finally:
        sys.setprofile(None)


def trace_of(call: Callable[[], object]) -> Trace:
    """Return the trace of the second of two calls: the first fills caches."""
    call()
    with trace_calls() as trace:
        call()
    return trace


def _name_of(code: CodeType) -> str | None:
    """Return a function of Tocsin as ``module:name``; None for other code, templates, and the body of a module."""
    path = code.co_filename
    if not (path.startswith(_SOURCE) and path.endswith(".py")) or code.co_name == "<module>":
        return None
    module = path.removeprefix(_SOURCE).removesuffix(".py").replace("/", ".")
    return f"{module}:{code.co_qualname.partition('.<locals>.')[0].removesuffix('.<lambda>')}"


def _caller_of(frame: FrameType) -> str | None:
    """Return the nearest function of Tocsin below a frame."""
    below = frame.f_back
    while below is not None:
        if (name := _name_of(below.f_code)) is not None:
            return name
        below = below.f_back
    return None


def _rank(function: str, layers: Sequence[str]) -> int:
    """Return the place of a function's layer; what is in none of them is below all."""
    places = (at for at, layer in enumerate(layers) if function.startswith((f"{layer}.", f"{layer}:")))
    return next(places, len(layers))
