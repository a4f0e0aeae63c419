"""Tests of the bounds on backtracking, against a matcher that counts its steps."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from tests.soak import SOAK

from tocsin.conditions.backtracking import (
    Alternation,
    Atomic,
    Chain,
    Characters,
    Pattern,
    PatternError,
    Repeat,
    most_steps,
)
from tocsin.conditions.patterns import is_match, translate, tree_of

_COUNTED = 200_000
_ATOMS = ("a", "b", "ab", ".", "[ab]", "[^a]", "[b-c]", "\\w", "\\d")
_QUANTIFIERS = ("*", "+", "?", "{2}", "{0,3}", "{1,8}", "*?", "+?", "{2,}")


class _TooMany(Exception):
    """The matcher has counted further than any bound that is looked at."""


class _Matcher:
    """Tries one way after the other, as Java's engine does, and counts."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.steps = 0

    def matches(self, pattern: Pattern) -> bool:
        return any(self._is_end(at) for at in self._ends(pattern, 0))

    def _is_end(self, at: int) -> bool:
        self._count()
        return at == len(self._text)

    def _count(self) -> None:
        self.steps += 1
        if self.steps > _COUNTED:
            raise _TooMany

    def _ends(self, pattern: Pattern, at: int) -> Iterator[int]:
        match pattern:
            case Characters(ranges=ranges):
                self._count()
                if at < len(self._text) and any(low <= ord(self._text[at]) <= high for low, high in ranges):
                    yield at + 1
            case Chain(parts=parts):
                yield from self._chain_ends(parts, at)
            case Alternation(branches=branches):
                for branch in branches:
                    yield from self._ends(branch, at)
            case Repeat():
                yield from self._repeat_ends(pattern, at)
            case Atomic(part=part):
                first = next(self._ends(part, at), None)
                if first is not None:
                    yield first

    def _chain_ends(self, parts: tuple[Pattern, ...], at: int) -> Iterator[int]:
        if not parts:
            yield at
            return
        for end in self._ends(parts[0], at):
            yield from self._chain_ends(parts[1:], end)

    def _repeat_ends(self, repeat: Repeat, at: int, count: int = 0) -> Iterator[int]:
        is_enough, is_open = count >= repeat.minimum, repeat.maximum is None or count < repeat.maximum
        if is_enough and repeat.is_lazy:
            yield at
        if is_open:
            for end in self._ends(repeat.part, at):
                yield from self._repeat_ends(repeat, end, count + 1)
        if is_enough and not repeat.is_lazy:
            yield at


def _patterns() -> SearchStrategy[str]:
    quantified = st.tuples(st.sampled_from(_ATOMS[:2] + _ATOMS[3:]), st.sampled_from(_QUANTIFIERS)).map("".join)

    def grow(inner: SearchStrategy[str]) -> SearchStrategy[str]:
        chained = st.lists(inner, min_size=1, max_size=4).map("".join)
        branching = st.lists(inner, min_size=2, max_size=3).map(lambda branches: f"({'|'.join(branches)})")
        return chained | branching | st.tuples(branching, st.sampled_from(("", *_QUANTIFIERS))).map("".join)

    return st.recursive(st.sampled_from(_ATOMS) | quantified | st.just(".*"), grow, max_leaves=8)


def _texts() -> SearchStrategy[str]:
    repeated = st.tuples(st.sampled_from(("a", "b", "ab", "ba", "aab", "c")), st.integers(1, 24)).map(
        lambda p: p[0] * p[1]
    )
    return st.lists(repeated, min_size=1, max_size=2).map(lambda parts: "".join(parts)[:24])


@settings(max_examples=150 if SOAK else 60)
@given(pattern=_patterns(), text=_texts())
def test_no_text_takes_more_steps_than_the_bound(pattern: str, text: str) -> None:
    tree, bound = _bounded_tree(pattern, len(text))
    assume(bound <= _COUNTED)
    matcher = _Matcher(text)
    assert matcher.matches(tree) is is_match(pattern_of(pattern), text)
    assert matcher.steps <= bound


def pattern_of(pattern: str) -> str:
    """Return what both engines read, or give the example up."""
    try:
        return translate(pattern)
    except PatternError:
        assume(False)
        raise


def _bounded_tree(pattern: str, length: int) -> tuple[Pattern, int]:
    tree = tree_of(pattern_of(pattern))
    try:
        return tree, most_steps(tree, length)
    except PatternError:
        assume(False)
        raise
