"""Follows that end because their person does not use them, after a week in which they could keep them.

Days are counted one at a time, so that neither a clock that leaps nor a server that was off ends what nobody was warned
of for a week. Next: ``jobs/idle_follows.py``.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import ColumnElement, Engine, and_, delete, select, union, update

from tocsin.flow.resolve.directory import NO_END
from tocsin.store.database.engine import insert_into, reading, writing
from tocsin.store.database.follow_tables import column_follow, idle_follow
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.tables import follow, person
from tocsin.store.eventlog.removed import removed_until_ms

DAY_MS = 24 * 3_600_000
WARNED_DAYS = 7
"""Days between the warning and the end."""

_ROW = idle_follow.c
_IS_WARNED = and_(_ROW.notice_id.is_not(None), _ROW.warned_ms.is_not(None))
_IS_DUE = and_(_IS_WARNED, _ROW.days >= WARNED_DAYS)
_NOT_WARNED = {"notice_id": None, "warned_ms": None, "days": 0, "counted_ms": None}


class FollowPlace(NamedTuple):
    """Whose follow, of which asset, and the path of the column in it; empty for the asset itself."""

    user_id: str
    entity_id: str
    column_path: str = ""


class IdleFollow(NamedTuple):
    """A follow that ends at ``expires_ms`` unless it is kept, or that was kept at ``kept_ms``; None for neither.

    ``notice_id`` is the notice that warns of its end, ``warned_ms`` when it did.
    """

    place: FollowPlace
    notice_id: str | None
    warned_ms: int | None
    expires_ms: int | None
    kept_ms: int | None


class IdleFollows:
    """The idle follows of one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def of(self, user_id: str) -> dict[tuple[str, str | None], IdleFollow]:
        """Return those of a person, by the asset and the column in it."""
        with reading(self._engine) as connection:
            idle_rows = connection.execute(select(idle_follow).where(_ROW.user_id == user_id)).all()
        follows = {}
        for row in idle_rows:
            expires_ms = None if row.counted_ms is None else row.counted_ms + (WARNED_DAYS - row.days) * DAY_MS
            place = FollowPlace(row.user_id, row.entity_id, row.column_path)
            idle = IdleFollow(place, row.notice_id, row.warned_ms, expires_ms, row.kept_ms)
            follows[row.entity_id, row.column_path or None] = idle
        return follows

    def people(self, after: str, limit: int) -> list[str]:
        """Return people who follow something, in the order of their ids."""
        columns = select(column_follow.c.user_id).where(column_follow.c.until_offset == NO_END)
        followers = union(select(follow.c.user_id), columns).subquery()
        query = select(followers.c.user_id).join(person, person.c.user_id == followers.c.user_id)
        query = query.where(followers.c.user_id > after, ~person.c.deleted).order_by(followers.c.user_id)
        with reading(self._engine) as connection:
            return list(connection.scalars(query.limit(limit)))

    def unknown_since_ms(self) -> int:
        """Return the latest time at which a follow may have begun whose event the log no longer has."""
        with reading(self._engine) as connection:
            return removed_until_ms(connection)

    def add(self, notice_id: str, places: Collection[FollowPlace]) -> None:
        """Have a notice warn of these follows; of one that another notice warns of already, it does not."""
        with writing(self._engine) as connection:
            for place in sorted(places):
                insert = insert_into(connection, idle_follow).values(**place._asdict(), notice_id=notice_id, days=0)
                is_free = _ROW.notice_id.is_(None)
                values = _NOT_WARNED | {"notice_id": notice_id}
                keys = ["user_id", "entity_id", "column_path"]
                connection.execute(insert.on_conflict_do_update(index_elements=keys, set_=values, where=is_free))

    def untold(self, limit: int) -> list[tuple[str, str]]:
        """Return notices whose people have not been warned, each with its person."""
        query = select(_ROW.notice_id, _ROW.user_id).where(_ROW.notice_id.is_not(None), _ROW.warned_ms.is_(None))
        with reading(self._engine) as connection:
            return [(row.notice_id, row.user_id) for row in connection.execute(query.distinct().limit(limit))]

    def note_warned(self, notice_id: str, now_ms: int) -> None:
        """Note that the person has been warned: from now on days are counted."""
        is_of_notice = and_(_ROW.notice_id == notice_id, _ROW.warned_ms.is_(None))
        with writing(self._engine) as connection:
            connection.execute(update(idle_follow).where(is_of_notice).values(warned_ms=now_ms, counted_ms=now_ms))

    def forget_notice(self, notice_id: str) -> None:
        """Forget what a notice warns of whose person is gone."""
        with writing(self._engine) as connection:
            connection.execute(delete(idle_follow).where(_ROW.notice_id == notice_id))

    def count_days(self, now_ms: int) -> None:
        """Count a day of all whose last one is over, one however long that was; a time to come counts from now on."""
        is_over = _ROW.counted_ms <= now_ms - DAY_MS
        with writing(self._engine) as connection:
            another_day = {"days": _ROW.days + 1, "counted_ms": now_ms}
            connection.execute(update(idle_follow).where(_IS_WARNED, is_over).values(another_day))
            is_ahead = _ROW.counted_ms > now_ms
            connection.execute(update(idle_follow).where(_IS_WARNED, is_ahead).values(counted_ms=now_ms))

    def due(self, limit: int) -> list[FollowPlace]:
        """Return follows whose week is over, those of a person together."""
        query = select(_ROW.user_id, _ROW.entity_id, _ROW.column_path).where(_IS_DUE)
        with reading(self._engine) as connection:
            return [
                FollowPlace(*row) for row in connection.execute(query.order_by(*query.selected_columns).limit(limit))
            ]

    def is_due(self, place: FollowPlace) -> bool:
        """Return whether the week of a follow is over, and nobody has kept it."""
        with reading(self._engine) as connection:
            query = select(_ROW.days).where(_is_at(place), _IS_DUE)
            return connection.scalar(query) is not None

    def forget_due(self, place: FollowPlace) -> None:
        """Forget a follow whose week is over, since it is used again; what its person has just kept stays so."""
        with writing(self._engine) as connection:
            connection.execute(delete(idle_follow).where(_is_at(place), _IS_DUE))

    def forget_warnings(self) -> None:
        """Forget all warnings: nothing is to end any more. What was kept stays so."""
        with writing(self._engine) as connection:
            connection.execute(delete(idle_follow).where(_ROW.notice_id.is_not(None), _ROW.kept_ms.is_(None)))
            connection.execute(update(idle_follow).where(_ROW.notice_id.is_not(None)).values(_NOT_WARNED))

    def keep(self, place: FollowPlace, now_ms: int) -> bool:
        """Let a follow go on that was about to end, judged anew from now on; False if it was not."""
        is_warned = and_(_is_at(place), _ROW.notice_id.is_not(None))
        with writing(self._engine) as connection:
            keeping = update(idle_follow).where(is_warned).values(**_NOT_WARNED, kept_ms=now_ms)
            return bool(connection.execute(keeping).rowcount)

    def places_of(self, notice_ids: Collection[str]) -> dict[str, list[FollowPlace]]:
        """Return what each of these notices warns of, that has been neither kept nor ended since."""
        query = select(_ROW.notice_id, _ROW.user_id, _ROW.entity_id, _ROW.column_path)
        places: dict[str, list[FollowPlace]] = {}
        with reading(self._engine) as connection:
            for notice_id, *place in rows_by_key(connection, query, _ROW.notice_id, set(notice_ids)):
                places.setdefault(notice_id, []).append(FollowPlace(*place))
        return places


def _is_at(place: FollowPlace) -> ColumnElement[bool]:
    return and_(_ROW.user_id == place.user_id, _ROW.entity_id == place.entity_id, _ROW.column_path == place.column_path)
