r"""Which regular expressions may a condition hold? Those that Java and Python read alike and that cannot run away.

Kept: literals, ``.``, classes, groups, ``|``, ``* + ? {m,n}``, ``\d \w \s`` (ASCII) and escaped signs. A value is
matched as a whole, so a leading ``^`` and a trailing ``$`` say nothing and are dropped. Refused: look-around, back
references, flags, possessive quantifiers, and whatever can backtrack without bound (a repeat of what itself varies).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

MAX_PATTERN = 256
MAX_VALUE = 1000
"""Longest text, in characters, that a pattern is tried on; a longer one does not match."""

MAX_COUNT = 1000
MAX_FREEDOM = 12
"""How much a pattern may vary in all: four for a repeat without a (near) bound, one for each other choice."""

_OPEN = 4
_NEAR = 8
_MAX_DEPTH = 8
_CLASS_ESCAPES = "dDwWsS"
_SIGNS = frozenset(r"\.[]{}()*+?^$|-/&~#@!%,:;<=>'\"_` ")
_SPECIAL = frozenset("{}]*+?^$")


class PatternError(ValueError):
    """The pattern cannot be used; the message says why."""


@dataclass(frozen=True)
class _Piece:
    """A read part of a pattern.

    Attributes
    ----------
    text : the part as both engines read it
    freedom : how much it varies
    prefix : the literal that it begins with
    is_literal : whether that is all
    inside : a literal that whatever matches it holds: the longest known, one it begins with only for want of others
    """

    text: str
    freedom: int = 0
    prefix: str = ""
    is_literal: bool = False
    inside: str = ""


def translated(pattern: str) -> str:
    """Return ``pattern`` so that both engines read it alike; match it against the whole value, dot meaning anything.

    Raises
    ------
    PatternError : the pattern is malformed, too long, outside the shared language, or could backtrack without bound.
    """
    if len(pattern) > MAX_PATTERN:
        raise PatternError(f"the pattern is longer than {MAX_PATTERN} characters")
    trimmed = pattern.removeprefix("^")
    if trimmed.endswith("$") and not trimmed.endswith("\\$"):
        trimmed = trimmed[:-1]
    reader = _Reader(trimmed)
    piece = reader.alternatives(depth=0)
    if not reader.at_end():
        raise PatternError("a ')' closes nothing")
    if piece.freedom > MAX_FREEDOM:
        raise PatternError(f"too many repeats and choices: at most {MAX_FREEDOM // _OPEN} repeats without a bound")
    return piece.text


def literal_prefix(pattern: str) -> str:
    """Return what every text that matches ``pattern``, as ``translated`` wrote it, begins with."""
    return _Reader(pattern).alternatives(depth=0).prefix


def literal_inside(pattern: str) -> str:
    """Return a literal that every text holds that matches ``pattern``, as ``translated`` wrote it; empty if unknown.

    It is the longest one of those with two signs or more that do more than repeat ``literal_prefix``.
    """
    return _Reader(pattern).alternatives(depth=0).inside


class _Reader:
    """Reads one pattern from left to right."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._next = 0

    def at_end(self) -> bool:
        return self._next >= len(self._pattern)

    def alternatives(self, *, depth: int) -> _Piece:
        """Read ``a|b|c`` up to a closing parenthesis or the end."""
        if depth > _MAX_DEPTH:
            raise PatternError(f"groups are nested more than {_MAX_DEPTH} levels deep")
        branches = [self._sequence(depth)]
        while self._take("|"):
            branches.append(self._sequence(depth))
        if len(branches) == 1:
            return branches[0]
        choices = 0 if _exclude_each_other(branches) else math.ceil(math.log2(len(branches)))
        return _Piece("|".join(b.text for b in branches), max(b.freedom for b in branches) + choices)

    def _sequence(self, depth: int) -> _Piece:
        text, prefix, freedom, is_literal = "", "", 0, True
        run = inside = ""  # the literal that is being read, and the longest so far after the prefix
        while not self.at_end() and self._peek() not in "|)":
            piece = self._repeated(depth)
            prefix += piece.prefix if is_literal else ""
            text, freedom, is_literal = text + piece.text, freedom + piece.freedom, is_literal and piece.is_literal
            run += piece.prefix
            inside = max(inside, "" if run == prefix else run, piece.inside, key=len)
            run = run if piece.is_literal else ""
        return _Piece(text, freedom, prefix, is_literal, inside if len(inside) > 1 else max(prefix, inside, key=len))

    def _repeated(self, depth: int) -> _Piece:
        atom = self._atom(depth)
        quantifier, least, most = self._quantifier()
        if not quantifier:
            return atom
        prefix, inside = (atom.prefix, atom.inside) if least else ("", "")
        if least == most:
            return _Piece(atom.text + quantifier, atom.freedom * least, prefix, inside=inside)
        if atom.freedom and most != 1:
            raise PatternError("a repeat of something that itself varies could run without end")
        own = _OPEN if most is None or most - least > _NEAR else 1
        return _Piece(atom.text + quantifier, atom.freedom + own, prefix, inside=inside)

    def _quantifier(self) -> tuple[str, int, int | None]:
        """Read a quantifier: its text, the least and the most repeats (None: no bound)."""
        sign = self._peek()
        if sign not in ("*", "+", "?", "{"):
            return "", 1, 1
        if sign == "{":
            text, least, most = self._counted()
        else:
            self._next += 1
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
            text = sign
        if self._take("?"):
            text += "?"
        if self._peek() in ("*", "+", "?", "{"):
            raise PatternError("two quantifiers in a row")
        return text, least, most

    def _counted(self) -> tuple[str, int, int | None]:
        end = self._pattern.find("}", self._next)
        inside = self._pattern[self._next + 1 : end] if end > 0 else ""
        least, comma, most = inside.partition(",")
        if not least.isascii() or not least.isdigit() or (most and not (most.isascii() and most.isdigit())):
            raise PatternError("a '{' that is no count such as {2} or {2,5}; write \\{ for the sign itself")
        low, high = int(least), int(most or least) if most or not comma else None
        if max(low, high or 0) > MAX_COUNT or (high is not None and high < low):
            raise PatternError(f"a count out of order or above {MAX_COUNT}")
        self._next = end + 1
        return f"{{{inside}}}", low, high

    def _atom(self, depth: int) -> _Piece:
        sign = self._pattern[self._next]
        self._next += 1
        if sign == "(":
            return self._group(depth)
        if sign == "[":
            return _Piece(self._class())
        if sign == "\\":
            return self._escape()
        if sign == ".":
            return _Piece(".")
        if sign in _SPECIAL:
            raise PatternError(f"a {sign!r} that cannot stand there; write \\{sign} for the sign itself")
        return _literal(sign, sign)

    def _group(self, depth: int) -> _Piece:
        if self._take("?") and not self._take(":"):
            raise PatternError("only plain groups ( ) and (?: ) are understood: no flags, names or look-around")
        inner = self.alternatives(depth=depth + 1)
        if not self._take(")"):
            raise PatternError("a '(' is never closed")
        return _Piece(f"(?:{inner.text})", inner.freedom, inner.prefix, inner.is_literal, inner.inside)

    def _escape(self) -> _Piece:
        sign = self._peek()
        if sign and sign in _CLASS_ESCAPES:
            self._next += 1
            return _Piece("\\" + sign)
        return _literal(sign, self._escaped_sign())

    def _escaped_sign(self) -> str:
        sign = self._peek()
        if not sign or sign not in _SIGNS:
            raise PatternError(f"the escape \\{sign} is not understood")
        self._next += 1
        return sign if sign in "<>'\"_` @!%,:;=/" else "\\" + sign

    def _class(self) -> str:
        """Read a character class after its opening bracket."""
        text = "[^" if self._take("^") else "["
        start = len(text)
        while self._peek() not in ("]", ""):
            text += self._class_member()
        if not self._take("]") or len(text) == start:
            raise PatternError("a '[' is never closed, or holds nothing")
        return text + "]"

    def _class_member(self) -> str:
        low = self._class_sign()
        if self._peek() != "-" or self._pattern[self._next + 1 : self._next + 2] in ("]", ""):
            return _plain(low)
        self._next += 1
        high = self._class_sign()
        if (low[-1:] in _CLASS_ESCAPES and len(low) > 1) or (len(high) > 1 and high[-1] in _CLASS_ESCAPES):
            raise PatternError("a range in [ ] needs a single character on both sides")
        if low[-1] > high[-1]:
            raise PatternError(f"the range {low}-{high} runs backwards")
        return f"{_plain(low)}-{_plain(high)}"

    def _class_sign(self) -> str:
        sign = self._peek()
        self._next += 1
        if sign != "\\":
            return "\\" + sign if sign in "[&~|^#" else sign
        if self._peek() and self._peek() in _CLASS_ESCAPES:
            self._next += 1
            return "\\" + self._pattern[self._next - 1]
        return self._escaped_sign()

    def _peek(self) -> str:
        return self._pattern[self._next : self._next + 1]

    def _take(self, sign: str) -> bool:
        if self._peek() != sign or not sign:
            return False
        self._next += 1
        return True


def _literal(sign: str, text: str) -> _Piece:
    return _Piece(text, prefix=sign, is_literal=True, inside=sign)


def _plain(sign: str) -> str:
    """Return a member of a class; a hyphen that stands for itself is escaped."""
    return "\\-" if sign == "-" else sign


def _exclude_each_other(branches: list[_Piece]) -> bool:
    """Say whether no text can begin two of ``branches``, going by the literals they begin with."""
    prefixes = sorted(branch.prefix for branch in branches)
    return all(prefixes) and not any(b.startswith(a) for a, b in itertools.pairwise(prefixes))
