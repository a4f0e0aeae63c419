"""Notification templates: how the messages of an alert are worded. Next: ``delivery/templates/message_text.py``."""

from __future__ import annotations

from dataclasses import dataclass

NOTIFICATION_TEMPLATE = "notificationTemplate"
"""The type of entity, and the key of an alert that names one."""

USER = "user"
SYSTEM = "system"
LONGEST_SUBJECT = 256
LONGEST_BODY = 65_536


@dataclass(frozen=True)
class Template:
    """A template as it is rendered: subject and body, in Handlebars."""

    name: str
    subject: str
    body: str
