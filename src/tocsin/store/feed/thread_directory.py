"""Participants of threads for the directory: authors, assignees and mentioned people.

Part of ``store/alerts/directory.py``: every statement looks up a bounded list of ids through an index.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from sqlalchemy import Connection, Select, func, literal, select

from tocsin.flow.resolve.directory import NO_END, Principal
from tocsin.model.notification import ReasonKind
from tocsin.model.thread import ThreadPart
from tocsin.store.chunks import chunked
from tocsin.store.feed.tables import thread_part, tombstone_part

PARTS: dict[ReasonKind, tuple[ThreadPart, ...]] = {
    ReasonKind.CREATOR: (ThreadPart.AUTHOR,),
    ReasonKind.ASSIGNEE: (ThreadPart.ASSIGNEE,),
    ReasonKind.MENTION: (ThreadPart.MENTION,),
    ReasonKind.PARTICIPANT: (ThreadPart.AUTHOR, ThreadPart.MENTION),
}
"""The relations of people to a thread, and the participations that make them."""

_PART, _GONE = thread_part.c, tombstone_part.c


def parts_in(connection: Connection, ids: Collection[str], relation: ReasonKind) -> Iterator[Principal]:
    """Yield the people in ``relation`` to those of ``ids`` that are threads, also if the asset was deleted since.

    A mention is notified once, by the event that made it; participants are notified of all later events.
    """
    known, gone = _query(relation, _PART, literal(NO_END)), _query(relation, _GONE, _GONE.log_offset)
    for some in chunked(sorted(ids)):
        rows = [
            *connection.execute(known.where(_PART.thread_id.in_(some))),
            *connection.execute(gone.where(_GONE.thread_id.in_(some))),
        ]
        for row in rows:
            yield Principal(
                relation,
                row.principal_id,
                row.principal_type,
                node_id=row.thread_id,
                since_offset=row.at_offset + 1 if relation is ReasonKind.PARTICIPANT else row.at_offset,
                until_offset=row.at_offset if relation is ReasonKind.MENTION else row.until_offset,
            )


def _query(relation: ReasonKind, part: Any, until: Any) -> Select[Any]:  # Any: SQLAlchemy's columns
    who = (part.thread_id, part.principal_id, part.principal_type)
    query = select(*who, func.min(part.at_offset).label("at_offset"), func.min(until).label("until_offset"))
    query = query.where(part.part.in_([one.value for one in PARTS[relation]]))
    if relation is ReasonKind.MENTION:
        return query.group_by(*who, part.at_offset)
    if relation is ReasonKind.CREATOR:
        query = query.where(part.place == "")
    return query.group_by(*who)
