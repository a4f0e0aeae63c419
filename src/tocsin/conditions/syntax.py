"""Syntax tree of conditions as the parser builds it, without semantics, and its canonical text.

Tokens have positions. Parsed again, the text means the same. Next: ``conditions/check.py`` gives it meaning.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_SIGNS = {"and": " && ", "or": " || "}
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


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


def text_of(written: Written) -> str:
    """Return ``written`` as text."""
    match written:
        case Word(value=value):
            return literal_text(value)
        case LiteralList(words=words):
            return "{" + ", ".join(map(text_of, words)) + "}"
        case Name(name=name):
            return name
        case PathStep(parent=parent, key=key):
            return _tight(parent) + _step(key)
        case Call(function=function, arguments=arguments):
            return f"{function}({_argument_list(arguments)})"
        case Method(receiver=receiver, name=name, arguments=arguments):
            return f"{_tight(receiver)}.{name}({_argument_list(arguments)})"
        case Negation(operand=operand):
            return f"!{_tight(operand)}"
        case Comparison(operator=operator, left=left, right=right):
            return f"{_tight(left)} {operator} {_tight(right)}"
        case Junction(operator=operator, operands=operands):
            return _SIGNS[operator].join(_operand_text(one, operator) for one in operands)


def start_of(written: Written) -> Position:
    """Return the position where ``written`` begins; of a method and a step by themselves, that of their name."""
    places = [written.at, *(start_of(child) for child in children(written))]
    return min(places, key=lambda place: (place.line, place.column))


def literal_text(value: str | float | bool | None) -> str:
    """Return a literal as conditions write it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(int(value)) if value.is_integer() and abs(value) < 2**63 else repr(value)


def _tight(written: Written) -> str:
    """Return ``written``, in parentheses unless it binds tightly."""
    text = text_of(written)
    return f"({text})" if isinstance(written, Comparison | Junction) else text


def _operand_text(written: Written, operator: str) -> str:
    """Return an operand of ``&&`` or ``||``; only "and" needs no parentheses inside "or"."""
    is_bare = not isinstance(written, Junction) or (written.operator, operator) == ("and", "or")
    return text_of(written) if is_bare else f"({text_of(written)})"


def _argument_list(arguments: tuple[Written, ...]) -> str:
    return ", ".join(map(text_of, arguments))


def _step(key: str | int) -> str:
    if isinstance(key, str) and _IDENTIFIER.fullmatch(key):
        return f".{key}"
    return f"[{key}]" if isinstance(key, int) else f"[{literal_text(key)}]"
