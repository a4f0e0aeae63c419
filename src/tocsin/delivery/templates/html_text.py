"""Rich text as HTML and as plain text, for mails. Next: ``delivery/channels/email/render.py``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby

from markupsafe import Markup

from tocsin.delivery.rich_text import BlockKind, RichBlock, Span

_DEEPER = "    "
_LINK = "color: #3b5bdb"
"""Mails name another colour for the class in the dark."""
_NEUTRAL = "background-color: #eceff3"
"""The ground of what was before and is now: whether that is good or bad is not for a colour to say."""


def to_html(blocks: Sequence[RichBlock]) -> Markup:
    """Return blocks as HTML: only these tags, every text escaped."""
    return Markup("\n".join(_html_parts(blocks)))  # noqa: S704  every text in it is escaped


def spans_to_html(spans: Sequence[Span]) -> Markup:
    """Return styled text as HTML, every text escaped."""
    return Markup(_html_spans(spans))  # noqa: S704  every text in it is escaped


def spans_to_text(spans: Sequence[Span], indent: str) -> str:
    """Return styled text as plain text; lines after the first are indented."""
    return "".join(map(_text_span, spans)).replace("\n", f"\n{indent}")


def to_text(blocks: Sequence[RichBlock]) -> str:
    """Return blocks as lines of plain text, the address of a link behind its text."""
    return "\n".join(_text_lines(blocks)).strip("\n")


def _html_parts(blocks: Sequence[RichBlock]) -> Iterator[str]:
    for (kind, is_ordered), group in groupby(blocks, key=lambda block: (block.kind, block.marker[:1].isdigit())):
        if kind is not BlockKind.POINT:
            yield from map(_html_block, group)
            continue
        tag = "ol" if is_ordered else "ul"
        yield f"<{tag}>"
        for block in group:
            style = f' style="margin-left: {24 * block.level}px"' if block.level else ""
            yield f"<li{style}>{_html_spans(block.spans)}</li>"
        yield f"</{tag}>"


def _html_block(block: RichBlock) -> str:
    inner = _html_spans(block.spans)
    match block.kind:
        case BlockKind.HEADING:
            return f'<h{block.level} style="font-size: {max(15, 20 - 2 * block.level)}px">{inner}</h{block.level}>'
        case BlockKind.QUOTE:
            return f"<blockquote>{inner}</blockquote>"
        case BlockKind.CODE:
            return f"<pre>{escape(block.text())}</pre>"
        case BlockKind.RULE:
            return "<hr>"
        case _:
            return f"<p>{inner}</p>"


def _html_spans(spans: Sequence[Span]) -> str:
    return "".join(map(_html_span, spans))


def _html_span(span: Span) -> str:
    text = escape(span.text).replace("\n", "<br>\n")
    if not any(span[1:]):
        return text
    if span.struck:
        text = f'<s class="diff" style="{_NEUTRAL}; text-decoration: line-through">{text}</s>'
    if span.underlined:
        text = f'<u class="diff" style="{_NEUTRAL}; text-decoration: underline">{text}</u>'
    for is_so, tag in ((span.code, "code"), (span.italic, "i"), (span.bold, "b")):
        text = f"<{tag}>{text}</{tag}>" if is_so else text
    return f'<a class="link" href="{escape(span.link, quote=True)}" style="{_LINK}">{text}</a>' if span.link else text


def _text_lines(blocks: Sequence[RichBlock]) -> Iterator[str]:
    was_point = False
    for block in blocks:
        is_point = block.kind is BlockKind.POINT
        if not (is_point and was_point):
            yield ""
        yield from _text_block(block)
        was_point = is_point


def _text_block(block: RichBlock) -> Iterator[str]:
    lines = "".join(map(_text_span, block.spans)).split("\n")
    match block.kind:
        case BlockKind.RULE:
            yield "-" * 40
        case BlockKind.POINT:
            indent = _DEEPER * block.level
            marker = "-" if block.marker == "•" else block.marker
            yield f"{indent}{marker} {lines[0]}"
            yield from (f"{indent}{' ' * (len(marker) + 1)}{line}" for line in lines[1:])
        case BlockKind.QUOTE:
            yield from (f"> {line}" for line in lines)
        case BlockKind.CODE:
            yield from (f"{_DEEPER}{line}" for line in lines)
        case _:
            yield from lines


def _text_span(span: Span) -> str:
    is_spelled = span.link is None or span.link in (span.text, f"mailto:{span.text}")
    return span.text if is_spelled else f"{span.text} ({span.link})"
