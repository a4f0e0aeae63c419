"""One event through all seven stages, in order. Read this first.

This is the whole pipeline in plain Python for one event; tests compare Spark with it. In production
``jobs/match_stream.py`` matches many events at once on Spark, its tasks run the same stages from there to the stored
notification (``flow/pipeline.py``), and ``delivery/worker/deliver.py`` runs the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from tocsin.clock import Clock
from tocsin.delivery.dispatch import Dispatch, Sender
from tocsin.delivery.transport.retry import wait_s
from tocsin.flow.match.local import matches
from tocsin.flow.match.plan import plan_of
from tocsin.flow.match.streak import StatusReport, with_facts
from tocsin.flow.pipeline import MATCHING, Batch, Context, Lookups, alert_facts_of, notifications_of, run
from tocsin.flow.schedule.messages import ScheduledNotification
from tocsin.flow.track.attempts import Finished, next_step
from tocsin.model.change import ChangeEvent, LoggedEvent
from tocsin.model.message import Attempt, Entry, Message, Retry
from tocsin.model.stored import Written
from tocsin.model.subscription import EventSubscription

_MIDWAY = 0.5
"""Jitter that neither shortens nor lengthens a wait."""


@dataclass(frozen=True)
class Dependencies:
    """What the stages need besides the event.

    ``read`` returns an event from the log; ``subscriptions`` are the enabled alerts; ``channels`` are the delivery
    channels, by name. ``earlier`` returns the previous reports of an event's entity. Events older than ``max_age_ms``
    notify nobody.
    """

    read: Callable[[str], LoggedEvent | None]
    subscriptions: Sequence[EventSubscription]
    lookups: Lookups
    channels: Mapping[str, Sender]
    clock: Clock
    earlier: Callable[[LoggedEvent], Sequence[StatusReport]] = lambda _logged: ()
    max_age_ms: int | None = None


@dataclass(frozen=True)
class Notified:
    """One notification, and the outcome of sending its message; None for the inbox and for what is due later."""

    scheduled: ScheduledNotification
    finished: Finished | None


async def once(write: Callable[[], Written], dependencies: Dependencies) -> tuple[Notified, ...]:
    """Make one write, notify the recipients, and return the notifications with their outcomes."""
    written = write()  # 1 capture: compare, next version, change event; nothing changed means no event
    logged = dependencies.read(written.event.id) if written.event else None  # 2 eventlog: at its place in the order
    if logged is None:
        return ()
    logged = with_facts(logged, dependencies.earlier(logged))
    matching = [alert for alert in dependencies.subscriptions if matches(plan_of(alert), logged)]  # 3 match
    scheduled = notifications_for(logged, matching, dependencies)  # 4 resolve, 5 schedule
    return tuple([await _send(each, logged.event, dependencies) for each in scheduled])  # 6 send, 7 track


def notifications_for(
    logged: LoggedEvent, matching: Sequence[EventSubscription], dependencies: Dependencies
) -> list[ScheduledNotification]:
    """Return the notifications that ``logged`` gives when it meets the conditions of exactly these alerts."""
    now_ms, max_age_ms = dependencies.clock.now_ms(), dependencies.max_age_ms
    oldest_ms = None if max_age_ms is None else now_ms - max_age_ms
    alerts = {alert.id: alert for alert in (*dependencies.subscriptions, *matching)}
    context = Context(alert_facts_of(alerts.values()), dependencies.lookups, now_ms, oldest_ms)
    batch = run(MATCHING, Batch.of_event(logged, matching), context)  # withhold, note incidents, trigger
    return list(chain.from_iterable(notifications_of(batch, context)))  # now, at a time, or together with others


async def _send(scheduled: ScheduledNotification, event: ChangeEvent, dependencies: Dependencies) -> Notified:
    started_at_ms = dependencies.clock.now_ms()
    if scheduled.message_id is None or scheduled.slot.due_at_ms > started_at_ms:
        return Notified(scheduled, None)
    senders = {alert.id: alert for alert in dependencies.subscriptions}
    message, draft = _message(scheduled, scheduled.message_id), scheduled.draft
    reasons = draft.reasons.in_order
    entry = Entry(scheduled.id, draft.event.offset, event, reasons, draft.recipient_id)
    dispatch = Dispatch(message, (entry,))
    destination = next(to for to in senders[message.subscription_id].destinations if to.id == message.destination_id)
    outcome = await dependencies.channels[message.channel].send(dispatch, destination, now_ms=started_at_ms)
    attempt = Attempt(message.id, 1, started_at_ms, dependencies.clock.now_ms() - started_at_ms, outcome)
    pause_s = wait_s(outcome, attempt.number, jitter=_MIDWAY) if isinstance(outcome, Retry) else 0.0
    retries = max(senders[reason.subscription_id].retries for reason in reasons)
    return Notified(
        scheduled, Finished(message, attempt, next_step(attempt, retries=retries, wait_s=pause_s), (entry,))
    )


def _message(scheduled: ScheduledNotification, identity: str) -> Message:
    subscription_id, destination_id = scheduled.sender
    return Message(
        id=identity,
        subscription_id=subscription_id,
        destination_id=destination_id,
        channel=scheduled.draft.channel,
        target=scheduled.draft.target,
        attempt_count=0,
        due_at_ms=scheduled.slot.due_at_ms,
        created_at_ms=scheduled.created_at_ms,
    )
