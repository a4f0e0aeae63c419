"""Audience of a cause: who was told of its events, of how many, and how many of them they have read.

Callers know of others what they know of a single event. Next: ``server/alerts/audience.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tocsin.model.entity import Document
from tocsin.model.notification_record import NotificationRecord
from tocsin.server.alerts.audience import records_known_to
from tocsin.server.alerts.explanations import MOST_RECORDS
from tocsin.server.http.answer_shapes import Shape, json_of, schema_of
from tocsin.server.http.json_schema import COUNT, FLAG, ID, TEXT, TIME, array, nullable
from tocsin.server.request import Caller


@dataclass(frozen=True)
class _CauseReader:
    """A person, or an address, and the notifications to them of what a cause did."""

    records: Sequence[NotificationRecord]

    @property
    def key(self) -> tuple[str, str]:
        """Return what people and addresses are ordered by."""
        return self.records[0].who, self.records[0].notification.id

    @property
    def read_times(self) -> dict[int, int]:
        """Return when they have read each event in the app, by its place in the log."""
        return {one.notification.log_offset: one.read_at_ms for one in self.records if one.read_at_ms is not None}


_READER: Shape[_CauseReader] = {
    "userId": (nullable(ID), lambda reader: reader.records[0].notification.recipient_id),
    "name": (TEXT, lambda reader: reader.records[0].who),
    "displayName?": (TEXT, lambda reader: reader.records[0].display_name),
    "channels": (array(TEXT), lambda reader: sorted({one.notification.channel for one in reader.records})),
    "told": (COUNT, lambda reader: len({one.notification.log_offset for one in reader.records})),
    "read": (COUNT, lambda reader: len(reader.read_times)),
    "readAt?": (TIME, lambda reader: max(reader.read_times.values(), default=None)),
}


@dataclass(frozen=True)
class _CauseAudience:
    """A page of those who were told, and whether these are all that there are."""

    page: Sequence[_CauseReader]
    is_complete: bool


CAUSE_AUDIENCE: Shape[_CauseAudience] = {
    "data": (array(schema_of(_READER)), lambda audience: [json_of(_READER, one) for one in audience.page]),
    "isComplete": (FLAG, lambda audience: audience.is_complete),
}


def audience_of_events(offsets: Collection[int], caller: Caller, *, limit: int, skip: int) -> Document:
    """Return who was told of events that the caller may view, ``limit`` people and addresses after ``skip``."""
    records = list(caller.parts.alert_stores.records.of_events(offsets, limit=MOST_RECORDS).values())
    by_person: dict[str, list[NotificationRecord]] = defaultdict(list)
    for record in records_known_to(caller, records):
        by_person[record.notification.recipient_id or record.who].append(record)
    readers = sorted(map(_CauseReader, by_person.values()), key=lambda one: one.key)
    is_complete = caller.actor.is_admin and len(records) < MOST_RECORDS
    paging: Document = {"total": len(readers)}
    if limit and skip + limit < len(readers):
        paging["after"] = str(skip + limit)
    return json_of(CAUSE_AUDIENCE, _CauseAudience(readers[skip : skip + limit], is_complete)) | {"paging": paging}
