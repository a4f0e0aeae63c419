"""Activity feeds: recent events around a person, a team, an asset, or a domain, newest first.

A page is looked for among the newest events of all. Where they hold too few, the last event of every asset is looked up
through an index; only assets with one of the newest of these can have an event on the page.
Next: ``server/routes/notifications/activity.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from sqlalchemy import (
    CTE,
    ColumnElement,
    CompoundSelect,
    Connection,
    Engine,
    Select,
    func,
    literal,
    select,
    union,
    union_all,
)

from tocsin.flow.resolve.directory import NO_END
from tocsin.model import fqn
from tocsin.model.activity_feed import FeedScope
from tocsin.model.change import FOR_ALERTS, LoggedEvent
from tocsin.model.notification import ReasonKind
from tocsin.model.subscription import Channel
from tocsin.store.database.engine import reading
from tocsin.store.database.entity_tables import entity_reference
from tocsin.store.database.feed_tables import thread
from tocsin.store.database.keys import is_one_of
from tocsin.store.database.page_bytes import BoundedList, bounded_list
from tocsin.store.database.snapshots import Texts
from tocsin.store.database.tables import change_event, entity, follow, membership, notification, ownership
from tocsin.store.eventlog.log import LOGGED, logged_event_of

# What capture derives from an event whose only change is who follows, as store/database/documents.py writes it.
_FOLLOWED_ONLY = '%"fieldChanged":["followers"]%'

_EVENT = change_event.c
MOST_SINCE = 50_000
"""Events of a time or later that are looked through for the first place where one can be."""

WINDOW = 500
"""Events of all entities among which a page is looked for first."""

_TABLE_NAMES = 4
"""Names of which the FQN of a table is made: service, database, schema, table."""

_MOST_ENTITIES = 10_000
"""Entities whose events are looked at in one turn."""

_IdQuery = Select[tuple[str]]
_Ids = _IdQuery | CompoundSelect[tuple[str]]


@dataclass(frozen=True)
class FeedPage:
    """Which events of a feed are asked for.

    Attributes
    ----------
    limit : at most so many
    below : the log offset that the last page ended with
    since_ms : events at this time or later, epoch milliseconds
    from_offset : no event of that time is before this place
    event_types : only these; none: all but ``FOR_ALERTS``
    """

    limit: int = 20
    below: int | None = None
    since_ms: int = 0
    from_offset: int = 0
    event_types: Collection[str] = ()

    def selective_conditions(self) -> list[ColumnElement[bool]]:
        """Return the conditions on events by which most may be left out."""
        of_types = (_EVENT.event_type.in_(sorted(self.event_types)),) if self.event_types else ()
        since = (_EVENT.timestamp_ms >= self.since_ms, _EVENT.log_offset >= self.from_offset) if self.since_ms else ()
        return [*of_types, *since]

    def conditions(self) -> list[ColumnElement[bool]]:
        """Return the conditions on events. That others follow an asset is no event of a feed."""
        of_alerts = () if self.event_types else (_EVENT.event_type.not_in(FOR_ALERTS),)
        return [*self.selective_conditions(), *of_alerts, _EVENT.derived.not_like(_FOLLOWED_ONLY)]


class Activity:
    """What happens around people, teams and assets, in one store.

    A page is looked for among the newest ``window`` events of all first.
    """

    def __init__(self, engine: Engine, *, page_bytes: int | None = None, window: int = WINDOW) -> None:
        self._engine, self._page_bytes, self._window = engine, page_bytes, window

    def of_person(self, user_id: str, page: FeedPage, scope: FeedScope = FeedScope.ALL) -> BoundedList[LoggedEvent]:
        """Return events of what a person follows and owns, and what they were told of in the app, or would have been.

        Assets that belong to what they follow are among the latter. A kind that they never want is in the feed.
        """
        following = select(follow.c.entity_id).where(follow.c.user_id == user_id)
        owned = select(ownership.c.entity_id).where(ownership.c.owner_id.in_(holders_above(user_id)))
        direct_ids = {
            FeedScope.FOLLOWING: [following],
            FeedScope.OWNED: [owned],
            FeedScope.ALL: [following, owned],
        }[scope]
        return self._read(page, direct_ids, _told_offsets(user_id, scope, page))

    def of_team(self, team_id: str, page: FeedPage) -> BoundedList[LoggedEvent]:
        """Return events of what a team and the teams below it own."""
        owned = select(ownership.c.entity_id).where(ownership.c.owner_id.in_(_teams_below(team_id)))
        return self._read(page, [owned])

    def of_entity(self, entity_id: str, page: FeedPage) -> BoundedList[LoggedEvent]:
        """Return events of an entity and of what lies below it or, if it is a domain or data product, is in it.

        Of these, the ``_MOST_ENTITIES`` that changed last are looked at.
        """
        return self._read(page, [_within(entity_id)])

    def of_itself(self, entity_id: str, page: FeedPage) -> BoundedList[LoggedEvent]:
        """Return events of an entity alone."""
        return self._newest(page, _EVENT.entity_id == entity_id)

    def of_actor(self, user_name: str, page: FeedPage) -> BoundedList[LoggedEvent]:
        """Return events of what a person, or a bot, of this name did."""
        return self._newest(page, _EVENT.user_name == user_name)

    def of_all(self, page: FeedPage, entity_type: str | None = None) -> BoundedList[LoggedEvent]:
        """Return events of everything, or of all entities of a type."""
        return self._newest(page, *(() if entity_type is None else (_EVENT.entity_type == entity_type,)))

    def _newest(self, page: FeedPage, *conditions: ColumnElement[bool]) -> BoundedList[LoggedEvent]:
        below = () if page.below is None else (_EVENT.log_offset < page.below,)
        with reading(self._engine) as connection:
            from_offset = _first_offset(connection, page.since_ms) if page.since_ms else 0
            of_page = replace(page, from_offset=from_offset).conditions()
            query = select(*LOGGED).where(*conditions, *below, *of_page).order_by(_EVENT.log_offset.desc())
            texts = Texts(connection)
            return bounded_list(
                connection, query.limit(page.limit), lambda row: logged_event_of(row, texts), self._page_bytes
            )

    def _read(
        self, page: FeedPage, queries: Sequence[_IdQuery], told_offsets: Select[tuple[int]] | None = None
    ) -> BoundedList[LoggedEvent]:
        """Return events of the entities whose ids these queries answer, of their parts, and at these offsets."""
        with reading(self._engine) as connection:
            from_offset = _first_offset(connection, page.since_ms) if page.since_ms else 0
            offsets = {
                *_newest_offsets(connection, queries, replace(page, from_offset=from_offset), self._window),
                *(() if told_offsets is None else connection.scalars(told_offsets)),
            }
            newest = sorted(offsets, reverse=True)[: page.limit]
            query = select(*LOGGED).where(is_one_of(connection, _EVENT.log_offset, newest))
            texts = Texts(connection)
            ordered_query = query.order_by(_EVENT.log_offset.desc())
            return bounded_list(connection, ordered_query, lambda row: logged_event_of(row, texts), self._page_bytes)


def _first_offset(connection: Connection, since_ms: int) -> int:
    """Return a place before which no event is of this time or later, since what is logged late has an earlier time.

    Else each asset that has not changed since then would be looked up event by event. It is 0 where more events than
    ``MOST_SINCE`` are of that time: then most assets have changed.
    """
    later = select(_EVENT.log_offset).where(_EVENT.timestamp_ms >= since_ms).limit(MOST_SINCE + 1).subquery()
    first, count = connection.execute(select(func.min(later.c.log_offset), func.count())).one()
    return 0 if count > MOST_SINCE else NO_END if first is None else int(first)


def _newest_offsets(connection: Connection, queries: Sequence[_IdQuery], page: FeedPage, window: int) -> list[int]:
    """Return the offsets of the newest events of these entities, at least as many as the page takes if there are.

    Those who follow much find their page among the newest events of all. For others the newest event of each entity is
    looked up: the newest events are events of those entities whose newest one is among the newest. What the page leaves
    out is known only then, so that another turn may follow, of more entities.
    """
    offsets = _offsets_in_window(connection, queries, page, window)
    if len(offsets) == page.limit:
        return offsets
    offsets, ids = [], with_parts(queries)
    below, entity_count = NO_END if page.below is None else page.below, page.limit
    while len(offsets) < page.limit:
        newest = _newest_of_each(ids, page.selective_conditions(), below).limit(entity_count)
        candidates = [row for row in connection.execute(newest) if row.log_offset is not None]
        if not candidates:
            break
        is_candidate = is_one_of(connection, _EVENT.entity_id, {row.entity_id for row in candidates})
        since = candidates[-1].log_offset if len(candidates) == entity_count else 0
        of_candidates = select(_EVENT.log_offset).where(is_candidate, _EVENT.log_offset >= since, *page.conditions())
        below_last = of_candidates.where(_EVENT.log_offset < below)
        offsets += connection.scalars(below_last.order_by(_EVENT.log_offset.desc()).limit(page.limit))
        below, entity_count = since, min(16 * entity_count, _MOST_ENTITIES)
    return offsets


def _offsets_in_window(connection: Connection, queries: Sequence[_IdQuery], page: FeedPage, window: int) -> list[int]:
    """Return the offsets of the newest events of these entities and their parts among the newest ``window`` of all."""
    below, test = NO_END if page.below is None else page.below, entity.alias("feed_test").c
    newest = select(_EVENT.log_offset).where(_EVENT.log_offset < below).order_by(_EVENT.log_offset.desc())
    newest_events = newest.limit(window).subquery("newest_event")
    query = (
        select(_EVENT.log_offset, _EVENT.entity_id, test.fqn, thread.c.about_id)
        .join(newest_events, newest_events.c.log_offset == _EVENT.log_offset)
        .outerjoin(test.id.table, (test.id == _EVENT.entity_id) & (test.entity_type == "testCase"))
        .outerjoin(thread, thread.c.id == _EVENT.entity_id)
        .where(*page.conditions())
    )
    events = connection.execute(query.order_by(_EVENT.log_offset.desc())).all()
    tables_by_test = {event.fqn: fqn.join(fqn.split(event.fqn)[:_TABLE_NAMES]) for event in events if event.fqn}
    is_table = (entity.c.entity_type == "table") & is_one_of(connection, entity.c.fqn, set(tables_by_test.values()))
    ids_by_table = {row.fqn: row.id for row in connection.execute(select(entity.c.id, entity.c.fqn).where(is_table))}
    assets = [(event.entity_id, event.about_id, ids_by_table.get(tables_by_test.get(event.fqn))) for event in events]
    wanted_ids = union_all(*queries).subquery("wanted").c.entity_id
    is_asset = is_one_of(connection, wanted_ids, {asset for ids in assets for asset in ids if asset is not None})
    followed_ids = set(connection.scalars(select(wanted_ids).where(is_asset)))
    offsets = (event.log_offset for event, ids in zip(events, assets, strict=True) if not followed_ids.isdisjoint(ids))
    return list(islice(offsets, page.limit))


def _newest_of_each(ids: _Ids, conditions: Sequence[ColumnElement[bool]], below: int) -> Select[tuple[str, int]]:
    """Return the query for the newest event of each of these entities before an offset, the newest of them first."""
    entity_ids = ids.cte("feed_entity")
    of_entity = select(_EVENT.log_offset).where(_EVENT.entity_id == entity_ids.c.entity_id, _EVENT.log_offset < below)
    newest = of_entity.where(*conditions).order_by(_EVENT.log_offset.desc()).limit(1).scalar_subquery()
    # Entities without one come last: to leave them out here, SQLite would look each up twice.
    newest_offset = newest.label("log_offset")
    return select(entity_ids.c.entity_id, newest_offset).order_by(newest_offset.desc().nulls_last())


def _told_offsets(user_id: str, scope: FeedScope, page: FeedPage) -> Select[tuple[int]]:
    """Return the query for the offsets of the newest events that a person was told of in the app, for such a reason."""
    column = notification.c
    query = select(column.log_offset).join(_EVENT.id.table, _EVENT.log_offset == column.log_offset)
    query = query.where(column.recipient_id == user_id, column.channel == Channel.ACTIVITY_FEED.value)
    if scope is not FeedScope.ALL:
        kind = ReasonKind.FOLLOWER if scope is FeedScope.FOLLOWING else ReasonKind.OWNER
        query = query.where(column.reasons.contains(f'"kind":"{kind.value}"', autoescape=True))
    if page.below is not None:
        query = query.where(column.log_offset < page.below)
    return query.where(*page.conditions()).order_by(column.log_offset.desc()).limit(page.limit)


def with_parts(queries: Sequence[_IdQuery]) -> _Ids:
    """Return the query for the ids of entities, of the tests of those that are tables, and of their threads."""
    ids = union_all(*queries).cte("feed_asset")
    table, test = entity.alias("feed_table").c, entity.alias("feed_test").c
    tests = (
        select(test.id)
        .select_from(ids.join(table.id.table, table.id == ids.c.entity_id))
        .join(test.id.table, (test.fqn > table.fqn + ".") & (test.fqn < table.fqn + "/"))  # "/" comes after "."
        .where(table.entity_type == "table", test.entity_type == "testCase")
    )
    threads = select(thread.c.id).join(ids, ids.c.entity_id == thread.c.about_id)
    return union(select(ids.c.entity_id), tests, threads)


def _within(entity_id: str) -> Select[tuple[str]]:
    """Return the query for the ids of an entity, of what lies below it, of what is in one of these and lies below."""
    refers = entity_reference.c
    with_below = _with_below(select(literal(entity_id).label("id")), "within")
    in_it = select(refers.entity_id).join(with_below, refers.target_id == with_below.c.id)
    in_it = in_it.where(refers.field.in_(("domains", "dataProducts")))
    with_contents = _with_below(union(select(with_below.c.id), in_it).subquery().select(), "within_all")
    changed = (
        select(entity.c.id)
        .join(with_contents, with_contents.c.id == entity.c.id)
        .order_by(entity.c.updated_at_ms.desc())
    )
    return select(changed.limit(_MOST_ENTITIES).subquery().c.id.label("entity_id"))


def _with_below(ids: Select[tuple[str]], name: str) -> CTE:
    """Return these ids, and those of what lies below them."""
    with_below = ids.cte(name, recursive=True)
    return with_below.union(select(entity.c.id).join(with_below, entity.c.parent_id == with_below.c.id))


def holders_above(user_id: str) -> Select[tuple[str]]:
    """Return the query for the ids of a person, of their teams, and of all above those."""
    holder = select(literal(user_id).label("id")).cte("holder", recursive=True)
    above = select(membership.c.team_id).join(holder, membership.c.member_id == holder.c.id)
    return select(holder.union(above).c.id)


def _teams_below(team_id: str) -> Select[tuple[str]]:
    """Return the query for the ids of a team and of all teams below it."""
    team = select(literal(team_id).label("id")).cte("team_below", recursive=True)
    below = select(membership.c.member_id).join(team, membership.c.team_id == team.c.id)
    return select(team.union(below.where(membership.c.member_type == "team")).c.id)
