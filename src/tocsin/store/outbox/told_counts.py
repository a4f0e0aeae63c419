"""How often a person was told of assets in the app, by the asset.

One statement reads the newest notifications of the person by their index, whatever the number of assets; an event of a
test or a thread counts for the table or asset that it is about, and for what contains it, or the column of it, if the
person was told of it because they follow that. Next: ``server/entities/followed_assets.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from typing import NamedTuple

from sqlalchemy import Engine, case, func, select

from tocsin.model.columns import path_below
from tocsin.model.follow_review import ToldCount
from tocsin.model.notification import Reason, parse_reasons
from tocsin.store.database.engine import reading
from tocsin.store.database.tables import change_event, notification
from tocsin.store.outbox.inbox_groups import was_shown_to
from tocsin.store.outbox.inbox_marks import READ_AT
from tocsin.store.recipients.subject_assets import find_subject_assets

MOST_COUNTED = 20_000
"""Notifications of a person that count: the newest."""

Place = tuple[str, str | None]
"""The id of an asset, and the path of a column in it; None for the asset itself."""


class ToldCounts:
    """Notifications of people in one store, counted by asset."""

    def __init__(self, engine: Engine, *, most_counted: int = MOST_COUNTED) -> None:
        self._engine, self._most_counted = engine, most_counted

    def of(self, user_id: str, now_ms: int, asset_fqns: Mapping[str, str]) -> dict[Place, ToldCount]:
        """Return how often a person was told of each of these assets, by id, and of the columns of it that they follow.

        What they were never told of has no entry.
        """
        has_container = notification.c.reasons.contains('"through"')
        reasons = case((has_container, notification.c.reasons), else_="[]").label("reasons")
        columns = (notification.c.log_offset, READ_AT.label("read_at_ms"), notification.c.created_at_ms, reasons)
        inbox = select(*columns).where(was_shown_to(user_id, now_ms))
        newest = inbox.order_by(notification.c.log_offset.desc()).limit(self._most_counted).subquery()
        read_at_ms = newest.c.read_at_ms
        at_ms = newest.c.created_at_ms
        facts = (func.count(), func.count(read_at_ms), func.max(read_at_ms), func.max(at_ms), func.min(at_ms))
        query = select(change_event.c.entity_id, newest.c.reasons, *facts).select_from(newest)
        query = query.join(change_event, change_event.c.log_offset == newest.c.log_offset)
        with reading(self._engine) as connection:
            count_rows = connection.execute(query.group_by(change_event.c.entity_id, newest.c.reasons)).all()
            subjects = find_subject_assets(connection, {row.entity_id for row in count_rows} - asset_fqns.keys())
        counts: dict[Place, list[_Part]] = defaultdict(list)
        for entity_id, reasons_text, *part in count_rows:
            places: set[Place] = {(subjects.of(entity_id), None)}
            places.update(place_of(one, asset_fqns) for one in parse_reasons(reasons_text) if one.through)
            for place in places:
                counts[place].append(_Part(*part))
        return {place: _total(parts) for place, parts in counts.items() if place[0] in asset_fqns}


def place_of(reason: Reason, asset_fqns: Mapping[str, str]) -> Place:
    """Return what a person follows in place of an asset, for which they were told of that."""
    through = reason.through
    if through is None or through.id is None:
        return "", None
    if not reason.is_of_column or through.id not in asset_fqns or through.fully_qualified_name is None:
        return through.id, None
    return through.id, path_below(through.fully_qualified_name, asset_fqns[through.id])


class _Part(NamedTuple):
    """How often a person was told of one entity, and how much of it they have read; ``opened_ms``: the last time."""

    told_count: int
    read_count: int
    opened_ms: int | None
    last_ms: int
    first_ms: int


def _total(parts: Collection[_Part]) -> ToldCount:
    count, read_count = sum(part.told_count for part in parts), sum(part.read_count for part in parts)
    opened_ms = max((part.opened_ms for part in parts if part.opened_ms is not None), default=None)
    last_ms, first_ms = max(part.last_ms for part in parts), min(part.first_ms for part in parts)
    return ToldCount(count, count - read_count, last_ms, opened_ms, first_ms)
