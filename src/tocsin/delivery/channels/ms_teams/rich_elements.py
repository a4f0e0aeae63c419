"""Rich text as elements of an Adaptive Card: text runs, which know no Markdown.

Source: the Adaptive Cards schema explorer, version 1.4. Next: ``delivery/channels/ms_teams/card.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tocsin.delivery.templates.rich_text import BlockKind, RichBlock, Span
from tocsin.delivery.wording.lines import without_brackets

_SIZES = {1: "Large", 2: "Medium"}
_INDENT = "\u2003"
_WEB = ("https://", "http://")
_RULE = "―" * 12
Element = dict[str, Any]  # Any: a JSON value


def plain(text: str) -> str:
    """Return a text without tags, and without the braces that clients replace by dates (``{{DATE(…)}}``)."""
    return without_brackets(text).replace("{{", "{ {") or "(empty)"


def rich_elements(blocks: Sequence[RichBlock]) -> Iterator[Element]:
    """Yield an element for each block."""
    for block in blocks:
        yield _element(block)


def _element(block: RichBlock) -> Element:
    match block.kind:
        case BlockKind.HEADING:
            size = {"size": _SIZES[block.level]} if block.level in _SIZES else {}
            return _runs(block.spans, weight="Bolder", **size)
        case BlockKind.POINT:
            return _runs((Span(f"{_INDENT * block.level}{block.marker} "), *block.spans))
        case BlockKind.QUOTE:
            return {"type": "Container", "style": "emphasis", "items": [_runs(block.spans)]}
        case BlockKind.CODE:
            return _runs(block.spans, fontType="Monospace")
        case BlockKind.RULE:
            return _runs((Span(_RULE),), isSubtle=True)
        case _:
            return _runs(block.spans)


def _runs(spans: Sequence[Span], **style: object) -> Element:
    return {"type": "RichTextBlock", "inlines": [_run(span, style) for span in spans]}


def _run(span: Span, style: dict[str, object]) -> Element:
    attributes: Element = {"weight": "Bolder"} if span.bold else {}
    attributes |= {"italic": True} if span.italic else {}
    attributes |= {"strikethrough": True} if span.struck else {}
    attributes |= {"fontType": "Monospace"} if span.code else {}
    is_page = span.link is not None and span.link.startswith(_WEB)
    attributes |= {"selectAction": {"type": "Action.OpenUrl", "url": span.link}} if is_page else {}
    return {"type": "TextRun", "text": plain(span.text), **style, **attributes}
