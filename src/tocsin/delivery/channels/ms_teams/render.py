"""Microsoft Teams messages: one event, or several, as an Adaptive Card 1.4, within the limits of Teams.

What comes from an asset is in text runs of rich text blocks, which know no Markdown; a mention would need an entity of
its own, and there is none. What failed, is well again or is late has its headline on that colour.
Source: the Adaptive Cards schema explorer, version 1.4; Microsoft's "Create incoming webhooks with Workflows" for the
envelope. Next: ``delivery/channels/ms_teams/sender.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from tocsin.delivery.dispatch import Dispatch
from tocsin.delivery.lines import without_brackets
from tocsin.delivery.rich_text import BlockKind, RichBlock, Span
from tocsin.delivery.wording.content import MessageContent, Section, fitted_payload
from tocsin.delivery.wording.tones import Tone

MESSAGE_BYTES = 28_000
"""Most bytes of one message."""

CARD_TYPE = "application/vnd.microsoft.card.adaptive"

_STYLES = {Tone.FAILED: "attention", Tone.ATTENTION: "warning", Tone.WELL: "good"}
_SIZES = {1: "Large", 2: "Medium"}
_INDENT = "\u2003"
_WEB = ("https://", "http://")
_RULE = "―" * 12
Element = dict[str, Any]  # Any: a JSON value


def render_message(dispatch: Dispatch, *, base_url: str) -> bytes:
    """Return the JSON of the message for ``dispatch``, of at most ``MESSAGE_BYTES``."""
    return fitted_payload(dispatch, _payload, base_url=base_url, most_bytes=MESSAGE_BYTES)


def _payload(content: MessageContent) -> bytes:
    title = _text(content.title, size="Large", weight="Bolder")
    style = _STYLES.get(content.tone)
    body = [{"type": "Container", "style": style, "bleed": True, "items": [title]} if style else title]
    for section in content.sections:
        body += [_brief(section)] if content.is_digest else _single_notification(section)
    if content.left_count:
        body.append(_text(content.more(), isSubtle=True))
    if content.hint:
        body.append(_text(content.hint, isSubtle=True))
    card: Element = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "fallbackText": _plain(content.title),
        "msteams": {"width": "Full"},
        "body": body,
    }
    if not content.is_digest:
        card["actions"] = _actions(content.sections[0])
    return orjson.dumps({"type": "message", "attachments": [{"contentType": CARD_TYPE, "content": card}]})


def _single_notification(section: Section) -> Iterator[Element]:
    """Yield the elements of the only notification."""
    if section.body:
        yield from map(_element, section.body)
    else:
        yield _text(section.asset, isSubtle=True)
    yield from map(_runs, section.spans)
    if section.more_count:
        yield _text(section.more(), isSubtle=True)
    if not section.body:
        yield _text(section.signature + section.owned_by, isSubtle=True)
    yield from map(_element, section.notes)
    if section.why:
        yield _text(f"Why you get this: {section.why}", italic=True, isSubtle=True)


def _brief(section: Section) -> Element:
    """Return the element of one notification of several."""
    items = [_text(section.group, size="Medium", weight="Bolder")] if section.group else []
    items += [_text(section.cause, isSubtle=True)] if section.cause else []
    items.append(_text(section.headline, weight="Bolder"))
    items += map(_element, section.body) if section.body else [_runs(section.brief, isSubtle=True)]
    items += map(_runs, section.spans)
    if section.more_count:
        items.append(_text(section.more(), isSubtle=True))
    items += map(_element, section.notes)
    if section.why:
        items.append(_text(section.why, italic=True, isSubtle=True))
    items.append({"type": "ActionSet", "actions": _actions(section)})
    return {"type": "Container", "separator": True, "items": items}


def _actions(section: Section) -> list[Element]:
    return [{"type": "Action.OpenUrl", "title": text, "url": url} for url, text in section.links]


def _text(text: str, **style: object) -> Element:
    """Return a block of one run; ``style`` holds properties of ``TextRun``."""
    return {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": _plain(text), **style}]}


def _plain(text: str) -> str:
    """Return a text without tags, and without the braces that clients replace by dates (``{{DATE(…)}}``)."""
    return without_brackets(text).replace("{{", "{ {") or "(empty)"


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
    attributes |= {"underline": True} if span.underlined else {}
    attributes |= {"fontType": "Monospace"} if span.code else {}
    is_page = span.link is not None and span.link.startswith(_WEB)
    attributes |= {"selectAction": {"type": "Action.OpenUrl", "url": span.link}} if is_page else {}
    return {"type": "TextRun", "text": _plain(span.text), **style, **attributes}
