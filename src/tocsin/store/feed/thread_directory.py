"""Directory of threads: their authors, assignees and whom they mention; and the asset whose owners it concerns.

Part of ``store/alerts/directory.py``: every statement looks up a bounded list of ids through an index.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from sqlalchemy import Connection, Select, func, select

from tocsin.flow.capture.feed.ports import Part
from tocsin.flow.resolve.directory import NO_END, Principal
from tocsin.model.notification import ReasonKind
from tocsin.store.feed.tables import thread, thread_part
from tocsin.store.lots import in_lots

PARTS: dict[ReasonKind, tuple[Part, ...]] = {
    ReasonKind.CREATOR: (Part.AUTHOR,),
    ReasonKind.ASSIGNEE: (Part.ASSIGNEE,),
    ReasonKind.MENTION: (Part.MENTION,),
    ReasonKind.PARTICIPANT: (Part.AUTHOR, Part.MENTION),
}
"""The relations in which people stand to a thread, and the parts in it that make them."""

_PART = thread_part.c


def assets_of(connection: Connection, ids: Collection[str]) -> dict[str, str]:
    """Return, for those of ``ids`` that are threads, the id of the asset each is about."""
    query = select(thread.c.id, thread.c.about_id)
    found: dict[str, str] = {}
    for some in in_lots(sorted(ids)):
        found |= {row.id: row.about_id for row in connection.execute(query.where(thread.c.id.in_(some)))}
    return found


def parts_in(connection: Connection, ids: Collection[str], relation: ReasonKind) -> Iterator[Principal]:
    """Yield who stands in ``relation`` to those of ``ids`` that are threads.

    A mention is told once, by the event that made it; whoever takes part hears of all that follows.
    """
    query = _query(relation)
    for some in in_lots(sorted(ids)):
        for row in connection.execute(query.where(_PART.thread_id.in_(some))):
            yield Principal(
                relation,
                row.principal_id,
                row.principal_type,
                node_id=row.thread_id,
                since_offset=row.at_offset + 1 if relation is ReasonKind.PARTICIPANT else row.at_offset,
                until_offset=row.at_offset if relation is ReasonKind.MENTION else NO_END,
            )


def _query(relation: ReasonKind) -> Select[Any]:
    who = (_PART.thread_id, _PART.principal_id, _PART.principal_type)
    query = select(*who, func.min(_PART.at_offset).label("at_offset"))
    query = query.where(_PART.part.in_([part.value for part in PARTS[relation]]))
    if relation is ReasonKind.MENTION:
        return query.group_by(*who, _PART.at_offset)
    if relation is ReasonKind.CREATOR:
        query = query.where(_PART.place == "")
    return query.group_by(*who)
