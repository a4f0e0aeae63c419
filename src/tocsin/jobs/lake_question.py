"""Check of SQL questions to the lake: they ask and change nothing. Next: ``jobs/lake.py``."""

from __future__ import annotations

import re

from tocsin.errors import InvalidInput

_ASKS = ("SELECT", "WITH", "DESCRIBE", "SHOW", "EXPLAIN")
_FIRST_WORD = re.compile(r"(?:\s|\(|--[^\n]*(?:\n|$)|/\*.*?\*/)*(?P<word>\w*)", re.DOTALL)
_WRITES = re.compile(r"\)\s*INSERT\b", re.IGNORECASE)  # after a WITH


def question_in(sql: str) -> str:
    """Return the SQL if it asks and changes nothing.

    Raises
    ------
    InvalidInput : it begins with something else than questions do
    """
    found = _FIRST_WORD.match(sql)
    word = found["word"].upper() if found else ""
    if word not in (*_ASKS, "DESC") or (word == "WITH" and _WRITES.search(sql)):
        raise InvalidInput(f"Not a query: it must begin with {', '.join(_ASKS)}. Nothing was run.")
    return sql
