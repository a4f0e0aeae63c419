"""Google Chat messages: one event as a card, within the limits of the API.

Paragraphs of a card read a part of HTML, and plain text reads ``<users/all>`` as a mention: nothing in an entity can
add either. Source: Google Chat API v1, ``Card`` and ``spaces.messages.create``.
Next: ``flow/send/channels/google_chat/sender.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import orjson

from tocsin.clock import to_datetime
from tocsin.flow.send.dispatch import Dispatch, why
from tocsin.flow.send.text_blocks import ChangeLine, clean_line
from tocsin.flow.send.wording import change_lines, headline, link_to
from tocsin.model.thread import THREAD

MESSAGE_BYTES = 32_000
"""Most bytes of one message, by the API."""

LINES_LIMIT = 20
"""Most changes that one card lists; it says how many more there are."""

_NAME_LIMIT = 300
_REASONS_LIMIT = 1_000
_NO_MARKUP = str.maketrans("<>", "\u2039\u203a")


def render_message(dispatch: Dispatch, *, base_url: str) -> bytes:
    """Return the JSON of the message for ``dispatch``, of at most ``MESSAGE_BYTES``."""
    lines = change_lines(dispatch.event)
    shown = min(len(lines), LINES_LIMIT)
    payload = orjson.dumps(_message(dispatch, lines, shown, base_url))
    while len(payload) > MESSAGE_BYTES and shown:
        shown //= 2
        payload = orjson.dumps(_message(dispatch, lines, shown, base_url))
    return payload


def _message(dispatch: Dispatch, lines: Sequence[ChangeLine], shown: int, base_url: str) -> dict[str, Any]:
    """Return a message that shows the first ``shown`` of these changes."""
    event = dispatch.event
    title = _plain(headline(event, dispatch.reasons))
    name = _plain(clean_line(event.entity_fully_qualified_name or event.entity_id, limit=_NAME_LIMIT))
    did = "From" if event.entity_type == THREAD else "Changed by"
    at = to_datetime(event.timestamp).strftime("%Y-%m-%d %H:%M UTC")
    paragraphs = [_change(line) for line in lines[:shown]]
    if len(lines) > shown:
        paragraphs.append(f"… and {len(lines) - shown} more")
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


def _plain(text: str) -> str:
    """Return a text that means no markup where nothing can be escaped."""
    return text.translate(_NO_MARKUP)
