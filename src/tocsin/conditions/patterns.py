r"""Regular expressions supported in conditions: same meaning in both engines, bounded cost in the worst case.

Supported: literals, ``.``, classes, groups, ``|``, ``* + ? {m,n}``, ``\d \w \s`` (ASCII) and escapes. A pattern
matches the whole value, so a leading ``^`` and a trailing ``$`` are redundant and dropped. Rejected: look-around, back
references, flags, possessive quantifiers, and whatever could take Java's engine more than ``MAX_STEPS``
(``conditions/backtracking.py``). Python's engine is RE2, whose time is linear for every pattern.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache

import re2

from tocsin.conditions.backtracking import (
    ANYTHING,
    Alternation,
    Atomic,
    Chain,
    Characters,
    Pattern,
    PatternError,
    Ranges,
    Repeat,
    complement,
    fixed_width,
    most_steps,
    union_of,
)

MAX_PATTERN = 256
MAX_VALUE = 1000
"""Longest text, in characters, that a pattern is tried on; a longer one does not match."""

MAX_STEPS = 2_000_000
"""Most steps of a backtracking engine on a text of ``MAX_VALUE`` characters, all patterns of a condition together."""

MANY_VALUES = 8
"""How many times over a pattern counts that is tried on each value of a set or of a path into the document."""

MAX_COUNT = 1000
_MAX_DEPTH = 8
_CLASS_ESCAPES = "dDwWsS"
_SIGNS = frozenset(r"\.[]{}()*+?^$|-/&~#@!%,:;<=>'\"_` ")
_SPECIAL = frozenset("{}]*+?^$")
_DIGITS: Ranges = ((48, 57),)
_WORD: Ranges = ((48, 57), (65, 90), (95, 95), (97, 122))
_SPACE: Ranges = ((9, 13), (32, 32))
_SETS = {"d": _DIGITS, "w": _WORD, "s": _SPACE}
_NO_SPACE_IN_CLASS = r"\x{0}-\x{8}\x{e}-\x{1f}!-\x{10ffff}"


class _Dialect(Enum):
    """Whose text a reader reads, and for whom it writes it again."""

    WRITTEN = "patterns of conditions, for both engines"
    SHARED = "patterns of searches, as written"
    JAVA = "patterns of searches, for a backtracking engine"
    RE2 = "patterns of searches, for RE2"


@dataclass(frozen=True)
class _Piece:
    """A read part of a pattern.

    Attributes
    ----------
    text : the part as both engines read it
    node : what it costs to match
    prefix : the literal that it begins with
    is_literal : whether that is all
    inside : a literal that whatever matches it holds: the longest known, one it begins with only for want of others
    """

    text: str
    node: Pattern
    prefix: str = ""
    is_literal: bool = False
    inside: str = ""


@lru_cache(maxsize=4_096)
def translate(pattern: str) -> str:
    """Return ``pattern`` so that both engines read it alike; match it against the whole value, dot meaning anything.

    Raises
    ------
    PatternError : the pattern is malformed, too long, outside the shared language, or too dear for Java's engine.
    """
    if len(pattern) > MAX_PATTERN:
        raise PatternError(f"the pattern is longer than {MAX_PATTERN} characters")
    body = pattern.removeprefix("^")
    if body.endswith("$") and not body.endswith("\\$"):
        body = body[:-1]
    reader = _PatternReader(body, _Dialect.WRITTEN)
    piece = reader.alternatives(depth=0)
    if not reader.at_end():
        raise PatternError("unmatched ')'")
    if steps_of(piece.text) > MAX_STEPS:
        raise PatternError(
            f"it could take more than {MAX_STEPS:,} steps on one text; use fewer repetitions that match the"
            " same characters"
        )
    _linear(piece.text)
    return piece.text


@lru_cache(maxsize=4_096)
def steps_of(pattern: str) -> int:
    """Return how many steps ``pattern``, as ``translate`` wrote it, takes Java's engine at most on one text.

    Raises
    ------
    PatternError : no bound is known.
    """
    return most_steps(tree_of(pattern), MAX_VALUE)


def tree_of(pattern: str) -> Pattern:
    """Return ``backtracking_pattern(pattern)`` as a tree."""
    return _PatternReader(pattern, _Dialect.JAVA).alternatives(depth=0).node


def backtracking_pattern(pattern: str) -> str:
    """Return ``pattern``, as ``translate`` wrote it, for an engine that backtracks, such as Java's.

    Of a part of fixed width between two ``.*`` the first match is as good as any later one; an atomic group
    prevents backtracking into it, so that ``.*a.*b.*c.*`` costs no more than reading the text.
    """
    return _PatternReader(pattern, _Dialect.JAVA).alternatives(depth=0).text


def is_match(pattern: str, value: str) -> bool:
    """Return whether ``value`` as a whole matches ``pattern``, as ``translate`` wrote it; in linear time."""
    if len(value) > MAX_VALUE:
        return False
    return _linear(pattern).fullmatch(value.encode(errors="replace")) is not None


@lru_cache(maxsize=4_096)
def _linear(pattern: str) -> re2._Regexp[bytes]:
    r"""Return ``pattern`` compiled by RE2, whose ``\s`` lacks the vertical tab that Java's has."""
    options = re2.Options()
    options.dot_nl, options.log_errors = True, False
    try:
        return re2.compile(
            _PatternReader(pattern, _Dialect.RE2).alternatives(depth=0).text.encode(errors="replace"), options
        )
    except re2.error as error:
        raise PatternError("it is too large") from error


def literal_prefix(pattern: str) -> str:
    """Return what every text that matches ``pattern``, as ``translate`` wrote it, begins with."""
    return _PatternReader(pattern, _Dialect.SHARED).alternatives(depth=0).prefix


def literal_inside(pattern: str) -> str:
    """Return a literal that every text holds that matches ``pattern``, as ``translate`` wrote it; empty if unknown.

    It is the longest one of those with two signs or more that do more than repeat ``literal_prefix``.
    """
    return _PatternReader(pattern, _Dialect.SHARED).alternatives(depth=0).inside


class _PatternReader:
    """Reads one pattern from left to right."""

    def __init__(self, pattern: str, dialect: _Dialect) -> None:
        self._pattern = pattern
        self._dialect = dialect
        self._next = 0

    def at_end(self) -> bool:
        return self._next >= len(self._pattern)

    def alternatives(self, *, depth: int) -> _Piece:
        """Read ``a|b|c`` up to a closing parenthesis or the end."""
        if depth > _MAX_DEPTH and self._dialect is _Dialect.WRITTEN:
            raise PatternError(f"groups are nested more than {_MAX_DEPTH} levels deep")
        branches = [self._sequence(depth)]
        while self._take("|"):
            branches.append(self._sequence(depth))
        if len(branches) == 1:
            return branches[0]
        node = Alternation(tuple(b.node for b in branches), _exclude_each_other(branches))
        return _Piece("|".join(b.text for b in branches), node)

    def _sequence(self, depth: int) -> _Piece:
        pieces: list[_Piece] = []
        while not self.at_end() and self._peek() not in "|)":
            pieces.append(self._repeat(depth))
        text, node = _join(_settle(pieces) if self._dialect is _Dialect.JAVA else pieces)
        prefix, inside = _literals(pieces)
        return _Piece(text, node, prefix, all(piece.is_literal for piece in pieces), inside)

    def _repeat(self, depth: int) -> _Piece:
        atom = self._atom(depth)
        quantifier, least, maximum = self._quantifier()
        if not quantifier:
            return atom
        prefix, inside = (atom.prefix, atom.inside) if least else ("", "")
        return _Piece(
            atom.text + quantifier,
            Repeat(atom.node, least, maximum, quantifier[1:].endswith("?")),
            prefix,
            inside=inside,
        )

    def _quantifier(self) -> tuple[str, int, int | None]:
        """Read a quantifier: its text, the least and the most repeats (None: no bound)."""
        sign = self._peek()
        if sign not in ("*", "+", "?", "{"):
            return "", 1, 1
        if sign == "{":
            text, least, maximum = self._count()
        else:
            self._next += 1
            least, maximum = {"*": (0, None), "+": (1, None), "?": (0, 1)}[sign]
            text = sign
        if self._take("?"):
            text += "?"
        if self._peek() in ("*", "+", "?", "{"):
            raise PatternError("two quantifiers in a row")
        return text, least, maximum

    def _count(self) -> tuple[str, int, int | None]:
        end = self._pattern.find("}", self._next)
        inside = self._pattern[self._next + 1 : end] if end > 0 else ""
        least, comma, maximum = inside.partition(",")
        if not least.isascii() or not least.isdigit() or (maximum and not (maximum.isascii() and maximum.isdigit())):
            raise PatternError(
                "invalid count after '{'; counts look like {2} or {2,5}; write \\{ for the character itself"
            )
        low, high = int(least), int(maximum or least) if maximum or not comma else None
        if max(low, high or 0) > MAX_COUNT or (high is not None and high < low):
            raise PatternError(f"counts must be ascending and at most {MAX_COUNT}")
        self._next = end + 1
        return f"{{{inside}}}", low, high

    def _atom(self, depth: int) -> _Piece:
        sign = self._pattern[self._next]
        self._next += 1
        if sign == "(":
            return self._group(depth)
        if sign == "[":
            return self._class()
        if sign == "\\":
            return self._escape()
        if sign == ".":
            return _Piece(".", Characters(ANYTHING))
        if sign in _SPECIAL:
            raise PatternError(f"unexpected {sign!r}; write \\{sign} for the character itself")
        return _literal(sign, sign)

    def _group(self, depth: int) -> _Piece:
        is_atomic = self._dialect is not _Dialect.WRITTEN and self._pattern.startswith("?>", self._next)
        if is_atomic:
            self._next += 2
        elif self._take("?") and not self._take(":"):
            raise PatternError("only plain groups ( ) and (?: ) are supported: no flags, names or look-around")
        inner = self.alternatives(depth=depth + 1)
        if not self._take(")"):
            raise PatternError("'(' is not closed")
        sign = "?>" if is_atomic else "?:"
        return _Piece(f"({sign}{inner.text})", inner.node, inner.prefix, inner.is_literal, inner.inside)

    def _escape(self) -> _Piece:
        sign = self._peek()
        if sign and sign in _CLASS_ESCAPES:
            self._next += 1
            text = f"[{'' if sign == 's' else '^'}\\s\\x{{b}}]" if self._is_space_of_re2(sign) else f"\\{sign}"
            return _Piece(text, Characters(_set_of(sign)))
        return _literal(sign, self._escaped_sign())

    def _escaped_sign(self) -> str:
        sign = self._peek()
        if not sign or sign not in _SIGNS:
            raise PatternError(f"unsupported escape \\{sign}")
        self._next += 1
        return sign if sign in "<>'\"_` @!%,:;=/" else "\\" + sign

    def _class(self) -> _Piece:
        """Read a character class after its opening bracket."""
        is_negated = self._take("^")
        texts: list[str] = []
        sets: list[Ranges] = []
        while self._peek() not in ("]", ""):
            text, ranges = self._class_member()
            texts.append(text)
            sets.append(ranges)
        if not self._take("]") or not texts:
            raise PatternError("'[' is not closed, or is empty")
        ranges = union_of(*sets)
        text = f"[{'^' if is_negated else ''}{''.join(texts)}]"
        return _Piece(text, Characters(complement(ranges) if is_negated else ranges))

    def _class_member(self) -> tuple[str, Ranges]:
        low, ranges = self._read_class_atom()
        if self._peek() != "-" or self._pattern[self._next + 1 : self._next + 2] in ("]", ""):
            return _plain(low), ranges
        self._next += 1
        high, upper = self._read_class_atom()
        (first, last), (above, top) = ranges[0], upper[0]
        if first != last or above != top or len(ranges) + len(upper) > 2:
            raise PatternError("a range in [ ] needs a single character on both sides")
        if first > top:
            raise PatternError(f"the range {low}-{high} is reversed")
        return f"{_plain(low)}-{_plain(high)}", ((first, top),)

    def _read_class_atom(self) -> tuple[str, Ranges]:
        """Read a member of a class: its spelling for both engines, and the characters it matches."""
        sign = self._peek()
        self._next += 1
        if sign != "\\":
            return "\\" + sign if sign in "[&~|^#" else sign, _range_of(sign)
        letter = self._peek()
        if letter and letter in _CLASS_ESCAPES:
            self._next += 1
            return self._set_in_class(letter), _set_of(letter)
        if self._dialect is not _Dialect.WRITTEN and self._pattern.startswith("x{", self._next):
            end = self._pattern.index("}", self._next)
            code, self._next = self._pattern[self._next + 2 : end], end + 1
            return f"\\x{{{code}}}", _range_of(chr(int(code, 16)))
        text = self._escaped_sign()
        return text, _range_of(text[-1])

    def _set_in_class(self, sign: str) -> str:
        if sign == "S":
            return _NO_SPACE_IN_CLASS
        return r"\s\x{b}" if self._is_space_of_re2(sign) else "\\" + sign

    def _is_space_of_re2(self, sign: str) -> bool:
        return self._dialect is _Dialect.RE2 and sign in "sS"

    def _peek(self) -> str:
        return self._pattern[self._next : self._next + 1]

    def _take(self, sign: str) -> bool:
        if self._peek() != sign or not sign:
            return False
        self._next += 1
        return True


def _join(pieces: Sequence[_Piece]) -> tuple[str, Pattern]:
    nodes = tuple(piece.node for piece in pieces)
    return "".join(piece.text for piece in pieces), nodes[0] if len(nodes) == 1 else Chain(nodes)


def _literals(pieces: Sequence[_Piece]) -> tuple[str, str]:
    """Return the literal that ``pieces`` begin with, and the one inside that says most."""
    prefix, is_literal = "", True
    run = inside = ""  # the literal that is being read, and the longest so far after the prefix
    for piece in pieces:
        prefix += piece.prefix if is_literal else ""
        is_literal = is_literal and piece.is_literal
        run += piece.prefix
        inside = max(inside, "" if run == prefix else run, piece.inside, key=len)
        run = run if piece.is_literal else ""
    return prefix, inside if len(inside) > 1 else max(prefix, inside, key=len)


def _settle(pieces: Sequence[_Piece]) -> list[_Piece]:
    """Return ``pieces`` with the parts between two open repeats of ``.``, if of fixed width, made atomic."""
    settled: list[_Piece] = []
    next_index = 0
    dots = [(at, node) for at, piece in enumerate(pieces) if (node := _open_dot(piece))]
    for (begin, dot), (end, _) in itertools.pairwise(dots):
        text, between = _join(pieces[begin + 1 : end])
        if fixed_width(between) is None:
            continue
        atomic = Atomic(Chain((replace(dot, is_lazy=True), between)))
        settled += [*pieces[next_index:begin], _Piece(f"(?>{pieces[begin].text.removesuffix('?')}?{text})", atomic)]
        next_index = end
    return [*settled, *pieces[next_index:]]


def _open_dot(piece: _Piece) -> Repeat | None:
    """Return the repeat without a bound of any character that ``piece`` is, if it is one."""
    match piece.node:
        case Repeat(part=Characters(ranges=ranges), maximum=None) as repeat if ranges == ANYTHING:
            return repeat
    return None


def _set_of(sign: str) -> Ranges:
    """Return the characters that the escape of ``sign``, such as ``d``, matches."""
    ranges = _SETS[sign.lower()]
    return ranges if sign.islower() else complement(ranges)


def _range_of(sign: str) -> Ranges:
    return ((ord(sign), ord(sign)),)


def _literal(sign: str, text: str) -> _Piece:
    return _Piece(text, Characters(_range_of(sign)), prefix=sign, is_literal=True, inside=sign)


def _plain(sign: str) -> str:
    """Return a member of a class; a literal hyphen is escaped."""
    return "\\-" if sign == "-" else sign


def _exclude_each_other(branches: list[_Piece]) -> bool:
    """Return whether no text can begin two of ``branches``, going by the literals they begin with."""
    prefixes = sorted(branch.prefix for branch in branches)
    return all(prefixes) and not any(b.startswith(a) for a, b in itertools.pairwise(prefixes))
