"""Slack messages: one event, or several, as Block Kit blocks, within Slack's limits.

What comes from an asset is in objects of type ``plain_text``, which know no markup, links or mentions; the links to our
pages, and mentions of owners by the ids that Slack gave, are the only ``mrkdwn``.
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
from tocsin.delivery.lines import ChangeLine, cut, without_brackets
from tocsin.delivery.rich_text import BlockKind, RichBlock, Span
from tocsin.delivery.wording.content import (
    OWNED_BY,
    MessageContent,
    Section,
    fitted_payload,
    more_of,
)

BLOCKS_LIMIT = 50
"""Most blocks of one message."""

HEADER_LIMIT = 150
"""Most characters of a header."""

TEXT_LIMIT = 3_000
"""Most characters of a section's text."""

FIELD_LIMIT = 2_000
"""Most characters of a field of a section; a section has at most ten."""

MESSAGE_BYTES = 16_000
"""Most bytes of one message: Slack refuses what is too long (``msg_blocks_too_long``) and names no figure."""

_DEEPEST = 8
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
    blocks: list[Block] = [{"type": "header", "text": _text(title, HEADER_LIMIT)}]
    for section in content.sections:
        blocks += _brief(section) if content.is_digest else _single_notification(section, members)
    if content.left_count:
        blocks.append(_context(content.more()))
    message = {"text": title, "mrkdwn": False, "unfurl_links": False, "unfurl_media": False, "blocks": blocks}
    return orjson.dumps(message)


def _single_notification(section: Section, members: Members) -> Iterator[Block]:
    """Yield the blocks of the only notification."""
    if section.body:
        yield _rich_text(section.body)
    else:
        yield _context(section.asset)
    for line in section.lines:
        yield _change(line)
    if section.more_count:
        yield _context(section.more())
    if not section.body:
        yield _signature(section, members)
    if section.why:
        yield _context(f"Why you get this: {section.why}")
    yield links_block(*section.links)


def _signature(section: Section, members: Members) -> Block:
    """Return who did it, and when, and who owns the asset: members are mentioned, others only named."""
    mentioned = [members.get(one.user_id or "") for one in section.owners]
    if not any(mentioned):
        return _context(section.signature + section.owned_by)
    elements = [_text(f"{section.signature}{OWNED_BY}".rstrip(), TEXT_LIMIT)]
    for owner, member in zip(section.owners, mentioned, strict=True):
        mention = {"type": "mrkdwn", "text": f"<@{member}>", "verbatim": True}
        elements.append(mention if member else _text(owner.text, TEXT_LIMIT))
    if section.more_owners_count:
        elements.append(_text(more_of(section.more_owners_count), TEXT_LIMIT))
    return {"type": "context", "elements": elements}


def _brief(section: Section) -> Iterator[Block]:
    """Yield the blocks of one notification of several."""
    if section.body:
        yield _rich_text(_template_blocks(section))
    else:
        texts = [section.headline, section.asset, *map(_line_text, section.lines), section.more(), section.why]
        yield {"type": "section", "text": _text("\n".join(filter(None, texts)), TEXT_LIMIT)}
    yield links_block(*section.links)


def _template_blocks(section: Section) -> Iterator[RichBlock]:
    """Yield what a template says of one notification of several, its subject first and the reason last."""
    yield RichBlock(BlockKind.PARAGRAPH, (Span(section.headline, bold=True),))
    yield from section.body
    for text in filter(None, (section.more(), section.why)):
        yield RichBlock(BlockKind.PARAGRAPH, (Span(text, italic=True),))


def _change(line: ChangeLine) -> Block:
    block: Block = {"type": "section", "text": _text(line.text or "changed", TEXT_LIMIT)}
    if fields := [_text(text, FIELD_LIMIT) for text in _values(line)]:
        block["fields"] = fields
    return block


def _line_text(line: ChangeLine) -> str:
    return "\n".join((line.text, *_values(line)))


def _values(line: ChangeLine) -> Iterator[str]:
    if line.old is not None:
        yield f"before: {line.old}"
    if line.new is not None:
        yield f"after: {line.new}"


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
        case BlockKind.HEADING:
            return _section((*(Span(span.text, bold=True, link=span.link) for span in block.spans), Span("\n")))
        case _:
            return _section((*block.spans, Span("\n")))


def _section(spans: Sequence[Span]) -> Block:
    return {"type": "rich_text_section", "elements": list(map(_span, spans))}


def _span(span: Span) -> Block:
    kind: Block = {"type": "link", "url": span.link} if span.link else {"type": "text"}
    styles = (("bold", span.bold), ("italic", span.italic), ("strike", span.struck), ("code", span.code))
    style = {name: True for name, is_so in styles if is_so}
    return kind | {"text": without_brackets(span.text)} | ({"style": style} if style else {})
