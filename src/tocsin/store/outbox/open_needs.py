"""Notifications that still need their person, as it is when it is read: what is resolved, answered or closed does not.

Next: ``model/needs.py`` for what may need them, ``server/access/inbox.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, false, func, select

from tocsin.model.needs import Need
from tocsin.model.status import is_failure
from tocsin.model.thread import TaskStatus, ThreadPart
from tocsin.store.database.feed_tables import thread, thread_part
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.log_tables import status_report
from tocsin.store.database.tables import change_event, entity, notification
from tocsin.store.outbox.failure_incidents import ReportPlace
from tocsin.store.outbox.failure_roots import lasting_incidents
from tocsin.store.recipients.asked import askings_open_for

_ROW, _EVENT, _REPORT, _PART = notification.c, change_event.c, status_report.c, thread_part.c


class _Needing(NamedTuple):
    """A notification that may need its person, and its event."""

    id: str
    need: str
    recipient_id: str
    event_id: str
    offset: int
    entity_id: str


def open_needs(connection: Connection, ids: Collection[str]) -> dict[str, Need]:
    """Return what those of these notifications need that still need their person; in some ten statements at most."""
    columns = (_ROW.id, _ROW.need, _ROW.recipient_id, _ROW.event_id, _ROW.log_offset, _EVENT.entity_id)
    query = select(*columns).join(change_event, _EVENT.log_offset == _ROW.log_offset).where(_ROW.need.is_not(None))
    by_need: dict[Need, list[_Needing]] = {}
    for row in rows_by_key(connection, query, _ROW.id, ids):
        by_need.setdefault(Need(row.need), []).append(_Needing(*row))
    return {one.id: need for need, many in by_need.items() for one in _STILL_OPEN[need](connection, many)}


_Open = Callable[[Connection, Sequence[_Needing]], Sequence[_Needing]]


def _still_failing(connection: Connection, many: Sequence[_Needing]) -> list[_Needing]:
    """Return those whose incident lasts; where there is none, those whose asset failed in its latest report.

    Nobody can repair an asset that is deleted.
    """
    live = select(entity.c.id).where(entity.c.deleted == false())
    live_ids = {row.id for row in rows_by_key(connection, live, entity.c.id, {one.entity_id for one in many})}
    many = [one for one in many if one.entity_id in live_ids]
    places = {one.id: ReportPlace(one.entity_id, one.offset) for one in many}
    lasting = lasting_incidents(connection, set(places.values()))
    without_incident = {one.entity_id for one in many if places[one.id] not in lasting}
    failing_ids = failing_among(connection, without_incident)
    return [one for one in many if lasting.get(places[one.id], one.entity_id in failing_ids)]


def failing_among(connection: Connection, entity_ids: Collection[str]) -> set[str]:
    """Return those of these assets whose latest report in the log that says how they fare is a failure."""
    last = select(func.max(_REPORT.log_offset)).where(_REPORT.verdict.is_not(None)).group_by(_REPORT.entity_id)
    offsets = [row[0] for row in rows_by_key(connection, last, _REPORT.entity_id, entity_ids)]
    verdicts = select(_REPORT.entity_id, _REPORT.verdict)
    reports = rows_by_key(connection, verdicts, _REPORT.log_offset, offsets)
    return {row.entity_id for row in reports if is_failure(row.verdict)}


def _still_broken(connection: Connection, many: Sequence[_Needing]) -> Sequence[_Needing]:
    """Return all of them: only their person knows when what they own no longer breaks."""
    return many


def _still_asking(connection: Connection, many: Sequence[_Needing]) -> list[_Needing]:
    by_person: dict[str, list[_Needing]] = {}
    for needing in many:
        by_person.setdefault(needing.recipient_id, []).append(needing)
    open_ones: list[_Needing] = []
    for person, theirs in by_person.items():
        asking_ids = askings_open_for(connection, {one.event_id: one.entity_id for one in theirs}, person)
        open_ones += [one for one in theirs if one.event_id in asking_ids]
    return open_ones


def _still_talked_about(connection: Connection, many: Sequence[_Needing]) -> list[_Needing]:
    """Return those whose thread is there, about an asset that is, and neither resolved nor, of a task, closed."""
    is_open = func.coalesce(thread.c.task_status, TaskStatus.OPEN.value) == TaskStatus.OPEN.value
    query = select(thread.c.id).join(entity, entity.c.id == thread.c.about_id).where(entity.c.deleted == false())
    query = query.where(is_open, thread.c.resolved.is_(False))
    open_ids = {row.id for row in rows_by_key(connection, query, thread.c.id, {one.entity_id for one in many})}
    return [one for one in many if one.entity_id in open_ids]


def _still_unanswered(connection: Connection, many: Sequence[_Needing]) -> list[_Needing]:
    """Return those that are still talked about, and in whose thread their person has written nothing since."""
    many = _still_talked_about(connection, many)
    posts = select(_PART.thread_id, _PART.principal_id, func.max(_PART.at_offset).label("offset"))
    posts = posts.where(_PART.part == ThreadPart.AUTHOR.value, _PART.place != "")
    posts = posts.where(_PART.principal_id.in_({one.recipient_id for one in many}))
    posts = posts.group_by(_PART.thread_id, _PART.principal_id)
    answers = rows_by_key(connection, posts, _PART.thread_id, {one.entity_id for one in many})
    answered_at = {(row.thread_id, row.principal_id): row.offset for row in answers}
    return [one for one in many if answered_at.get((one.entity_id, one.recipient_id), -1) <= one.offset]


_STILL_OPEN: Mapping[Need, _Open] = {
    Need.FAILURE: _still_failing,
    Need.BREAKING: _still_broken,
    Need.REQUEST: _still_asking,
    Need.TASK: _still_talked_about,
    Need.MENTION: _still_unanswered,
}
