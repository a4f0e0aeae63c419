"""What a replay stored: notifications with their reasons, firings of alerts, and the log; read-only.

Next: ``truth/compare.py``.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Engine, text

from truth.alerts import HOOK
from truth.calls import Caller
from truth.expected import Address, Notifications, Reason
from truth.facts import Event, event_of
from truth.failures import Incident
from truth.schedule import Planned
from truth.script import NAMES_NOW, Script

_PAGE = {"limit": 500, "format": "tocsin"}
_OF_A_JOB = ("alertNarrowed", "lagExceeded", "lagRecovered")
"""Types of the events that jobs make, every minute at most: no step predicts when."""

_NOTIFICATIONS = text(
    "SELECT n.event_id, n.channel, n.recipient, n.reasons"
    " FROM notification n JOIN change_event e ON e.id = n.event_id"
    " WHERE (e.event_type IN ('alertNarrowed', 'lagExceeded', 'lagRecovered')) = :of_a_job"
    " AND substr(coalesce(n.preferred, ''), 1, 5) <> 'mute '"
)
_PLANNED = text(
    "SELECT n.event_id, e.timestamp_ms, n.channel, n.recipient, n.recipient_id, n.reasons, n.created_at_ms,"
    " n.due_at_ms, n.message_id, m.grouping_key, n.preferred"
    " FROM notification n JOIN change_event e ON e.id = n.event_id LEFT JOIN message m ON m.id = n.message_id"
    " WHERE e.event_type NOT IN ('alertNarrowed', 'lagExceeded', 'lagRecovered')"
    " AND substr(coalesce(n.preferred, ''), 1, 5) <> 'mute '"
)
_INCIDENTS = text("SELECT id, number, entity_id, opened_event_id, recovered_event_id FROM alert_incident")
_WATCHERS = text("SELECT incident_id, subscription_id FROM incident_watcher")
_OFFSETS = text("SELECT log_offset, id FROM change_event ORDER BY log_offset")
_FIRINGS = text(
    "SELECT e.id, f.subscription_id, f.notified_count, f.person_count, f.app_count"
    " FROM firing f JOIN change_event e ON e.log_offset = f.log_offset"
)
_MATCHES_OF_A_JOB = text(
    "SELECT e.id, f.subscription_id FROM firing f JOIN change_event e ON e.log_offset = f.log_offset"
    " WHERE e.event_type IN ('alertNarrowed', 'lagExceeded', 'lagRecovered')"
)
_LAST_REPORT = text(
    "SELECT coalesce(max(log_offset), 0) FROM change_event"
    " WHERE user_name = :actor AND entity_type = 'testCase' AND event_type IN ('entityUpdated', 'testCaseFailure')"
)
_JOBS = text("SELECT ran_at_ms FROM scheduled_job WHERE name IN ('change requests', 'reminders')")
_CHECKS = text("SELECT due_at_ms, through_offset IS NULL FROM scheduled_check")
_END = text("SELECT coalesce(max(log_offset), 0) FROM change_event")


class Firing(NamedTuple):
    """Notifications of one event by one alert: all, those to people, and those in the app."""

    notified: int = 0
    people: int = 0
    app: int = 0


@dataclass(frozen=True)
class Log:
    """The events of a replay, by step."""

    steps: Sequence[Sequence[Event]]

    def everything(self) -> list[Event]:
        """Return all events in order."""
        return [event for events in self.steps for event in events]


def log_end(engine: Engine) -> int:
    """Return the offset of the newest event."""
    with engine.connect() as connection:
        return int(connection.execute(_END).scalar_one())


def read_job_times(engine: Engine) -> list[int]:
    """Return when the jobs that remind last ran (epoch ms); nothing as long as they have not."""
    with engine.connect() as connection:
        times_ms = list(connection.execute(_JOBS).scalars())
    return times_ms if len(times_ms) == 2 else [0]


def read_checks(engine: Engine) -> list[tuple[int, bool]]:
    """Return the last time of each schedule with checks (epoch ms), and whether its digests wait no more for it."""
    with engine.connect() as connection:
        return [(due_at_ms, bool(is_released)) for due_at_ms, is_released in connection.execute(_CHECKS)]


def last_report_by(engine: Engine, actor: str) -> int:
    """Return the offset of the last result of a test that somebody reported who does nothing else to tests; or 0."""
    with engine.connect() as connection:
        return int(connection.execute(_LAST_REPORT, {"actor": actor}).scalar_one())


def read_log(caller: Caller, engine: Engine, ends: Sequence[int]) -> Log:
    """Return the events of each step, as the API returns them; ``ends``: the log's ends, before and after each."""
    with engine.connect() as connection:
        offsets = {row.id: row.log_offset for row in connection.execute(_OFFSETS)}
    steps: list[list[Event]] = [[] for _ in ends[1:]]
    at = ends[0]
    while True:
        page = caller.ask("GET", "/events", params={"eventTypes": "*", "offset": at, **_PAGE})
        for answer in (one for one in page["data"] if one["eventType"] not in _OF_A_JOB):
            step_end = bisect_left(ends, offsets[answer["id"]])
            if step_end < len(ends):  # later are log-ins of a replay that is judged again
                steps[step_end - 1].append(event_of(answer))
        if not page["data"]:
            return Log(steps)
        at = page["paging"]["offset"]


@dataclass(frozen=True)
class Names:
    """Names of what the store knows by ids: people, alerts, and the place of each destination in its alert."""

    people: Mapping[str, str]
    alerts: Mapping[str, str]
    places: Mapping[str, int]

    def reason(self, reason: Mapping[str, object]) -> Reason:
        """Return a reason that is stored or explained."""
        hops, team, through = reason.get("hops") or 0, str(reason.get("team") or ""), reason.get("through")
        return Reason(
            kind=str(reason["kind"]),
            alert=str(reason["subscriptionName"]),
            at=self.places.get(str(reason["destinationId"]), -1),
            team=NAMES_NOW.get(team, team),
            via=str(reason.get("via") or ""),
            hops=int(str(hops)),
            through=str(through.get("fullyQualifiedName") or "") if isinstance(through, Mapping) else "",
        )

    def recipient(self, channel: str, recipient: str, reasons: frozenset[Reason]) -> str:
        """Return who gets a notification: a person's name, an address, or which endpoint of which alert."""
        if channel == HOOK:  # its address is masked
            reason = min(one for one in reasons if one.kind == "external")
            return f"{reason.alert}[{reason.at}]"
        return self.people.get(recipient, recipient)


def names_of(caller: Caller, script: Script) -> Names:
    """Return the names of a replay."""
    places = {
        alert.destination_id(at): at
        for versions in script.alerts.values()
        for alert in versions
        for at, _ in enumerate(alert.destinations)
    }
    for alert in caller.ask("GET", "/events/subscriptions", params={"limit": 100})["data"]:
        places |= {one["id"]: at for at, one in enumerate(alert["destinations"])}
    ids = {kind: {one: name for (of, name), one in caller.ids.items() if of == kind} for kind in ("user", "alert")}
    return Names(ids["user"], ids["alert"], places)


def read_notifications(engine: Engine, names: Names, *, of_a_job: bool = False) -> Notifications:
    """Return every stored notification of an event of a step, or of a job, that no mute keeps back, by names."""
    reasons_by_address: dict[Address, frozenset[Reason]] = {}
    with engine.connect() as connection:
        for row in connection.execute(_NOTIFICATIONS, {"of_a_job": of_a_job}):
            reasons = frozenset(map(names.reason, json.loads(row.reasons)))
            reasons_by_address[row.event_id, row.channel, names.recipient(row.channel, row.recipient, reasons)] = (
                reasons
            )
    return reasons_by_address


def read_planned(engine: Engine, names: Names) -> Iterator[Planned]:
    """Yield every stored notification that no mute keeps back, with its times and the message that carries it."""
    with engine.connect() as connection:
        for row in connection.execute(_PLANNED):
            reasons = frozenset(map(names.reason, json.loads(row.reasons)))
            person = names.people.get(row.recipient_id or "", "")
            yield Planned(
                row.event_id,
                row.timestamp_ms,
                row.channel,
                row.recipient,
                person,
                reasons,
                row.created_at_ms,
                row.due_at_ms,
                row.message_id or "",
                row.grouping_key or "",
                (row.preferred or "own immediate").split(" ")[1],
            )


def read_incidents(engine: Engine, names: Names) -> dict[int, Incident]:
    """Return every stored incident by its number."""
    watchers = defaultdict[str, set[str]](set)
    with engine.connect() as connection:
        for incident_id, alert in connection.execute(_WATCHERS):
            watchers[incident_id].add(names.alerts.get(alert, ""))
        return {
            row.number: Incident(
                row.entity_id, row.opened_event_id, frozenset(watchers[row.id]), row.recovered_event_id
            )
            for row in connection.execute(_INCIDENTS)
        }


def read_matches_of_a_job(engine: Engine, names: Names) -> dict[str, set[str]]:
    """Return the ids of the events of a job that each alert matched: no step predicts them; backtests count them."""
    matches = defaultdict[str, set[str]](set)
    with engine.connect() as connection:
        for event_id, alert in connection.execute(_MATCHES_OF_A_JOB):
            matches[names.alerts.get(alert, alert)].add(event_id)
    return matches


def read_firings(engine: Engine, names: Names) -> dict[tuple[str, str], Firing]:
    """Return what noise is counted from, by alert and id of the event."""
    with engine.connect() as connection:
        return {
            (names.alerts.get(alert, alert), event_id): Firing(*counts)
            for event_id, alert, *counts in connection.execute(_FIRINGS)
        }
