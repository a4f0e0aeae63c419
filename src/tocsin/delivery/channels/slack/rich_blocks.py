"""Rich text as a rich text block of Block Kit: its texts are literal, so nothing in them is markup or a mention.

Source: Slack's Block Kit reference, "Rich text block". Next: ``delivery/channels/slack/blocks.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from tocsin.delivery.templates.rich_text import BlockKind, RichBlock, Span
from tocsin.delivery.wording.lines import without_brackets

_DEEPEST = 8
_RULE = "―" * 12
Element = dict[str, Any]  # Any: a JSON value


def rich_text(blocks: Iterable[RichBlock]) -> Element:
    """Return a block that holds all of these."""
    return {"type": "rich_text", "elements": list(_elements(blocks))}


def _elements(blocks: Iterable[RichBlock]) -> Iterator[Element]:
    for (kind, level, is_ordered), group in groupby(blocks, key=_alike):
        if kind is BlockKind.POINT:
            yield _list([_section(one.spans) for one in group], level, is_ordered=is_ordered)
        else:
            yield from map(_element, group)


def _alike(block: RichBlock) -> tuple[BlockKind, int, bool]:
    """Return what points have in common that are one list."""
    return block.kind, block.level, block.marker[:1].isdigit()


def _list(points: list[Element], level: int, *, is_ordered: bool) -> Element:
    style = "ordered" if is_ordered else "bullet"
    return {"type": "rich_text_list", "style": style, "indent": min(level, _DEEPEST), "elements": points}


def _element(block: RichBlock) -> Element:
    match block.kind:
        case BlockKind.QUOTE:
            return {"type": "rich_text_quote", "elements": _spans(block.spans)}
        case BlockKind.CODE:
            return {"type": "rich_text_preformatted", "elements": [_text(Span(block.text()))]}
        case BlockKind.RULE:
            return _section((Span(f"{_RULE}\n"),))
        case BlockKind.HEADING:
            return _section((*(Span(span.text, bold=True, link=span.link) for span in block.spans), Span("\n")))
        case _:
            return _section((*block.spans, Span("\n")))


def _section(spans: Sequence[Span]) -> Element:
    return {"type": "rich_text_section", "elements": _spans(spans)}


def _spans(spans: Sequence[Span]) -> list[Element]:
    return [_link(span) if span.link else _text(span) for span in spans]


def _text(span: Span) -> Element:
    return {"type": "text", "text": without_brackets(span.text)} | _style(span)


def _link(span: Span) -> Element:
    return {"type": "link", "url": span.link, "text": without_brackets(span.text)} | _style(span)


def _style(span: Span) -> Element:
    styles = (("bold", span.bold), ("italic", span.italic), ("strike", span.struck), ("code", span.code))
    style = {name: True for name, is_so in styles if is_so}
    return {"style": style} if style else {}
