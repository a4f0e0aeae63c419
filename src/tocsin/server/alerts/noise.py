"""Noise reports of alerts with suggestions, from counts and recorded events that the requester may see.

Next: ``alerts/noise.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import islice

from tocsin.alerts.noise import Fired, rule_shares, suggestions
from tocsin.flow.match.streak import report_of
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.match_result import Firing
from tocsin.model.subscription import EventSubscription
from tocsin.server.access.events import visible_parts
from tocsin.server.access.permissions import visible_references
from tocsin.server.alert_stores import with_streaks
from tocsin.server.alerts.told_events import newest_told
from tocsin.server.http.answer_shapes import Shape, json_of
from tocsin.server.http.json_schema import COUNT, WHOLE
from tocsin.server.request import Caller
from tocsin.store.outbox.firings import Tally

FORMULA = "noise = notifications to people - opened in the app; mail counts as unopened"

MOST_EXAMINED = 2_000
"""Events, the newest ones, that rules and suggestions are evaluated against."""

_MOST_REPORTS = 300
_MOST_NOTIFIED = 200_000
_MOST_ASSETS = 10
_MOST_ASSETS_LOOKED_AT = 1_000
"""The noisiest assets of an alert, of which the first that the requester may see are listed."""


def overview(alerts: Sequence[EventSubscription], since: int, limit: int, caller: Caller) -> Document:
    """Return the noisiest of these alerts, the worst first; those that matched nothing are not listed."""
    stores, now_ms = caller.parts.alert_stores, caller.parts.clock.now_ms()
    start = stores.firings.start_of(since)
    tallies = _tallies([one.id for one in alerts], start, caller)
    noisy = [one for one in alerts if one.id in tallies]
    alerts_by_noise = sorted(noisy, key=lambda one: (-tallies[one.id].noise, -tallies[one.id].notified_count, one.name))
    listed_alerts = alerts_by_noise[:limit]
    people = (
        stores.firings.people(_countable(listed_alerts, tallies), start)
        if listed_alerts and caller.visibility.is_whole
        else {}
    )
    mutes = stores.mutes.counts([one.id for one in listed_alerts], now_ms)
    newest = newest_told(alerts, start, caller) if listed_alerts else {}
    reports = [
        _row(alert, tallies[alert.id], people.get(alert.id), mutes.get(alert.id, (0, 0)))
        | {"newest": newest.get(alert.id)}
        for alert in listed_alerts
    ]
    return {
        "since": since,
        "until": now_ms,
        "formula": FORMULA,
        "data": reports,
        "paging": {"total": len(noisy)},
    }


def detail(alert: EventSubscription, since: int, alerts: Sequence[EventSubscription], caller: Caller) -> Document:
    """Return what an alert told, per asset and rule, what others of ``alerts`` told too, what a rule would save."""
    stores, now_ms = caller.parts.alert_stores, caller.parts.clock.now_ms()
    start = stores.firings.start_of(since)
    tally = _tallies([alert.id], start, caller).get(alert.id, Tally())
    is_counted = caller.visibility.is_whole and tally.notified_count <= _MOST_NOTIFIED
    people = stores.firings.people([alert.id], start).get(alert.id, 0) if is_counted else None
    mute_counts = stores.mutes.counts([alert.id], now_ms).get(alert.id, (0, 0))
    fired_events = _fired_events(stores.firings.of(alert.id, start, limit=MOST_EXAMINED), caller)
    (by_names_then,) = caller.parts.subscriptions.with_past_names([alert], after=start - 1)
    return {
        "since": since,
        "until": now_ms,
        "formula": FORMULA,
        **_row(alert, tally, people, mute_counts),
        "newest": newest_told(alerts, start, caller).get(alert.id),
        "assets": _assets(alert.id, start, caller),
        "examined": len(fired_events),
        "rules": [_camel(asdict(one)) for one in rule_shares(by_names_then, fired_events)],
        "suggestions": [_camel(asdict(one)) for one in suggestions(fired_events)],
    }


def _tallies(alert_ids: Sequence[str], start: int, caller: Caller) -> dict[str, Tally]:
    """Return the counts of each alert that matched something, without what the caller may not see."""
    firings = caller.parts.alert_stores.firings
    if caller.visibility.is_whole:
        return firings.tallies(start)
    asset_tallies = [one for one in firings.per_asset(alert_ids, start) if one[1]["type"] in ENTITY_TYPES]
    visible_ids = caller.visibility.sees(reference for _, reference, _ in asset_tallies)
    sums: dict[str, Tally] = {}
    for alert, reference, tally in asset_tallies:
        if reference["id"] in visible_ids:
            sums[alert] = sums.get(alert, Tally()) + tally
    return sums


def _countable(alerts: Sequence[EventSubscription], tallies: Mapping[str, Tally]) -> list[str]:
    """Return the alerts whose people are counted: the quietest ones, up to a total number of notifications."""
    quiet_ids, notified = [], 0
    for alert in sorted(alerts, key=lambda alert: tallies[alert.id].notified_count):
        notified += tallies[alert.id].notified_count
        if notified <= _MOST_NOTIFIED:
            quiet_ids.append(alert.id)
    return quiet_ids


def _fired_events(firings: Sequence[Firing], caller: Caller) -> list[Fired]:
    """Return the recorded events of these firings; of the newest reports with what earlier ones make of them."""
    recorded_events = list(caller.parts.log.at([firing.log_offset for firing in firings]).values())
    events_by_offset = {
        event.offset: event for event in visible_parts(caller.visibility, recorded_events) if event is not None
    }
    fired_events: list[Fired] = []
    reports = 0
    for firing in firings:
        logged_event = events_by_offset.get(firing.log_offset)
        if logged_event is None:
            continue
        if report_of(logged_event) is not None and reports < _MOST_REPORTS:
            reports += 1
            logged_event = with_streaks(logged_event, caller.parts.alert_stores)
        fired_events.append((logged_event, firing))
    return fired_events


def _assets(alert_id: str, start: int, caller: Caller) -> list[Document]:
    asset_tallies = caller.parts.alert_stores.firings.by_asset(alert_id, start, limit=_MOST_ASSETS_LOOKED_AT)
    references = [{"id": entity_id, "type": kind} for entity_id, kind, _, _ in asset_tallies]
    visible = {one["id"] for one in visible_references(caller, references)}
    visible_tallies = (one for one in asset_tallies if one[0] in visible)
    return [
        {"id": entity_id, "type": kind, "fullyQualifiedName": name, **json_of(NOISE_COUNTS, tally)}
        for entity_id, kind, name, tally in islice(visible_tallies, _MOST_ASSETS)
    ]


NOISE_COUNTS: Shape[Tally] = {
    "fired": (COUNT, lambda tally: tally.fired_count),
    "notifiedNobody": (COUNT, lambda tally: tally.silent_count),
    "notified": (COUNT, lambda tally: tally.notified_count),
    "notifiedPeople": (COUNT, lambda tally: tally.person_count),
    "notifiedInApp": (COUNT, lambda tally: tally.app_count),
    "opened": (COUNT, lambda tally: tally.opened_count),
    "noise": (WHOLE, lambda tally: tally.noise),
}
"""What an alert, or one of its assets, had of events and notifications."""


def _row(alert: EventSubscription, tally: Tally, people: int | None, mutes: tuple[int, int]) -> Document:
    return {
        "id": alert.id,
        "name": alert.name,
        "displayName": alert.display_name,
        "enabled": alert.enabled,
        **json_of(NOISE_COUNTS, tally),
        "people": people,
        "muted": mutes[0],
        "unsubscribed": mutes[1],
    }


def _camel(fields: dict[str, object]) -> Document:
    """Return the facts of a rule or a suggestion under the names they have on the wire."""
    wire = {"held_count": "held", "examined_count": "examined", "saved_count": "saved", "notified_count": "notified"}
    return {{**wire, "opened_count": "missed"}.get(name, name): value for name, value in fields.items()}
