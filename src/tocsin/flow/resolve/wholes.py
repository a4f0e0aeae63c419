"""Events that are told as one: a deletion, restore or rename of an entity with all below it, or an import below it.

Each entity below has its own event, a part of the event of the entity itself, the whole. Who hears of the whole by an
alert hears of its parts by others only. A part knows its whole, wherever in the log the two are, so that a part is
judged by itself. Next: ``flow/pipeline.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from tocsin.flow.resolve.only_visible import with_reasons
from tocsin.flow.resolve.portions import MatchedEvent
from tocsin.model.notification_draft import NotificationDraft
from tocsin.model.subscription import Channel

TellingAlerts = Mapping[str, Mapping[tuple[Channel, str], Collection[str]]]
"""The alerts that tell of wholes, by the id of the event, and the channel and key of who is told."""


class FindWholes(Protocol):
    """Finds wholes by the ids of their events."""

    def __call__(self, alerts_by_whole: Mapping[str, Collection[str]]) -> Sequence[MatchedEvent]:
        """Return those that match some of the alerts that are asked of each, with these; one that is gone is none."""


def alerts_by_whole(events: Iterable[MatchedEvent]) -> dict[str, set[str]]:
    """Return the wholes that these events are parts of, with the alerts that match some part of each."""
    alerts: dict[str, set[str]] = {}
    for event in events:
        if event.head.part_of is not None:
            alerts.setdefault(event.head.part_of, set()).update(event.answers_by_alert)
    return alerts


def telling_alerts_of(drafts: Iterable[NotificationDraft]) -> TellingAlerts:
    """Return whom these notifications of wholes tell of them."""
    telling_alerts: dict[str, dict[tuple[Channel, str], Collection[str]]] = {}
    for draft in drafts:
        if draft.mute is None:
            telling_alerts.setdefault(draft.event.event_id, {})[draft.channel, draft.key] = draft.reasons.alert_ids
    return telling_alerts


def without_told_parts(drafts: Sequence[NotificationDraft], telling_alerts: TellingAlerts) -> list[NotificationDraft]:
    """Return the notifications with the reasons of alerts that do not tell the same recipient of the whole."""
    if not telling_alerts:
        return list(drafts)
    return [narrowed for draft in drafts if (narrowed := _without_told_reasons(draft, telling_alerts)) is not None]


def _without_told_reasons(draft: NotificationDraft, telling_alerts: TellingAlerts) -> NotificationDraft | None:
    alerts = telling_alerts.get(draft.event.part_of or "", {}).get((draft.channel, draft.key), ())
    if not alerts:
        return draft
    reasons = tuple(reason for reason in draft.reasons.in_order if reason.subscription_id not in alerts)
    return with_reasons(draft, reasons) if reasons else None
