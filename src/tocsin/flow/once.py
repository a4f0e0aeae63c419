"""One event through the stages up to its due messages, in order. Read this first.

This is the whole pipeline in plain Python for one event; tests compare Spark with it. In production
``jobs/match_stream.py`` matches many events at once on Spark, its tasks run the same stages from there to the stored
notification (``flow/pipeline.py``). Next: ``delivery/worker/deliver.py``, which sends what is due.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

from tocsin.clock import Clock
from tocsin.conditions.asset_states import with_own_states
from tocsin.flow.match.local import matches
from tocsin.flow.match.plan import plan_of
from tocsin.flow.match.streak import StatusReport, with_facts
from tocsin.flow.pipeline import MATCHING, Batch, Context, Lookups, alert_facts_of, notifications_of, run
from tocsin.flow.schedule.messages import ScheduledNotification
from tocsin.model.change import ChangeEvent, LoggedEvent
from tocsin.model.message import CarriedEvent, Entry, Message
from tocsin.model.stored import Written
from tocsin.model.subscription import EventSubscription


@dataclass(frozen=True)
class Dependencies:
    """What the stages need besides the event.

    ``read`` returns an event from the log; ``subscriptions`` are the enabled alerts; ``earlier`` returns the previous
    reports of an event's entity. Events older than ``max_age_ms`` notify nobody.
    """

    read: Callable[[str], LoggedEvent | None]
    subscriptions: Sequence[EventSubscription]
    lookups: Lookups
    clock: Clock
    earlier: Callable[[LoggedEvent], Sequence[StatusReport]] = lambda _logged: ()
    max_age_ms: int | None = None


@dataclass(frozen=True)
class Notified:
    """One notification, and the message with its due time that carries it as ``entry``; None for the inbox."""

    scheduled: ScheduledNotification
    message: Message | None = None
    entry: Entry | None = None


def once(write: Callable[[], Written], dependencies: Dependencies) -> tuple[Notified, ...]:
    """Make one write, and return its notifications with the messages that carry them."""
    written = write()  # 1 capture: compare, next version, change event; nothing changed means no event
    logged = dependencies.read(written.event.id) if written.event else None  # 2 eventlog: at its place in the order
    if logged is None:
        return ()
    logged = with_facts(logged, dependencies.earlier(logged))
    matching = [alert for alert in dependencies.subscriptions if matches(plan_of(alert), logged)]  # 3 match
    scheduled = notifications_for(logged, matching, dependencies)  # 4 resolve, 5 schedule
    return tuple(_with_message(each, logged.event) for each in scheduled)  # 6 send, 7 track: the worker, when it is due


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


def _with_message(scheduled: ScheduledNotification, event: ChangeEvent) -> Notified:
    """Return a notification with the message that carries it."""
    if scheduled.message_id is None:
        return Notified(scheduled)
    draft = scheduled.draft
    entry = Entry(
        scheduled.id,
        draft.event.offset,
        CarriedEvent.of(with_own_states(event, draft.reasons.in_order)),
        draft.reasons.in_order,
        draft.recipient_id,
        whole_id=draft.event.part_of,
    )
    return Notified(scheduled, _message(scheduled, scheduled.message_id), entry)


def _message(scheduled: ScheduledNotification, identity: str) -> Message:
    subscription_id, destination_id = scheduled.sender
    return Message(
        id=identity,
        subscription_id=subscription_id,
        destination_id=destination_id,
        channel=scheduled.draft.channel,
        target=scheduled.draft.target,
        attempt_count=0,
        due_at_ms=scheduled.sent_at_ms,
        created_at_ms=scheduled.created_at_ms,
    )
