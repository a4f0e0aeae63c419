"""Stated reasons: why a change is made, in a few words of its author, and how a header says it.

It is plain text in one line. A header says other letters than those of ASCII as an extended value.
Source: RFC 8187, section 3.2.1 (``ext-value``). Next: ``server/request.py``.
"""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import quote, unquote_to_bytes

from tocsin.errors import InvalidInput

WHY_HEADER = "X-Tocsin-Why"
"""The header in which a request says why it writes, and a webhook why the change was made that it reports."""

LONGEST_REASON = 500
"""Most characters of a reason."""

_EXTENDED = re.compile(r"utf-8'[a-z0-9-]*'(?P<text>(?:[a-z0-9!#$&+.^_`|~-]|%[0-9a-f]{2})*)", re.IGNORECASE)
_MARK = "utf-8'"
_UNQUOTED = "!#$&+.^_`|~-"
_CONTROLS = frozenset({"Cc", "Cs", "Zl", "Zp"})
_DIRECTIONS = frozenset(map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A))))
"""Marks that let the text around them be read in another order."""


def parse_reason(text: str) -> str | None:
    """Return a reason without spaces around it; None if it says nothing.

    Raises
    ------
    InvalidInput : it is too long, or contains line breaks, other control characters or marks of direction
    """
    reason = text.strip(" ")
    if len(reason) > LONGEST_REASON:
        raise InvalidInput(f"must have at most {LONGEST_REASON} characters", field=WHY_HEADER)
    if any(unicodedata.category(sign) in _CONTROLS or sign in _DIRECTIONS for sign in reason):
        raise InvalidInput("must be plain text in one line, without control characters", field=WHY_HEADER)
    return reason or None


def reason_in_header(value: bytes) -> str | None:
    """Return the reason that a header says, as UTF-8 or as an extended value (``UTF-8''caf%C3%A9``).

    Raises
    ------
    InvalidInput : it is neither, or as in ``parse_reason``
    """
    try:
        text = value.decode()
        if text.lower().startswith(_MARK):
            if (extended := _EXTENDED.fullmatch(text)) is None:
                raise InvalidInput("is not an extended value of RFC 8187, such as UTF-8''caf%C3%A9", field=WHY_HEADER)
            text = unquote_to_bytes(extended["text"]).decode()
    except UnicodeDecodeError as error:
        raise InvalidInput("must be ASCII, UTF-8, or an extended value of RFC 8187", field=WHY_HEADER) from error
    return parse_reason(text)


def header_value(reason: str) -> str:
    """Return how a header says a reason: as it is, or as an extended value where it is not ASCII."""
    if reason.isascii() and not reason.lower().startswith(_MARK):
        return reason
    return f"UTF-8''{quote(reason, safe=_UNQUOTED)}"
