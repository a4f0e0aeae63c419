"""Counts of the newest events that alerts told of: how many other alerts told of as well, and how many led to an act.

A requester learns of assets and alerts that they may view, and of nothing else. Next: ``store/outbox/told_events.py``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.subscription import EventSubscription
from tocsin.server.http.json_schema import COUNT, ID, TEXT, array, exact_object, nullable
from tocsin.server.request import Caller
from tocsin.store.outbox.told_events import ToldEvent

MOST_PAIRS = 20_000
"""Pairs of event and alert, the newest ones, that are compared."""

_MOST_NOTIFIED = 200_000
_MOST_OTHERS = 5

NEWEST_TOLD = exact_object(
    {
        **dict.fromkeys(("events", "actedOn", "toldByOthers", "otherAlerts"), COUNT),
        "others": array(exact_object({"id": ID, "name": TEXT, "displayName": nullable(TEXT), "events": COUNT})),
    }
)
"""What became of the newest events that an alert told of."""


def newest_told(alerts: Sequence[EventSubscription], start: int, caller: Caller) -> dict[str, Document]:
    """Return of each alert that told of any of the newest events from an offset on, what became of these."""
    store = caller.parts.alert_stores.told_events
    newest_pairs = store.newest([alert.id for alert in alerts], start, limit=MOST_PAIRS, most_notified=_MOST_NOTIFIED)
    pairs = _visible(newest_pairs, caller)
    if not pairs:
        return {}
    acts = store.acts_between(pairs[-1].log_offset, pairs[0].log_offset)
    comparable_alerts = {alert.id: alert for alert in alerts if not alert.is_of_tocsin}
    offsets_by_alert: dict[str, list[int]] = defaultdict(list)
    alerts_by_offset: dict[int, list[str]] = defaultdict(list)
    for pair in pairs:
        offsets_by_alert[pair.alert_id].append(pair.log_offset)
        if pair.alert_id in comparable_alerts:
            alerts_by_offset[pair.log_offset].append(pair.alert_id)
    return {
        alert_id: {
            "events": len(offsets),
            "actedOn": sum((offset, alert_id) in acts for offset in offsets),
            **_overlap(alert_id, [alerts_by_offset[offset] for offset in offsets], comparable_alerts),
        }
        for alert_id, offsets in offsets_by_alert.items()
    }


def _visible(pairs: Sequence[ToldEvent], caller: Caller) -> Sequence[ToldEvent]:
    if caller.visibility.is_whole:
        return pairs
    assets = {(pair.entity_id, pair.entity_type) for pair in pairs if pair.entity_type in ENTITY_TYPES}
    visible_ids = caller.visibility.sees({"id": asset_id, "type": kind} for asset_id, kind in assets)
    return [pair for pair in pairs if pair.entity_id in visible_ids]


def _overlap(
    alert_id: str, alerts_of_events: Sequence[Sequence[str]], comparable_alerts: Mapping[str, EventSubscription]
) -> Document:
    """Return of how many of these events other alerts of people told as well, and which of most."""
    if alert_id not in comparable_alerts:
        return {"toldByOthers": 0, "otherAlerts": 0, "others": []}
    counts = Counter[str]()
    for alert_ids in alerts_of_events:
        counts.update(alert_ids)
    del counts[alert_id]
    other_ids = sorted(counts, key=lambda other_id: (-counts[other_id], comparable_alerts[other_id].name))
    return {
        "toldByOthers": sum(len(alert_ids) > 1 for alert_ids in alerts_of_events),
        "otherAlerts": len(counts),
        "others": [
            {
                "id": other_id,
                "name": comparable_alerts[other_id].name,
                "displayName": comparable_alerts[other_id].display_name,
                "events": counts[other_id],
            }
            for other_id in other_ids[:_MOST_OTHERS]
        ],
    }
