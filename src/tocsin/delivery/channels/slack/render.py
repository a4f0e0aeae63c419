"""Slack messages: one event, or several, as Block Kit blocks, within Slack's limits.

What comes from an asset is in objects of type ``plain_text`` or in the text of ``rich_text``, which know no markup,
links or mentions; the links to our pages, times, and mentions of owners by the ids that Slack gave, are the only
``mrkdwn``. What failed, is well again or is late has a bar of that colour: below the header it is an attachment.
Source: Slack's Block Kit reference and ``chat.postMessage``.
Next: ``delivery/channels/slack/sender.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any
from urllib.parse import quote

import orjson

from tocsin.delivery.dispatch import Dispatch
from tocsin.delivery.lines import cut, without_brackets
from tocsin.delivery.rich_text import BlockKind, RichBlock, Span
from tocsin.delivery.wording.content import (
    OWNED_BY,
    MessageContent,
    Section,
    fitted_payload,
    more_of,
)
from tocsin.delivery.wording.tones import Tone

BLOCKS_LIMIT = 50
"""Most blocks of one message."""

HEADER_LIMIT = 150
"""Most characters of a header."""

TEXT_LIMIT = 3_000
"""Most characters of a section's text."""

MESSAGE_BYTES = 16_000
"""Most bytes of one message: Slack refuses what is too long (``msg_blocks_too_long``) and names no figure."""

_COLOURS = {Tone.FAILED: "#c02626", Tone.ATTENTION: "#8f5200", Tone.WELL: "#26703a"}
_DEEPEST = 8
_MOMENT = "{date_short_pretty} {time}"
"""How a time is shown, in the zone of each reader. Source: Slack's date formatting."""

_RULE = "―" * 12
_URL_SAFE = "/:#?&=%@!$'()*+,;[]~-._"
Block = dict[str, Any]  # Any: a JSON value
Members = Mapping[str, str]
NO_MEMBERS: Members = {}


def render_message(
    dispatch: Dispatch, *, base_url: str, members: Members = NO_MEMBERS, most_bytes: int = MESSAGE_BYTES
) -> bytes:
    """Return the JSON of the message for ``dispatch``: blocks, and a text for notifications and screen readers.

    ``members`` are those of the workspace who can be mentioned: their ids there, by their ids here.
    """
    render = partial(_payload, members=members)
    return fitted_payload(dispatch, render, base_url=base_url, most_bytes=most_bytes)


def _payload(content: MessageContent, members: Members) -> bytes:
    title = without_brackets(content.title)
    header: Block = {"type": "header", "text": _text(title, HEADER_LIMIT)}
    blocks: list[Block] = []
    for section in content.sections:
        blocks += _brief(section) if content.is_digest else _single_notification(section, members)
    if content.left_count:
        blocks.append(_context(content.more()))
    if content.hint:
        blocks.append(_context(content.hint))
    message = {"text": title, "mrkdwn": False, "unfurl_links": False, "unfurl_media": False, "blocks": [header]}
    if colour := _COLOURS.get(content.tone):
        message["attachments"] = [{"color": colour, "fallback": title, "blocks": blocks}]
    else:
        message["blocks"] = [header, *blocks]
    return orjson.dumps(message)


def add_block(message: Block, block: Block) -> None:
    """Add a block to the end of a message: beside its coloured bar, if it has one."""
    blocks: list[Block] = message["attachments"][0]["blocks"] if "attachments" in message else message["blocks"]
    blocks.append(block)


def _single_notification(section: Section, members: Members) -> Iterator[Block]:
    """Yield the blocks of the only notification."""
    if section.body:
        yield _rich_text(section.body)
    else:
        yield _context(section.asset)
    if section.lines:
        yield _rich_text(_lines(section))
    if section.more_count:
        yield _context(section.more())
    if not section.body:
        yield _signature(section, members)
    if section.notes:
        yield _rich_text(section.notes)
    if section.why:
        yield _context(f"Why you get this: {section.why}")
    yield links_block(*section.links)


def _signature(section: Section, members: Members) -> Block:
    """Return who did it, and when, in the reader's zone, and who owns the asset: members by mentions."""
    mentioned = [members.get(one.user_id or "") for one in section.owners]
    elements = [_text(section.byline, TEXT_LIMIT), _moment(section)]
    if not any(mentioned):
        elements += [_text(f"· {section.owned_by.removeprefix('; ')}", TEXT_LIMIT)] if section.owned_by else []
        return {"type": "context", "elements": elements}
    elements.append(_text(f"· {OWNED_BY.strip('; ')}", TEXT_LIMIT))
    for owner, member in zip(section.owners, mentioned, strict=True):
        mention = {"type": "mrkdwn", "text": f"<@{member}>", "verbatim": True}
        elements.append(mention if member else _text(owner.text, TEXT_LIMIT))
    if section.more_owners_count:
        elements.append(_text(more_of(section.more_owners_count), TEXT_LIMIT))
    return {"type": "context", "elements": elements}


def _moment(section: Section) -> Block:
    """Return when it happened as Slack shows it to each reader. Source: Slack's date formatting in ``mrkdwn``."""
    text = f"<!date^{section.at_ms // 1_000}^{_MOMENT}|{section.at}>"
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def _brief(section: Section) -> Iterator[Block]:
    """Yield the blocks of one notification of several."""
    yield _rich_text(_brief_blocks(section))
    yield links_block(*section.links)


def _brief_blocks(section: Section) -> Iterator[RichBlock]:
    """Yield what is said of one notification of several: the headline first and the reason last."""
    if section.group:
        yield RichBlock(BlockKind.PARAGRAPH, (Span(section.group, bold=True, underlined=True),))
    if section.cause:
        yield RichBlock(BlockKind.PARAGRAPH, (Span(section.cause, underlined=True),))
    yield RichBlock(BlockKind.PARAGRAPH, (Span(section.headline, bold=True),))
    if section.body:
        yield from section.body
    else:
        yield RichBlock(BlockKind.PARAGRAPH, section.brief)
        yield from _lines(section)
    yield from section.notes
    for text in filter(None, (section.more(), section.why)):
        yield RichBlock(BlockKind.PARAGRAPH, (Span(text, italic=True),))


def _lines(section: Section) -> Iterator[RichBlock]:
    return (RichBlock(BlockKind.PARAGRAPH, spans) for spans in section.spans)


def _context(text: str) -> Block:
    return {"type": "context", "elements": [_text(text, TEXT_LIMIT)]}


def links_block(*links: tuple[str, str]) -> Block:
    """Return the block of links of ours, each with its address and text."""
    texts = (f"<{quote(address, safe=_URL_SAFE).replace('&', '&amp;')}|{text}>" for address, text in links)
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": text, "verbatim": True} for text in texts]}


def _text(text: str, limit: int) -> Block:
    return {"type": "plain_text", "text": cut(without_brackets(text), limit=limit), "emoji": False}


def _rich_text(blocks: Iterable[RichBlock]) -> Block:
    """Return a block that holds all of these."""
    return {"type": "rich_text", "elements": list(_elements(blocks))}


def _elements(blocks: Iterable[RichBlock]) -> Iterator[Block]:
    for (kind, level, is_ordered), group in groupby(blocks, key=_list_kind_of):
        if kind is BlockKind.POINT:
            yield _list([_section(one.spans) for one in group], level, is_ordered=is_ordered)
        elif kind is BlockKind.PARAGRAPH:
            yield _section([span for block in group for span in (*block.spans, Span("\n"))])
        else:
            yield from map(_element, group)


def _list_kind_of(block: RichBlock) -> tuple[BlockKind, int, bool]:
    """Return what points have in common that are one list."""
    return block.kind, block.level, block.marker[:1].isdigit()


def _list(points: list[Block], level: int, *, is_ordered: bool) -> Block:
    style = "ordered" if is_ordered else "bullet"
    return {"type": "rich_text_list", "style": style, "indent": min(level, _DEEPEST), "elements": points}


def _element(block: RichBlock) -> Block:
    match block.kind:
        case BlockKind.QUOTE:
            return {"type": "rich_text_quote", "elements": list(map(_span, block.spans))}
        case BlockKind.CODE:
            return {"type": "rich_text_preformatted", "elements": [_span(Span(block.text()))]}
        case BlockKind.RULE:
            return _section((Span(f"{_RULE}\n"),))
        case _:
            return _section((*(Span(span.text, bold=True, link=span.link) for span in block.spans), Span("\n")))


def _section(spans: Sequence[Span]) -> Block:
    return {"type": "rich_text_section", "elements": list(map(_span, _join_spans(spans)))}


def _join_spans(spans: Sequence[Span]) -> Iterator[Span]:
    """Yield spans with neighbours of one style as one: a message has only so many bytes."""
    for style, group in groupby(spans, key=lambda span: span._replace(text="")):
        yield style._replace(text="".join(span.text for span in group))


def _span(span: Span) -> Block:
    if span.at_ms is not None:
        return {"type": "date", "timestamp": span.at_ms // 1_000, "format": _MOMENT, "fallback": span.text}
    kind: Block = {"type": "link", "url": span.link} if span.link else {"type": "text"}
    styles = (
        *(("bold", span.bold), ("italic", span.italic), ("strike", span.struck), ("underline", span.underlined)),
        ("code", span.code),
    )
    style = {name: True for name, is_so in styles if is_so}
    return kind | {"text": without_brackets(span.text)} | ({"style": style} if style else {})
