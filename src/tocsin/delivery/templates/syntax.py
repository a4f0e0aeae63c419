"""Syntax tree of notification templates: text, outputs and blocks, with the expressions in them.

Source: handlebarsjs.com, "Language Guide". Next: ``delivery/templates/parse.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tocsin.errors import InvalidTemplate


@dataclass(frozen=True)
class TemplatePosition:
    """A place in the text of a template, counted from 1."""

    line: int
    column: int


@dataclass(frozen=True)
class Literal:
    """A text, number, ``true``, ``false`` or ``null``."""

    value: str | int | float | bool | None


@dataclass(frozen=True)
class Path:
    """Where a value is found: ``entity.name``, ``../name``, ``@index``.

    Attributes
    ----------
    steps : keys and indexes, from the start on; none for ``this``
    up : how many contexts above the present one the path begins
    is_private : begins among the variables with ``@``
    is_scoped : begins in its context and in none above it: ``this.name``, ``../name``
    """

    steps: tuple[str, ...]
    at: TemplatePosition
    up: int = 0
    is_private: bool = False
    is_scoped: bool = False

    @property
    def name(self) -> str | None:
        """Return the only step of a bare name; None for any other path."""
        return self.steps[0] if len(self.steps) == 1 and not (self.is_private or self.is_scoped) else None


@dataclass(frozen=True)
class TemplateCall:
    """A function with its arguments: ``eq name 'tags'``, ``filter tests status='Failed'``."""

    name: str
    at: TemplatePosition
    arguments: tuple[Expression, ...] = ()
    keywords: tuple[tuple[str, Expression], ...] = ()


Expression = Literal | Path | TemplateCall


@dataclass(frozen=True)
class Text:
    """Text that is written as it stands."""

    text: str


@dataclass(frozen=True)
class Output:
    """The value of an expression: ``{{…}}``, or ``{{{…}}}`` for one that may hold markup."""

    value: Expression
    at: TemplatePosition


@dataclass(frozen=True)
class Block:
    """A block: ``{{#if …}}…{{else}}…{{/if}}``.

    ``kind`` is a built-in block, or ``section`` for a value: ``{{#entity.tags}}…{{/entity.tags}}``. ``names`` are its
    block parameters (``as |one index|``).
    """

    kind: str
    value: Expression
    at: TemplatePosition
    body: tuple[Node, ...] = ()
    otherwise: tuple[Node, ...] = ()
    names: tuple[str, ...] = ()
    keywords: tuple[tuple[str, Expression], ...] = field(default=())


Node = Text | Output | Block


def template_error(message: str, at: TemplatePosition) -> InvalidTemplate:
    """Return the error for what stands at a position."""
    return InvalidTemplate(f"Line {at.line}, column {at.column}: {message}", line=at.line, column=at.column)
