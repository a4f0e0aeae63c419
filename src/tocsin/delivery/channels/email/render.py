"""Email rendering: a dispatch becomes a complete message, with subject, text, HTML and headers.

The texts come from ``delivery/wording/changes.py``, the layout from the templates of this package; nothing in an
entity can add a header or markup. Next: ``delivery/channels/email/composition.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from email.utils import formatdate, parseaddr
from functools import cache, cached_property
from typing import Any

from jinja2 import Environment, PackageLoader, select_autoescape
from yarl import URL

from tocsin.delivery.channels.email.composition import PLAIN_ADDRESS, compose_mail, parse_address
from tocsin.delivery.dispatch import Dispatch, selections
from tocsin.delivery.lines import clean_line
from tocsin.delivery.links import follow as follow_links
from tocsin.delivery.links import mute as mute_links
from tocsin.delivery.links.follow import VALID_FOR_MS, FollowLink, unfollow_text
from tocsin.delivery.links.mute import MUTE_TEXT, MUTED_FOR_MS, MuteLink
from tocsin.delivery.links.tokens import UNSUBSCRIBE, sign_token
from tocsin.delivery.rich_text import BlockKind, RichBlock, RichText, Span
from tocsin.delivery.templates.html_text import spans_to_html, spans_to_text, to_html, to_text
from tocsin.delivery.transport.request import Mail
from tocsin.delivery.wording.assets import TEST_CASE
from tocsin.delivery.wording.content import LINK_TEXT, fold_notifications, message_content, more_of
from tocsin.model.entity import Document
from tocsin.model.message import Entry
from tocsin.model.notification import most_direct_follow

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

ONE_CLICK = "List-Unsubscribe=One-Click"
"""What the mail program of a person who unsubscribes posts. Source: RFC 8058."""

_SUBJECT_LIMIT = 150


@dataclass(frozen=True)
class MailSettings:
    """Who mails come from, and where their links lead; without a key they have no link to unsubscribe."""

    address: str
    base_url: str
    unsubscribe_key: bytes = field(default=b"", repr=False)

    @cached_property
    def sender(self) -> str:
        """The address without a name."""
        return parseaddr(self.address)[1]

    @cached_property
    def ascii_url(self) -> str:
        """``base_url`` in ASCII, whatever the server is called."""
        return str(URL(f"{self.base_url}/x")).removesuffix("/x")


def render_mail(dispatch: Dispatch, settings: MailSettings, *, now_ms: int) -> Mail:
    """Return the mail for ``dispatch``; raise ``InvalidInput`` when its address is invalid."""
    sender = settings.sender
    host = sender.rpartition("@")[2] or "localhost"
    first, message_id, page = dispatch.entries[0], dispatch.message.id, ""
    if settings.unsubscribe_key:
        page = f"/api/v1/unsubscribe/{sign_token(UNSUBSCRIBE, first.notification_id, settings.unsubscribe_key)}"
    target = dispatch.message.target
    recipient = target if PLAIN_ADDRESS.fullmatch(target) else parse_address(target)
    unsubscribe = f"{settings.base_url}{page}" if page else ""
    is_to_reader = first.recipient_id and dispatch.reaches_recipient and len(dispatch.entries) == 1
    links = _reader_links(first, settings, now_ms) if settings.unsubscribe_key and is_to_reader else ()
    texts = preview(dispatch, settings.base_url, unsubscribe, links)
    headers = [
        ("From", settings.address),
        ("To", recipient),
        ("Subject", texts["subject"]),
        ("Date", formatdate(now_ms / 1_000)),
        ("Message-ID", f"<{message_id}@{host}>"),
    ]
    if (first_message := dispatch.answers or dispatch.cause_thread) is not None:
        answered_id = f"<{first_message.message_id}@{host}>"
        headers += [("In-Reply-To", answered_id), ("References", answered_id)]
    headers += [("Auto-Submitted", "auto-generated"), ("X-Tocsin-Offset", str(first.log_offset))]
    if page:
        headers += [("List-Unsubscribe", f"<{settings.ascii_url}{page}>"), ("List-Unsubscribe-Post", ONE_CLICK)]
    content = compose_mail(headers, boundary=message_id, text=texts["text"], html=texts["html"])
    return Mail(sender, recipient, content)


def _reader_links(entry: Entry, settings: MailSettings, now_ms: int) -> tuple[tuple[str, str], ...]:
    """Return the addresses of links that act for the reader of a notification, with their texts."""
    key, base_url = settings.unsubscribe_key, settings.base_url
    mute = mute_links.link_of(MuteLink(entry.notification_id, now_ms + MUTED_FOR_MS), key, base_url)
    follow = most_direct_follow(entry.reasons)
    if follow is None:
        return ((mute, MUTE_TEXT),)
    unfollowing = FollowLink(entry.notification_id, follows=False, until_ms=now_ms + VALID_FOR_MS)
    text = unfollow_text(follow.through, is_of_table=entry.event.entity_type == TEST_CASE and follow.of_subject is True)
    return (mute, MUTE_TEXT), (follow_links.link_of(unfollowing, key, base_url), text)


def preview(
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
    for layout in _layouts():
        blocks: list[str] = []
        for entry, section, body in zip(entries, content.sections, bodies, strict=True):
            texts_of_event = entry.carried.texts if section.variant else {}
            if (key := (layout, is_digest, base_url, section.variant)) not in texts_of_event:
                texts_of_event[key] = layout.change_block(section, body, is_digest)
            blocks.append(texts_of_event[key])
        parts.append(str(layout.mail(content, bodies, blocks, unsubscribe, links, len(alerts) > 1)))
    text, html = parts
    return {"subject": clean_line(content.headline, limit=_SUBJECT_LIMIT), "text": text, "html": html}


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
