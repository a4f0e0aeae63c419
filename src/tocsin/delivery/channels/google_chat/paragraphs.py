"""Rich text as paragraphs of a Google Chat card, in the part of HTML that they read.

Source: Google Chat API, "Card text formatting". Next: ``delivery/channels/google_chat/card.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from tocsin.delivery.templates.rich_text import BlockKind, RichBlock, Span

_INDENT = "&nbsp;" * 4
_RULE = "―" * 12


def paragraphs(blocks: Sequence[RichBlock]) -> list[str]:
    """Return the text of a paragraph for each block."""
    return list(map(_paragraph, blocks))


def _paragraph(block: RichBlock) -> str:
    inner = "".join(map(_span, block.spans))
    match block.kind:
        case BlockKind.HEADING:
            return f"<b>{inner}</b>"
        case BlockKind.POINT:
            return f"{_INDENT * block.level}{escape(block.marker)} {inner}"
        case BlockKind.QUOTE:
            return f"<i>{inner}</i>"
        case BlockKind.RULE:
            return _RULE
        case _:
            return inner


def _span(span: Span) -> str:
    text = escape(span.text).replace("\n", "<br>")
    for is_so, tag in ((span.struck, "strike"), (span.italic, "i"), (span.bold, "b")):
        text = f"<{tag}>{text}</{tag}>" if is_so else text
    return f'<a href="{escape(span.link, quote=True)}">{text}</a>' if span.link else text
