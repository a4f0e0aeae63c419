"""Stored recommendations: written by runs, of which the newest complete one is read; and what people dismissed.

Next: ``jobs/recommendations.py`` writes them, ``server/entities/recommendations.py`` shows them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Engine, delete, func, insert, select, update

from tocsin.errors import Conflict
from tocsin.model.entity import Document
from tocsin.model.labels import SOURCES
from tocsin.model.recommendation import Evidence, ReasonToFollow
from tocsin.store.database.bulk import BulkInsert
from tocsin.store.database.documents import REFERENCE, reference_of
from tocsin.store.database.engine import insert_into, reading, writing
from tocsin.store.database.entity_tables import entity_reference
from tocsin.store.database.follow_tables import dismissed_recommendation, recommendation, recommendation_run
from tocsin.store.database.keys import rows_by_key, rows_of_all
from tocsin.store.database.tables import entity, entity_tag, follow, ownership
from tocsin.store.eventlog.activity import holders_above

MOST_DISMISSED = 5_000
"""Assets that a person may have dismissed at a time."""

_RUN, _ROW, _DISMISSED = recommendation_run.c, recommendation.c, dismissed_recommendation.c
_USERS_PER_DELETION = 5_000
_HIGHEST = 5
"""Levels above an asset that are looked at: service, database, schema and more."""

_INHERITED = ("domains", "dataProducts")
_FACTS = ("entity_id", "kind", "via_id", "through_id", "people_count", "member_count", "strength", "place")
_INSERT = BulkInsert(recommendation, ("run_id", "user_id", *_FACTS))
_NEWEST = select(_RUN.id).where(_RUN.completed_at_ms.is_not(None)).order_by(_RUN.id.desc()).limit(1).scalar_subquery()


class Recommendations:
    """Recommendations in one store."""

    def __init__(self, engine: Engine, *, most_dismissed: int = MOST_DISMISSED) -> None:
        self._engine, self._most_dismissed = engine, most_dismissed

    def begin(self, through_offset: int) -> int:
        """Begin a run over a log that has come so far; return its id."""
        with writing(self._engine) as connection:
            insertion = insert(recommendation_run).values(through_offset=through_offset).returning(_RUN.id)
            return int(connection.execute(insertion).scalar_one())

    def add(self, run_id: int, rows_of_run: Sequence[tuple[Any, ...]]) -> None:  # Any: a column's value
        """Store rows, columns as ``spark/recommendations.RECOMMENDATIONS``; those that are there stay as they are."""
        with writing(self._engine) as connection:
            _INSERT.run(connection, [(run_id, *row) for row in rows_of_run])

    def complete(self, run_id: int, *, now_ms: int) -> None:
        """Show this run from now on, and remove the rows of the others."""
        with writing(self._engine) as connection:
            is_it = _RUN.id == run_id
            connection.execute(update(recommendation_run).where(is_it).values(completed_at_ms=now_ms))
        self.forget_others()

    def forget_others(self) -> None:
        """Remove all runs before the one that is shown, in portions of people, and unfinished ones before it."""
        is_other = _ROW.run_id < _NEWEST
        some_users = select(_ROW.user_id).where(is_other).limit(_USERS_PER_DELETION).distinct()
        removed_count = 1
        while removed_count:
            with writing(self._engine) as connection:
                deletion = delete(recommendation).where(is_other, _ROW.user_id.in_(some_users))
                removed_count = connection.execute(deletion).rowcount
        with writing(self._engine) as connection:
            newest_id = connection.scalar(select(_NEWEST))
            connection.execute(delete(recommendation_run).where(_RUN.id < (newest_id or 0)))

    def through_offset(self) -> int | None:
        """Return how far the log had come when the run that is shown began; None if there is none."""
        with reading(self._engine) as connection:
            return connection.scalar(select(_RUN.through_offset).where(_RUN.id == _NEWEST))

    def of(self, user_id: str, followed_by_team: Collection[str] = ()) -> tuple[list[Evidence], int | None]:
        """Return all reasons of what is recommended to a person, and when they were found (epoch milliseconds).

        What they follow, directly, by what it belongs to, or ``followed_by_team``, what they or their teams own, what
        they dismissed, and what is deleted is left out, as it is now; None where no run is complete.
        """
        columns = (_ROW[name] for name in _FACTS)
        query = select(*columns).join(entity, (entity.c.id == _ROW.entity_id) & ~entity.c.deleted)
        query = query.where(_ROW.user_id == user_id, _ROW.run_id == _NEWEST)
        is_dismissed = select(_DISMISSED.entity_id).where(_DISMISSED.user_id == user_id)
        with reading(self._engine) as connection:
            completed_ms = connection.scalar(select(_RUN.completed_at_ms).where(_RUN.id == _NEWEST))
            stored_rows = connection.execute(query.where(_ROW.entity_id.not_in(is_dismissed))).all()
            own_follows = select(follow.c.entity_id).where(follow.c.user_id == user_id)
            followed_ids = set(connection.scalars(own_follows))
            holder_ids = connection.scalars(holders_above(user_id)).all()
            above = _containers_of(connection, {row.entity_id for row in stored_rows})
        evidence = [Evidence(row[0], ReasonToFollow(row[1]), *row[2:]) for row in stored_rows]
        every_followed_id = followed_ids.union(followed_by_team, holder_ids)
        return [
            reason
            for reason in evidence
            if (not reason.via_id or reason.via_id in followed_ids)
            and every_followed_id.isdisjoint({reason.entity_id, *above.get(reason.entity_id, ())})
        ], completed_ms

    def references(self, entity_ids: Collection[str]) -> dict[str, Document]:
        """Return references to those of these entities that are not deleted, by id."""
        query = select(*REFERENCE).where(~entity.c.deleted)
        with reading(self._engine) as connection:
            reference_rows = list(rows_by_key(connection, query, entity.c.id, entity_ids))
        return {row.id: reference_of(*row) for row in reference_rows}

    def dismiss(self, user_id: str, entity_id: str, *, now_ms: int) -> bool:
        """Recommend an asset to a person no more; return whether that is new.

        Raises
        ------
        Conflict : they have dismissed as many as they may
        """
        row = {"user_id": user_id, "entity_id": entity_id, "dismissed_at_ms": now_ms}
        count = select(func.count()).select_from(dismissed_recommendation).where(_DISMISSED.user_id == user_id)
        with writing(self._engine) as connection:
            insertion = insert_into(connection, dismissed_recommendation).values(row).on_conflict_do_nothing()
            if connection.execute(insertion.returning(_DISMISSED.entity_id)).first() is None:
                return False
            if int(connection.scalar(count) or 0) > self._most_dismissed:
                raise Conflict(f"At most {self._most_dismissed:,} assets can be dismissed; take some back first.")
            return True

    def undo(self, user_id: str, entity_id: str) -> bool:
        """Recommend an asset again; return whether it was dismissed."""
        is_it = (_DISMISSED.user_id == user_id, _DISMISSED.entity_id == entity_id)
        with writing(self._engine) as connection:
            return bool(connection.execute(delete(dismissed_recommendation).where(*is_it)).rowcount)

    def list_dismissals(self, user_id: str) -> list[tuple[str, int]]:
        """Return the ids of what a person has dismissed, and when (epoch milliseconds), the newest first."""
        query = select(_DISMISSED.entity_id, _DISMISSED.dismissed_at_ms).where(_DISMISSED.user_id == user_id)
        with reading(self._engine) as connection:
            dismissed_rows = connection.execute(query.order_by(_DISMISSED.dismissed_at_ms.desc(), _DISMISSED.entity_id))
            return [(row.entity_id, row.dismissed_at_ms) for row in dismissed_rows]


def _containers_of(connection: Connection, entity_ids: Collection[str]) -> Mapping[str, set[str]]:
    """Return what each of these assets belongs to: its ancestors, their domains, products and owners, its labels."""
    above: dict[str, set[str]] = defaultdict(set)
    assets_below: dict[str, set[str]] = {one: {one} for one in entity_ids}
    for level in range(_HIGHEST):
        pairs = _pairs_above(connection, assets_below, with_labels=level == 0)
        steps = [(asset_id, upper_id) for lower_id, upper_id in pairs for asset_id in assets_below[lower_id]]
        assets_below = defaultdict(set)
        for asset_id, upper_id in steps:
            above[asset_id].add(upper_id)
            assets_below[upper_id].add(asset_id)
        if not assets_below:
            break
    return above


def _pairs_above(connection: Connection, ids: Collection[str], *, with_labels: bool) -> Iterator[tuple[str, str]]:
    """Yield pairs of an entity and what it belongs to directly."""
    refers, owner = entity_reference.c, ownership.c
    queries = [
        (select(entity.c.id, entity.c.parent_id).where(entity.c.parent_id.is_not(None)), entity.c.id),
        (select(refers.entity_id, refers.target_id).where(refers.field.in_(_INHERITED)), refers.entity_id),
        (select(owner.entity_id, owner.owner_id), owner.entity_id),
    ]
    if with_labels:
        is_label = (entity.c.fqn == entity_tag.c.tag_fqn) & entity.c.entity_type.in_(SOURCES)
        queries.append((select(entity_tag.c.entity_id, entity.c.id).join(entity, is_label), entity_tag.c.entity_id))
    yield from map(tuple, rows_of_all(connection, queries, ids))
