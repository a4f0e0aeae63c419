"""Links of messages to Tocsin's pages: who opens one has read what it is about, and what the same cause did.

A signed token names the notification, which determines the person, and its end. It stands in the fragment, which no
server, proxy or scanner of mails is sent: the page posts it once its reader has logged in.
Next: ``server/routes/notifications/page_links.py``.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from tocsin.delivery.dispatch import PageLink
from tocsin.delivery.links.acknowledge import LinkSigner
from tocsin.delivery.links.tokens import about_of, sign_token

_PURPOSE, _PARAMETER = "opened", "?opened="
FRAGMENT = "/#/"
"""What stands before the path of a page in its address."""

VALID_FOR_MS = 30 * 86_400_000
"""So long after a message its links mark what was read; afterwards they only lead to their pages."""


class OpenedLink(NamedTuple):
    """What a token says until a time: that the page of a notification was opened."""

    notification_id: str
    until_ms: int


def page_link_of(links: LinkSigner, now_ms: int) -> PageLink | None:
    """Return what makes the links of a message to pages; None without a key, where they are left as they are."""
    return partial(_opened_address, key=links.key, until_ms=now_ms + VALID_FOR_MS) if links.key else None


def _opened_address(address: str, notification_id: str, *, key: bytes, until_ms: int) -> str:
    """Return the address of a page with the token; another address, such as that of a button, as it is."""
    if address.endswith("/") and FRAGMENT not in address:
        address = f"{address}#/"
    if FRAGMENT not in address:
        return address
    return f"{address}{_PARAMETER}{token_of(OpenedLink(notification_id, until_ms), key)}"


def token_of(link: OpenedLink, key: bytes) -> str:
    """Return the token of a link."""
    return sign_token(_PURPOSE, f"{link.notification_id}.{link.until_ms}", key)


def parse_opened(token: str, key: bytes, now_ms: int) -> OpenedLink | None:
    """Return what a token says; None for what was not signed with ``key``, or is over."""
    about = about_of(_PURPOSE, token, key)
    if about is None:
        return None
    notification_id, _, until = about.partition(".")
    link = OpenedLink(notification_id, int(until))
    return link if now_ms < link.until_ms else None
