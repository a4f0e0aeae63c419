"""Functions of notification templates about texts, lists and numbers.

Source: the behaviour of OpenMetadata 1.13's helpers of the same names. Next:
``delivery/templates/change_functions.py``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Literal

from tocsin.delivery.templates.arguments import Arguments
from tocsin.delivery.templates.values import Markup, Value, are_equal, escape_text, number_of, size_of, text_of

_WORDS = re.compile(r"\s+|\w+|[^\w\s]+")
_TAG_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,20}")
_COMPARED_LIMIT = 250_000
"""Most pairs of words that are compared; what exceeds it is shown as replaced whole."""
_PAIRS_PER_STEP = 40
_MOST_PLACES = 20
_LARGEST_INTEGER = 2**53
Side = Literal["same", "gone", "new"]


def starts_with(arguments: Arguments) -> Value:
    """Return whether a text starts with another."""
    return _are_texts(arguments) and arguments.text().startswith(text_of(arguments.second))


def ends_with(arguments: Arguments) -> Value:
    """Return whether a text ends with another."""
    return _are_texts(arguments) and arguments.text().endswith(text_of(arguments.second))


def is_equal(arguments: Arguments) -> Value:
    """Return whether two values are equal; null equals nothing."""
    return arguments.first is not None and len(arguments.values) > 1 and are_equal(arguments.first, arguments.second)


def is_greater(arguments: Arguments) -> Value:
    """Return whether a number is greater than another; what is no number is not."""
    try:
        return number_of(arguments.first) > number_of(arguments.second)
    except ValueError:
        return False


def title(arguments: Arguments) -> Value:
    """Return a camelCase name as words: ``entityType`` is "Entity Type"."""
    text = arguments.text()
    return text[:1].upper() + re.sub(r"([A-Z])", r" \1", text[1:])


def shorten(arguments: Arguments) -> Value:
    """Return a text of at most so many characters, with an ellipsis where it is longer."""
    text = arguments.text()
    try:
        limit = int(number_of(arguments.second))
    except (ValueError, OverflowError):
        return text
    if limit <= 0:
        return ""
    return text if len(text) <= limit else text[: max(0, limit - 3)] + "…"


def split(arguments: Arguments) -> Value:
    """Return the parts of a text between separators; empty parts at the end are left out."""
    if arguments.first is None or len(arguments.values) < 2:
        return []
    text, separator = arguments.text(), text_of(arguments.second)
    if arguments.second is None:
        return [text]
    arguments.budget.make(len(text) * 8)
    parts = text.split(separator) if separator else list(text)
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return parts


def filter_objects(arguments: Arguments) -> Value:
    """Return the objects of a list whose properties have the named values."""
    if not isinstance(arguments.first, list):
        return []
    properties = arguments.keywords.items()
    arguments.budget.step(len(arguments.first) * max(1, len(properties)))
    if not properties:
        return list(arguments.first)
    return [
        member
        for member in arguments.first
        if isinstance(member, dict)
        and all(member.get(key) is not None and are_equal(member[key], to) for key, to in properties)
    ]


def first_members(arguments: Arguments) -> Value:
    """Return the first members of a list."""
    if not isinstance(arguments.first, list):
        return []
    try:
        count = int(number_of(arguments.second))
    except (ValueError, OverflowError):
        return list(arguments.first)
    return arguments.first[: max(0, count)]


def length(arguments: Arguments) -> Value:
    """Return how many members a list, or characters a text has."""
    return size_of(arguments.first) if isinstance(arguments.first, list | str) else 0


def calculate(arguments: Arguments) -> Value:
    """Return ``a + b``, also with ``- * / %`` and ``round`` to so many places; 0 where it cannot be calculated."""
    try:
        first, sign, second = (
            number_of(arguments.values[0]),
            text_of(arguments.values[1]),
            number_of(arguments.values[2]),
        )
        result = _result(first, sign, second)
        return int(result) if result == math.floor(result) and abs(result) < _LARGEST_INTEGER else result
    except (ValueError, ArithmeticError, IndexError, KeyError):
        return 0


def difference(arguments: Arguments) -> Value:
    """Return two texts as one, with what is gone and what is new marked: ``<s>old</s> <b>new</b>``."""
    old, new = arguments.text(), text_of(arguments.second)
    if old == new:
        return escape_text(new)
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    marks = {
        "gone": _tag(arguments.keywords.get("delTag"), "s"),
        "new": _tag(arguments.keywords.get("insTag"), "b"),
        "same": "",
    }
    arguments.budget.step((len(before) + len(after)) // 8)
    arguments.budget.make(len(old) + len(new))
    return Markup("".join(_mark_runs(_runs(_compare_words(arguments, before, after)), marks)))


def _are_texts(arguments: Arguments) -> bool:
    return arguments.first is not None and arguments.second is not None


def _result(first: float, sign: str, second: float) -> float:
    match sign:
        case "+":
            return first + second
        case "-":
            return first - second
        case "*":
            return first * second
        case "/":
            return first / second
        case "%":
            return math.fmod(first, second)
        case "round":
            places = min(max(0, int(second)), _MOST_PLACES)
            return float(Decimal(str(first)).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP))
        case _:
            raise KeyError(sign)


def _tag(name: Value, default: str) -> str:
    return name if isinstance(name, str) and _TAG_NAME.fullmatch(name) else default


def _compare_words(arguments: Arguments, before: Sequence[str], after: Sequence[str]) -> Iterator[tuple[Side, str]]:
    """Yield the words of both texts, each as the same, gone or new, by their longest common subsequence."""
    start = _shared_start(before, after)
    end = _shared_start(before[start:][::-1], after[start:][::-1])
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    yield from (("same", word) for word in before[:start])
    if len(old) * len(new) > _COMPARED_LIMIT:
        yield from (("gone", word) for word in old)
        yield from (("new", word) for word in new)
    else:
        arguments.budget.step(len(old) * len(new) // _PAIRS_PER_STEP)
        yield from _align_words(old, new)
    yield from (("same", word) for word in before[len(before) - end :])


def _align_words(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[Side, str]]:
    """Yield them aligned; ``difflib`` looks for long blocks instead, and marks one edited text in seven otherwise."""
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


def _shared_start(first: Sequence[str], second: Sequence[str]) -> int:
    """Return how many words both begin with."""
    pairs = zip(first, second, strict=False)
    return next((count for count, (one, other) in enumerate(pairs) if one != other), min(len(first), len(second)))


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


def _mark_runs(runs: Iterator[tuple[Side, str]], marks: dict[str, str]) -> Iterator[str]:
    was_gone = False
    for side, text in runs:
        if not text:
            continue
        if side == "new" and was_gone and not text[0].isspace():
            yield " "
        mark = marks[side]
        yield f"<{mark}>{escape_text(text)}</{mark}>" if mark else escape_text(text)
        was_gone = side == "gone"
