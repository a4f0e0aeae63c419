"""Rehearsals of attempts: what a channel would send, read off where it would leave, and not sent.

Whatever opens a connection notes what it was asked to send where a rehearsal is on, and answers as a receiver that
takes it. So each channel shows exactly what it sends. Next: ``flow/send/http_requests.py``.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from email.message import EmailMessage
from typing import Any

from yarl import URL

from tocsin.flow.send.starring import mask_secrets
from tocsin.model.address import MASK, masked_url
from tocsin.model.subscription import Destination

GRANT = '{"ok":true,"user":{"id":"U0"},"access_token":"rehearsal","token_type":"bearer","expires_in":0}'
"""The answer of a receiver in a rehearsal: it grants an access token and knows a person, both of no use."""

_PLAIN_HEADERS = frozenset(
    "accept content-encoding content-type idempotency-key link webhook-id webhook-timestamp x-tocsin-offset"
    " x-tocsin-reason user-agent".split()
)
_OF_MAIL = ("From", "To", "Subject", "Date", "Message-ID")


@dataclass(frozen=True)
class Rehearsed:
    """A request or mail as it would be sent, with masks in place of secrets."""

    method: str
    address: str
    headers: dict[str, str]
    body: str


@dataclass(frozen=True)
class _Noted:
    """A request as it was about to be sent."""

    method: str
    url: URL
    headers: dict[str, str]
    payload: bytes


_notes: ContextVar[list[_Noted | EmailMessage] | None] = ContextVar("rehearsal", default=None)


def is_rehearsed(sent: Any) -> bool:  # Any: a request, by the names that ``_Noted`` has
    """Note what is about to be sent, if this is a rehearsal; return whether it is one, and nothing may be sent."""
    notes = _notes.get()
    if notes is None:
        return False
    is_mail = isinstance(sent, EmailMessage)
    notes.append(sent if is_mail else _Noted(sent.method, sent.url, dict(sent.headers), sent.payload))
    return True


@contextmanager
def rehearsal(destination: Destination) -> Iterator[list[Rehearsed]]:
    """Send nothing while the context lasts; the list then holds what would have been sent to the destination."""
    requests: list[Rehearsed] = []
    notes: list[_Noted | EmailMessage] = []
    token = _notes.set(notes)
    try:
        yield requests
    finally:
        _notes.reset(token)
        requests += [_as_rehearsed(one, destination) for one in notes]


def _as_rehearsed(note: _Noted | EmailMessage, destination: Destination) -> Rehearsed:
    if isinstance(note, EmailMessage):
        body = note.get_body(("plain",))
        headers = {name: str(note[name]) for name in _OF_MAIL if note[name] is not None}
        return Rehearsed("MAIL", str(note["To"]), headers, body.get_content() if body else "")
    is_packed = note.headers.get("Content-Encoding") == "gzip"
    payload = gzip.decompress(note.payload) if is_packed else note.payload
    return Rehearsed(
        method=note.method,
        address=masked_url(str(note.url), with_path=True),
        headers={
            name: mask_secrets(value, destination) if name.lower() in _PLAIN_HEADERS else MASK
            for name, value in note.headers.items()
        },
        body=mask_secrets(payload.decode("utf-8", "replace"), destination),
    )
