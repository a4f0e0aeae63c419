"""Formatter of parsed conditions: syntax tree back to canonical text.

Parsing the result gives the same meaning. Next: ``conditions/trace.py``.
"""

from __future__ import annotations

import re

from tocsin.conditions.syntax import (
    Call,
    Comparison,
    Junction,
    LiteralList,
    Method,
    Name,
    Negation,
    PathStep,
    Position,
    Word,
    Written,
    children,
)

_SIGNS = {"and": " && ", "or": " || "}
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


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
