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

    ``calls`` are the pairs of caller and called function.
    """

    calls: set[tuple[str, str]] = field(default_factory=set)
    functions: set[str] = field(default_factory=set)

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
        trace.functions.add(name)
        if caller is not None and caller != name:
            trace.calls.add((caller, name))

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
