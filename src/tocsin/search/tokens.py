"""Tokenization and normalization of texts for search, identical in Python and on Spark.

``spark/search.py`` applies the expressions defined here to documents, this module applies the same to queries: remove
accents, split camelCase and at everything that is no letter or digit, lower-case. Next: ``search/fields.py``.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata

LONGEST_TEXT = 100_000
"""Characters of one text that are indexed; what follows is not found."""

LONGEST_NAME = 256
"""Characters by which names are compared as a whole."""

TOKEN_LENGTH = 14
"""Hexadecimal digits of a fact's token: 56 bits, so that no two facts of a catalogue meet."""

CAMEL = r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
"""Where a camelCase name comes apart, once accents are off; means the same in Java and in Python."""

_LAST_LATIN = 0x24F
_MORE_LATIN = range(0x1E00, 0x1F00)
_MARKS = range(0x300, 0x370)
_OTHERS = {"ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "\u0131": "i", "ħ": "h", "Ħ": "H"}


def _plain_letters() -> dict[str, str]:
    plain_letters = dict(_OTHERS)
    for code in (*range(0xC0, _LAST_LATIN + 1), *_MORE_LATIN):
        plain = "".join(one for one in unicodedata.normalize("NFD", chr(code)) if not unicodedata.combining(one))
        if len(plain) == 1 and plain != chr(code):
            plain_letters[chr(code)] = plain
    return plain_letters


_PLAIN = _plain_letters()

ACCENTED = "".join(_PLAIN) + "".join(chr(code) for code in _MARKS)
"""What ``translate`` replaces, place by place, with ``PLAIN``; what has no place there is dropped."""

PLAIN = "".join(_PLAIN.values())
"""The letters of ``ACCENTED`` without their accents."""

_TRANSLATE = str.maketrans(ACCENTED[: len(PLAIN)], PLAIN, ACCENTED[len(PLAIN) :])
_CAMEL = re.compile(CAMEL)
_BETWEEN = re.compile(r"[\W_]+")


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text, in order: ``dimCustomer_ID`` is found as ``dim customer id``."""
    apart = _CAMEL.sub(" ", text[:LONGEST_TEXT].translate(_TRANSLATE))
    return tuple(_BETWEEN.sub(" ", apart.lower()).split())


def name_words(text: str) -> str:
    """Return the words under which a name is found: ``CustomerGold`` by ``customer``, ``gold`` and ``customergold``."""
    apart = " ".join(words_of(text))
    compound = " ".join(_BETWEEN.sub(" ", text[:LONGEST_TEXT].translate(_TRANSLATE).lower()).split())
    return apart if apart == compound else f"{apart} {compound}"


def name_of(text: str) -> str:
    """Return a name as whole names are compared."""
    return " ".join(words_of(text))[:LONGEST_NAME]


def token_of(field: str, value: str) -> str:
    """Return the token under which an entity is found whose ``field`` holds exactly ``value``, in whatever case."""
    return hashlib.md5(f"{field}={value.lower()}".encode(), usedforsecurity=False).hexdigest()[:TOKEN_LENGTH]
