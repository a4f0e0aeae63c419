"""Functions of notification templates about texts, lists and numbers.

Source: the behaviour of OpenMetadata 1.13's helpers of the same names. Next:
``flow/send/templates/change_functions.py``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Literal

from tocsin.flow.send.templates.arguments import Arguments
from tocsin.flow.send.templates.values import Markup, Value, are_equal, escaped, number_of, size_of, text_of

_WORDS = re.compile(r"\s+|\w+|[^\w\s]+")
_TAG_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,20}")
_COMPARED_LIMIT = 250_000
"""Most pairs of words that are compared; what exceeds it is shown as replaced whole."""
_PAIRS_PER_STEP = 40
_MOST_PLACES = 20
_LARGEST_INTEGER = 2**53
Side = Literal["same", "gone", "new"]


def starts_with(given: Arguments) -> Value:
    """Return whether a text starts with another."""
    return _are_texts(given) and given.text().startswith(text_of(given.second))


def ends_with(given: Arguments) -> Value:
    """Return whether a text ends with another."""
    return _are_texts(given) and given.text().endswith(text_of(given.second))


def is_equal(given: Arguments) -> Value:
    """Return whether two values are equal; null equals nothing."""
    return given.first is not None and len(given.values) > 1 and are_equal(given.first, given.second)


def is_greater(given: Arguments) -> Value:
    """Return whether a number is greater than another; what is no number is not."""
    try:
        return number_of(given.first) > number_of(given.second)
    except ValueError:
        return False


def title(given: Arguments) -> Value:
    """Return a camelCase name as words: ``entityType`` is "Entity Type"."""
    text = given.text()
    return text[:1].upper() + re.sub(r"([A-Z])", r" \1", text[1:])


def shortened(given: Arguments) -> Value:
    """Return a text of at most so many characters, with an ellipsis where it is longer."""
    text = given.text()
    try:
        most = int(number_of(given.second))
    except (ValueError, OverflowError):
        return text
    if most <= 0:
        return ""
    return text if len(text) <= most else text[: max(0, most - 3)] + "…"


def split(given: Arguments) -> Value:
    """Return the parts of a text between separators; empty parts at the end are left out."""
    if given.first is None or len(given.values) < 2:
        return []
    text, separator = given.text(), text_of(given.second)
    if given.second is None:
        return [text]
    given.budget.make(len(text) * 8)
    parts = text.split(separator) if separator else list(text)
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return parts


def kept(given: Arguments) -> Value:
    """Return the objects of a list whose properties have the named values."""
    if not isinstance(given.first, list):
        return []
    wanted = given.named.items()
    given.budget.step(len(given.first) * max(1, len(wanted)))
    if not wanted:
        return list(given.first)
    return [
        one
        for one in given.first
        if isinstance(one, dict) and all(one.get(key) is not None and are_equal(one[key], to) for key, to in wanted)
    ]


def limited(given: Arguments) -> Value:
    """Return the first members of a list."""
    if not isinstance(given.first, list):
        return []
    try:
        most = int(number_of(given.second))
    except (ValueError, OverflowError):
        return list(given.first)
    return given.first[: max(0, most)]


def length(given: Arguments) -> Value:
    """Return how many members a list, or characters a text has."""
    return size_of(given.first) if isinstance(given.first, list | str) else 0


def calculated(given: Arguments) -> Value:
    """Return ``a + b``, also with ``- * / %`` and ``round`` to so many places; 0 where it cannot be calculated."""
    try:
        left, sign, right = number_of(given.values[0]), text_of(given.values[1]), number_of(given.values[2])
        result = _result(left, sign, right)
        return int(result) if result == math.floor(result) and abs(result) < _LARGEST_INTEGER else result
    except (ValueError, ArithmeticError, IndexError, KeyError):
        return 0


def difference(given: Arguments) -> Value:
    """Return two texts as one, with what is gone and what is new marked: ``<s>old</s> <b>new</b>``."""
    old, new = given.text(), text_of(given.second)
    if old == new:
        return escaped(new)
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    marks = {"gone": _tag(given.named.get("delTag"), "s"), "new": _tag(given.named.get("insTag"), "b"), "same": ""}
    given.budget.step((len(before) + len(after)) // 8)
    given.budget.make(len(old) + len(new))
    return Markup("".join(_marked(_runs(_compared(given, before, after)), marks)))


def _are_texts(given: Arguments) -> bool:
    return given.first is not None and given.second is not None


def _result(left: float, sign: str, right: float) -> float:
    match sign:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            return left / right
        case "%":
            return math.fmod(left, right)
        case "round":
            places = min(max(0, int(right)), _MOST_PLACES)
            return float(Decimal(str(left)).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP))
        case _:
            raise KeyError(sign)


def _tag(wanted: Value, default: str) -> str:
    return wanted if isinstance(wanted, str) and _TAG_NAME.fullmatch(wanted) else default


def _compared(given: Arguments, before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[Side, str]]:
    """Yield the words of both texts, each as the same, gone or new, by their longest common subsequence."""
    start = _shared_start(before, after)
    end = _shared_start(before[start:][::-1], after[start:][::-1])
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    yield from (("same", word) for word in before[:start])
    if len(old) * len(new) > _COMPARED_LIMIT:
        yield from (("gone", word) for word in old)
        yield from (("new", word) for word in new)
    else:
        given.budget.step(len(old) * len(new) // _PAIRS_PER_STEP)
        yield from _aligned(old, new)
    yield from (("same", word) for word in before[len(before) - end :])


def _aligned(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[Side, str]]:
    common = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i in range(len(old) - 1, -1, -1):
        row, below = common[i], common[i + 1]
        for j in range(len(new) - 1, -1, -1):
            row[j] = below[j + 1] + 1 if old[i] == new[j] else max(below[j], row[j + 1])
    i = j = 0
    while i < len(old) or j < len(new):
        if i < len(old) and j < len(new) and old[i] == new[j]:
            yield "same", old[i]
            i, j = i + 1, j + 1
        elif i < len(old) and (j == len(new) or common[i + 1][j] >= common[i][j + 1]):
            yield "gone", old[i]
            i += 1
        else:
            yield "new", new[j]
            j += 1


def _shared_start(some: Sequence[str], others: Sequence[str]) -> int:
    """Return how many words both begin with."""
    pairs = zip(some, others, strict=False)
    return next((count for count, (one, other) in enumerate(pairs) if one != other), min(len(some), len(others)))


def _runs(words: Iterator[tuple[Side, str]]) -> Iterator[tuple[Side, str]]:
    """Yield what is gone and what is new between two words that stayed, each as one text."""
    runs: dict[Side, list[str]] = {"gone": [], "new": []}
    for side, word in (*words, ("same", "")):
        if side != "same":
            runs[side].append(word)
            continue
        yield "gone", "".join(runs["gone"])
        yield "new", "".join(runs["new"])
        runs = {"gone": [], "new": []}
        yield "same", word


def _marked(runs: Iterator[tuple[Side, str]], marks: dict[str, str]) -> Iterator[str]:
    was_gone = False
    for side, text in runs:
        if not text:
            continue
        if side == "new" and was_gone and not text[0].isspace():
            yield " "
        mark = marks[side]
        yield f"<{mark}>{escaped(text)}</{mark}>" if mark else escaped(text)
        was_gone = side == "gone"
