"""Reminders of incidents in the store: which are due, and when each alert last reminded.

The time until the first one begins when the alert has notified of the first failure that it matched, the time until the
next with the one before. Next: ``alerts/reminders.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Engine, Row, Select, and_, exists, func, or_, select, update

from tocsin.model.alert_incident import IncidentStatus, StepKind
from tocsin.store.database.alert_tables import alert_incident, alert_incident_step, incident_watcher, match_result
from tocsin.store.database.engine import reading
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.tables import entity

Columns = tuple[Any, ...]  # Any: whatever a query asks for
_ROW, _STEP, _WATCHER = alert_incident.c, alert_incident_step.c, incident_watcher.c
_SINCE_MS = func.coalesce(_WATCHER.reminded_at_ms, match_result.c.resolved_at_ms, _ROW.opened_at_ms)
_ALERT_ID = func.coalesce(_WATCHER.subscription_id, "")
"""The alert, in no index: incidents that wait or are merged are few, and what an alert ever watched may be much."""

_OPEN = (_ROW.status == IncidentStatus.OPEN.value, _ROW.merged_into.is_(None))


class Numbers(NamedTuple):
    """The first and the last of some numbers of incidents."""

    first: int
    last: int


class Overdue(NamedTuple):
    """A missing reminder: the alert, the number of the incident, and the event that opened it with its offset."""

    subscription_id: str
    number: int
    opened_event_id: str
    opened_offset: int


class Reminders:
    """The reminders of one store that are due."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def numbers_due(self, repeats_ms: Mapping[str, int], now_ms: int) -> Numbers | None:
        """Return between which numbers these alerts have incidents to remind of; None: there are none.

        ``repeats_ms`` has the milliseconds between two reminders of each alert.
        """
        query = _watchers(select(func.min(_ROW.number), func.max(_ROW.number)))
        with reading(self._engine) as connection:
            bounds = [row for row in _due(connection, query, repeats_ms, now_ms) if row[0] is not None]
        return Numbers(min(row[0] for row in bounds), max(row[1] for row in bounds)) if bounds else None

    def due_between(self, numbers: Numbers, repeats_ms: Mapping[str, int], now_ms: int) -> list[str]:
        """Return the ids of the incidents of these numbers of which some of these alerts must remind now, in order."""
        query = _watchers(select(_ROW.number, _ROW.id)).distinct().where(_ROW.number.between(*numbers))
        with reading(self._engine) as connection:
            ids_by_number = {row.number: row.id for row in _due(connection, query, repeats_ms, now_ms)}
        return [ids_by_number[number] for number in sorted(ids_by_number)]

    def overdue(self, repeats_ms: Mapping[str, int], *, looked_at_ms: int, allowance_ms: int) -> list[Overdue]:
        """Return of what these alerts had to remind so long before the job last looked, and have not.

        Left out is what was written since: incidents, their assets and the alerts.
        """
        is_new = entity.c.updated_at_ms >= looked_at_ms
        is_changed = exists().where(entity.c.id.in_((_ROW.entity_id, _WATCHER.subscription_id)), is_new)
        query = _watchers(select(_WATCHER.subscription_id, _ROW.number, _ROW.opened_event_id, _ROW.opened_offset))
        query = query.where(_ROW.updated_at_ms < looked_at_ms, ~is_changed)
        with reading(self._engine) as connection:
            late_reminders = _due(connection, query, repeats_ms, looked_at_ms, late_by_ms=allowance_ms)
            return [Overdue(*row) for row in late_reminders]


class SqlIncidentReminders:
    """Reminders on the connection of a transaction (``flow/capture/reminder_ports.IncidentReminders``)."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def due(self, identity: str, repeats_ms: Mapping[str, int], now_ms: int) -> list[str]:
        """Return those of these alerts that must remind of an incident now, in order, by the milliseconds of each."""
        query = _watchers(select(_WATCHER.subscription_id)).where(_ROW.id == identity)
        return sorted(row.subscription_id for row in _due(self._connection, query, repeats_ms, now_ms))

    def note(self, identity: str, alert_ids: Collection[str], at_ms: int) -> None:
        """Note that these alerts have reminded of an incident, and so of all that are merged with it.

        The time until the next reminder begins.
        """
        lead_id = select(func.coalesce(_ROW.part_of, _ROW.id)).where(_ROW.id == identity).scalar_subquery()
        merged_ids = select(_ROW.id).where(or_(_ROW.id == lead_id, _ROW.part_of == lead_id))
        is_one = (_WATCHER.incident_id.in_(merged_ids), _WATCHER.subscription_id.in_(alert_ids))
        self._connection.execute(update(incident_watcher).where(*is_one).values(reminded_at_ms=at_ms))

    def behind(self, identity: str, alert_ids: Collection[str]) -> dict[str, set[str]]:
        """Return the incidents behind one that they are merged with, in order, with those of the alerts that watch.

        They are those that nobody has acknowledged, of assets that are there.
        """
        front = alert_incident.alias()
        is_behind = or_(_ROW.part_of == front.c.id, and_(_ROW.part_of == front.c.part_of, _ROW.number > front.c.number))
        query = select(_ROW.id, _WATCHER.subscription_id).join(incident_watcher, _WATCHER.incident_id == _ROW.id)
        query = query.join(front, is_behind).where(front.c.id == identity, *_OPEN, _has_asset(_ROW.entity_id))
        alerts_by_incident: dict[str, set[str]] = {}
        watched = query.where(_ALERT_ID.in_(alert_ids)).order_by(_ROW.number)
        for row in self._connection.execute(watched):
            alerts_by_incident.setdefault(row.id, set()).add(row.subscription_id)
        return alerts_by_incident

    def count(self, identity: str) -> int:
        """Return how many reminders of an incident there were."""
        is_reminder = (_STEP.incident_id == identity, _STEP.kind == StepKind.REMINDED.value)
        query = select(func.count()).select_from(alert_incident_step).where(*is_reminder)
        return int(self._connection.execute(query).scalar_one())


def _watchers(query: Select[*Columns]) -> Select[*Columns]:
    """Return a query of the alerts that watch incidents which nobody has acknowledged, of assets that are there."""
    notified = and_(
        match_result.c.log_offset == _WATCHER.opened_offset,
        match_result.c.subscription_id == _WATCHER.subscription_id,
    )
    joined = incident_watcher.join(alert_incident, _WATCHER.incident_id == _ROW.id).outerjoin(match_result, notified)
    return query.select_from(joined).where(*_OPEN, _has_asset(_ROW.entity_id), ~_is_behind_another())


def _due(
    connection: Connection,
    query: Select[*Columns],
    repeats_ms: Mapping[str, int],
    now_ms: int,
    *,
    late_by_ms: int = 0,
) -> Iterator[Row[*Columns]]:
    """Yield the rows of a query of watchers whose time came so long ago, for each portion of the alerts."""
    alerts_by_repeat: dict[int, list[str]] = defaultdict(list)
    for alert_id, repeat_ms in repeats_ms.items():
        alerts_by_repeat[repeat_ms].append(alert_id)
    for repeat_ms, alert_ids in sorted(alerts_by_repeat.items()):
        # What lies ahead by more than that was noted by a clock that has been set back since.
        waited = query.where(or_(now_ms - late_by_ms - repeat_ms >= _SINCE_MS, now_ms + repeat_ms <= _SINCE_MS))
        yield from rows_by_key(connection, waited, _ALERT_ID, alert_ids)


def _has_asset(entity_id: ColumnElement[str]) -> ColumnElement[bool]:
    return exists().where(entity.c.id == entity_id, entity.c.deleted.is_(False))


def _is_behind_another() -> ColumnElement[bool]:
    """Return the condition that an alert watches another incident that is merged with this one and stands before it.

    That is the one of which this is a part, else the part with the lowest number; none of an asset that is deleted, of
    which nobody is reminded.
    """
    sibling, watcher = alert_incident.alias(), incident_watcher.alias()
    is_before = or_(
        sibling.c.id == _ROW.part_of,
        and_(sibling.c.part_of == _ROW.part_of, sibling.c.number < _ROW.number),
    )
    query = select(sibling.c.id).join(watcher, watcher.c.incident_id == sibling.c.id)
    query = query.where(is_before, sibling.c.status != IncidentStatus.RESOLVED.value, _has_asset(sibling.c.entity_id))
    query = query.where(func.coalesce(watcher.c.subscription_id, "") == _ALERT_ID)
    return and_(_ROW.part_of.is_not(None), exists(query.correlate(alert_incident, incident_watcher)))
