"""Mails: a dispatch becomes a complete message, with headers, links that act for its reader, and its words.

The words are those that were composed ahead of time, if they are of what may be sent now, and else written now. Nothing
in an entity can add a header. Next: ``delivery/channels/email/composition.py``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from email.utils import formatdate, parseaddr
from functools import cached_property

from yarl import URL

from tocsin.delivery.channels.email.composed import composed_texts
from tocsin.delivery.channels.email.composition import PLAIN_ADDRESS, compose_mail, parse_address
from tocsin.delivery.channels.email.render import render_texts
from tocsin.delivery.dispatch import Dispatch
from tocsin.delivery.links import follow as follow_links
from tocsin.delivery.links import mute as mute_links
from tocsin.delivery.links.follow import VALID_FOR_MS, FollowLink, unfollow_text
from tocsin.delivery.links.mute import MUTE_TEXT, MUTED_FOR_MS, MuteLink
from tocsin.delivery.links.tokens import UNSUBSCRIBE, sign_token
from tocsin.delivery.transport.request import Mail
from tocsin.delivery.wording.assets import TEST_CASE
from tocsin.model.message import Entry
from tocsin.model.notification import most_direct_follow

ONE_CLICK = "List-Unsubscribe=One-Click"
"""What the mail program of a person who unsubscribes posts. Source: RFC 8058."""


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
    texts = composed_texts(dispatch, settings.base_url, unsubscribe) if dispatch.composed else None
    texts = texts or render_texts(dispatch, settings.base_url, unsubscribe, links)
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
