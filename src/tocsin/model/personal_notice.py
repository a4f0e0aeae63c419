"""Notices of Tocsin to one person: a thread that mentions them and says nothing else, since others may read it.

What a notice is about is read when it is sent, for its person alone. Next: ``store/outbox/personal_notices.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from uuid import uuid5

from tocsin.model.change import ChangeEvent, EventType
from tocsin.model.entity import Document
from tocsin.model.mentions import mention_of
from tocsin.model.notification import NAMESPACE
from tocsin.model.people import SYSTEM
from tocsin.model.thread import THREAD

FOR_ONE_ALONE = "For you alone:"
"""How the message of a notice begins, by which the alert of notices knows it (``server/bootstrap.py``)."""


class NoticeKind(StrEnum):
    """What a notice is about."""

    EXPIRING = "expiring"
    """Follows that end in a week, because their person does not use them."""
    HEALTH = "health"
    """What became of what they own and follow."""


@dataclass(frozen=True)
class PersonalNotice:
    """A notice to a person about what happened from ``since_ms`` on, before ``until_ms`` (epoch milliseconds)."""

    thread_id: str
    user_id: str
    kind: NoticeKind
    since_ms: int
    until_ms: int


def notice_of(kind: NoticeKind, user_id: str, since_ms: int, until_ms: int) -> PersonalNotice:
    """Return the notice to a person at a time: the same, with the same thread, however often it is made."""
    thread_id = str(uuid5(NAMESPACE, f"notice|{kind}|{user_id}|{until_ms}"))
    return PersonalNotice(thread_id, user_id, kind, since_ms, until_ms)


def notice_thread(user_fqn: str, message: str) -> Document:
    """Return the request of the thread of a notice."""
    link = f"<#E::user::{user_fqn}>"
    return {"about": link, "message": f"{mention_of(user_fqn)} {FOR_ONE_ALONE} {message}"}


def is_notice(event: ChangeEvent) -> bool:
    """Return whether an event may be the beginning of a notice: of a thread that Tocsin itself has begun."""
    is_begin = event.entity_type == THREAD and event.event_type is EventType.THREAD_CREATED
    return is_begin and event.user_id == SYSTEM.id
