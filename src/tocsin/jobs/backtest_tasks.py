"""Counting would-be notifications on the executors: what a Spark task of a backtest does with its matches.

Resolves as ``jobs/resolving.py`` does and stores nothing. Next: ``jobs/backtest.py`` adds the counts up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import orjson
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType, LongType, StringType, StructField, StructType

from tocsin.access.visibility import Subject
from tocsin.flow.resolve.only_visible import Events, NotificationRow
from tocsin.flow.resolve.portions import resolved
from tocsin.jobs.resolving import (
    EVENTS_AT_ONCE,
    Rules,
    StoreAddress,
    disposing,
    matched_events,
    opened,
    recipient_rows,
    visible_parts,
)
from tocsin.store.chunks import chunked

_TEXT, _NUMBER = StringType(), LongType()
COUNTED = StructType(
    [
        *(StructField(name, _TEXT) for name in ("channel", "key", "target", "recipient_id")),
        *(StructField(name, _NUMBER) for name in ("notified", "ways")),
        StructField("kinds", ArrayType(_TEXT)),
    ]
)
"""One row per task and (channel, key): ``notified`` events, ``ways`` (reasons in all) and ``kinds`` of reasons.

One more row per task, whose ``channel`` is null, has in ``notified`` the number of events that notify anybody.
"""


@dataclass(frozen=True)
class Count:
    """The work of a task of a backtest, for ``spark/tasks.in_tasks``: from matches to rows of ``COUNTED``.

    ``asker_id`` is whoever asked for the backtest: an alert that is not stored yet would be theirs.
    """

    store: StoreAddress
    rules: Rules
    asker_id: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Take matches, rows of ``spark/match.matches`` with ``resolving.OF_EVENT``, and yield rows of ``COUNTED``."""
        store, counts = opened(self.store), _Counts()
        events = _EventsOfAsker(store.events, self.asker_id)
        with disposing(store):
            for some in chunked(matched_events(batches), EVENTS_AT_ONCE):
                found = recipient_rows(resolved(some, self.rules, store.directory))
                for rows in visible_parts(found, store.permission_cache.now(), events):
                    counts.add(rows)
        yield counts.rows()


class _Counts:
    """The counts of one task so far."""

    def __init__(self) -> None:
        self._offsets: set[int] = set()
        self._recipients: dict[tuple[str, str], _Recipient] = {}

    def add(self, rows: Sequence[NotificationRow]) -> None:
        self._offsets.update(row["log_offset"] for row in rows)
        for row in rows:
            at = row["channel"], row["key"]
            if at not in self._recipients:
                self._recipients[at] = _Recipient(row["target"], row["recipient_id"])
            self._recipients[at].add(*_ways_and_kinds(row["reasons"]))

    def rows(self) -> pa.RecordBatch:
        found = [
            (channel, key, one.target, one.recipient_id, one.notified, one.ways, sorted(one.kinds))
            for (channel, key), one in self._recipients.items()
        ]
        rows = [*found, (None, None, None, None, len(self._offsets), 0, [])]
        named = [dict(zip(COUNTED.names, row, strict=True)) for row in rows]
        return pa.RecordBatch.from_pylist(named, schema=to_arrow_schema(COUNTED))


@dataclass
class _Recipient:
    target: str
    recipient_id: str | None
    notified: int = 0
    ways: int = 0
    kinds: frozenset[str] = frozenset()

    def add(self, ways: int, kinds: frozenset[str]) -> None:
        self.notified += 1
        self.ways += ways
        self.kinds |= kinds


@dataclass(frozen=True)
class _EventsOfAsker:
    """The store's events; an alert that is not stored yet would be its asker's."""

    known: Events
    asker_id: str

    def subjects(self, offsets: Collection[int]) -> Mapping[int, Sequence[Subject]]:
        return self.known.subjects(offsets)

    def editors_of(self, subscription_ids: Collection[str]) -> Mapping[str, Sequence[str]]:
        return dict.fromkeys(subscription_ids, (self.asker_id,)) | dict(self.known.editors_of(subscription_ids))


@lru_cache(maxsize=4_096)
def _ways_and_kinds(reasons: str) -> tuple[int, frozenset[str]]:
    """Return how many reasons a JSON text holds, and of which kinds."""
    found = orjson.loads(reasons)
    return len(found), frozenset(one["kind"] for one in found)
