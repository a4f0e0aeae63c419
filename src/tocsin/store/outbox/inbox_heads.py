"""Heads of the entries of an inbox: what one must know of each to gather entries by cause, without their documents.

Next: ``model/causes.py``, which has the rules; ``server/access/inbox_causes.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Connection, Row, Select, select

from tocsin.conditions.event_kinds import BY_EVENT_TYPE, kinds_of
from tocsin.model.causes import CauseFacts
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.tables import change_event, notification
from tocsin.store.outbox.failure_incidents import ReportPlace
from tocsin.store.outbox.failure_roots import FailureRoot, roots_at
from tocsin.store.outbox.inbox_marks import READ_AT

_ROW, _EVENT = notification.c, change_event.c
_COLUMNS = (
    *(_ROW.id, READ_AT.is_not(None).label("is_read"), _ROW.snoozed_until_ms, _ROW.log_offset),
    *(_EVENT.entity_type, _EVENT.entity_id, _EVENT.entity_fqn, _EVENT.user_name, _EVENT.reason, _EVENT.timestamp_ms),
    *(_EVENT.event_type, _EVENT.derived),
)
_OF_EVENT = _EVENT.log_offset == _ROW.log_offset
_REPORTING = ('"quality"', '"run"')
"""How categories of changes by which assets report stand in derived fields."""
_REPORTS = frozenset({"testFailure", "runFailure", "recovery", "freshness", "sla", "incident"})


class InboxHead(NamedTuple):
    """An entry of an inbox, as far as causes depend on it.

    ``is_other``: it is not among the unread ones of its tab. ``roots`` are the incidents that may have begun the
    failure that its event reports or ends, the farthest upstream first, its own last; ``facts`` names none of them yet:
    which one counts depends on what the reader may see. ``derived_text`` are the fields that conditions read.
    """

    id: str
    facts: CauseFacts
    is_read: bool
    is_other: bool
    event_type: str
    derived_text: str
    roots: tuple[FailureRoot, ...] = ()

    @property
    def kinds(self) -> set[str]:
        """Return the kinds of change of its event."""
        return {one.kind for one in kinds_of(self.event_type, orjson.loads(self.derived_text))}

    def with_root(self, visible_ids: Collection[str]) -> InboxHead:
        """Return it with the root of its failure: of those whose assets may be seen, the first."""
        root = next((one for one in self.roots if one.entity_id in visible_ids), None)
        return self if root is None else self._replace(facts=self.facts._replace(root=root.incident_id))


def select_heads() -> Select[Any]:  # Any: the columns of _COLUMNS
    """Return the query of heads, to be narrowed and ordered."""
    return select(*_COLUMNS).select_from(notification).join(change_event, _OF_EVENT)


def heads_of_queries(
    connection: Connection,
    queries: Sequence[Select[Any]],  # Any: as above
    limit: int,
) -> list[InboxHead]:
    """Return the first ``limit`` heads that queries find, one query after the other."""
    return _with_roots(connection, [_head(row) for row in first_rows(connection, queries, limit)])


def first_rows(
    connection: Connection, queries: Sequence[Select[Any]], limit: int
) -> list[Row[Any]]:  # Any: any columns
    """Return the first ``limit`` rows that queries find, one query after the other."""
    selected_rows: list[Row[Any]] = []
    for query in queries:
        selected_rows += connection.execute(query.limit(limit - len(selected_rows)))
    return selected_rows


def select_kinds() -> Select[Any]:  # Any: the two columns
    """Return the query of what the kinds of the events of rows follow from, to be narrowed and ordered."""
    return select(_EVENT.event_type, _EVENT.derived).select_from(notification).join(change_event, _OF_EVENT)


def kinds_of_queries(connection: Connection, queries: Sequence[Select[Any]], limit: int) -> list[set[str]]:
    """Return the kinds of change of the first ``limit`` rows of such queries; events that are alike are read once."""
    kinds: dict[tuple[str, str], set[str]] = {}
    event_texts = [(row.event_type, row.derived) for row in first_rows(connection, queries, limit)]
    for event_type, derived_text in set(event_texts):
        kinds[event_type, derived_text] = {one.kind for one in kinds_of(event_type, orjson.loads(derived_text))}
    return [kinds[one] for one in event_texts]


def heads_of_ids(connection: Connection, ids: Sequence[str]) -> list[InboxHead]:
    """Return the heads of these notifications, in the same order; of what has gone meanwhile, none."""
    heads = {row.id: _head(row) for row in rows_by_key(connection, select_heads(), _ROW.id, ids)}
    return _with_roots(connection, [heads[one] for one in ids if one in heads])


def _head(row: Row[Any]) -> InboxHead:  # Any: as above
    identity, is_read, snoozed_ms, offset, entity_type, *columns = tuple[Any, ...](row)
    entity_id, full_name, actor, reason, timestamp_ms, event_type, derived_text = columns
    is_bot = bool(reason) and bool(orjson.loads(derived_text).get("isBot"))  # only a run depends on it
    facts = CauseFacts(offset, entity_type, entity_id, full_name, actor, is_bot, reason, timestamp_ms)
    is_other = bool(is_read) or snoozed_ms is not None
    return InboxHead(identity, facts, bool(is_read), is_other, event_type, derived_text)


def _with_roots(connection: Connection, heads: Sequence[InboxHead]) -> list[InboxHead]:
    places = {one.id: ReportPlace(one.facts.entity_id, one.facts.offset) for one in heads if _is_report(one)}
    roots = roots_at(connection, set(places.values())) if places else {}
    return [one._replace(roots=roots.get(places[one.id], ())) if one.id in places else one for one in heads]


def _is_report(head: InboxHead) -> bool:
    """Return whether an event says how an asset fares, so that it may be of an incident."""
    may_be = head.event_type in BY_EVENT_TYPE or any(category in head.derived_text for category in _REPORTING)
    return may_be and not head.kinds.isdisjoint(_REPORTS)
