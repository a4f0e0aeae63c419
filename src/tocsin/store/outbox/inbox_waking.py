"""Snoozed notifications that are due: by their time, a further notification of their asset, or a resolved incident.

It is judged when an inbox is read and while a live stream is open; what has come back stays so if a clock is set back.
Next: ``store/outbox/inbox_marks.py`` brings it back.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, ScalarSelect, Select, and_, func, or_, select

from tocsin.model.alert_incident import IncidentStatus
from tocsin.model.mute import FOR_GOOD_MS
from tocsin.model.subscription import Channel
from tocsin.store.database.alert_tables import alert_incident
from tocsin.store.database.keys import is_one_of
from tocsin.store.database.tables import change_event, notification
from tocsin.store.outbox.inbox_groups import is_at_once

MOST_WOKEN = 1_000
"""Notifications that one transaction brings back."""

_ROW, _INCIDENT = notification.c, alert_incident.c
_NEWER, _NEWER_EVENT = notification.alias("newer"), change_event.alias("next")


def due_rows(
    connection: Connection,
    now_ms: int,
    user_ids: Collection[str] | None = None,
    *,
    among: Collection[str] | None = None,
) -> list[Row[Any]]:
    """Return id and person of the snoozed notifications that are due, of these people or of all.

    Without people, those that are snoozed until their asset changes are left out. ``among`` are ids to judge alone.
    """
    snoozed = select(_ROW.id, _ROW.recipient_id).where(_ROW.snoozed_until_ms.is_not(None)).limit(MOST_WOKEN)
    if among is not None:
        snoozed = snoozed.where(is_one_of(connection, _ROW.id, among))
    is_over, is_resolved = _ROW.snoozed_until_ms <= now_ms, _is_resolved()
    if user_ids is not None:
        of_people = snoozed.where(is_one_of(connection, _ROW.recipient_id, user_ids))
        return list(connection.execute(of_people.where(or_(is_over, is_resolved, _has_changed(now_ms)))))
    return [*connection.execute(snoozed.where(is_over)), *connection.execute(snoozed.where(is_resolved))]


def open_incident() -> ScalarSelect[str]:
    """Return the query of the unresolved incident of a notification's asset, inside a statement about the latter."""
    asset = select(change_event.c.entity_id).where(change_event.c.log_offset == _ROW.log_offset)
    of_asset = _INCIDENT.entity_id == asset.correlate(notification).scalar_subquery()
    query = _unresolved_incidents().where(of_asset)
    return query.order_by(_INCIDENT.number.desc()).limit(1).correlate(notification).scalar_subquery()


def _is_resolved() -> ColumnElement[bool]:
    unresolved = _unresolved_incidents().where(_INCIDENT.id == _ROW.snoozed_incident)
    waits = and_(_ROW.snoozed_until_ms == FOR_GOOD_MS, _ROW.snoozed_after.is_(None))
    return and_(waits, ~unresolved.correlate(notification).exists())


def _unresolved_incidents() -> Select[str]:
    """Return the query of incidents that are not resolved; a merged one is when that is which stands for it."""
    lead = alert_incident.alias("lead")
    query = select(_INCIDENT.id).join(lead, lead.c.id == func.coalesce(_INCIDENT.merged_into, _INCIDENT.id))
    return query.where(lead.c.status != IncidentStatus.RESOLVED.value)


def newest_of_asset(now_ms: int) -> ScalarSelect[int]:
    """Return the query of the place of the newest notification of a notification's asset to its person; likewise."""
    newest = func.coalesce(func.max(_NEWER_EVENT.c.log_offset), 0)
    return _shown_of_asset(now_ms).with_only_columns(newest).correlate(notification).scalar_subquery()


def _has_changed(now_ms: int) -> ColumnElement[bool]:
    query = _shown_of_asset(now_ms).where(_NEWER_EVENT.c.log_offset > _ROW.snoozed_after)
    return and_(_ROW.snoozed_after.is_not(None), query.correlate(notification).exists())


def _shown_of_asset(now_ms: int) -> Select[str]:
    """Return the query of the notifications that a notification's person is shown of its asset."""
    own_event = change_event.alias("own")
    query = select(_NEWER.c.id).join(_NEWER_EVENT, _NEWER_EVENT.c.log_offset == _NEWER.c.log_offset)
    query = query.join(own_event, own_event.c.entity_id == _NEWER_EVENT.c.entity_id)
    return query.where(
        own_event.c.log_offset == _ROW.log_offset,
        _NEWER.c.recipient_id == _ROW.recipient_id,
        _NEWER.c.channel == Channel.ACTIVITY_FEED.value,
        or_(_NEWER.c.due_at_ms <= now_ms, is_at_once(_NEWER)),
    )
