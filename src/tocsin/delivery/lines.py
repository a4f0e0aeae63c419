"""Building blocks of messages: single lines and short texts, free of control characters.

Next: ``delivery/wording/changes.py`` for changes, ``delivery/wording/threads.py`` for threads.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

SHOWN_LIMIT = 500
"""Most characters of an old or new value that are shown."""

HEADLINE_LIMIT = 120

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]+")
"""Control and direction characters."""

CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
"""Where a word begins within a camelCase name."""

MINUTE = "%Y-%m-%d %H:%M UTC"
"""How messages write a time."""

_BRACKETS = str.maketrans("<>", "\u2039\u203a")


@dataclass(frozen=True)
class ChangeLine:
    """One change: what happened, and the old and new value as text (None: there is none to show)."""

    text: str
    old: str | None = None
    new: str | None = None


def clean_line(text: str, *, limit: int = HEADLINE_LIMIT, strips: bool = True) -> str:
    """Return ``text`` on one line, without control and direction characters, cut at ``limit`` characters.

    ``strips``: without blanks at its ends.
    """
    line = CONTROL.sub(" ", text).strip() if strips else CONTROL.sub(" ", text)
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def cut(text: str, *, limit: int = SHOWN_LIMIT) -> str:
    """Return ``text``, shortened to ``limit`` characters with an ellipsis when it is longer."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def in_words(name: str) -> str:
    """Return a camelCase name as lower-case words."""
    return CAPITAL.sub(" ", name).lower()


def without_brackets(text: str) -> str:
    """Return a text in which nothing reads as a tag or as a mention (``<!channel>``), where nothing can be escaped."""
    return text.translate(_BRACKETS)
