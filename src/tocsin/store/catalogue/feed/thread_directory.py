"""Participants of threads for the directory: authors, assignees and mentioned people.

Part of ``store/recipients/directory.py``: every statement looks up a bounded list of ids through an index.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from sqlalchemy import Connection, Select, func, literal, select

from tocsin.chunks import chunks_of
from tocsin.flow.resolve.directory import NO_END, Principal
from tocsin.model.notification import ReasonKind
from tocsin.model.thread import ThreadPart
from tocsin.store.database.feed_tables import thread_part, tombstone_part

PARTS: dict[ReasonKind, tuple[ThreadPart, ...]] = {
    ReasonKind.CREATOR: (ThreadPart.AUTHOR,),
    ReasonKind.ASSIGNEE: (ThreadPart.ASSIGNEE,),
    ReasonKind.MENTION: (ThreadPart.MENTION,),
    ReasonKind.PARTICIPANT: (ThreadPart.AUTHOR, ThreadPart.MENTION),
}
"""The relations of people to a thread, and the participations that make them."""

_PART, _GONE = thread_part.c, tombstone_part.c
_Span = tuple[int, int]


def parts_in(connection: Connection, ids: Collection[str], relation: ReasonKind) -> Iterator[Principal]:
    """Yield the people in ``relation`` to those of ``ids`` that are threads, each for the events when they were.

    A mention is notified once, by the event that made it; participants are notified of all later events.
    """
    current = _query(relation, _PART, literal(NO_END))
    past = _query(relation, _GONE, _GONE.log_offset).group_by(_GONE.log_offset)
    for chunk in chunks_of(sorted(ids)):
        spans = defaultdict[tuple[str, str, str], list[_Span]](list)
        for query, part in ((current, _PART), (past, _GONE)):
            for *who, at, until in connection.execute(query.where(part.thread_id.in_(chunk))):
                spans[tuple(who)].append(_span(relation, at, until))
        for (thread_id, principal_id, principal_type), own_spans in spans.items():
            for span in _merge(own_spans):
                yield Principal(relation, principal_id, principal_type, thread_id, "", *span)


def _query(relation: ReasonKind, part: Any, until: Any) -> Select[Any]:  # Any: SQLAlchemy's columns
    who = (part.thread_id, part.principal_id, part.principal_type)
    query = select(*who, func.min(part.at_offset), func.min(until)).group_by(*who)
    query = query.where(part.part.in_([one.value for one in PARTS[relation]]))
    if relation is ReasonKind.MENTION:
        return query.group_by(part.at_offset)
    return query.where(part.place == "") if relation is ReasonKind.CREATOR else query


def _span(relation: ReasonKind, at_offset: int, until_offset: int) -> _Span:
    """Return the first and last event for which a part that a person has from one offset to another counts."""
    if relation is ReasonKind.MENTION:
        return at_offset, at_offset
    return at_offset + (relation is ReasonKind.PARTICIPANT), until_offset


def _merge(spans: Iterable[_Span]) -> Iterator[_Span]:
    """Yield spans of the same events in order; those that overlap are one."""
    joined: _Span | None = None
    for since, until in sorted(spans):
        if joined and since <= joined[1]:
            joined = joined[0], max(joined[1], until)
        else:
            if joined:
                yield joined
            joined = since, until
    if joined:
        yield joined
