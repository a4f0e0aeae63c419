"""Arguments of a function of notification templates, and what it may know of its surroundings.

Next: ``delivery/templates/functions.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tocsin.delivery.templates.budget import Budget
from tocsin.delivery.templates.values import Value, text_of


@dataclass(frozen=True)
class Arguments:
    """What a function is called with: its values in order, those with names, the outermost context, the budget."""

    values: tuple[Value, ...]
    budget: Budget
    root: Mapping[str, Value]
    keywords: Mapping[str, Value] = field(default_factory=dict)

    @property
    def first(self) -> Value:
        """Return the first value; None for none."""
        return self.values[0] if self.values else None

    @property
    def second(self) -> Value:
        """Return the second value; None for none."""
        return self.values[1] if len(self.values) > 1 else None

    def text(self) -> str:
        """Return the first value as text."""
        return text_of(self.first)


@dataclass(frozen=True)
class TemplateFunction:
    """A function of templates (upstream's helper): how it is written, what it gives, an example, and the code."""

    name: str
    syntax: str
    meaning: str
    example: str
    apply: Callable[[Arguments], Value]
