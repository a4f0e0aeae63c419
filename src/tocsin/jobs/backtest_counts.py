"""Counts of a backtest: matches and would-be recipients, accumulated as it runs.

Next: ``jobs/backtest.py``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tocsin.model.entity import Document
from tocsin.model.match_result import Pair

MOST_ASSETS = 20
MOST_RECIPIENTS = 50
MOST_SAMPLES = 10
MOST_COMPARED = 20_000
"""Matching events, the newest ones, that are compared with those of other alerts."""

_DAY_MS = 86_400_000
_OF_ASSETS = ("entity_id", "log_offset_count", "entity_type_last", "entity_fqn_last")

RecipientRow = Mapping[str, Any]  # Any: a column of ``backtest_tasks.COUNTED``


@dataclass
class RecipientCount:
    """One recipient over one channel: where it goes, who it is, how often, because of what and by which alerts.

    ``target`` and ``recipient_id`` are those of the event at ``first_offset``; ``ways`` is the number of all reasons.
    """

    channel: str
    target: str
    recipient_id: str | None
    first_offset: int
    notified: int = 0
    ways: int = 0
    kinds: set[str] = field(default_factory=set)
    alerts: set[str] = field(default_factory=set)

    def name(self, target: str, recipient_id: str | None, first_offset: int) -> None:
        """Take who it is from an earlier event than any before: several people may share an address."""
        if first_offset < self.first_offset:
            self.target, self.recipient_id, self.first_offset = target, recipient_id, first_offset

    def add(self, notified: int, ways: int, kinds: Iterable[str], alerts: Iterable[str]) -> None:
        """Count further notifications and their reasons."""
        self.notified += notified
        self.ways += ways
        self.kinds.update(kinds)
        self.alerts.update(alerts)


@dataclass
class BacktestTally:
    """The counts so far."""

    days: Counter[int] = field(default_factory=Counter)
    assets: Counter[str] = field(default_factory=Counter)
    names: dict[str, tuple[str, str]] = field(default_factory=dict)
    newest: list[int] = field(default_factory=list)
    notified_events: int = 0
    recipients: dict[tuple[str, str], RecipientCount] = field(default_factory=dict)
    notified_by: Counter[str] = field(default_factory=Counter)
    held_back: Counter[str] = field(default_factory=Counter)

    def match(self, matched: pa.Table) -> None:
        """Count events that matched: one row per event, in the order of the log."""
        days = pc.value_counts(pc.divide(matched["timestamp_ms"], _DAY_MS))
        self.days.update(dict(zip(*(days.field(name).to_pylist() for name in ("values", "counts")), strict=True)))
        last = pc.ScalarAggregateOptions(skip_nulls=False)
        assets = matched.group_by("entity_id", use_threads=False).aggregate(
            [("log_offset", "count"), ("entity_type", "last", last), ("entity_fqn", "last", last)]
        )
        ids, *counts_and_names = (column.to_pylist() for column in assets.select(_OF_ASSETS).columns)
        for entity_id, count, *name in zip(ids, *counts_and_names, strict=True):
            self.assets[entity_id] += count
            self.names[entity_id] = (name[0], name[1])
        newest = matched["log_offset"].slice(max(0, matched.num_rows - MOST_COMPARED)).to_pylist()
        self.newest = sorted({*self.newest, *newest})[-MOST_COMPARED:]

    def count_held_back(self, pairs: Iterable[Pair]) -> None:
        """Count matches that incidents hold back, by alert."""
        self.held_back.update(alert for _, alert in pairs)

    def add(self, recipients: Iterable[RecipientRow]) -> None:
        """Count the would-be recipients; rows without a channel are numbers of events, or of notifications."""
        for row in recipients:
            if row["channel"]:
                who = (row["target"], row["recipient_id"], row["first_offset"])
                recipient = RecipientCount(row["channel"], *who)
                recipient = self.recipients.setdefault((row["channel"], row["key"]), recipient)
                recipient.name(*who)
                recipient.add(row["notified"], row["ways"], row["kinds"], row["alerts"])
            elif row["key"]:
                self.notified_by[row["key"]] += row["notified"]
            else:
                self.notified_events += row["notified"]

    def most_notified(self) -> list[RecipientCount]:
        """Return the recipients with the most would-be notifications."""
        order = sorted(self.recipients.values(), key=lambda one: (-one.notified, one.channel, one.target))
        return order[:MOST_RECIPIENTS]

    def counts(self) -> Document:
        """Return all counts but those of recipients by name."""
        notified_count = sum(one.notified for one in self.recipients.values())
        return {
            "matched": self.days.total(),
            "notifiedNobody": self.days.total() - self.notified_events,
            "perDay": [{"date": _date(day), "matched": count} for day, count in sorted(self.days.items())],
            "assetCount": len(self.assets),
            "assets": [self._asset(entity_id, count) for entity_id, count in self.assets.most_common(MOST_ASSETS)],
            "notified": notified_count,
            "merged": sum(one.ways for one in self.recipients.values()) - notified_count,
            "recipientCount": len({one.recipient_id or one.target for one in self.recipients.values()}),
            "channels": self._channels(),
        }

    def _asset(self, entity_id: str, count: int) -> Document:
        entity_type, fqn = self.names[entity_id]
        return {"id": entity_id, "type": entity_type, "fullyQualifiedName": fqn, "matched": count}

    def _channels(self) -> list[Document]:
        notified, recipients = Counter[str](), defaultdict[str, int](int)
        for recipient in self.recipients.values():
            notified[recipient.channel] += recipient.notified
            recipients[recipient.channel] += 1
        return [
            {"channel": name, "notified": notified[name], "recipients": recipients[name]} for name in sorted(notified)
        ]


def _date(day: int) -> str:
    return f"{datetime.fromtimestamp(day * 86_400, tz=UTC):%Y-%m-%d}"
