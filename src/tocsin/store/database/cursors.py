"""Pagination cursors that need no URL escaping: a text, or a timestamp and a name.

The timestamp is for pages ordered by time; the name distinguishes entries of the same time.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

from tocsin.errors import InvalidInput
from tocsin.model.entity import Document

_MOST_DIGITS = 18
_LATEST_MS = 2**62


@dataclass(frozen=True)
class ReportWindow:
    """Which reports are wanted: between two moments (both included), one page of them, after or before a place."""

    start_ms: int = 0
    end_ms: int = _LATEST_MS
    limit: int = 10_000
    after: str | None = None
    before: str | None = None


@dataclass(frozen=True)
class DocumentPage:
    """Some documents in order, how many there are in all, and the cursors of the pages around them."""

    documents: list[Document]
    total: int
    after: str | None = None
    before: str | None = None


def not_a_cursor(cursor: str, field: str = "after") -> InvalidInput:
    """Return the error for a parameter that is no cursor of ours."""
    return InvalidInput(f"not a cursor: {cursor}; send one that a page returned, as it is", field=field)


def cursor_of(text: str) -> str:
    """Return the cursor for a text: URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def text_of(cursor: str, field: str = "after") -> str:
    """Return the text of a cursor.

    Raises
    ------
    InvalidInput : the text is no cursor of ours; ``field`` is its place
    """
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError) as refused:
        raise not_a_cursor(cursor, field) from refused
    if "\0" in text:
        raise not_a_cursor(cursor, field)
    return text


def place_text(at_ms: int, name: str) -> str:
    """Return the cursor for ``at_ms`` and ``name``."""
    return cursor_of(f"{at_ms}|{name}")


def place_of(cursor: str) -> tuple[int, str]:
    """Return the position of a cursor.

    Raises
    ------
    InvalidInput : the text is no cursor of ours
    """
    digits, _, name = text_of(cursor).partition("|")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS):
        raise not_a_cursor(cursor)
    return int(digits), name
