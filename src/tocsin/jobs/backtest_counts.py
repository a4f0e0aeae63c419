"""Counts of a backtest: matches and would-be recipients, accumulated as it runs.

Next: ``jobs/backtest.py``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tocsin.model.entity import Document
from tocsin.model.match_result import Pair

MOST_ASSETS = 20
MOST_RECIPIENTS = 50
MOST_SAMPLES = 10

_DAY_MS = 86_400_000

RecipientRow = Mapping[str, Any]  # Any: a column of ``backtest_tasks.COUNTED``


@dataclass
class RecipientCount:
    """One recipient over one channel: where it goes, who it is, how often, because of what and by which alerts.

    ``ways`` is the number of reasons in all.
    """

    channel: str
    target: str
    recipient_id: str | None
    notified: int = 0
    ways: int = 0
    kinds: set[str] = field(default_factory=set)
    alerts: set[str] = field(default_factory=set)

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
    samples: list[int] = field(default_factory=list)
    notified_events: int = 0
    recipients: dict[tuple[str, str], RecipientCount] = field(default_factory=dict)
    notified_by: Counter[str] = field(default_factory=Counter)
    held_back: Counter[str] = field(default_factory=Counter)

    def match(self, columns: Mapping[str, list[Any]]) -> None:  # Any: a column's values
        """Count events that matched; ``columns`` are their columns, in any order."""
        self.days.update(at_ms // _DAY_MS for at_ms in columns["timestamp_ms"])
        self.assets.update(columns["entity_id"])
        places = zip(columns["entity_type"], columns["entity_fqn"], strict=True)
        self.names.update(zip(columns["entity_id"], places, strict=True))
        self.samples = sorted([*self.samples, *columns["log_offset"]])[-MOST_SAMPLES:]

    def hold_back(self, pairs: Iterable[Pair]) -> None:
        """Count matches that incidents hold back, by alert."""
        self.held_back.update(alert for _, alert in pairs)

    def add(self, recipients: Iterable[RecipientRow]) -> None:
        """Count the would-be recipients; rows without a channel are numbers of events, or of notifications."""
        for row in recipients:
            if row["channel"]:
                recipient = RecipientCount(row["channel"], row["target"], row["recipient_id"])
                recipient = self.recipients.setdefault((row["channel"], row["key"]), recipient)
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
        notified = sum(one.notified for one in self.recipients.values())
        return {
            "matched": self.days.total(),
            "notifiedNobody": self.days.total() - self.notified_events,
            "perDay": [{"date": _date(day), "matched": count} for day, count in sorted(self.days.items())],
            "assetCount": len(self.assets),
            "assets": [self._asset(entity_id, count) for entity_id, count in self.assets.most_common(MOST_ASSETS)],
            "notified": notified,
            "merged": sum(one.ways for one in self.recipients.values()) - notified,
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
