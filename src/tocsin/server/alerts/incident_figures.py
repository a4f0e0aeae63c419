"""Figures of incidents: how many are open and whose, how many began each day, how long they lasted, what fails often.

They count what the caller may see, of all that are open and of those that began in the last days.
Next: ``server/routes/alerts/alert_incidents.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from statistics import median
from zoneinfo import ZoneInfo

from tocsin.clock import to_datetime
from tocsin.model.alert_incident import AlertIncident, IncidentStatus, StepKind
from tocsin.model.entity import Document
from tocsin.model.retention import DAY_MS
from tocsin.server.access.references import with_names
from tocsin.server.alerts.incidents import NAME, as_listed, asset_of
from tocsin.server.http.json_schema import COUNT, DAY, FLAG, OPEN, array, exact_object, nullable
from tocsin.server.request import Caller

MOST_COUNTED = 2_000
"""Most incidents that are looked at: the newest."""
_MOST_REPEATERS = 5

FIGURES = exact_object(
    {
        "days": COUNT,
        "open": COUNT,
        "unacknowledged": {**COUNT, "description": "Of those open: nobody has acknowledged them or is assigned."},
        "mine": {**COUNT, "description": "Of those open: assigned to the caller or one of their teams."},
        "resolved": {**COUNT, "description": "How many of those that began in these days are over."},
        "perDay": array(exact_object({"day": DAY, "count": COUNT, "open": COUNT})),
        "untilResolved": nullable({**COUNT, "description": "Median of how long they lasted, in milliseconds."}),
        "untilAcknowledged": nullable({**COUNT, "description": "Median until the first acknowledgement, in ms."}),
        "repeaters": array(exact_object({"entity": OPEN, "count": COUNT, "latest": NAME})),
        "isWhole": {
            **FLAG,
            "description": f"False of more than {MOST_COUNTED:,}: the newest count.",
        },
    }
)


@dataclass(frozen=True)
class _Span:
    """The last days of a reader: from the midnight at which they begin, in milliseconds, in the reader's zone."""

    days: Sequence[date]
    zone: ZoneInfo

    def day_of(self, at_ms: int) -> date:
        """Return the day of a time."""
        return to_datetime(at_ms).astimezone(self.zone).date()

    def has(self, incident: AlertIncident) -> bool:
        """Return whether an incident began in these days."""
        return self.day_of(incident.opened_at_ms) >= self.days[0]


def figures_json(day_count: int, caller: Caller) -> Document:
    """Return the figures of the last ``day_count`` days, today among them."""
    now_ms, zone = caller.parts.clock.now_ms(), ZoneInfo(caller.zone)
    today = to_datetime(now_ms).astimezone(zone).date()
    span = _Span([today - timedelta(days=ago) for ago in reversed(range(day_count))], zone)
    log = caller.parts.alert_stores.incidents
    incidents = log.open_or_since(now_ms - (day_count + 1) * DAY_MS, limit=MOST_COUNTED + 1)
    incidents_seen = [one for one in as_listed(caller, incidents[:MOST_COUNTED]) if one is not None]
    recent = [one for one in incidents_seen if span.has(one)]
    first_acks = {
        incident_id: steps[0].at_ms
        for incident_id, steps in log.steps_of_kind({one.id for one in recent}, StepKind.ACKNOWLEDGED).items()
    }
    spans_ms = [one.resolved_at_ms - one.opened_at_ms for one in recent if one.resolved_at_ms is not None]
    waits_ms = [first_acks[one.id] - one.opened_at_ms for one in recent if one.id in first_acks]
    return {
        "days": day_count,
        **_counts_of_open([one for one in incidents_seen if one.is_open], caller),
        "resolved": len(spans_ms),
        "perDay": list(_per_day(recent, span)),
        "untilResolved": _median_of(spans_ms),
        "untilAcknowledged": _median_of(waits_ms),
        "repeaters": _repeaters(recent, caller),
        "isWhole": len(incidents) <= MOST_COUNTED,
    }


def own_assignees(caller: Caller) -> set[str]:
    """Return the ids of whom an incident is assigned to that is the caller's: themselves and their teams."""
    return {caller.actor.id, *caller.permissions.subject.teams}


def _counts_of_open(open_incidents: Sequence[AlertIncident], caller: Caller) -> Document:
    own_ids = own_assignees(caller)
    return {
        "open": len(open_incidents),
        "unacknowledged": sum(one.status is IncidentStatus.OPEN and one.assignee is None for one in open_incidents),
        "mine": sum(one.assignee is not None and one.assignee["id"] in own_ids for one in open_incidents),
    }


def _per_day(incidents: Sequence[AlertIncident], span: _Span) -> Iterable[Document]:
    counts = Counter(span.day_of(one.opened_at_ms) for one in incidents)
    open_counts = Counter(span.day_of(one.opened_at_ms) for one in incidents if one.is_open)
    for day in span.days:
        yield {"day": day.isoformat(), "count": counts[day], "open": open_counts[day]}


def _median_of(spans_ms: Sequence[int]) -> int | None:
    return max(0, round(median(spans_ms))) if spans_ms else None


def _repeaters(incidents: Sequence[AlertIncident], caller: Caller) -> list[Document]:
    """Return what failed more than once, most often first, with the newest incident of each."""
    counts = Counter(one.entity_id for one in incidents)
    latest = {one.entity_id: one for one in sorted(incidents, key=lambda one: one.number)}
    often = [(entity_id, count) for entity_id, count in counts.most_common(_MOST_REPEATERS) if count > 1]
    references = with_names([asset_of(latest[entity_id]) for entity_id, _ in often], caller)
    return [
        {"entity": references[entity_id], "count": count, "latest": latest[entity_id].name}
        for entity_id, count in often
    ]
