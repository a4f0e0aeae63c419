"""Mutes in the store: set and removed by their owner.

Those of alerts and assets (``mutes_in``) are looked up by key when recipients are resolved, broad ones
(``broad_mutes_of``) when a notification is scheduled, and all of them again when it is sent.

Next: ``flow/resolve/candidates.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import chain
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, Row, and_, bindparam, delete, func, or_, select, update

from tocsin.flow.resolve.directory import NO_END
from tocsin.model.entity import Document
from tocsin.model.mute import FOR_GOOD_MS, Mute, MuteEnd, MuteKind
from tocsin.store.database.alert_tables import IS_BROAD, mute
from tocsin.store.database.engine import insert_into, reading, writing
from tocsin.store.database.keys import present_keys, rows_by_key
from tocsin.store.database.tables import change_event, entity, person
from tocsin.store.eventlog.log import announce_write
from tocsin.store.recipients.belonging import find_container_ids, find_spans_inside
from tocsin.store.recipients.followed_types import CONTAINING
from tocsin.store.recipients.mute_ends import key_of, open_incidents, resolved_incidents, with_ends
from tocsin.store.recipients.relations_over_time import KnownRelations, Span
from tocsin.store.recipients.subject_assets import SubjectAssets, find_subject_assets

_END_COLUMNS = ("until_ms", "unsubscribed", "ends_by", "ends_of", "ends_after", "until_offset", "told_ms")
_DAY_MS = 24 * 3_600_000
TOLD_BEFORE_MS = _DAY_MS
"""How long before its end a mute is told of at the earliest; later if a quarter of its time is less."""
SHORTEST_TOLD_MS = 3_600_000
"""A mute that is shorter is not told of."""
FORGOTTEN_AFTER_MS = 30 * _DAY_MS
_MOST_TOLD = 1_000

_IS_SAME = and_(
    mute.c.who == bindparam("of_who"),
    mute.c.about_id == bindparam("of_subject"),
    mute.c.channel == bindparam("of_channel"),
)
_IS_UNCHANGED = and_(
    _IS_SAME, mute.c.ends_after == bindparam("earlier_after"), mute.c.ends_of == bindparam("earlier_of")
)
_END = update(mute).where(_IS_UNCHANGED).values(until_offset=bindparam("place"))
_POSTPONE = update(mute).where(_IS_UNCHANGED).values(ends_after=bindparam("place"))
_NOTE_TOLD = (
    update(mute).where(_IS_SAME, mute.c.until_ms == bindparam("earlier_until_ms")).values(told_ms=bindparam("at_ms"))
)

_IS_CONTAINER = entity.c.entity_type.in_(sorted(CONTAINING))
_FindSubjects = Callable[[Connection, Collection[str]], SubjectAssets]


class Mutes:
    """The mutes of one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def of(self, who: str, now_ms: int) -> list[Mute]:
        """Return what this person has muted and not ended yet, newest first."""
        query = select(mute).where(mute.c.who == who, mute.c.until_ms > now_ms)
        with reading(self._engine) as connection:
            mutes = connection.execute(query.order_by(mute.c.since_ms.desc(), mute.c.about_id, mute.c.channel))
            own_mutes = with_ends(connection, [_mute(row) for row in mutes])
        return [one for one in own_mutes if one.until_offset is None]

    def put(self, new_mute: Mute) -> None:
        """Mute; what was muted before, and has not ended, keeps its start and takes the new end."""
        row = {name: value for name, value in asdict(new_mute).items() if name != "within"}
        with writing(self._engine) as connection:
            row["told_ms"] = None
            row["since_offset"] = row["ends_after"] = announce_write(connection) + 1
            end_columns = {name: row[name] for name in _END_COLUMNS}
            keys = ["who", "about_id", "channel"]
            same = (mute.c.who == new_mute.who, mute.c.about_id == new_mute.about_id, mute.c.channel == row["channel"])
            earlier_mutes = with_ends(connection, [_mute(one) for one in connection.execute(select(mute).where(*same))])
            if any(one.until_ms <= new_mute.since_ms or one.until_offset is not None for one in earlier_mutes):
                connection.execute(delete(mute).where(*same))
            connection.execute(
                insert_into(connection, mute).values(row).on_conflict_do_update(index_elements=keys, set_=end_columns)
            )

    def remove(self, who: str, about_id: str) -> int:
        """Remove a mute for every channel; return how many mutes that ended."""
        with writing(self._engine) as connection:
            return connection.execute(delete(mute).where(mute.c.who == who, mute.c.about_id == about_id)).rowcount

    def references(self, ids: Collection[str]) -> list[Document]:
        """Return references to those of these alerts and assets that are there."""
        names = (entity.c.id, entity.c.entity_type.label("type"), entity.c.name)
        query = select(*names, entity.c.fqn.label("fullyQualifiedName"))
        with reading(self._engine) as connection:
            return [dict(row._mapping) for row in rows_by_key(connection, query, entity.c.id, set(ids))]

    def open_incidents(self, asset_id: str) -> list[str]:
        """Return the ids of the unresolved incidents of an asset, and of the tests of a table."""
        with reading(self._engine) as connection:
            return open_incidents(connection, asset_id)

    def settle(self, through_offset: int) -> int:
        """Write down which mutes events up to an offset have ended; return how many. All of these events are stored.

        Later events only are looked at for the others from then on.
        """
        with reading(self._engine) as connection:
            query = select(mute).where(mute.c.ends_by.is_not(None), mute.c.until_offset.is_(None))
            waiting = [_mute(row) for row in connection.execute(query.where(mute.c.ends_after <= through_offset))]
            incident_ids = {one.ends_of for one in waiting if one.ends_by is MuteEnd.RESOLVED}
            resolved_ids = resolved_incidents(connection, incident_ids)
            ends = {key_of(one): one.until_offset for one in with_ends(connection, waiting)}
        if not waiting:
            return 0
        endings: list[Document] = []
        postponements: list[Document] = []
        for earlier in waiting:
            place = ends[key_of(earlier)]
            if place is None and earlier.ends_of in resolved_ids:  # it was over before the mute began
                place = through_offset + 1
            is_over = place is not None and place <= through_offset + 1
            row = _key_row(earlier) | {"earlier_after": earlier.ends_after, "earlier_of": earlier.ends_of}
            (endings if is_over else postponements).append(row | {"place": place if is_over else through_offset + 1})
        with writing(self._engine) as connection:
            if postponements:
                connection.execute(_POSTPONE, postponements)
            return connection.execute(_END, endings).rowcount if endings else 0

    def purge(self, through_offset: int, *, before_ms: int) -> int:
        """Delete the mutes that ended before a moment and before what is still to be read; return how many."""
        unread = select(change_event.c.timestamp_ms).where(change_event.c.log_offset > through_offset)
        ended_at = select(change_event.c.timestamp_ms).where(change_event.c.log_offset == mute.c.until_offset)
        with writing(self._engine) as connection:
            unread_ms = connection.scalar(unread.order_by(change_event.c.log_offset).limit(1))
            limit_ms = before_ms if unread_ms is None else min(before_ms, unread_ms)
            is_ended = mute.c.until_offset <= through_offset
            ended_ms = func.coalesce(ended_at.correlate(mute).scalar_subquery(), 0)
            is_old = or_(mute.c.until_ms <= limit_ms, and_(is_ended, ended_ms <= before_ms))
            return connection.execute(delete(mute).where(is_old)).rowcount

    def to_tell(self, now_ms: int) -> list[Mute]:
        """Return mutes of which their people are to be told now: that they end soon, or have no end for a month.

        A mute of everything would suppress that, so its end is told when it has come. Of what is gone for good nobody
        is told.
        """
        lead_ms = (mute.c.until_ms - mute.c.since_ms) / 4
        is_near = and_(mute.c.until_ms - now_ms <= TOLD_BEFORE_MS, mute.c.until_ms - now_ms <= lead_ms)
        is_long = mute.c.until_ms - mute.c.since_ms >= SHORTEST_TOLD_MS
        is_of_everything = mute.c.kind == MuteKind.EVERYTHING.value
        is_recent = and_(mute.c.until_ms <= now_ms, mute.c.until_ms > now_ms - TOLD_BEFORE_MS)
        ends = and_(is_long, or_(and_(~is_of_everything, is_near, mute.c.until_ms > now_ms), is_recent))
        is_forgotten = and_(mute.c.until_ms == FOR_GOOD_MS, mute.c.since_ms <= now_ms - FORGOTTEN_AFTER_MS)
        of_people = mute.c.who.in_(select(person.c.user_id))
        is_waiting = (mute.c.told_ms.is_(None), mute.c.until_offset.is_(None), ~mute.c.unsubscribed)
        is_of_entity = mute.c.kind.in_((MuteKind.ASSET.value, MuteKind.ALERT.value))
        is_there = or_(~is_of_entity, mute.c.about_id.in_(select(entity.c.id)))
        query = select(mute).where(*is_waiting, or_(ends, is_forgotten), of_people, is_there)
        with reading(self._engine) as connection:
            mutes = with_ends(connection, [_mute(row) for row in connection.execute(query.limit(_MOST_TOLD))])
        return [one for one in mutes if one.until_offset is None]

    def note_told(self, mutes: Collection[Mute], now_ms: int) -> None:
        """Note that the people of these mutes have been told of them."""
        told_rows = [_key_row(one) | {"earlier_until_ms": one.until_ms, "at_ms": now_ms} for one in mutes]
        if told_rows:
            with writing(self._engine) as connection:
                connection.execute(_NOTE_TOLD, told_rows)

    def counts(self, alert_ids: Collection[str], now_ms: int) -> dict[str, tuple[int, int]]:
        """Return per alert how many have muted it now, and how many of them by the link in a mail."""
        people = func.count(mute.c.who.distinct())
        by_link = func.count(mute.c.who.distinct()).filter(mute.c.unsubscribed)
        query = select(mute.c.about_id, people, by_link).where(mute.c.until_ms > now_ms).group_by(mute.c.about_id)
        with reading(self._engine) as connection:
            counts = rows_by_key(connection, query, mute.c.about_id, alert_ids)
            return {about_id: (muted - unsubscribed, unsubscribed) for about_id, muted, unsubscribed in counts}


def people_muting(connection: Connection, who: Collection[str]) -> set[str]:
    """Return those of these people and addresses who have muted anything."""
    return present_keys(connection, mute.c.who, who) if who else set()


def mutes_in(
    connection: Connection,
    user_ids: Collection[str],
    about_ids: Collection[str],
    memory: KnownRelations,
    find_subjects: _FindSubjects = find_subject_assets,
) -> Iterator[Mute]:
    """Yield what these have muted of these alerts, assets, and threads and tests of assets; asks by the fewer keys.

    A mute of what contains an asset, or of its domain, covers the asset while it is in that. Most people have muted
    nothing, and are asked for it by themselves first. ``memory`` holds what is above the assets of some events.
    """
    own_mutes = _mutes_by(connection, mute.c.who, user_ids) if len(user_ids) <= len(about_ids) else None
    if own_mutes == []:
        return
    about: dict[str, list[str]] = {}
    subjects = find_subjects(connection, about_ids)
    for part_id, asset_id in subjects.items():
        about.setdefault(asset_id, []).append(part_id)
    ids = {*about_ids, *about}
    asset_ids = ids - dict(subjects.items()).keys()
    containers = (
        _muted_around(connection, asset_ids, memory) if own_mutes is None else _muted_containers(connection, own_mutes)
    )
    spans: dict[str, list[tuple[str, Span]]] = defaultdict(list)
    for asset_id, container_id, span in (
        find_spans_inside(connection, asset_ids, containers, memory) if containers else ()
    ):
        spans[container_id].append((asset_id, span))
    for own_mute in _mutes_by(connection, mute.c.about_id, {*ids, *spans}) if own_mutes is None else own_mutes:
        if own_mute.who in user_ids:
            covered_places = spans.get(own_mute.about_id, ())
            part_mutes = (own_mute.for_part(asset_id, span, NO_END) for asset_id, span in covered_places)
            yield from _with_parts(chain([own_mute] if own_mute.about_id in ids else [], part_mutes), about)


def _with_parts(mutes: Iterable[Mute], parts: Mapping[str, Collection[str]]) -> Iterator[Mute]:
    """Yield these mutes, and each for the threads and tests of what it keeps quiet."""
    for asset_mute in mutes:
        yield asset_mute
        for part_id in parts.get(asset_mute.place_id, ()):
            is_within = bool(asset_mute.within)
            yield replace(asset_mute, within=part_id) if is_within else replace(asset_mute, about_id=part_id)


def _muted_containers(connection: Connection, mutes: Sequence[Mute]) -> set[str]:
    """Return the ids of what these mutes keep quiet that may contain an asset."""
    ids = {one.about_id for one in mutes if one.kind is MuteKind.ASSET}
    query = select(entity.c.id).where(_IS_CONTAINER)
    return {row.id for row in rows_by_key(connection, query, entity.c.id, ids)} if ids else set()


def _muted_around(connection: Connection, asset_ids: Collection[str], memory: KnownRelations) -> set[str]:
    """Return the ids of what contains these assets and has been muted; most stores have few mutes, or none."""
    if connection.scalar(select(mute.c.who).limit(1)) is None:
        return set()
    return present_keys(connection, mute.c.about_id, find_container_ids(connection, asset_ids, memory))


def broad_mutes_of(connection: Connection, user_ids: Collection[str]) -> dict[str, list[Mute]]:
    """Return the mutes of kinds, actors and everything that these people have, by person; most stores have none."""
    if connection.scalar(select(mute.c.who).where(IS_BROAD).limit(1)) is None:
        return {}
    mutes: dict[str, list[Mute]] = defaultdict(list)
    for broad_mute in _mutes_by(connection, mute.c.who, user_ids, IS_BROAD):
        mutes[broad_mute.who].append(broad_mute)
    return dict(mutes)


def _mutes_by(
    connection: Connection, column: ColumnElement[str], keys: Collection[str], *conditions: ColumnElement[bool]
) -> Sequence[Mute]:
    mute_rows = rows_by_key(connection, select(mute).where(*conditions), column, keys)
    return with_ends(connection, [_mute(row) for row in mute_rows])


def _key_row(earlier: Mute) -> Document:
    """Return the parameters of ``_IS_SAME`` for a mute."""
    return {"of_who": earlier.who, "of_subject": earlier.about_id, "of_channel": earlier.channel}


def _mute(row: Row[Any]) -> Mute:  # Any: a column's value
    ends_by = None if row.ends_by is None else MuteEnd(row.ends_by)
    columns = {name: value for name, value in row._mapping.items() if name != "told_ms"}
    return Mute(**{**columns, "kind": MuteKind(row.kind), "ends_by": ends_by, "ends_of": row.ends_of or ""})
