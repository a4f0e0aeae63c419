"""Owners in the events of messages for people, marked as deleted where they are that now.

Days may pass between an event and its message. Next: ``delivery/wording/content.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from sqlalchemy import Connection, select

from tocsin.delivery.dispatch import Dispatch
from tocsin.model.channels import WORDED
from tocsin.model.entity import Document
from tocsin.model.message import Entry
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.tables import entity

_OWNERS = "owners"


def with_deleted_owners(connection: Connection, dispatches: Sequence[Dispatch]) -> list[Dispatch]:
    """Return dispatches in whose events the owners who are deleted, softly or for good, are marked."""
    worded = [one for one in dispatches if one.message.channel in WORDED]
    owner_ids = {owner["id"] for one in worded for entry in one.entries for owner in _owners(entry)}
    live = select(entity.c.id).where(entity.c.deleted.is_(False))
    deleted = owner_ids - {row.id for row in rows_by_key(connection, live, entity.c.id, owner_ids)}
    if not deleted:
        return list(dispatches)
    return [_with_marked_owners(one, deleted) if one.message.channel in WORDED else one for one in dispatches]


def _owners(entry: Entry) -> list[Document]:
    owners = (entry.event.entity or {}).get(_OWNERS)
    if not isinstance(owners, list):
        return []
    return [one for one in owners if isinstance(one, dict) and isinstance(one.get("id"), str)]


def _with_marked_owners(dispatch: Dispatch, deleted: Collection[str]) -> Dispatch:
    return replace(dispatch, entries=tuple(_entry(one, deleted) for one in dispatch.entries))


def _entry(entry: Entry, deleted: Collection[str]) -> Entry:
    owners = _owners(entry)
    if not any(one["id"] in deleted for one in owners):
        return entry
    marked = [one | {"deleted": True} if one["id"] in deleted else one for one in owners]
    document = (entry.event.entity or {}) | {_OWNERS: marked}
    return replace(entry, event=entry.event.model_copy(update={"entity": document}))
