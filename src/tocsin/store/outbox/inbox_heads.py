"""Heads of the entries of an inbox: what one must know of each to gather entries by cause, without their documents.

Next: ``model/causes.py``, which has the rules; ``server/access/inbox_causes.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

import orjson
from sqlalchemy import ColumnElement, Connection, Integer, Row, Select, bindparam, select

from tocsin.conditions.event_kinds import BY_EVENT_TYPE, kinds_of
from tocsin.model.causes import CauseFacts
from tocsin.model.inbox import Tab
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.tables import change_event, notification
from tocsin.store.outbox.failure_incidents import ReportPlace
from tocsin.store.outbox.failure_roots import FailureRoot, roots_at
from tocsin.store.outbox.inbox_groups import NOW, PARTS, PERSON, leads
from tocsin.store.outbox.inbox_marks import READ_AT

_ROW, _EVENT = notification.c, change_event.c
_COLUMNS = (
    *(_ROW.id, READ_AT.is_not(None).label("is_read"), _ROW.snoozed_until_ms, _ROW.log_offset),
    *(_EVENT.entity_type, _EVENT.entity_id, _EVENT.entity_fqn, _EVENT.user_name, _EVENT.reason, _EVENT.timestamp_ms),
    *(_EVENT.event_type, _EVENT.derived),
)
_MOST = bindparam("most", type_=Integer)
_Make = Callable[[], Select[Any]]  # Any: any columns
_OF_EVENT = _EVENT.log_offset == _ROW.log_offset
_OF_TESTS, _OF_RUNS = '"quality"', '"run"'
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
    def kinds(self) -> frozenset[str]:
        """Return the kinds of change of its event."""
        return _kinds_in(self.event_type, self.derived_text)

    def with_root(self, visible_ids: Collection[str]) -> InboxHead:
        """Return it with the root of its failure: of those whose assets may be seen, the first."""
        root = next((one for one in self.roots if one.entity_id in visible_ids), None)
        return self if root is None else self._replace(facts=self.facts._replace(root=root.incident_id))


class FirstHeads(NamedTuple):
    """The heads of the first entries of a tab; ``is_full``: as many were read as were asked for, so more may follow."""

    heads: list[InboxHead]
    is_full: bool


@lru_cache(maxsize=5_000)
def _kinds_in(event_type: str, derived_text: str) -> frozenset[str]:
    return frozenset(one.kind for one in kinds_of(event_type, orjson.loads(derived_text)))


def select_heads() -> Select[Any]:  # Any: the columns of _COLUMNS
    """Return the query of heads, without conditions and order."""
    return select(*_COLUMNS).select_from(notification).join(change_event, _OF_EVENT)


class TabExcerpt(NamedTuple):
    """Of whose inbox rows are read, when (epoch milliseconds), how many at most, and on which further condition."""

    user_id: str
    now_ms: int
    limit: int
    condition: ColumnElement[bool] | None = None


def first_rows(
    connection: Connection, make: _Make, tab: Tab, excerpt: TabExcerpt
) -> list[Row[Any]]:  # Any: as in _Make
    """Return the rows of the first entries of a tab, by the query that ``make`` begins."""
    entry_rows = list[Row[Any]]()  # Any: as in _Make
    for query in _queries_of_tab(make, tab):
        values = {PERSON.key: excerpt.user_id, NOW.key: excerpt.now_ms, _MOST.key: excerpt.limit - len(entry_rows)}
        tab_query = query if excerpt.condition is None else query.where(excerpt.condition)
        entry_rows += connection.execute(tab_query, values).all()
    return entry_rows


def unique_rows(entry_rows: Sequence[Row[Any]]) -> list[Row[Any]]:  # Any: as above
    """Return rows by their ids without those that come again: what is read between two statements is in both parts."""
    rows_by_id = dict[str, Row[Any]]()  # Any: as above
    for row in entry_rows:
        rows_by_id.setdefault(row.id, row)
    return list(rows_by_id.values())


@cache
def _queries_of_tab(make: _Make, tab: Tab) -> tuple[Select[Any], ...]:  # Any: as in _Make
    """Return a query of rows and their events for each part of a tab, newest first."""
    newest_first = make().order_by(_ROW.log_offset.desc()).limit(_MOST)
    return tuple(newest_first.where(one.is_shown_to(PERSON, NOW), leads(PERSON, NOW, one)) for one in PARTS[tab])


def heads_of(connection: Connection, head_rows: Sequence[Row[Any]]) -> list[InboxHead]:  # Any: as above
    """Return the heads of these rows, in the same order."""
    return _with_roots(connection, [_head(row) for row in head_rows])


def select_ids() -> Select[Any]:  # Any: the id
    """Return the query of the ids of rows, without conditions and order."""
    return select(_ROW.id).select_from(notification).join(change_event, _OF_EVENT)


def select_kinds() -> Select[Any]:  # Any: the two columns of ``kinds_of_rows``
    """Return the query of what the kinds of the events of rows follow from, without conditions and order."""
    return select(_EVENT.event_type, _EVENT.derived).select_from(notification).join(change_event, _OF_EVENT)


def kinds_of_rows(kind_rows: Sequence[Row[Any]]) -> list[frozenset[str]]:  # Any: as above
    """Return the kinds of change of each of these rows."""
    return [_kinds_in(row.event_type, row.derived) for row in kind_rows]


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
    text = head.derived_text
    may_be = head.event_type in BY_EVENT_TYPE or _OF_TESTS in text or _OF_RUNS in text
    return may_be and not head.kinds.isdisjoint(_REPORTS)
