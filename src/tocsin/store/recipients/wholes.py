"""Events of entities that were deleted, restored or renamed with all below them, or imported into, with their alerts.

A part of such a change is told where the whole is not (``flow/resolve/wholes.py``), so that its
recipients depend on those of its whole: the log holds both, written in one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress

from sqlalchemy import Engine, select

from tocsin.chunks import chunks_of
from tocsin.errors import InvalidInput
from tocsin.flow.match.local import accepted_answers
from tocsin.flow.match.plan import Plan, plan_of
from tocsin.flow.resolve.portions import MatchedEvent
from tocsin.model.change import ChangeEvent, LoggedEvent
from tocsin.model.notification_draft import head_of
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.database.engine import reading
from tocsin.store.database.tables import change_event
from tocsin.store.eventlog.log import EventLog

_PARTS_AT_ONCE = 1_000

FindPlans = Callable[[Collection[str], int], Iterable[Plan]]
"""Returns the plans of these alerts, as they match events from an offset on; one that is disabled has none."""


class Wholes:
    """The wholes of one store; ``find_plans`` are those of its enabled alerts, unless others are given."""

    def __init__(self, engine: Engine, find_plans: FindPlans | None = None) -> None:
        self._engine, self._log, self._subscriptions = engine, EventLog(engine), Subscriptions(engine)
        self._find_plans = find_plans or self._plans_of

    def of(self, alerts_by_whole: Mapping[str, Collection[str]]) -> list[MatchedEvent]:
        """Return the events with these ids that match some of the alerts asked of each, with these alerts."""
        return self._matching_events(self._log.by_ids(alerts_by_whole.keys()), alerts_by_whole)

    def parts_of(self, event: ChangeEvent, alert_ids: Collection[str]) -> Iterator[list[MatchedEvent]]:
        """Yield the parts of the whole of this event that match some of these alerts, with these, so many at once.

        They were written in the transaction of the whole, at the same time.
        """
        query = select(change_event.c.id).where(change_event.c.timestamp_ms == event.timestamp)
        with reading(self._engine) as connection:
            event_ids = list(connection.scalars(query.order_by(change_event.c.log_offset)))
        for ids in chunks_of(event_ids, _PARTS_AT_ONCE):
            parts = {key: logged for key, logged in self._log.by_ids(ids).items() if logged.event.part_of == event.id}
            yield self._matching_events(parts, dict.fromkeys(parts, alert_ids))

    def _matching_events(
        self, logged_by_id: Mapping[str, LoggedEvent], alerts_by_whole: Mapping[str, Collection[str]]
    ) -> list[MatchedEvent]:
        if not logged_by_id:
            return []
        asked_alerts = {alert for event_id in logged_by_id for alert in alerts_by_whole[event_id]}
        plans = list(self._find_plans(asked_alerts, min(logged.offset for logged in logged_by_id.values())))
        matched_events = (
            _matched_event(logged, (plan for plan in plans if plan.subscription_id in alerts_by_whole[event_id]))
            for event_id, logged in logged_by_id.items()
        )
        return [event for event in matched_events if event.answers_by_alert]

    def _plans_of(self, alerts: Collection[str], since_offset: int) -> Iterator[Plan]:
        subscriptions = self._subscriptions.list_enabled(alerts)
        for subscription in self._subscriptions.with_past_names(subscriptions, after=since_offset - 1):
            with suppress(InvalidInput):  # stored by another release; the pipeline leaves it out as well
                yield plan_of(subscription)


def _matched_event(logged: LoggedEvent, plans: Iterable[Plan]) -> MatchedEvent:
    """Return an event with those of these plans that it matches."""
    answers = {plan.subscription_id: accepted_answers(plan, logged) for plan in plans}
    return MatchedEvent(head_of(logged), {alert: accepted for alert, accepted in answers.items() if accepted})
