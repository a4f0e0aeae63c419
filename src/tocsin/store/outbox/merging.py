"""Reasons that a second query adds to a notification that another one has written before.

An event has one notification per recipient and channel, whichever query finds it first. Next:
``store/outbox/notifications.py``.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, and_, bindparam, or_, select

from tocsin.flow.resolve.local import reason_order
from tocsin.model.message import MessageStatus
from tocsin.model.notification import Reason
from tocsin.store.chunks import in_lots
from tocsin.store.tables import OPEN_MESSAGE, message, notification

Row = Mapping[str, Any]  # Any: a column of spark/schedule.notifications
_GIVEN_UP = (MessageStatus.FAILED.value, MessageStatus.RETRY_LIMIT_REACHED.value)
_MERGE = (
    notification.update()
    .where(notification.c.id == bindparam("note"))
    .values(reasons=bindparam("all_reasons"), recipient_id=bindparam("person"))
)
_REOPEN = (
    message.update()
    .where(message.c.id == bindparam("sent"))
    .values(
        status=MessageStatus.PENDING.value,
        due_at_ms=bindparam("now_ms"),
        wait_ms=0,
        updated_at_ms=bindparam("now_ms"),
    )
)


def add_reasons(connection: Connection, rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Add to stored notifications the reasons of ``rows`` that they lack, in the caller's transaction.

    In the inbox they are added whenever they come. A message takes them until a worker claims it; one that was given
    up is tried again for them; one that is on its way or was delivered stays as it is.

    Returns
    -------
    the rows that added something, with the reasons of those alerts that the notification did not name before
    """
    wanted = {row["id"]: row for row in rows}
    added, changed, reopened = [], [], []
    stored = _held(connection, wanted)
    taking, ended = _messages(connection, {one.message_id for one in stored if one.message_id})
    for one in stored:
        row, reasons = wanted[one.id], _parsed(one.reasons)
        new = [reason for reason in _parsed(wanted[one.id]["reasons"]) if reason not in reasons]
        if not new or (one.message_id and one.message_id not in taking | ended):
            continue
        merged = sorted([*reasons, *new], key=reason_order)
        changed.append(
            {"note": one.id, "all_reasons": _text(merged), "person": one.recipient_id or row["recipient_id"]}
        )
        reopened += [(one.message_id, row["due_at_ms"])] if one.message_id in ended else []
        known = {reason.subscription_id for reason in reasons}
        added.append({**row, "reasons": _text([reason for reason in new if reason.subscription_id not in known])})
    if changed:
        connection.execute(_MERGE, changed)
    if reopened:
        connection.execute(_REOPEN, [{"sent": one, "now_ms": due_at_ms} for one, due_at_ms in reopened])
    return added


def _held(connection: Connection, ids: Collection[str]) -> list[Any]:
    """Return the stored notifications of these ids, locked until the transaction ends."""
    columns = (notification.c.id, notification.c.reasons, notification.c.recipient_id, notification.c.message_id)
    found: list[Any] = []
    for some in in_lots(sorted(ids)):
        query = select(*columns).where(notification.c.id.in_(some)).order_by(notification.c.id)
        found += connection.execute(query.with_for_update())
    return found


def _messages(connection: Connection, ids: Collection[str]) -> tuple[set[str], set[str]]:
    """Return which of these messages nobody has claimed yet, and which were given up; locked as well."""
    taking, ended = set[str](), set[str]()
    free = and_(OPEN_MESSAGE, message.c.lease_owner.is_(None))
    for some in in_lots(sorted(ids)):
        query = select(message.c.id, message.c.status).where(message.c.id.in_(some))
        query = query.where(or_(free, message.c.status.in_(_GIVEN_UP))).order_by(message.c.id).with_for_update()
        for row in connection.execute(query):
            (ended if row.status in _GIVEN_UP else taking).add(row.id)
    return taking, ended


def _parsed(text: str) -> list[Reason]:
    return [Reason.model_validate(one) for one in json.loads(text)]


def _text(reasons: Sequence[Reason]) -> str:
    return json.dumps([one.to_wire() for one in reasons])
