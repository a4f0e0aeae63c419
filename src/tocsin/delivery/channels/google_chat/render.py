"""Google Chat messages: one event, or several, as a card, within the limits of the API.

Paragraphs of a card read a part of HTML, and plain text reads ``<users/all>`` as a mention: nothing in an entity can
add either. Source: Google Chat API v1, ``Card`` and ``spaces.messages.create``.
Next: ``delivery/channels/google_chat/sender.py``.
"""

from __future__ import annotations

from functools import partial
from html import escape
from typing import Any

import orjson

from tocsin.delivery.channels.google_chat.paragraphs import paragraphs
from tocsin.delivery.dispatch import Dispatch
from tocsin.delivery.wording.content import LINK_TEXT, MessageContent, Section, ShownLimits, fitted_payload
from tocsin.delivery.wording.lines import ChangeLine, without_brackets

MESSAGE_BYTES = 32_000
"""Most bytes of one message, by the API."""

_LIMITS = ShownLimits()


def render_message(dispatch: Dispatch, *, base_url: str) -> bytes:
    """Return the JSON of the message for ``dispatch``, of at most ``MESSAGE_BYTES``."""
    answered = dispatch.answers.message_id if dispatch.answers else dispatch.message.id
    render = partial(_payload, card_id=dispatch.message.id, thread_key=answered)
    return fitted_payload(
        dispatch, render, base_url=base_url, limits=_LIMITS, fits=lambda payload: len(payload) <= MESSAGE_BYTES
    )


def _payload(content: MessageContent, *, card_id: str, thread_key: str) -> bytes:
    title = without_brackets(content.headline)
    header = {"title": title}
    if content.is_digest:
        sections = [_paragraphs(_brief(section)) for section in content.sections]
        sections += [_paragraphs(content.more())] if content.left_count else []
    else:
        (section,) = content.sections
        if not section.body:
            header["subtitle"] = without_brackets(section.asset)
        sections = [_whole(section)]
    card = {"header": header, "sections": sections}
    thread = {"threadKey": thread_key}
    return orjson.dumps({"fallbackText": title, "cardsV2": [{"cardId": card_id, "card": card}], "thread": thread})


def _whole(section: Section) -> dict[str, Any]:
    """Return the section of the only notification."""
    texts = paragraphs(section.body) or [_change(line) for line in section.lines]
    texts += [section.more()] if section.more_count else []
    texts += [] if section.body else [escape(section.signature_with_owners())]
    if section.why:
        texts.append(f"<i>Why you get this: {escape(section.why)}</i>")
    rendered = _paragraphs(*texts)
    buttons = [{"text": text, "onClick": {"openLink": {"url": url}}} for text, url in _links(section)]
    rendered["widgets"].append({"buttonList": {"buttons": buttons}})
    return rendered


def _brief(section: Section) -> str:
    """Return what a digest shows of one notification."""
    lines = paragraphs(section.body) or [_change(line) for line in section.lines]
    texts = [f"<b>{escape(section.headline)}</b>", *lines, section.more()]
    if section.why:
        texts.append(f"<i>{escape(section.why)}</i>")
    texts.append(" · ".join(f'<a href="{escape(url)}">{text}</a>' for text, url in _links(section)))
    return "<br>".join(filter(None, texts))


def _links(section: Section) -> list[tuple[str, str]]:
    return [(LINK_TEXT, section.link), *((one.text, one.address) for one in section.buttons)]


def _change(line: ChangeLine) -> str:
    before = f"<br>before: {escape(line.old)}" if line.old is not None else ""
    after = f"<br>after: {escape(line.new)}" if line.new is not None else ""
    return f"{escape(line.text)}{before}{after}"


def _paragraphs(*texts: str) -> dict[str, Any]:
    return {"widgets": [{"textParagraph": {"text": text}} for text in texts]}
