"""Match results, written once per match together with its notifications.

A repeated micro-batch finds its results here and creates no more notifications. Next:
``store/catalogue/alerts/audit.py`` reads them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import fields

from sqlalchemy import Connection, Engine, delete, func, insert, select

from tocsin.model.match_result import MatchResult, Pair
from tocsin.store.catalogue.relations import past
from tocsin.store.database.alert_tables import match_result
from tocsin.store.database.bulk import BulkInsert
from tocsin.store.database.engine import reading, writing
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.tables import pipeline_progress
from tocsin.store.eventlog.log import progress_of

KEPT_FROM = "match_results"
"""The row of ``pipeline_progress`` with the offset after which match results are kept."""

_RESULTS = BulkInsert(match_result, (*(one.name for one in fields(MatchResult)), "missing_count"))


def resolved_pairs(connection: Connection, pairs: Sequence[Pair]) -> set[Pair]:
    """Return those of the matches ``pairs`` that have a result already."""
    if not pairs:
        return set()
    offsets = [offset for offset, _ in pairs]
    query = select(match_result.c.log_offset, match_result.c.subscription_id)
    results = connection.execute(query.where(match_result.c.log_offset.between(min(offsets), max(offsets))))
    return {(row.log_offset, row.subscription_id) for row in results}.intersection(pairs)


def withheld(connection: Connection, pairs: Sequence[Pair]) -> set[Pair]:
    """Return those of the matches ``pairs`` that have been withheld."""
    offsets = [offset for offset, _ in pairs]
    query = select(match_result.c.log_offset, match_result.c.subscription_id).where(
        match_result.c.log_offset.between(min(offsets, default=0), max(offsets, default=0)),
        match_result.c.withheld_for.is_not(None),
    )
    return {(row.log_offset, row.subscription_id) for row in connection.execute(query)}.intersection(pairs)


def keep(connection: Connection, match_results: Sequence[MatchResult]) -> None:
    """Store match results; existing ones stay unchanged."""
    missing_counts = past.lost_relation_counts(connection, {one.log_offset for one in match_results})
    _RESULTS.run(connection, [(*vars(one).values(), missing_counts.get(one.log_offset, 0)) for one in match_results])


class MatchResults:
    """Match results of one store, for the audit and for cleanup."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def last_forgotten_offset(self) -> int:
        """Return the offset after which every match has its result."""
        with reading(self._engine) as connection:
            return progress_of(connection, KEPT_FROM)

    def withheld_at(self, log_offset: int, subscription_ids: Collection[str]) -> dict[str, str | None]:
        """Return those of these alerts that have a result of an event, and the editor for whom it was withheld."""
        row = match_result.c
        query = select(row.subscription_id, row.withheld_for).where(row.log_offset == log_offset)
        with reading(self._engine) as connection:
            results = rows_by_key(connection, query, row.subscription_id, subscription_ids)
            return {result.subscription_id: result.withheld_for for result in results}

    def withheld_counts(self, subscription_id: str) -> dict[str, int]:
        """Return how many matches of an alert were withheld because of each editor, among those that are kept."""
        row = match_result.c
        query = select(row.withheld_for, func.count()).where(row.subscription_id == subscription_id)
        query = query.where(row.withheld_for.is_not(None)).group_by(row.withheld_for)
        with reading(self._engine) as connection:
            return {editor: int(count) for editor, count in connection.execute(query)}

    def forget(self, *, through: int, now_ms: int) -> None:
        """Delete the match results up to an offset, which are no longer needed."""
        with writing(self._engine) as connection:
            past.forget(connection, through)
            oldest = connection.execute(select(func.min(match_result.c.log_offset))).scalar_one()
            if oldest is None or oldest > through:
                return
            connection.execute(delete(pipeline_progress).where(pipeline_progress.c.query_name == KEPT_FROM))
            progress = {"query_name": KEPT_FROM, "log_offset": through, "updated_at_ms": now_ms}
            connection.execute(insert(pipeline_progress), progress)
            connection.execute(delete(match_result).where(match_result.c.log_offset <= through))
