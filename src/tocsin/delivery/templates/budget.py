"""Budget of a rendering: steps, characters written, characters of values made, and time, each with a limit.

Jinja's sandbox bounds neither memory nor time; a template here can only do what is counted.
Next: ``delivery/templates/render.py``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from tocsin.errors import InvalidTemplate

_STEPS_PER_LOOK = 64


@dataclass(frozen=True)
class RenderLimits:
    """What one rendering may use."""

    steps: int = 50_000
    written_chars: int = 100_000
    made_chars: int = 1_000_000
    seconds: float = 1.0


LIMITS = RenderLimits()


class Budget:
    """What a rendering may still use; ``seconds`` is processor time of the current thread since this was created."""

    def __init__(self, limits: RenderLimits = LIMITS, steady: Callable[[], float] = time.thread_time) -> None:
        self._limits, self._steady = limits, steady
        self._steps, self._written, self._made = 0, 0, 0
        self._ends_s = steady() + limits.seconds
        self._next_look = _STEPS_PER_LOOK

    def step(self, count: int = 1) -> None:
        """Count steps.

        Raises
        ------
        InvalidTemplate : they or the time are used up
        """
        self._steps += count
        if self._steps > self._limits.steps:
            raise InvalidTemplate(f"The template takes more than {self._limits.steps:,} steps")
        if self._steps >= self._next_look:
            self._next_look = self._steps + _STEPS_PER_LOOK
            self.look()

    def look(self) -> None:
        """Raise ``InvalidTemplate`` when the time is used up."""
        if self._steady() > self._ends_s:
            raise InvalidTemplate(f"The template takes longer than {self._limits.seconds:g} s")

    def write(self, chars: int) -> None:
        """Count characters written; raise ``InvalidTemplate`` when there are too many."""
        self._written += chars
        if self._written > self._limits.written_chars:
            raise InvalidTemplate(f"The template writes more than {self._limits.written_chars:,} characters")

    def make(self, chars: int) -> None:
        """Count characters of a value that is made; raise ``InvalidTemplate`` when there are too many."""
        self._made += chars
        if self._made > self._limits.made_chars:
            raise InvalidTemplate(f"The template makes values of more than {self._limits.made_chars:,} characters")
