"""Spellings of a text that readers take for the same: composed or not, in any case, ``ß`` and ``ss``.

Source: Unicode 16, section 3.13 (canonical caseless matching) and annex 15 (normalization forms).
Next: ``model/erasure.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from unicodedata import normalize

COMBINING_MARKS = "\u0300-\u036f"
"""Marks that may follow a letter, as a range in a class of characters: the letter before is another one with them."""

_SHARP_S = frozenset({"ss", "ß", "ẞ"})
_UNITS = re.compile(r"ss|.", re.IGNORECASE | re.DOTALL)


def fold(text: str) -> str:
    """Return what all spellings of a text have in common."""
    return text.lower() if text.isascii() else normalize("NFD", normalize("NFD", text).casefold())


def spelling_pattern(text: str) -> str:
    """Return the regular expression of all spellings of a text, to be compiled without regard to case."""
    return "".join(
        "(?:" + "|".join(map(re.escape, spellings)) + ")" if len(spellings) > 1 else re.escape(spellings[0])
        for spellings in map(_spellings, _units(text))
    )


def constant_parts(text: str) -> list[str]:
    """Return the parts, in their order, that all spellings of a text contain, but for the case of ASCII letters."""
    constant = "".join(unit if len(_spellings(unit)) == 1 else "\0" for unit in _units(text))
    return [part for part in constant.split("\0") if part]


def _units(text: str) -> Iterator[str]:
    return (match[0] for match in _UNITS.finditer(normalize("NFC", text)))


@cache  # of characters, of which there are so many
def _spellings(unit: str) -> list[str]:
    """Return the spellings of one character, or of ``ss``, the longest first; of an ASCII letter only itself."""
    if unit.lower() in _SHARP_S:
        return sorted(_SHARP_S, key=len, reverse=True)
    if unit.isascii():
        return [unit]
    cases = {case for case in (unit, unit.lower(), unit.upper(), unit.casefold()) if fold(case) == fold(unit)}
    return sorted({form for case in cases for form in _forms(case)}, key=lambda form: (-len(form), form))


def _forms(text: str) -> Iterator[str]:
    """Yield a character with its marks apart from it: none of them, some, and all."""
    apart = normalize("NFD", text)
    for length in range(1, len(apart) + 1):
        yield normalize("NFC", apart[:length]) + apart[length:]
