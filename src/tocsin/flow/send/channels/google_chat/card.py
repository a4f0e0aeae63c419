"""Google Chat messages: one event, or several, as a card, within the limits of the API.

Paragraphs of a card read a part of HTML, and plain text reads ``<users/all>`` as a mention: nothing in an entity can
add either. Source: Google Chat API v1, ``Card`` and ``spaces.messages.create``.
Next: ``flow/send/channels/google_chat/sender.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from html import escape
from typing import Any

import orjson

from tocsin.clock import to_datetime
from tocsin.flow.send.digest_wording import digest_headline
from tocsin.flow.send.dispatch import Dispatch, shown, why
from tocsin.flow.send.text_blocks import ChangeLine, clean_line, without_brackets
from tocsin.flow.send.wording import change_lines, headline, link_to
from tocsin.model.message import Entry
from tocsin.model.thread import THREAD

MESSAGE_BYTES = 32_000
"""Most bytes of one message, by the API."""

LINES_LIMIT = 20
"""Most changes that one card lists; it says how many more there are."""

ENTRIES_LIMIT = 20
"""Most notifications that one card shows; it says how many more there are."""

_LINES_EACH = 3
_NAME_LIMIT = 300
_REASONS_LIMIT = 1_000


def render_message(dispatch: Dispatch, *, base_url: str) -> bytes:
    """Return the JSON of the message for ``dispatch``, of at most ``MESSAGE_BYTES``."""
    if len(dispatch.entries) > 1:
        count, render = len(shown(dispatch, ENTRIES_LIMIT)), partial(_digest, dispatch, base_url=base_url)
    else:
        lines = change_lines(dispatch.event)
        count, render = min(len(lines), LINES_LIMIT), partial(_message, dispatch, lines, base_url=base_url)
    payload = orjson.dumps(render(shown_count=count))
    while len(payload) > MESSAGE_BYTES and count:
        count //= 2
        payload = orjson.dumps(render(shown_count=count))
    return payload


def _digest(dispatch: Dispatch, *, shown_count: int, base_url: str) -> dict[str, Any]:
    """Return a message that shows the first ``shown_count`` of its notifications, and counts the others."""
    title = without_brackets(clean_line(digest_headline(dispatch.entries), limit=_NAME_LIMIT))
    sections = [_section(one, base_url) for one in dispatch.entries[:shown_count]]
    if left_count := len(dispatch.entries) - shown_count:
        sections.append({"widgets": [{"textParagraph": {"text": f"… and {left_count:,} more"}}]})
    card = {"header": {"title": title}, "sections": sections}
    return {"fallbackText": title, "cardsV2": [{"cardId": dispatch.message.id, "card": card}]}


def _section(entry: Entry, base_url: str) -> dict[str, Any]:
    """Return what a digest shows of one notification."""
    event, lines = entry.event, change_lines(entry.event)
    texts = [f"<b>{escape(headline(event, entry.reasons))}</b>", *map(_change, lines[:_LINES_EACH])]
    if len(lines) > _LINES_EACH:
        texts.append(f"… and {len(lines) - _LINES_EACH} more")
    if entry.reasons:
        texts.append(f"<i>{escape(clean_line(why(entry.reasons), limit=_NAME_LIMIT))}</i>")
    texts.append(f'<a href="{escape(link_to(event, base_url))}">Open in Tocsin</a>')
    return {"widgets": [{"textParagraph": {"text": "<br>".join(texts)}}]}


def _message(dispatch: Dispatch, lines: Sequence[ChangeLine], *, shown_count: int, base_url: str) -> dict[str, Any]:
    """Return a message that shows the first ``shown_count`` of these changes."""
    event = dispatch.event
    title = without_brackets(headline(event, dispatch.reasons))
    name = without_brackets(clean_line(event.entity_fully_qualified_name or event.entity_id, limit=_NAME_LIMIT))
    did = "From" if event.entity_type == THREAD else "Changed by"
    at = to_datetime(event.timestamp).strftime("%Y-%m-%d %H:%M UTC")
    paragraphs = [_change(line) for line in lines[:shown_count]]
    if len(lines) > shown_count:
        paragraphs.append(f"… and {len(lines) - shown_count} more")
    paragraphs.append(f"{did} {escape(clean_line(event.user_name or 'someone'))}, {at}")
    if dispatch.reasons:
        reasons = clean_line(why(dispatch.reasons), limit=_REASONS_LIMIT)
        paragraphs.append(f"<i>Why you get this: {escape(reasons)}</i>")
    button = {"text": "Open in Tocsin", "onClick": {"openLink": {"url": link_to(event, base_url)}}}
    widgets = [{"textParagraph": {"text": text}} for text in paragraphs]
    card = {
        "header": {"title": title, "subtitle": name},
        "sections": [{"widgets": [*widgets, {"buttonList": {"buttons": [button]}}]}],
    }
    return {"fallbackText": title, "cardsV2": [{"cardId": dispatch.message.id, "card": card}]}


def _change(line: ChangeLine) -> str:
    before = f"<br>before: {escape(line.old)}" if line.old is not None else ""
    after = f"<br>after: {escape(line.new)}" if line.new is not None else ""
    return f"{escape(line.text)}{before}{after}"
