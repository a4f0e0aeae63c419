"""What a person was told of in the app in the last 30 days, by what they follow and by day.

One statement reads the newest notifications by their index, as ``ToldCounts`` does; what is about tests and threads
counts for their asset. Next: ``server/entities/followed_assets.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache

from sqlalchemy import Engine, case, func, select

from tocsin.model.notification import follow_key, parse_reasons
from tocsin.model.preferred_month import MONTH_DAYS
from tocsin.store.database.engine import reading
from tocsin.store.database.tables import change_event, notification
from tocsin.store.outbox.inbox_groups import was_shown_to
from tocsin.store.outbox.inbox_marks import READ_AT
from tocsin.store.outbox.told_counts import MOST_COUNTED, place_of
from tocsin.store.recipients.subject_assets import find_subject_assets

_DAY_MS = 86_400_000

NO_DAYS = (0,) * MONTH_DAYS


@dataclass
class ToldMonth:
    """Notifications of 30 days, the last of which is today in UTC.

    Attributes
    ----------
    told_count, read_count : of what a person follows
    days : how many there were on each day, oldest first, by ``follow_key``
    counts_by_follows : how many came because of nothing else than these follows, by all of their keys
    """

    told_count: int = 0
    read_count: int = 0
    days: dict[str, list[int]] = field(default_factory=lambda: defaultdict(lambda: [*NO_DAYS]))
    counts_by_follows: dict[frozenset[str], int] = field(default_factory=lambda: defaultdict(int))

    def count_without(self, keys: Collection[str]) -> int:
        """Return how many would not have come without these follows."""
        ended_keys = frozenset(keys)
        return sum(count for follows, count in self.counts_by_follows.items() if follows <= ended_keys)


class ToldMonths:
    """The last 30 days of the people of one store."""

    def __init__(self, engine: Engine, *, most_counted: int = MOST_COUNTED) -> None:
        self._engine, self._most_counted = engine, most_counted

    def of(self, user_id: str, now_ms: int, asset_fqns: Mapping[str, str]) -> ToldMonth:
        """Return the month of a person; ``asset_fqns`` are the names of the assets that they follow, by id."""
        today = now_ms // _DAY_MS
        start_ms = (today - MONTH_DAYS + 1) * _DAY_MS
        created_ms = notification.c.created_at_ms
        day = case((created_ms < start_ms, -1), else_=(created_ms - start_ms) // _DAY_MS).label("day")
        columns = (notification.c.log_offset, notification.c.reasons, READ_AT.label("read_at_ms"), day)
        inbox = select(*columns).where(was_shown_to(user_id, now_ms))
        newest = inbox.order_by(notification.c.log_offset.desc()).limit(self._most_counted).subquery()
        facts = (func.count(), func.count(newest.c.read_at_ms))
        query = select(change_event.c.entity_id, newest.c.reasons, newest.c.day, *facts).select_from(newest)
        query = query.join(change_event, change_event.c.log_offset == newest.c.log_offset)
        query = query.where(newest.c.day >= 0).group_by(change_event.c.entity_id, newest.c.reasons, newest.c.day)
        with reading(self._engine) as connection:
            count_rows = connection.execute(query).all()
            subjects = find_subject_assets(connection, {row.entity_id for row in count_rows} - asset_fqns.keys())
        month, parse = ToldMonth(), cache(parse_reasons)
        for entity_id, reasons_text, day_number, told_count, read_count in count_rows:
            reasons, asset_id = parse(reasons_text), subjects.of(entity_id)
            places = {(asset_id, None), *(place_of(one, asset_fqns) for one in reasons if one.through)}
            if any(place[0] in asset_fqns for place in places):
                month.told_count += told_count
                month.read_count += read_count
            for key in {follow_key(*place) for place in places}:
                month.days[key][min(int(day_number), MONTH_DAYS - 1)] += told_count
            follows = {one.follow_of(entity_id) for one in reasons}
            keys = frozenset(asset_id if key == entity_id else key for key in follows if key is not None)
            if None not in follows:
                month.counts_by_follows[keys] += told_count
        return month
