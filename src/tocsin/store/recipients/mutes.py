"""Mutes in the store: set and removed by their owner, looked up by key when recipients are resolved.

Next: ``flow/resolve/candidates.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, replace
from typing import Any

from sqlalchemy import Connection, Engine, Row, delete, func, select

from tocsin.model.entity import Document
from tocsin.model.mute import Mute, MuteKind
from tocsin.store.database.alert_tables import IS_BROAD, mute
from tocsin.store.database.engine import insert_into, reading, writing
from tocsin.store.database.keys import present_keys, rows_by_key
from tocsin.store.database.tables import entity
from tocsin.store.eventlog.log import announce_write
from tocsin.store.recipients.subject_assets import SubjectAssets, find_subject_assets

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
            return [_mute(row) for row in mutes]

    def put(self, new_mute: Mute) -> None:
        """Mute; what was muted before keeps its start and takes the new end."""
        row = asdict(new_mute)
        with writing(self._engine) as connection:
            row["since_offset"] = announce_write(connection) + 1
            end_columns = {"until_ms": row["until_ms"], "unsubscribed": row["unsubscribed"]}
            keys = ["who", "about_id", "channel"]
            fresh = delete(mute).where(mute.c.who == new_mute.who, mute.c.about_id == new_mute.about_id)
            connection.execute(fresh.where(mute.c.channel == new_mute.channel, mute.c.until_ms <= new_mute.since_ms))
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
    find_subjects: _FindSubjects = find_subject_assets,
) -> Iterator[Mute]:
    """Yield what these have muted of these alerts, assets, and threads and tests of assets; asks by the fewer keys.

    Most people have muted nothing, and are asked for it by themselves first.
    """
    own_mutes = (
        list(rows_by_key(connection, select(mute), mute.c.who, user_ids)) if len(user_ids) <= len(about_ids) else None
    )
    if own_mutes == []:
        return
    about: dict[str, list[str]] = {}
    for part_id, asset_id in find_subjects(connection, about_ids).items():
        about.setdefault(asset_id, []).append(part_id)
    ids = {*about_ids, *about}
    for row in rows_by_key(connection, select(mute), mute.c.about_id, ids) if own_mutes is None else own_mutes:
        if row.who in user_ids and row.about_id in ids:
            asset_mute = _mute(row)
            yield from (
                replace(asset_mute, about_id=muted_id)
                for muted_id in (asset_mute.about_id, *about.get(asset_mute.about_id, ()))
            )


def broad_mutes_of(connection: Connection, user_ids: Collection[str]) -> dict[str, list[Mute]]:
    """Return the mutes of kinds, actors and everything that these people have, by person; most stores have none."""
    if connection.scalar(select(mute.c.who).where(IS_BROAD).limit(1)) is None:
        return {}
    mutes: dict[str, list[Mute]] = defaultdict(list)
    for row in rows_by_key(connection, select(mute).where(IS_BROAD), mute.c.who, user_ids):
        mutes[row.who].append(_mute(row))
    return dict(mutes)


def _mute(row: Row[Any]) -> Mute:  # Any: a column's value
    return Mute(**{**row._mapping, "kind": MuteKind(row.kind)})
