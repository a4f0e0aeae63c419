"""Time that passes, as it should be: whom jobs remind, what they ask on the date of a change, what a check finds.

Written from ``docs/incidents.md``, ``docs/change-requests.md`` and ``docs/schedules.md``. Time is counted in days since
a replay began: what the script does in between takes none. Next: ``truth/expected.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from truth.alerts import Alert
from truth.expected_state import ExpectedState
from truth.failures import Incident
from truth.history import Key
from truth.job_events import CHECK, REMINDER, JobEvent

FORGOTTEN_DAYS = 30
"""How long a mute without an end has held when its person is told of it."""

STALE_DAYS = 10
"""How long a test must be without success to be stale, for the alerts of a replay."""


class Reminders:
    """Reminders of incidents so far: when each alert last reminded of which, and how many there were."""

    def __init__(self) -> None:
        self._last_days: dict[tuple[str, str], int] = {}
        self._counts = Counter[str]()

    def take(
        self, incidents: Mapping[Key, Incident], alerts: Mapping[str, Alert], days: Mapping[str, int], day: int
    ) -> Iterator[JobEvent]:
        """Yield the reminders of a day, of these incidents of assets, which nobody has acknowledged.

        ``days`` has the day of each event; an alert watches from the event that opened the incident.
        """
        for key, incident in incidents.items():
            opened_by = incident.opened_by
            due = [
                name
                for name in incident.watchers
                if (repeat := alerts[name].repeat_days) is not None
                and day - self._last_days.get((opened_by, name), days[opened_by]) >= repeat
            ]
            if due:
                self._last_days |= {(opened_by, name): day for name in due}
                self._counts[opened_by] += 1
                yield JobEvent(REMINDER, key, reminding=frozenset(due), number=self._counts[opened_by])


def request_events(world: ExpectedState) -> Iterator[JobEvent]:
    """Yield the reminders of change requests that are due, and the questions to authors on the date."""
    for name, request in world.requests.requests_to_come().items():
        if request.about not in world.all_live():
            continue
        stand = (name, request.status_on(world.day), request.open_count)
        if request.is_reminder_due(world.day):
            owners = (owner for consumer in request.open_consumers for owner in world.owners_of(consumer))
            principals = tuple(dict.fromkeys(owners))
            yield JobEvent("changeRequestReminder", request.about, asked_principals=principals, request=stand)
        elif request.is_question_due(world.day):
            author = ("user", request.author)
            yield JobEvent("changeRequestUpdated", request.about, asked_principals=(author,), request=stand)


def mute_events(world: ExpectedState, before: int) -> Iterator[JobEvent]:
    """Yield the mentions that tell people of mutes that have held for a month without an end; ``before``: the last day.

    Mutes of everything, or of an author, have an end in a replay, and nobody is told of it: their last day jumps over.
    """
    if before < FORGOTTEN_DAYS <= world.day:
        for user in sorted({one[0] for one in world.mutes} - world.removed_people):
            world.begin_notice(user)
            yield JobEvent("threadCreated", ("thread", user))


def check_events(world: ExpectedState, alerts: Collection[Alert]) -> Iterator[JobEvent]:
    """Yield what a check finds, where some alert asks for it."""
    for key, entity in world.entities.items():
        states = frozenset() if entity.is_deleted else frozenset(_states_of(world, key))
        if any(alert.finds(key[0], states) for alert in alerts):
            yield JobEvent(CHECK, key, states=states)


def _states_of(world: ExpectedState, key: Key) -> Iterator[str]:
    if world.reports.get(key, ())[-1:] == ["Failed"]:
        yield "stillFailing"
    if key in world.since_days and world.day - world.since_days[key] >= STALE_DAYS:
        yield "stillStale"
    if key[0] in ("pipeline", "testCase", "databaseSchema") and not world.principals_of(key, "owners"):
        yield "stillWithoutOwner"
