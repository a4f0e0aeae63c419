"""Patterns for LIKE by which rows are found that may name a person.

Next: ``store/upkeep/erasure/rewriting.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import orjson

from tocsin.model.spellings import constant_parts

ESCAPE = "/"
"""What stands before a character of a pattern that is meant as it is."""


def like_patterns(needle: str) -> Iterator[str]:
    """Yield patterns that the needle matches, as it is and inside JSON, in whatever spelling.

    Both stores ignore the case of ASCII alone. Words may be apart in any way.
    """
    for text in {needle, orjson.dumps(needle).decode()[1:-1]}:
        parts = [part for word in text.split() for part in constant_parts(word)]
        yield "%" + "%".join(re.sub(r"([/%_])", rf"{ESCAPE}\1", part) for part in parts) + "%"
