"""How often a person was told of assets in the app, by the asset.

One statement reads the newest notifications of the person by their index, whatever the number of assets; an event of a
test or a thread counts for the table or asset that it is about, and for what contains it if the person was told of it
because they follow that. Next: ``server/entities/followed_assets.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

from sqlalchemy import Engine, case, func, select

from tocsin.model.follow_review import ToldCount
from tocsin.model.notification import parse_reasons
from tocsin.store.database.engine import reading
from tocsin.store.database.tables import change_event, notification
from tocsin.store.outbox.inbox_groups import is_shown_to
from tocsin.store.outbox.inbox_marks import READ_AT
from tocsin.store.recipients.subject_assets import find_subject_assets

MOST_COUNTED = 20_000
"""Notifications of a person that count: the newest."""


class ToldCounts:
    """Notifications of people in one store, counted by asset."""

    def __init__(self, engine: Engine, *, most_counted: int = MOST_COUNTED) -> None:
        self._engine, self._most_counted = engine, most_counted

    def of(self, user_id: str, now_ms: int, asset_ids: Collection[str]) -> dict[str, ToldCount]:
        """Return how often a person was told of each of these assets; one they were never told of has no entry."""
        has_container = notification.c.reasons.contains('"through"')
        reasons = case((has_container, notification.c.reasons), else_="[]").label("reasons")
        columns = (notification.c.log_offset, READ_AT.label("read_at_ms"), notification.c.created_at_ms, reasons)
        inbox = select(*columns).where(is_shown_to(user_id, now_ms))
        newest = inbox.order_by(notification.c.log_offset.desc()).limit(self._most_counted).subquery()
        counts = (func.count(), func.count(newest.c.read_at_ms), func.max(newest.c.created_at_ms))
        query = select(change_event.c.entity_id, newest.c.reasons, *counts).select_from(newest)
        query = query.join(change_event, change_event.c.log_offset == newest.c.log_offset)
        with reading(self._engine) as connection:
            count_rows = connection.execute(query.group_by(change_event.c.entity_id, newest.c.reasons)).all()
            subjects = find_subject_assets(connection, {row.entity_id for row in count_rows} - set(asset_ids))
        counts_by_asset: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
        for entity_id, reasons_text, count, read_count, last_ms in count_rows:
            containers = {str(one.through.id) for one in parse_reasons(reasons_text) if one.through}
            for asset_id in {subjects.of(entity_id), *containers}:
                counts_by_asset[asset_id].append((count, read_count, last_ms))
        return {one: _total(counts_by_asset[one]) for one in counts_by_asset.keys() & set(asset_ids)}


def _total(parts: Collection[tuple[int, int, int]]) -> ToldCount:
    count, read_count = sum(part[0] for part in parts), sum(part[1] for part in parts)
    return ToldCount(count, count - read_count, max(part[2] for part in parts))
