"""Wording of names and values in messages: articles, counts, and suggestions for unknown names."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches
from typing import TypeVar

_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_APART = re.compile(r"[\W_]+")
_VOWELS = tuple("aeiou")
_SPOKEN_WITH_A_CONSONANT = ("user", "usage", "unique")
_Named = TypeVar("_Named")
_ORDINALS = {1: "st", 2: "nd", 3: "rd"}
LONGEST_WORD = 512
"""Characters of a name beyond which nobody looks for what it could mean: comparing takes their square."""
SHORTEST_PART = 3
"""Characters from which on a part of a name is taken for the name: ``dana`` for ``dana.whitlock``."""


def with_article(word: str) -> str:
    """Return ``a table``, ``an enum``."""
    lowered = word.lower()
    has_an = lowered.startswith(_VOWELS) and not lowered.startswith(_SPOKEN_WITH_A_CONSONANT)
    return f"{'an' if has_an else 'a'} {word}"


def in_words(name: str) -> str:
    """Return a camelCase name as lower-case words: ``database schema``."""
    return _CAPITAL.sub(" ", name).lower()


def count_text(count: int, noun: str, plural: str | None = None) -> str:
    """Return ``1 asset``, ``1,200 assets``; ``plural`` is what several are called if not ``noun`` with an s."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def list_text(names: Sequence[str], *, limit: int = 3) -> str:
    """Return names as one text: ``a, b and c``; of more than ``limit`` the first, the others counted."""
    if len(names) > limit:
        return f"{', '.join(names[:limit])} and {len(names) - limit:,} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def ordinal_text(number: int) -> str:
    """Return a number as a place in an order: ``1st``, ``2nd``, ``11th``."""
    is_teen = number % 100 in (11, 12, 13)
    return f"{number:,}{'th' if is_teen else _ORDINALS.get(number % 10, 'th')}"


def nearest(word: str, words: Iterable[str]) -> str | None:
    """Return the most similar of ``words`` to ``word``, ignoring case; None when none is similar, or it is no word."""
    if len(word) > LONGEST_WORD:
        return None
    by_lower = {known.lower(): known for known in words}
    close = get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[close[0]] if close else None


def nearest_by_word(word: str, candidates: Sequence[tuple[str, _Named]]) -> list[_Named]:
    """Return the values of ``candidates``, pairs of a name and a value, whose name is nearest to ``word``.

    Where no name is near, those of which a word is.
    """
    near = nearest(word, [name for name, _ in candidates])
    if near is not None:
        return [value for name, value in candidates if name == near]
    words_by_name = {name: _APART.split(name) for name, _ in candidates}
    near = nearest(word, [one for words in words_by_name.values() for one in words])
    return [value for name, value in candidates if near in words_by_name[name]]


def similar(word: str, words: Collection[str]) -> str | None:
    """Return the nearest of ``words`` to ``word``; where none is near, the shortest that contains it.

    What is shorter than ``SHORTEST_PART`` characters is no part of a name that anybody means.
    """
    near = nearest(word, words)
    if near is not None or not SHORTEST_PART <= len(word) <= LONGEST_WORD:
        return near
    containing = [known for known in words if word.lower() in known.lower()]
    return min(containing, key=lambda known: (len(known), known), default=None)


def beginning_of(name: str) -> str:
    """Return the first half of a name, with which names that it may stand for begin; nothing of a short one."""
    half = name[: (len(name) + 1) // 2]
    return half if SHORTEST_PART <= len(half) <= LONGEST_WORD else ""


def name_hint(name: str, names: Collection[str]) -> str:
    """Return ``; did you mean …?`` with the one of ``names`` that is similar; nothing when none is."""
    near = similar(name, names)
    return f"; did you mean {near}?" if near else ""


def hint(word: object, words: Iterable[str]) -> str:
    """Return ``; did you mean …?`` with the nearest of ``words``; nothing when none is near."""
    near = nearest(word, words) if isinstance(word, str) else None
    return f"; did you mean {near}?" if near else ""


def suggestion_for(word: object, words: Collection[str]) -> str:
    """Return ``did you mean …?`` with the nearest of ``words``; which there are when none is near."""
    near = nearest(word, words) if isinstance(word, str) else None
    return f"did you mean {near}?" if near else f"valid values: {', '.join(words)}"


def value_in_words(value: object) -> str:
    """Return a JSON value for people: a text unchanged, all else as JSON has it (``false``)."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
