"""What a replay stored: notifications with their reasons, and the log; read-only.

Next: ``truth/compare.py``.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Engine, text

from truth.alerts import HOOK
from truth.calls import Caller
from truth.expected import Address, Notifications, Reason
from truth.facts import Event, event_of
from truth.script import Script

_NOTIFICATIONS = text("SELECT event_id, channel, recipient, reasons FROM notification")
_OFFSETS = text("SELECT log_offset, id FROM change_event ORDER BY log_offset")
_END = text("SELECT coalesce(max(log_offset), 0) FROM change_event")


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


def read_log(caller: Caller, engine: Engine, ends: Sequence[int]) -> Log:
    """Return the events of each step, as the API tells them; ``ends`` are where the log ended before and after each."""
    with engine.connect() as connection:
        offsets = {row.id: row.log_offset for row in connection.execute(_OFFSETS)}
    steps: list[list[Event]] = [[] for _ in ends[1:]]
    at = ends[0]
    while True:
        page = caller.ask("GET", "/events", params={"offset": at, "limit": 500, "format": "tocsin"})
        for answer in page["data"]:
            steps[bisect_left(ends, offsets[answer["id"]]) - 1].append(event_of(answer))
        if not page["data"]:
            return Log(steps)
        at = page["paging"]["offset"]


def read_notifications(caller: Caller, engine: Engine, script: Script) -> Notifications:
    """Return every stored notification, with names instead of ids."""
    names = {entity_id: name for (kind, name), entity_id in caller.ids.items() if kind == "user"}
    places = _places(caller, script)
    found: dict[Address, frozenset[Reason]] = {}
    with engine.connect() as connection:
        for row in connection.execute(_NOTIFICATIONS):
            reasons = frozenset(_reason(one, places) for one in json.loads(row.reasons))
            recipient = _endpoint(reasons) if row.channel == HOOK else names.get(row.recipient, row.recipient)
            found[row.event_id, row.channel, recipient] = reasons
    return found


def _places(caller: Caller, script: Script) -> Mapping[str, int]:
    """Return the place of each destination in its alert."""
    found = {
        alert.destination_id(at): at
        for versions in script.alerts.values()
        for alert in versions
        for at, _ in enumerate(alert.destinations)
    }
    for alert in caller.ask("GET", "/events/subscriptions", params={"limit": 100})["data"]:
        found |= {one["id"]: at for at, one in enumerate(alert["destinations"])}
    return found


def _endpoint(reasons: frozenset[Reason]) -> str:
    """Return which endpoint of which alert is meant; its address is masked."""
    reason = min(one for one in reasons if one.kind == "external")
    return f"{reason.alert}[{reason.at}]"


def _reason(reason: Mapping[str, object], places: Mapping[str, int]) -> Reason:
    hops = reason.get("hops") or 0
    return Reason(
        kind=str(reason["kind"]),
        alert=str(reason["subscriptionName"]),
        at=places.get(str(reason["destinationId"]), -1),
        team=str(reason.get("team") or ""),
        via=str(reason.get("via") or ""),
        hops=int(str(hops)),
    )
