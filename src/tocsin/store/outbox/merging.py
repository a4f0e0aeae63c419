"""Reasons added to a stored notification when another streaming query finds it, too.

An event has one notification per recipient and channel, whichever query finds it first. Next:
``store/outbox/notifications.py``.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, and_, bindparam, case, exists, func, or_, select

from tocsin.chunks import chunks_of
from tocsin.flow.resolve.merge import reason_order
from tocsin.flow.schedule.messages import ScheduledNotification
from tocsin.model.message import MessageStatus
from tocsin.model.notification import Reason, parse_reasons
from tocsin.model.subscription import Channel
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.tables import OPEN_MESSAGE, message, notification
from tocsin.store.outbox.firings import Fired
from tocsin.store.outbox.gathering import add_messages

_GIVEN_UP = (MessageStatus.FAILED.value, MessageStatus.RETRY_LIMIT_REACHED.value)
_MERGE = (
    notification.update()
    .where(notification.c.id == bindparam("note"))
    .values(
        reasons=bindparam("all_reasons"),
        recipient_id=bindparam("person"),
        message_id=bindparam("sent_in"),
        due_at_ms=bindparam("due"),
        preferred=bindparam("choice"),
        need=func.coalesce(notification.c.need, bindparam("own_need")),
    )
)
_REOPEN = (
    message.update()
    .where(message.c.id == bindparam("sent"))
    .values(
        status=case(
            (message.c.channel == Channel.GOVERNANCE_WORKFLOW_CHANGE_EVENT.value, MessageStatus.QUEUED.value),
            else_=MessageStatus.PENDING.value,
        ),
        due_at_ms=bindparam("now_ms"),
        wait_ms=0,
        updated_at_ms=bindparam("now_ms"),
    )
)


def add_reasons(
    connection: Connection, notifications: Sequence[ScheduledNotification], needs: Mapping[str, str]
) -> list[Fired]:
    """Add to stored notifications the reasons of ``notifications`` that they lack, in the caller's transaction.

    ``needs`` are what these may need of their people, by id: a stored one that needed nothing does from then on.
    In the inbox they are added whenever they come. A message takes them until a worker claims it; one that was given
    up is tried again for them; one that is on its way or was delivered stays as it is. A notification that is due
    earlier for them moves into an earlier message.

    Returns
    -------
    what each that added something counts for: the alerts that the stored notification did not name before
    """
    new_by_id = {notification.id: notification for notification in notifications}
    additions: list[Fired] = []
    merges, moved_messages, reopenings = [], [], []
    stored_notifications = _lock_notifications(connection, new_by_id)
    open_messages, ended_messages = _messages(
        connection, {one.message_id for one in stored_notifications if one.message_id}
    )
    for stored_row in stored_notifications:
        notification, reasons = new_by_id[stored_row.id], parse_reasons(stored_row.reasons)
        draft, due_at_ms = notification.draft, notification.slot.due_at_ms
        sent_at_ms = open_messages.get(stored_row.message_id, stored_row.due_at_ms)
        stored_identities = {_identity(reason) for reason in reasons}
        new = [reason for reason in draft.reasons.in_order if _identity(reason) not in stored_identities]
        if not new or (stored_row.message_id and stored_row.message_id not in open_messages.keys() | ended_messages):
            continue
        moves = stored_row.message_id != notification.message_id and notification.sent_at_ms < sent_at_ms
        all_reasons = sorted([*reasons, *new], key=reason_order)
        parameters = _merge_parameters(stored_row, notification, all_reasons, moves=moves)
        merges.append(parameters | {"own_need": needs.get(stored_row.id)})
        moved_messages += [(stored_row.message_id, notification)] if moves else []
        reopenings += (
            [] if moves or stored_row.message_id not in ended_messages else [(stored_row.message_id, due_at_ms)]
        )
        named_alerts = {reason.subscription_id for reason in reasons}
        text = _text([reason for reason in new if reason.subscription_id not in named_alerts])
        if not notification.is_muted:
            additions.append((draft.event.offset, text, draft.channel.value, draft.recipient_id))
    if moved_messages:
        add_messages(connection, [notification for _, notification in moved_messages])
    if merges:
        connection.execute(_MERGE, merges)
    if reopenings:
        connection.execute(_REOPEN, [{"sent": one, "now_ms": due_at_ms} for one, due_at_ms in reopenings])
    _delete_empty_messages(
        connection, {identity for identity, _ in moved_messages} | _own_messages(stored_notifications, new_by_id)
    )
    return additions


def _own_messages(stored: Sequence[Any], new_by_id: Mapping[str, ScheduledNotification]) -> set[str]:
    """Return the messages that were made for new notifications, although these are in others."""
    pairs = ((new_by_id[one.id].message_id, one.message_id) for one in stored)
    return {own_id for own_id, stored_id in pairs if own_id and own_id != stored_id}


def _merge_parameters(
    stored: Any, new: ScheduledNotification, reasons: Sequence[Reason], *, moves: bool
) -> dict[str, object]:
    is_sooner = moves or new.slot.due_at_ms < stored.due_at_ms
    return {
        "note": stored.id,
        "all_reasons": _text(reasons),
        "person": stored.recipient_id or new.draft.recipient_id,
        "sent_in": new.message_id if moves else stored.message_id,
        "due": new.slot.due_at_ms if is_sooner else stored.due_at_ms,
        "choice": new.stored_choice if is_sooner else stored.preferred,
    }


def _delete_empty_messages(connection: Connection, ids: Collection[str]) -> None:
    """Delete those of these messages that carry nothing any more."""
    carries = exists().where(notification.c.message_id == message.c.id)
    for chunk in chunks_of(sorted(ids)):
        connection.execute(message.delete().where(message.c.id.in_(chunk), ~carries))


def _lock_notifications(connection: Connection, ids: Collection[str]) -> list[Any]:
    """Return the stored notifications of these ids, locked until the transaction ends."""
    names = ("id", "reasons", "recipient_id", "message_id", "due_at_ms", "preferred")
    columns = [notification.c[name] for name in names]
    query = select(*columns).order_by(notification.c.id).with_for_update()
    return list(rows_by_key(connection, query, notification.c.id, ids))


def _messages(connection: Connection, ids: Collection[str]) -> tuple[dict[str, int], set[str]]:
    """Return when those of these messages are due that nobody has claimed, and which were given up; locked as well."""
    taking, ended = dict[str, int](), set[str]()
    free = and_(OPEN_MESSAGE, message.c.lease_owner.is_(None))
    columns = (message.c.id, message.c.status, message.c.due_at_ms)
    query = select(*columns).where(or_(free, message.c.status.in_(_GIVEN_UP)))
    for row in rows_by_key(connection, query.order_by(message.c.id).with_for_update(), message.c.id, ids):
        if row.status in _GIVEN_UP:
            ended.add(row.id)
        else:
            taking[row.id] = row.due_at_ms
    return taking, ended


def _identity(reason: Reason) -> Reason:
    """Return what a reason is told apart by: not by its root, which a failure that becomes known later may change."""
    return reason if reason.downstream_of is None else reason.model_copy(update={"downstream_of": None})


def _text(reasons: Sequence[Reason]) -> str:
    return json.dumps([one.to_wire() for one in reasons])
