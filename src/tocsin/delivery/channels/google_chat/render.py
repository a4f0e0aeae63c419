"""Google Chat messages: one event, or several, as a card, within the limits of the API.

Paragraphs of a card read a part of HTML, and plain text reads ``<users/all>`` as a mention: nothing in an entity can
add either. Source: Google Chat API v1, ``Card`` and ``spaces.messages.create``.
Next: ``delivery/channels/google_chat/sender.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from html import escape
from typing import Any

import orjson

from tocsin.delivery.dispatch import Dispatch
from tocsin.delivery.lines import without_brackets
from tocsin.delivery.rich_text import BlockKind, RichBlock, Span
from tocsin.delivery.wording.content import MessageContent, Section, fitted_payload
from tocsin.delivery.wording.tones import Tone

MESSAGE_BYTES = 32_000
"""Most bytes of one message, by the API."""

_MARKS = {
    Tone.FAILED: ("#c02626", "Failed"),
    Tone.ATTENTION: ("#8f5200", "Needs attention"),
    Tone.WELL: ("#26703a", "Well again"),
}
_INDENT = "&nbsp;" * 4
_RULE = "―" * 12


def render_message(dispatch: Dispatch, *, base_url: str) -> bytes:
    """Return the JSON of the message for ``dispatch``, of at most ``MESSAGE_BYTES``."""
    render = partial(_payload, card_id=dispatch.message.id, thread_key=thread_key_of(dispatch))
    return fitted_payload(dispatch, render, base_url=base_url, most_bytes=MESSAGE_BYTES)


def thread_key_of(dispatch: Dispatch) -> str:
    """Return what names the thread of a message: that of the message which it answers, or one of its own."""
    answered = dispatch.answers or dispatch.cause_thread
    return (answered.remote_id or answered.message_id) if answered else dispatch.message.id


def _payload(content: MessageContent, *, card_id: str, thread_key: str) -> bytes:
    title = without_brackets(content.title)
    header = {"title": title}
    if content.is_digest:
        sections = [_brief_section(section) for section in content.sections]
        sections += [_widgets(content.more())] if content.left_count else []
    else:
        (section,) = content.sections
        if not section.body:
            header["subtitle"] = without_brackets(section.asset)
        sections = [_single_notification(section)]
    sections += [_widgets(content.hint)] if content.hint else []
    card = {"header": header, "sections": sections}
    thread = {"threadKey": thread_key}
    return orjson.dumps({"fallbackText": title, "cardsV2": [{"cardId": card_id, "card": card}], "thread": thread})


def _single_notification(section: Section) -> dict[str, Any]:
    """Return the section of the only notification."""
    texts = list(map(_paragraph, section.body)) or list(map(_line, section.spans))
    if section.tone and _says_tone(section) and texts:
        texts[0] = _in_colour(texts[0], section.tone)
    elif section.tone:
        texts = [_in_colour(f"<b>{_MARKS[section.tone][1]}</b>", section.tone), *texts]
    texts += [section.more()] if section.more_count else []
    texts += [] if section.body else [escape(section.signature + section.owned_by)]
    texts += map(_paragraph, section.notes)
    if section.why:
        texts.append(f"<i>Why you get this: {escape(section.why)}</i>")
    card_section = _widgets(*texts)
    buttons = [{"text": text, "onClick": {"openLink": {"url": url}}} for url, text in section.links]
    card_section["widgets"].append({"buttonList": {"buttons": buttons}})
    return card_section


def _brief_section(section: Section) -> dict[str, Any]:
    """Return the section of one notification of several."""
    header = " · ".join(filter(None, (section.group, escape(section.cause))))
    return {"header": header} | _widgets(_brief(section)) if header else _widgets(_brief(section))


def _brief(section: Section) -> str:
    """Return what a digest shows of one notification."""
    lines = list(map(_paragraph, section.body)) or list(map(_line, (section.brief, *section.spans)))
    headline = f"<b>{escape(section.headline)}</b>"
    texts = [_in_colour(headline, section.tone) if section.tone else headline, *lines, section.more()]
    texts += map(_paragraph, section.notes)
    if section.why:
        texts.append(f"<i>{escape(section.why)}</i>")
    texts.append(" · ".join(f'<a href="{escape(url)}">{text}</a>' for url, text in section.links))
    return "<br>".join(filter(None, texts))


def _says_tone(section: Section) -> bool:
    """Return whether the headline, which is the title, says the word that a notification's tone has."""
    return _MARKS[section.tone][1].casefold().removesuffix("ed") in section.headline.casefold()


def _in_colour(text: str, tone: Tone) -> str:
    """Return a text in the colour of what a notification means: a card has no colour of its own."""
    return f'<font color="{_MARKS[tone][0]}">{text}</font>'


def _line(spans: Sequence[Span]) -> str:
    return "".join(map(_span, spans))


def _widgets(*texts: str) -> dict[str, Any]:
    return {"widgets": [{"textParagraph": {"text": text}} for text in texts]}


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
    styles = ((span.struck, "s"), (span.underlined, "u"), (span.italic, "i"), (span.bold, "b"), (span.code, "code"))
    for is_so, tag in styles:
        text = f"<{tag}>{text}</{tag}>" if is_so else text
    return f'<a href="{escape(span.link, quote=True)}">{text}</a>' if span.link else text
