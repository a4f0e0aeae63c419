"""Email rendering: a dispatch becomes the words of a mail: its subject, its text, its HTML.

The texts come from ``delivery/wording/changes.py``, the layout from the templates of this package; nothing in an
entity can add markup. Spark's executors import it, so nothing here sends.
Next: ``delivery/channels/email/mails.py``.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, select_autoescape
from markupsafe import Markup, escape

from tocsin.delivery.channels.email.composed import composition_key, content_of, mark_of, with_marked_links
from tocsin.delivery.dispatch import ComposedContent, Dispatch, selections
from tocsin.delivery.lines import clean_line
from tocsin.delivery.rich_text import BlockKind, RichBlock, RichText, Span
from tocsin.delivery.templates.html_text import spans_to_html, spans_to_text, to_html, to_text
from tocsin.delivery.wording.content import LINK_TEXT, Section, fold_notifications, message_content, more_of
from tocsin.model.entity import Document
from tocsin.model.message import Entry

LINES_LIMIT, LINES_EACH = 50, 5
"""Most changes that one mail lists, and of each asset in a digest; it says how many more there are."""

BLOCKS_LIMIT, BLOCKS_EACH = 200, 20
"""Most blocks of what a template says: of a single notification, and of each in a digest."""

CHARS_EACH = 3_000
"""Most characters of what a template says of each notification in a digest."""

CHANGES_LIMIT = 30
"""Most assets of one alert that a digest shows, to be read in a minute; it says how many more changes there are."""

CHANGES_OF_ALL_LIMIT = 50
"""Most assets that a digest shows which several alerts share."""

_SUBJECT_LIMIT = 150
Body = tuple[RichBlock, ...] | None
"""What a template says of a notification; None where none does."""

_BETWEEN_SECTIONS = ("\n", "")
"""What stands between the sections of a mail: in its text, and in its HTML."""

_PLACE_OF_LINK = "\x00"
"""Where the link stands in a text that readers share: nothing that people write has this character there."""


def render_texts(
    dispatch: Dispatch, base_url: str, unsubscribe: str = "", links: tuple[tuple[str, str], ...] = ()
) -> Document:
    """Return the subject, the text and the HTML of the mail for ``dispatch``; the links in it lead to ``base_url``.

    ``unsubscribe`` is the address of a link that acts for the reader, empty for none; ``links`` are others, with their
    texts.
    """
    dispatch = dispatch if len(dispatch.entries) == 1 else fold_notifications(dispatch)
    entries, is_digest = dispatch.entries, len(dispatch.entries) > 1
    if is_digest:
        entries = next(some for some in selections(dispatch, CHANGES_LIMIT) if len(some) <= CHANGES_OF_ALL_LIMIT)
    lines_each = LINES_EACH if is_digest else LINES_LIMIT
    content = message_content(dispatch, entries, base_url=base_url, lines_each=lines_each)
    texts = [dispatch.texts.get(entry.notification_id) for entry in entries]
    bodies = [_shortened_body(text, is_single=not is_digest) if text else None for text in texts]
    alerts = {reason.subscription_id for entry in dispatch.entries for reason in entry.reasons}
    parts: list[str] = []
    place = _SectionPlace(base_url, links, is_digest=is_digest)
    for layout in _layouts():
        sections = [
            _titles(layout, section) + _section_text(layout, entry, section, body, place)
            for entry, section, body in zip(entries, content.sections, bodies, strict=True)
        ]
        joined_sections = _BETWEEN_SECTIONS[len(parts)].join(sections)
        parts.append(str(layout.mail(content, bodies, joined_sections, unsubscribe, len(alerts) > 1)))
    text, html = parts
    return {"subject": clean_line(content.headline, limit=_SUBJECT_LIMIT), "text": text, "html": html}


class _SectionPlace(NamedTuple):
    """Where the sections of a mail stand: what all of them have in common."""

    base_url: str
    links: tuple[tuple[str, str], ...]
    is_digest: bool


def _titles(layout: Any, section: Section) -> str:  # Any: Jinja's macros
    """Return what stands above a section: what it is the first of its kind or cause of."""
    return str(layout.titles(section)) if section.group or section.cause else ""


def _section_text(
    layout: Any, entry: Entry, section: Section, body: Body, place: _SectionPlace
) -> str:  # Any: Jinja's macros
    """Return a section as a layout has it: what all readers are told alike is laid out once for all of them."""
    texts = entry.carried.texts if section.variant else {}
    key = (layout, place.is_digest, place.base_url, section.variant)
    whole_key = (*key, section.why)
    text = None if section.buttons or section.notes or place.links else texts.get(whole_key)
    if text is None:
        shared_section = section._replace(link=_PLACE_OF_LINK)  # each reader may have a link of their own
        if key not in texts:
            texts[key] = layout.change_block(shared_section, body, place.is_digest)
        text = str(layout.section(shared_section, texts[key], place.links, place.is_digest))
        if not (section.buttons or section.notes or place.links):
            texts[whole_key] = text
    link = escape(section.link) if isinstance(texts[key], Markup) else section.link
    return text.replace(_PLACE_OF_LINK, link)


def compose_ahead(dispatch: Dispatch, base_url: str) -> ComposedContent:
    """Return the words of a digest as they are stored ahead of its time, with marks in place of signed links."""
    key = composition_key(dispatch, base_url)
    return content_of(key, render_texts(with_marked_links(dispatch, key), base_url, mark_of(key)))


def _shortened_body(text: RichText, *, is_single: bool) -> tuple[RichBlock, ...]:
    """Return what a template says of a notification, as far as the mail shows it."""
    blocks = text.body[: BLOCKS_LIMIT if is_single else BLOCKS_EACH]
    while not is_single and len(blocks) > 1 and sum(len(one.text()) for one in blocks) > CHARS_EACH:
        blocks = blocks[:-1]
    more_text = more_of(len(text.body) - len(blocks))
    return (*blocks, RichBlock(BlockKind.PARAGRAPH, (Span(more_text),))) if more_text else blocks


@cache
def _layouts() -> tuple[Any, Any]:  # Any: macros of Jinja
    """Return the layouts of text and HTML."""
    templates = Environment(
        loader=PackageLoader("tocsin.delivery.channels.email"),
        autoescape=select_autoescape(("html.j2",)),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.globals |= {"open_text": LINK_TEXT}
    templates.filters |= {
        "as_html": to_html,
        "as_text": to_text,
        "line_html": spans_to_html,
        "line_text": spans_to_text,
    }
    return templates.get_template("mail.txt.j2").module, templates.get_template("mail.html.j2").module
