"""Mails that arrived, as their readers see them."""

from __future__ import annotations

from email import message_from_bytes, policy
from email.message import EmailMessage


def read_mail(content: bytes) -> EmailMessage:
    """Parse a mail."""
    return message_from_bytes(content, policy=policy.default)


def text_of(mail: EmailMessage, kind: str = "plain") -> str:
    """Return the part of a mail that is ``plain`` text, or ``html``."""
    body = mail.get_body((kind,))
    assert body is not None, f"the mail has no {kind} part"
    return str(body.get_content())
