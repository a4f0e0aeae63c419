"""Words that a text must contain to pass a test, so that thousands of text searches become one word lookup.

A word is a run of characters between ASCII characters that are neither letters nor digits; non-ASCII letters belong to
words. Both engines must split texts alike. Next: ``flow/match/indexing.py``.
"""

from __future__ import annotations

import re

from tocsin.conditions.fields import TAKEN
from tocsin.conditions.nodes import FieldValue, Test, TextTest
from tocsin.conditions.patterns import literal_inside

_SIGNS = r"\x00-/:-@\[-`{-\x7f"
BETWEEN_WORDS = f"[{_SIGNS}]+"
"""What separates words, as Java and Python both read it."""

_WORD = re.compile(f"[^{_SIGNS}]+")
_WORDS = "_words"


def words_of(field: str) -> str:
    """Return the name of the set of words in the texts of ``field``."""
    return field + _WORDS


def is_of_words(field: str) -> bool:
    """Return whether ``field`` is a set of words."""
    return field.startswith(TAKEN) and field.endswith(_WORDS)


def required_words(text_test: TextTest) -> tuple[str, ...]:
    """Return one word for each text of the test, so that every match contains one of them; None if a text has none.

    A word at an end of the searched text may be a part of a longer one, so only whole ones count.
    """
    words = tuple(_whole_word(text_test.test, text) for text in text_test.texts)
    return words if all(words) else ()


def searched_words(term: object) -> tuple[str, tuple[str, ...]] | None:
    """Return the field a test searches and the words it requires; None for any other term."""
    match term:
        case TextTest(value=FieldValue(name=name)) if words := required_words(term):
            return name, words
        case _:
            return None


def _whole_word(test: Test, text: str) -> str:
    """Return the longest word that every match of the test with ``text`` contains as a whole; empty when unknown."""
    if test is Test.MATCHES:
        return _whole_word(Test.INCLUDES, literal_inside(text))
    first = 0 if test is Test.STARTS_WITH else 1
    last = len(text) if test is Test.ENDS_WITH else len(text) - 1
    inner_words = (one[0] for one in _WORD.finditer(text) if one.start() >= first and one.end() <= last)
    return max(inner_words, key=len, default="")
