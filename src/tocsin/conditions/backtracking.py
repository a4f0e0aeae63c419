"""Upper bound on the steps that a backtracking engine takes for a regular expression before it gives up.

Java's engine, which Spark uses, tries one alternative after the other. RE2 does not replace this module: it matches in
linear time, but not inside Spark's own expressions, and knows nothing of the steps of Java's engine. ``most_steps``
counts the character comparisons and alternatives tried, at most, over all texts of a given length. A pattern is a tree
of the nodes below; each computes the cost of exhausting its alternatives when everything that follows fails
(``Continuation``), for every number of characters left. Counting twice makes the bound larger, never smaller. Next:
``conditions/patterns.py``, which parses patterns and rejects those whose bound is too large.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, combinations, groupby

LAST_CHARACTER = 0x10FFFF
MAX_SIZE = 512
"""Most single characters that a pattern may name when its counted groups are written out."""

Ranges = tuple[tuple[int, int], ...]
"""A set of characters: the first and the last code point of each run."""

ANYTHING: Ranges = ((0, LAST_CHARACTER),)


class PatternError(ValueError):
    """The pattern cannot be used; the message says why."""


@dataclass(frozen=True)
class Characters:
    """One character out of a set."""

    ranges: Ranges


@dataclass(frozen=True)
class Chain:
    """One part after the other."""

    parts: tuple[Pattern, ...]


@dataclass(frozen=True)
class Alternation:
    """One of several branches; ``is_exclusive`` when no text begins two of them."""

    branches: tuple[Pattern, ...]
    is_exclusive: bool


@dataclass(frozen=True)
class Repeat:
    """A part, ``minimum`` to ``maximum`` times, None for no bound; a lazy one tries few times first."""

    part: Pattern
    minimum: int
    maximum: int | None
    is_lazy: bool = False


@dataclass(frozen=True)
class Atomic:
    """A part of which only the first way found is taken."""

    part: Pattern


Pattern = Characters | Chain | Alternation | Repeat | Atomic


@dataclass(frozen=True)
class Continuation:
    """Remainder of a pattern after a position.

    Attributes
    ----------
    steps : by the number of characters left, the most steps until every alternative has failed; never decreases
    total : the same for starting at every position once, one after the other
    first : what a text must go on with for any alternative to come further than its first step
    refusing : the steps until it has failed on anything else
    wins : whether it matches whatever is left, or is the end of the pattern: ``.*`` before it never fails
    run : the characters that its one repeat takes, if it begins with fixed characters and a repeat
    apart : ``total`` for starts of which no two are in one run
    """

    steps: tuple[int, ...]
    total: tuple[int, ...]
    first: Ranges
    refusing: int
    wins: bool = False
    run: Ranges = ()
    apart: tuple[int, ...] = ()


def most_steps(pattern: Pattern, length: int) -> int:
    """Return how many steps matching ``pattern`` as a whole against a text of ``length`` characters takes at most.

    Raises
    ------
    PatternError : the pattern is too large, or repeats without a bound what can itself be matched in several ways.
    """
    if size(pattern) > MAX_SIZE:
        raise PatternError(f"counted groups expand to more than {MAX_SIZE} characters")
    end = _continuation((1,) * (length + 1), first=(), refusing=1, wins=True)
    return _prepend(pattern, end).steps[-1] + 3 * (length + 1)  # and once through what never fails


def _continuation(steps: tuple[int, ...], first: Ranges, refusing: int, *, wins: bool = False) -> Continuation:
    return Continuation(steps, tuple(accumulate(steps)), first, refusing, wins)


def _prepend(pattern: Pattern, continuation: Continuation) -> Continuation:
    """Return what ``pattern`` and then ``continuation`` are together."""
    match pattern:
        case Characters(ranges=ranges):
            return _prepend_run([ranges], continuation)
        case Chain(parts=parts):
            return _prepend_chain(parts, continuation)
        case Alternation():
            return _before_choice(pattern, continuation)
        case Repeat():
            return _prepend_repeat(pattern, continuation)
        case Atomic(part=part):
            alone = _prepend(part, _free_failure(continuation))
            return _continuation(_sum_steps(alone.steps, continuation.steps), alone.first, alone.refusing)


def _free_failure(continuation: Continuation) -> Continuation:
    """Return the end of a pattern that fails at no cost."""
    return _continuation((0,) * len(continuation.steps), (), 0)


def _prepend_chain(parts: Sequence[Pattern], continuation: Continuation) -> Continuation:
    for is_run, group in groupby(reversed(parts), lambda part: isinstance(part, Characters)):
        if is_run:
            continuation = _prepend_run([part.ranges for part in group if isinstance(part, Characters)], continuation)
            continue
        for part in group:
            continuation = _prepend(part, continuation)
    return continuation


def _prepend_run(ranges: Sequence[Ranges], continuation: Continuation) -> Continuation:
    """Return single characters, the last one first, and then ``continuation``.

    They keep starts apart if one of them cannot occur in the run of ``continuation``.
    """
    width, first = len(ranges), ranges[-1]
    steps = _steps_after(width, continuation.steps)
    if not continuation.run:
        return Continuation(steps, _with_extra_steps(width, _shift(width, continuation.total)), first, 1)
    apart = _with_extra_steps(width, _shift(width, continuation.apart))
    is_apart = any(are_disjoint(one, continuation.run) for one in ranges)
    total = apart if is_apart else _with_extra_steps(width, _shift(width, continuation.total))
    return Continuation(steps, total, first, 1, run=continuation.run, apart=apart)


def _steps_after(width: int, steps: tuple[int, ...]) -> tuple[int, ...]:
    """Return ``steps`` with ``width`` characters before them."""
    return tuple(width + taken for taken in _shift(width, steps))


def _shift(width: int, steps: tuple[int, ...]) -> tuple[int, ...]:
    """Return ``steps`` by the characters left before ``width`` of them; 0 where there are fewer."""
    length = len(steps)
    return ((0,) * width + steps)[:length]


def _before_choice(choice: Alternation, continuation: Continuation) -> Continuation:
    ways = [_prepend(branch, continuation) for branch in choice.branches]
    first = union_of(*(way.first for way in ways))
    refusing = sum(way.refusing for way in ways) + len(ways)
    all_ways = _sum_steps(*(way.steps for way in ways))
    one_way = tuple(map(max, zip(*(way.steps for way in ways), strict=True)))
    if _are_disjoint([way.first for way in ways]):
        steps = tuple(refusing + taken for taken in one_way)
    elif choice.is_exclusive and not varies(choice):
        steps = tuple(size(choice) + taken for taken in one_way)
    else:
        steps = tuple(len(ways) + taken for taken in all_ways)
    total = _with_extra_steps(len(ways), _sum_steps(*(way.total for way in ways)))
    if (run := ways[0].run) and all(way.run == run for way in ways):
        apart = _with_extra_steps(len(ways), _sum_steps(*(way.apart for way in ways)))
        return Continuation(steps, total, first, refusing, run=run, apart=apart)
    return Continuation(steps, total, first, refusing)


def _with_extra_steps(extra: int, steps: Sequence[int]) -> tuple[int, ...]:
    """Return ``steps`` with ``extra`` for every place to start at."""
    return tuple((left + 1) * extra + taken for left, taken in enumerate(steps))


def _prepend_repeat(repeat: Repeat, continuation: Continuation) -> Continuation:
    if isinstance(repeat.part, Characters):
        return _before_characters(repeat.part, repeat.minimum, repeat.maximum, continuation)
    if repeat.maximum is not None:
        return _prepend_counted_repeat(repeat.part, repeat.minimum, repeat.maximum, continuation)
    return _prepend_unbounded_repeat(repeat.part, repeat.minimum, continuation)


def _before_characters(part: Characters, minimum: int, maximum: int | None, continuation: Continuation) -> Continuation:
    """Return a repeat of single characters, and then ``continuation``."""
    length = len(continuation.steps)
    if continuation.wins and maximum is None and part.ranges == ANYTHING:
        if not minimum:
            return _continuation((0,) * length, ANYTHING, 0, wins=True)
        return _continuation(tuple(min(left, minimum) for left in range(length)), ANYTHING, 1)
    optional_count = length if maximum is None else maximum - minimum
    steps = _repeat_steps(continuation, optional_count, 1, 2, is_settled=are_disjoint(part.ranges, continuation.first))
    steps = tuple(left if left < minimum else minimum + steps[left - minimum] for left in range(length))
    apart = _with_extra_steps(3 + continuation.refusing, continuation.total)
    first, refusing = (
        (part.ranges, 1) if minimum else (union_of(part.ranges, continuation.first), 1 + continuation.refusing)
    )
    return Continuation(steps, tuple(accumulate(steps)), first, refusing, run=part.ranges, apart=apart)


def _repeat_steps(
    continuation: Continuation, repeats: int, width: int, steps_each: int, *, is_settled: bool
) -> tuple[int, ...]:
    """Return the steps of up to ``repeats`` repeats and then ``continuation``.

    Each repeat takes ``width`` characters or more, at ``steps_each`` steps.

    When it ``is_settled`` by the next character whether another repeat or the rest comes, the rest is refused
    everywhere but at the end of the repeats. Else it is tried at the end of each.
    """
    length = len(continuation.steps)
    counts = [min(repeats, left // width) + 1 for left in range(length)]
    if is_settled:
        return tuple(
            count * (steps_each + continuation.refusing) + steps
            for count, steps in zip(counts, continuation.steps, strict=True)
        )
    return tuple(
        count * steps_each + min(count * steps, total)
        for count, steps, total in zip(counts, continuation.steps, continuation.total, strict=True)
    )


def _prepend_counted_repeat(part: Pattern, minimum: int, maximum: int, continuation: Continuation) -> Continuation:
    """Return a counted repeat, each turn written out, and then ``continuation``."""
    after = continuation
    for _ in range(maximum - minimum):
        turn = _prepend(part, after)
        first = union_of(turn.first, continuation.first)
        refusing = turn.refusing + continuation.refusing
        if are_disjoint(turn.first, continuation.first):
            steps = tuple(refusing + max(pair) for pair in zip(turn.steps, continuation.steps, strict=True))
        else:
            steps = _sum_steps(turn.steps, continuation.steps)
        after = _continuation(steps, first, refusing)
    for _ in range(minimum):
        after = _prepend(part, after)
    return after


def _prepend_unbounded_repeat(part: Pattern, minimum: int, continuation: Continuation) -> Continuation:
    """Return the cost of ``part{minimum,}`` followed by ``continuation``."""
    if varies(part):
        raise PatternError("nested repetition could take too many steps")
    width = narrowest(part)
    if not width:
        raise PatternError("repetition of something that may be empty could take too many steps")
    alone = _prepend(part, _free_failure(continuation))
    is_settled = are_disjoint(alone.first, continuation.first)
    steps = _repeat_steps(continuation, len(continuation.steps), width, alone.steps[-1] + 1, is_settled=is_settled)
    after = _continuation(steps, union_of(alone.first, continuation.first), alone.refusing + continuation.refusing)
    return _prepend_counted_repeat(part, minimum, minimum, after) if minimum else after


def _sum_steps(*many: Sequence[int]) -> tuple[int, ...]:
    return tuple(map(sum, zip(*many, strict=True)))


def size(pattern: Pattern) -> int:
    """Return how many single characters the pattern names, counted repeats written out."""
    match pattern:
        case Characters():
            return 1
        case Chain(parts=parts) | Alternation(branches=parts):
            return sum(map(size, parts)) + 1
        case Repeat(part=part, maximum=maximum):
            return size(part) * (1 if isinstance(part, Characters) else maximum or 1)
        case Atomic(part=part):
            return size(part)


def varies(pattern: Pattern) -> bool:
    """Return whether the pattern may match the beginning of one text in several ways."""
    match pattern:
        case Characters() | Atomic():
            return False
        case Chain(parts=parts):
            return any(map(varies, parts))
        case Alternation(branches=branches, is_exclusive=is_exclusive):
            return not is_exclusive or any(map(varies, branches))
        case Repeat(part=part, minimum=minimum, maximum=maximum):
            return minimum != maximum or varies(part)


def narrowest(pattern: Pattern) -> int:
    """Return how many characters the pattern takes at least."""
    return _width(pattern, min, lambda repeat: repeat.minimum) or 0


def fixed_width(pattern: Pattern) -> int | None:
    """Return how many characters the pattern takes, if it is the same for every text; else None."""
    minimum = narrowest(pattern)
    maximum = _width(pattern, max, lambda repeat: repeat.maximum)
    return minimum if minimum == maximum else None


def _width(pattern: Pattern, among: Callable[..., int], times: Callable[[Repeat], int | None]) -> int | None:
    """Return the least or the most characters that the pattern takes; None for no bound."""
    match pattern:
        case Characters():
            return 1
        case Chain(parts=parts):
            widths = [_width(part, among, times) for part in parts]
            return None if None in widths else sum(one for one in widths if one is not None)
        case Alternation(branches=branches):
            widths = [_width(branch, among, times) for branch in branches]
            return None if None in widths else among(one for one in widths if one is not None)
        case Repeat(part=part):
            width, count = _width(part, among, times), times(pattern)
            return None if width is None or count is None else width * count
        case Atomic(part=part):
            return _width(part, among, times)


def union_of(*sets: Ranges) -> Ranges:
    """Return the characters that are in any of ``sets``."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(run for ranges in sets for run in ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return tuple(merged)


def complement(ranges: Ranges) -> Ranges:
    """Return the characters that are not in ``ranges``, which are in order and apart."""
    lows = (0, *(high + 1 for _, high in ranges))
    highs = (*(low - 1 for low, _ in ranges), LAST_CHARACTER)
    return tuple((low, high) for low, high in zip(lows, highs, strict=True) if low <= high)


def are_disjoint(left: Ranges, right: Ranges) -> bool:
    """Return whether no character is in both sets."""
    runs = sorted((*left, *right))
    highest = tuple(accumulate((high for _, high in runs), max))
    return all(low > high for (low, _), high in zip(runs[1:], highest, strict=False))


def _are_disjoint(sets: Sequence[Ranges]) -> bool:
    return all(are_disjoint(left, right) for left, right in combinations(sets, 2))
