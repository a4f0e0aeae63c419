"""Metadata of the lake's segments; files count only once they are complete and recorded here.

A segment is staged, written, then committed in one transaction that appends it to the lake's end: a crash before that
leaves a folder nobody reads. Merged segments are retired in the transaction that commits their replacement.
Next: ``jobs/lake.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import takewhile
from uuid import uuid4

from sqlalchemy import Connection, Engine, delete, func, insert, select, text, update

from tocsin.flow.eventlog.lake import Segment
from tocsin.flow.eventlog.position import LogPosition
from tocsin.store.database.engine import is_sqlite, reading, writing
from tocsin.store.database.log_tables import lake_segment
from tocsin.store.eventlog.log import holds, readable_end
from tocsin.store.eventlog.removed import removed_through

_ROW = lake_segment.c
_STAGED, _KEPT, _RETIRED = "staged", "kept", "retired"
_LOCK = text("SELECT pg_advisory_xact_lock(hashtext('tocsin lake'))")
_SEGMENT = (_ROW.id, _ROW.after_offset, _ROW.through_offset, _ROW.event_count, _ROW.first_ms, _ROW.last_ms)


class Lake:
    """The segments of one store's lake."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def segments(self) -> tuple[Segment, ...]:
        """Return the segments that make up the lake, in the order of the log; together they leave no gap."""
        with reading(self._engine) as connection:
            query = select(*_SEGMENT).where(_ROW.state == _KEPT).order_by(_ROW.after_offset)
            return tuple(Segment(*row) for row in connection.execute(query))

    def end(self) -> int:
        """Return the offset up to which the lake is complete; 0 when it is empty."""
        with reading(self._engine) as connection:
            return _end(connection)

    def stage(self, after: int, through: int, *, now_ms: int) -> str:
        """Announce a segment that is about to be written; return its id, which names its folder."""
        row = {"id": str(uuid4()), "state": _STAGED, "after_offset": after, "through_offset": through}
        with writing(self._engine) as connection:
            connection.execute(insert(lake_segment), row | {"changed_at_ms": now_ms})
        return str(row["id"])

    def keep(
        self,
        written: Segment,
        *,
        end: LogPosition | None = None,
        replacing: Sequence[Segment] = (),
        now_ms: int,
        is_valid: Callable[[Connection], bool] = lambda _connection: True,
    ) -> bool:
        """Commit a staged segment to the lake, in place of those it replaces.

        ``end`` is its end position in the log, recorded before the log was read. Returns False, and changes nothing,
        when it is not contiguous any more: another run was faster, or has removed it as a leftover, or the log is not
        the one that was read, because the store was restored or replaced meanwhile; or ``is_valid`` says, inside the
        transaction, that what the segment was made by no longer holds.
        """
        ids = [one.id for one in replacing]
        with writing(self._engine) as connection:
            if not is_sqlite(connection):
                connection.execute(_LOCK)
            staged_ids = select(_ROW.id).where(_ROW.id == written.id, _ROW.state == _STAGED)
            fits = _are_kept(connection, ids) if ids else _end(connection) == written.after
            if end is not None and not (holds(connection, end) and end.offset <= readable_end(connection)):
                return False
            if not is_valid(connection):
                return False
            if not fits or connection.execute(staged_ids).scalar_one_or_none() is None:
                return False
            retirement = update(lake_segment).where(_ROW.id.in_(ids)).values(state=_RETIRED, changed_at_ms=now_ms)
            connection.execute(retirement)
            measurement = {name: getattr(written, name) for name in ("event_count", "first_ms", "last_ms")}
            commit = update(lake_segment).where(_ROW.id == written.id)
            connection.execute(commit.values(state=_KEPT, changed_at_ms=now_ms, **measurement))
        return True

    def retire_missing(self, is_there: Callable[[str], bool], *, now_ms: int) -> int:
        """Retire the lake from the first missing segment on; return how many segments that is.

        Its events are appended again from the log.
        """
        with reading(self._engine) as connection:
            ids = kept_ids(connection)
        missing_ids = ids[sum(1 for _ in takewhile(is_there, ids)) :]
        if missing_ids:
            with writing(self._engine) as connection:
                retirement = update(lake_segment).where(_ROW.id.in_(missing_ids), _ROW.state == _KEPT)
                connection.execute(retirement.values(state=_RETIRED, changed_at_ms=now_ms))
        return len(missing_ids)

    def lacks_removed_events(self) -> bool:
        """Return whether retention has removed events from the log that the lake, as far as it goes, does not have."""
        with reading(self._engine) as connection:
            return removed_through(connection) > _end(connection)

    def leftovers(self, *, before_ms: int) -> list[str]:
        """Return the ids of segments that were staged or retired before that moment and are of no use any more."""
        with reading(self._engine) as connection:
            query = select(_ROW.id).where(_ROW.state != _KEPT, _ROW.changed_at_ms < before_ms)
            return list(connection.execute(query.order_by(_ROW.id)).scalars())

    def listed_ids(self) -> set[str]:
        """Return the ids of all segments: of the lake, announced, and left over."""
        with reading(self._engine) as connection:
            return set(connection.execute(select(_ROW.id)).scalars())

    def forget(self, ids: Collection[str]) -> None:
        """Drop segments that are no part of the lake; their folders may go after that."""
        with writing(self._engine) as connection:
            connection.execute(delete(lake_segment).where(_ROW.id.in_(list(ids)), _ROW.state != _KEPT))


def kept_ids(connection: Connection) -> tuple[str, ...]:
    """Return the ids of the segments that make up the lake, in the order of the log."""
    return tuple(connection.execute(select(_ROW.id).where(_ROW.state == _KEPT).order_by(_ROW.after_offset)).scalars())


def keep_only(connection: Connection, is_there: Callable[[str], bool]) -> int:
    """Remove files that are no part of the lake, and the lake from the first missing segment on.

    Its events are then appended again from the log. Returns how many segments were dropped.
    """
    ids = kept_ids(connection)
    present_ids = tuple(takewhile(is_there, ids))
    connection.execute(delete(lake_segment).where(_ROW.id.not_in(present_ids)))
    return len(ids) - len(present_ids)


def _end(connection: Connection) -> int:
    query = select(func.max(_ROW.through_offset)).where(_ROW.state == _KEPT)
    return int(connection.execute(query).scalar_one() or 0)


def _are_kept(connection: Connection, ids: Collection[str]) -> bool:
    query = select(func.count()).where(_ROW.id.in_(list(ids)), _ROW.state == _KEPT)
    return int(connection.execute(query).scalar_one()) == len(ids)
