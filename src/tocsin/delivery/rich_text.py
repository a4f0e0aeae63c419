"""Types of rich text: blocks of spans, which each channel shows in its own format.

Next: ``delivery/templates/rich_text.py``, which reads it from HTML.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class BlockKind(StrEnum):
    """What a block is."""

    PARAGRAPH = "paragraph"
    HEADING = "heading"
    POINT = "point"
    QUOTE = "quote"
    CODE = "code"
    RULE = "rule"


class Span(NamedTuple):
    """Text of one style, with line breaks in it; ``link`` is where it leads, if anywhere.

    ``at_ms`` is the time that the text says, if it is one: epoch milliseconds, for who shows it in the reader's zone.
    What is gone is ``struck``, what has come ``underlined``: on the same ground, whatever it means.
    """

    text: str
    bold: bool = False
    italic: bool = False
    struck: bool = False
    underlined: bool = False
    code: bool = False
    link: str | None = None
    at_ms: int | None = None


@dataclass(frozen=True)
class RichBlock:
    """A block of text; ``level`` is that of a heading or how deep a point is, ``marker`` what stands before a point."""

    kind: BlockKind
    spans: tuple[Span, ...] = ()
    level: int = 0
    marker: str = ""

    def text(self) -> str:
        """Return the text without its styles."""
        return "".join(span.text for span in self.spans)


@dataclass(frozen=True)
class RichText:
    """What a template says of a notification: a subject, and a body of at least one block."""

    subject: str
    body: tuple[RichBlock, ...]
