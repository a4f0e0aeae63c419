"""JSON of a server that is not ours, without the one character that PostgreSQL cannot hold."""

from __future__ import annotations

import re
from typing import Any

import orjson

_NUL = re.compile(rb"(?<!\\)((?:\\\\)*)\\u0000")
"""How JSON spells the character; after an odd number of backslashes it is none."""


def parse_json(text: bytes | str) -> Any:  # Any: whatever JSON the server sends
    """Return what JSON says, without NUL characters.

    Raises
    ------
    orjson.JSONDecodeError : it is malformed
    """
    try:
        content = text.encode() if isinstance(text, str) else text
    except UnicodeEncodeError as error:
        raise orjson.JSONDecodeError("half of a surrogate pair", "", 0) from error
    return orjson.loads(_NUL.sub(rb"\1", content) if b"\\u0000" in content else content)
