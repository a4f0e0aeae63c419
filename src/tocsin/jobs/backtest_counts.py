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

MOST_ASSETS = 20
MOST_RECIPIENTS = 50
MOST_SAMPLES = 10

_DAY_MS = 86_400_000

Match = Mapping[str, Any]  # Any: a column of the matches, by its name
RecipientRow = Mapping[str, Any]  # Any: a column of spark/backtest.py, by its name


@dataclass(frozen=True)
class RecipientCount:
    """One recipient over one channel: where it goes, who it is, how often, and because of what."""

    channel: str
    target: str
    recipient_id: str | None
    told: int
    kinds: frozenset[str]


@dataclass
class Tally:
    """The counts so far."""

    days: Counter[int] = field(default_factory=Counter)
    assets: Counter[str] = field(default_factory=Counter)
    names: dict[str, tuple[str, str]] = field(default_factory=dict)
    samples: list[int] = field(default_factory=list)
    ways: int = 0
    told_of: int = 0
    heard: dict[tuple[str, str], RecipientCount] = field(default_factory=dict)

    def match(self, rows: Mapping[str, list[Any]]) -> None:  # Any: a column's values
        """Count events that matched; ``rows`` are their columns, in any order."""
        self.days.update(at_ms // _DAY_MS for at_ms in rows["timestamp_ms"])
        self.assets.update(rows["entity_id"])
        places = zip(rows["entity_type"], rows["entity_fqn"], strict=True)
        self.names.update(zip(rows["entity_id"], places, strict=True))
        self.samples = sorted([*self.samples, *rows["log_offset"]])[-MOST_SAMPLES:]

    def tell(self, rows: Iterable[RecipientRow], event_count: int) -> None:
        """Count the would-be recipients; ``event_count`` is the number of events with any."""
        self.told_of += event_count
        for row in rows:
            at = (row["channel"], row["key"])
            before = self.heard.get(at)
            told, kinds = (before.told, before.kinds) if before else (0, frozenset[str]())
            kinds |= frozenset(row["kinds"])
            self.heard[at] = RecipientCount(
                row["channel"], row["target"], row["recipient_id"], told + row["told"], kinds
            )
            self.ways += row["ways"]

    def most_told(self) -> list[RecipientCount]:
        """Return the recipients with the most would-be notifications."""
        order = sorted(self.heard.values(), key=lambda one: (-one.told, one.channel, one.target))
        return order[:MOST_RECIPIENTS]

    def counts(self) -> Document:
        """Return all counts but those of recipients by name."""
        told = sum(one.told for one in self.heard.values())
        return {
            "matched": self.days.total(),
            "toldNobody": self.days.total() - self.told_of,
            "perDay": [{"date": _date(day), "matched": count} for day, count in sorted(self.days.items())],
            "assetCount": len(self.assets),
            "assets": [self._asset(entity_id, count) for entity_id, count in self.assets.most_common(MOST_ASSETS)],
            "told": told,
            "merged": self.ways - told,
            "recipientCount": len({one.recipient_id or one.target for one in self.heard.values()}),
            "channels": self._channels(),
        }

    def _asset(self, entity_id: str, count: int) -> Document:
        entity_type, fqn = self.names[entity_id]
        return {"id": entity_id, "type": entity_type, "fullyQualifiedName": fqn, "matched": count}

    def _channels(self) -> list[Document]:
        told, recipients = Counter[str](), defaultdict[str, int](int)
        for one in self.heard.values():
            told[one.channel] += one.told
            recipients[one.channel] += 1
        return [{"channel": name, "told": told[name], "recipients": recipients[name]} for name in sorted(told)]


def _date(day: int) -> str:
    return f"{datetime.fromtimestamp(day * 86_400, tz=UTC):%Y-%m-%d}"
