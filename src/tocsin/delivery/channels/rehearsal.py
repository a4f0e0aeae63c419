"""Rehearsals of attempts: what a channel would send, taken by a recorder in place of connections, and not sent.

So each channel shows exactly what it sends. Next: ``delivery/transport/http_requests.py``.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from email import message_from_bytes
from email.policy import default

from tocsin.delivery.channels.answer_masks import mask_secrets
from tocsin.delivery.transport.request import Mail, Recorder, Request
from tocsin.model.address import MASK, masked_url
from tocsin.model.subscription import Destination

_PLAIN_HEADERS = frozenset(
    "accept content-encoding content-type idempotency-key link user-agent webhook-id webhook-timestamp"
    " x-tocsin-breaking x-tocsin-offset x-tocsin-reason x-tocsin-recursive x-tocsin-runbook x-tocsin-severity"
    " x-tocsin-why".split()
)
_OF_MAIL = ("From", "To", "Subject", "Date", "Message-ID")


@dataclass(frozen=True)
class Rehearsed:
    """A request or mail as it would be sent, with masks in place of secrets."""

    method: str
    address: str
    headers: dict[str, str]
    body: str


def rehearsed_requests(recorder: Recorder, destination: Destination) -> list[Rehearsed]:
    """Return what would have been sent to a destination, in order."""
    return [_as_rehearsed(sent, destination) for sent in recorder.sent]


def _as_rehearsed(sent: Request | Mail, destination: Destination) -> Rehearsed:
    if isinstance(sent, Mail):
        mail = message_from_bytes(sent.content, policy=default)
        body = mail.get_body(("plain",))
        headers = {name: str(mail[name]) for name in _OF_MAIL if mail[name] is not None}
        text = body.get_content().replace("\r\n", "\n") if body else ""
        return Rehearsed("MAIL", sent.recipient, headers, text)
    is_packed = sent.headers.get("Content-Encoding") == "gzip"
    payload = gzip.decompress(sent.payload) if is_packed else sent.payload
    return Rehearsed(
        method=sent.method,
        address=masked_url(str(sent.url), with_path=True),
        headers={
            name: mask_secrets(value, destination) if name.lower() in _PLAIN_HEADERS else MASK
            for name, value in sent.headers.items()
        },
        body=mask_secrets(payload.decode("utf-8", "replace"), destination),
    )
