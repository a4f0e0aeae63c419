"""Syntax tree of conditions as the parser builds it: tokens with positions, without semantics.

Next: ``conditions/check.py`` gives it meaning.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Position:
    """Position in the text: line and column, both from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Word:
    """A literal: text, number, true, false or null."""

    value: str | float | bool | None
    at: Position


@dataclass(frozen=True, slots=True)
class LiteralList:
    """A list of literals: ``{'a','b'}``."""

    words: tuple[Word, ...]
    at: Position


@dataclass(frozen=True, slots=True)
class Name:
    """A bare name: ``eventType``."""

    name: str
    at: Position


@dataclass(frozen=True, slots=True)
class PathStep:
    """One step into something: ``.name``, ``['name']`` or ``[0]``."""

    parent: Written
    key: str | int
    at: Position


@dataclass(frozen=True, slots=True)
class Call:
    """A function and its arguments: ``matchAnyTag({'a'})``."""

    function: str
    arguments: tuple[Written, ...]
    at: Position


@dataclass(frozen=True, slots=True)
class Method:
    """A method of something: ``tags.contains('a')``."""

    receiver: Written
    name: str
    arguments: tuple[Written, ...]
    at: Position


@dataclass(frozen=True, slots=True)
class Negation:
    """``!operand``."""

    operand: Written
    at: Position


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two things compared; ``operator`` is one of ``== != < <= > >= in matches``."""

    operator: str
    left: Written
    right: Written
    at: Position


@dataclass(frozen=True, slots=True)
class Junction:
    """Conditions joined by ``&&`` or ``||``."""

    operator: str
    operands: tuple[Written, ...]
    at: Position


Written = Word | LiteralList | Name | PathStep | Call | Method | Negation | Comparison | Junction


def children(node: Written) -> tuple[Written, ...]:
    """Return the direct children of ``node``."""
    match node:
        case PathStep(parent=parent):
            return (parent,)
        case Call(arguments=arguments):
            return arguments
        case Method(receiver=receiver, arguments=arguments):
            return (receiver, *arguments)
        case Negation(operand=operand):
            return (operand,)
        case Comparison(left=left, right=right):
            return (left, right)
        case Junction(operands=operands):
            return operands
        case _:
            return ()


def depth(root: Written) -> int:
    """Return how deep the tree is; does not recurse, so that no text can exhaust the stack."""
    deepest, waiting = 0, [(root, 1)]
    while waiting:
        node, level = waiting.pop()
        deepest = max(deepest, level)
        waiting.extend((child, level + 1) for child in children(node))
    return deepest
