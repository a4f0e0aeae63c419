"""Parts of a whole that are told by themselves, because its recipient may no longer view the whole when it is sent.

A part that an alert tells with its whole has no notification of its own (``flow/resolve/wholes.py``). Where rights
withhold the whole at sending, the same stages run again for its parts, that recipient and those alerts, with the rights
of now. Their ids are those that the pipeline would have given, so that a worker that is killed before the end of its
attempt writes nothing twice. Why: docs/decisions/0193-parts-of-a-hidden-whole-are-told.md.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain

from sqlalchemy import Engine, or_, select

from tocsin.access.permission_cache import PermissionCache
from tocsin.delivery.dispatch import Dispatch, narrow_dispatch
from tocsin.errors import InvalidInput
from tocsin.flow.match.plan import plan_of
from tocsin.flow.pipeline import (
    NOTIFYING,
    Batch,
    Context,
    Lookups,
    alert_facts_of,
    audiences_in,
    drafts_of,
    run,
    schedule,
    withhold,
)
from tocsin.flow.resolve.directory import EVERYBODY, Portion
from tocsin.flow.resolve.only_visible import RememberedEvents
from tocsin.model.message import DroppedReason, Entry, OutcomeReason
from tocsin.model.notification import Reason, parse_reasons
from tocsin.model.notification_draft import NotificationDraft
from tocsin.model.subscription import EventSubscription
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.database.engine import reading
from tocsin.store.database.tables import notification
from tocsin.store.outbox.notification_ids import read_id_scheme
from tocsin.store.outbox.notifications import Notifications
from tocsin.store.outbox.preferences import SqlPreferences
from tocsin.store.recipients.directory import SqlDirectory
from tocsin.store.recipients.event_subjects import SqlEvents
from tocsin.store.recipients.holding import Holding
from tocsin.store.recipients.roots import Roots
from tocsin.store.recipients.wholes import Wholes

_TOLD_BY_PARTS = "its parts were told instead, when a policy hid it"


class HiddenWholes:
    """Tells the parts of wholes in one store; rights are those of ``permission_cache``."""

    def __init__(self, engine: Engine, permission_cache: PermissionCache) -> None:
        self._engine, self._permission_cache = engine, permission_cache
        self._subscriptions, self._wholes = Subscriptions(engine), Wholes(engine)
        self._notifications = Notifications(engine)

    def tell_parts(self, dispatch: Dispatch, dropped: Sequence[DroppedReason], *, now_ms: int) -> int:
        """Store notifications of the parts of wholes that rights withhold from a message; return how many.

        ``dropped`` are reasons that it is not sent for. Those of other objections withhold the parts as well.
        """
        alerts_by_notification: dict[str, set[str]] = defaultdict(set)
        for refusal in dropped:
            if refusal.because is OutcomeReason.MAY_NOT_VIEW:
                alerts_by_notification[refusal.notification_id].add(refusal.reason.subscription_id)
        return sum(
            self._tell(dispatch, entry, alerts_by_notification[entry.notification_id], now_ms)
            for entry in dispatch.entries
            if entry.event.is_whole and entry.notification_id in alerts_by_notification
        )

    def without_told(self, dispatch: Dispatch) -> tuple[Dispatch | None, tuple[DroppedReason, ...]]:
        """Return a message without the reasons of wholes whose parts were told to its recipients instead, and these.

        So it is where rights come back before an attempt is repeated.
        """
        telling_alerts = self._alerts_telling_parts(dispatch)
        if not telling_alerts:
            return dispatch, ()

        def objection(entry: Entry, reason: Reason) -> tuple[OutcomeReason, str] | None:
            is_told = reason.subscription_id in telling_alerts.get((entry.recipient_id, entry.carried.id), ())
            return (OutcomeReason.HANDLED, _TOLD_BY_PARTS) if is_told else None

        return narrow_dispatch(dispatch, objection)

    def _alerts_telling_parts(self, dispatch: Dispatch) -> dict[tuple[str | None, str], set[str]]:
        """Return the alerts of a message that tell parts of its wholes, by recipient and whole.

        An alert that waits for incidents may tell of a whole and of its parts (``flow/pipeline.py``): it is left out.
        """
        wholes = [entry for entry in dispatch.entries if entry.carried.is_recursive and entry.recipient_id]
        if not wholes:
            return {}
        alert_ids = {reason.subscription_id for entry in wholes for reason in entry.reasons}
        column = notification.c
        query = select(column.recipient_id, column.whole_id, column.reasons).where(
            column.recipient_id.in_({entry.recipient_id for entry in wholes}),
            column.whole_id.in_({entry.carried.id for entry in wholes}),
            column.channel == dispatch.message.channel,
            or_(*(column.reasons.contains(alert_id) for alert_id in sorted(alert_ids))),
        )
        telling_alerts: dict[tuple[str | None, str], set[str]] = defaultdict(set)
        with reading(self._engine) as connection:
            for recipient_id, whole_id, reasons in connection.execute(query):
                alerts = {reason.subscription_id for reason in parse_reasons(reasons)}
                telling_alerts[recipient_id, whole_id] |= alerts & alert_ids
        if telling_alerts:
            depending_ids = {one.id for one in self._subscriptions.list_enabled(alert_ids) if one.depends_on}
            telling_alerts = {place: alerts - depending_ids for place, alerts in telling_alerts.items()}
        return telling_alerts

    def _tell(self, dispatch: Dispatch, entry: Entry, alert_ids: set[str], now_ms: int) -> int:
        alerts = _readable_alerts(self._subscriptions.list_enabled(alert_ids))
        context = Context(alert_facts_of(alerts), self._lookups(), now_ms)
        count = 0
        for events in self._wholes.parts_of(entry.event, alert_ids):
            batch = run((withhold, *NOTIFYING), Batch(events), context)
            drafts = [one for one in self._drafts(batch, context, entry) if _is_for(one, dispatch)]
            notifications = list(chain.from_iterable(schedule([drafts], context)))
            self._notifications.add(notifications)
            count += len(notifications)
        return count

    def _drafts(self, batch: Batch, context: Context, entry: Entry) -> Iterator[NotificationDraft]:
        person = entry.recipient_id
        people = [EVERYBODY if person is None else Portion(only=frozenset({person}))]
        return chain.from_iterable(drafts_of(batch, context, audiences_in(batch, context, people)))

    def _lookups(self) -> Lookups:
        engine = self._engine
        return Lookups(
            directory=SqlDirectory(engine),
            policies=self._permission_cache.current_policies(),
            events=RememberedEvents(SqlEvents(engine)),
            find_held_back=partial(Holding(engine).find_held_back, may_claim=False),
            find_roots=Roots(engine).of,
            find_wholes=self._wholes.of,
            find_preferences=SqlPreferences(engine).of_recipients,
            ids=read_id_scheme(engine),
        )


def _readable_alerts(alerts: Iterable[EventSubscription]) -> Iterator[EventSubscription]:
    """Yield the alerts that can be matched; others are stored by another release, and the pipeline leaves them out."""
    for alert in alerts:
        with suppress(InvalidInput):
            plan_of(alert)
            yield alert


def _is_for(draft: NotificationDraft, dispatch: Dispatch) -> bool:
    """Return whether a notification goes where a message was to go."""
    message = dispatch.message
    return (draft.channel.value, draft.target.lower()) == (message.channel, message.target.lower())
