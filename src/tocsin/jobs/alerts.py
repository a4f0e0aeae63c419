"""Cache of the alerts that the pipeline matches; only changed alerts are read again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeVar

import structlog
from pyspark import Broadcast
from pyspark.sql import SparkSession

from tocsin.errors import InvalidInput, TocsinError
from tocsin.flow.match.cascade import Links, cascades_of, links_of
from tocsin.flow.match.plan import RECOVERY, Plan, between_reports, plan_of, recovery_plan
from tocsin.flow.match.plan_cost import PER_ALERT, PlanCost, check_cost, cost_of, plans_left_out
from tocsin.flow.pipeline import AlertFacts, dependencies_of
from tocsin.flow.resolve.recipient_rules import RecipientRule, recipient_rules
from tocsin.flow.schedule.cron import check_schedule
from tocsin.flow.schedule.messages import timings_of
from tocsin.model.subscription import EventSubscription
from tocsin.spark.match import Index, index_of

Select = Callable[[Sequence[Plan]], Sequence[Plan]]
"""Says which of the plans, and what of them, is matched here."""

_LOG = structlog.get_logger(__name__)
_NAMED = 5
_UNREADABLE = (TocsinError, ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""What planning may raise for an alert that another Tocsin stored, and what must not stop the others."""

_Known = TypeVar("_Known")


class SubscriptionStore(Protocol):
    """Knows the alerts, and which of them have changed."""

    def revision(self) -> int:
        """Return a number that differs whenever an alert was written since; cheap to ask."""

    def marks(self) -> dict[str, int]:
        """Return such a number for each alert there ever was."""

    def has_open_incidents(self) -> bool:
        """Return whether an incident of an alert waits for a success."""

    def list_enabled(self, subscription_ids: Collection[str] | None = None) -> list[EventSubscription]:
        """Return the alerts that are switched on and can be parsed; only those with these ids, if given."""

    def with_past_names(self, alerts: Sequence[EventSubscription], *, after: int) -> list[EventSubscription]:
        """Return alerts that match events after an offset by the names that entities had in these."""

    def progress(self, query_name: str) -> int:
        """Return the offset up to which a streaming query has matched events."""

    def list_unparsable(self, subscription_ids: Collection[str]) -> dict[str, str]:
        """Return those of the alerts that cannot be parsed, and why, by id."""


@dataclass(frozen=True)
class Alerts:
    """The alerts at one revision: match index, what the stages need, and times without success that are asked for.

    ``checks`` are the plans of those that ask for the state of assets at the times of their schedules, ``reminding``
    of those that remind of incidents.
    ``marks`` hold the state in which each alert was read, ``unreadable`` why it could not be, ``links`` which of them
    trigger which. ``costs`` are those of the plans, ``creators`` who made those that are not of administrators,
    ``too_costly`` why some are not in the index: all together would cost too much.
    """

    revision: int
    index: Index
    facts: AlertFacts = field(repr=False)
    durations: dict[str, frozenset[int]] = field(repr=False, default_factory=dict)
    checks: dict[str, Plan] = field(repr=False, default_factory=dict)
    reminding: dict[str, Plan] = field(repr=False, default_factory=dict)
    marks: dict[str, int] = field(repr=False, default_factory=dict)
    unreadable: dict[str, str] = field(repr=False, default_factory=dict)
    links: dict[str, Links] = field(repr=False, default_factory=dict)
    costs: dict[str, PlanCost] = field(repr=False, default_factory=dict)
    creators: dict[str, str] = field(repr=False, default_factory=dict)
    too_costly: dict[str, str] = field(repr=False, default_factory=dict)
    _shared: list[Broadcast[AlertFacts]] = field(default_factory=list, repr=False, compare=False)

    @property
    def durations_ms(self) -> frozenset[int]:
        """Return the times without success that some alert asks for."""
        return frozenset[int]().union(*self.durations.values())

    def broadcast(self, session: SparkSession) -> Broadcast[AlertFacts]:
        """Return what the executors need; it goes there once for as long as the alerts stay the same."""
        if not self._shared:
            self._shared.append(session.sparkContext.broadcast(self.facts))
        return self._shared[0]

    def forget(self) -> None:
        """Remove from the executors what they were given."""
        for broadcast in self._shared:
            broadcast.unpersist()


class CurrentAlerts:
    """Keeps the newest alerts; asking costs one small query unless they have changed, and then only those are read.

    ``query`` is the name of the streaming query that asks, for the log.
    """

    def __init__(self, query: str, store: SubscriptionStore, select: Select = between_reports) -> None:
        self._query = query
        self._store = store
        self._select = select
        self._alerts: Alerts | None = None
        self._reading = threading.Lock()

    def read(self) -> Alerts:
        """Return the current alerts; several threads may ask."""
        with self._reading:
            revision = self._store.revision()  # first: what changes while we read is seen again the next time
            if self._alerts is None or self._alerts.revision != revision:
                before = self._alerts or Alerts(0, index_of(()), AlertFacts({}, {}))
                self._alerts = self._read_changes(before, revision)
                before.forget()
            return self._alerts

    def _read_changes(self, before: Alerts, revision: int) -> Alerts:
        """Return the alerts of now; those whose mark is still the same stay as they were read."""
        marks = self._store.marks()
        changed_ids = {one for one, mark in marks.items() if before.marks.get(one) != mark}
        read = self._store.with_past_names(
            self._store.list_enabled(changed_ids), after=self._store.progress(self._query)
        )
        plans_by_id, unreadable = _plans_of(read)
        unreadable |= self._store.list_unparsable(changed_ids.difference(one.id for one in read))
        index = self._build_index(before, changed_ids, plans_by_id, unreadable)
        sound = [one for one in read if one.id in plans_by_id]
        costs = _alerts_without(before.costs, changed_ids) | {one: each.cost for one, each in plans_by_id.items()}
        earlier_facts = before.facts
        of_tocsin = set(earlier_facts.of_tocsin) - changed_ids | {one.id for one in sound if one.is_of_tocsin}
        of_people = {one.id: one.creator_id for one in sound if not one.is_of_administrators}
        creators = _alerts_without(before.creators, changed_ids) | of_people
        too_costly = plans_left_out(costs, creators, of_tocsin)
        checks = {one: each.plan for one, each in plans_by_id.items() if each.plan.states}
        reminding = {one: each.plan for one, each in plans_by_id.items() if each.plan.repeat_ms is not None}
        links = _alerts_without(before.links, changed_ids) | {one.id: links_of(one) for one in sound}
        facts = AlertFacts(
            rules=_alerts_without(earlier_facts.rules, changed_ids)
            | {one: each.rules for one, each in plans_by_id.items()},
            timings=_alerts_without(earlier_facts.timings, changed_ids) | timings_of(sound, checks),
            opening=self._opening_ids(before, changed_ids, plans_by_id),
            cascades=cascades_of(links),
            depending=_alerts_without(earlier_facts.depending, changed_ids) | dependencies_of(sound),
            of_tocsin=frozenset(of_tocsin),
            reads=_alerts_without(earlier_facts.reads, changed_ids)
            | {one: each.plan.reads for one, each in plans_by_id.items()},
        )
        now = Alerts(
            revision=revision,
            index=index.with_plans(too_costly, ()) if too_costly else index,
            facts=facts,
            durations=_alerts_without(before.durations, changed_ids)
            | {one: each.plan.durations_ms for one, each in plans_by_id.items() if each.plan.durations_ms},
            checks=_alerts_without(before.checks, changed_ids) | checks,
            reminding=_alerts_without(before.reminding, changed_ids) | reminding,
            marks=marks,
            unreadable=_alerts_without(before.unreadable, changed_ids) | unreadable,
            links=links,
            creators=creators,
            costs=costs,
            too_costly=too_costly,
        )
        self._log(now, len(changed_ids))
        return now

    def _build_index(
        self, before: Alerts, changed_ids: Collection[str], plans_by_id: dict[str, _Planned], unreadable: dict[str, str]
    ) -> Index:
        """Return the index with the plans that have changed; those that cannot be indexed become unreadable."""
        try:
            return self._index(before, changed_ids, plans_by_id)
        except _UNREADABLE as error:
            _LOG.warning("index_fails", reason=f"{type(error).__name__}: {error}")
        for subscription_id, plan in list(plans_by_id.items()):
            try:
                index_of(self._select([plan.plan]))
            except _UNREADABLE as error:
                unreadable[subscription_id] = _why_unreadable(subscription_id, error)
                del plans_by_id[subscription_id]
        return self._index(before, changed_ids, plans_by_id)

    def _index(self, before: Alerts, changed: Collection[str], planned: Mapping[str, _Planned]) -> Index:
        is_recovering = self._opening_ids(before, changed, planned) or self._store.has_open_incidents()
        recovery = [recovery_plan()] if is_recovering else []
        selected = self._select([each.plan for each in planned.values()])
        return before.index.with_plans({*changed, RECOVERY}, [*selected, *recovery])

    def _opening_ids(self, before: Alerts, changed: Collection[str], planned: Mapping[str, _Planned]) -> frozenset[str]:
        selected = self._select([each.plan for each in planned.values()])
        return before.facts.opening - set(changed) | {plan.subscription_id for plan in selected if plan.opens_incidents}

    def _log(self, now: Alerts, changed_count: int) -> None:
        unindexed_ids = now.index.unindexed_ids()
        _LOG.info(
            "alerts_loaded",
            query=self._query,
            revision=now.revision,
            count=len(now.facts.rules),
            changed=changed_count,
            unindexed=len(unindexed_ids),
            unindexed_first=unindexed_ids[:_NAMED],
        )


def _alerts_without(values_by_id: Mapping[str, _Known], ids: Collection[str]) -> dict[str, _Known]:
    return {one: value for one, value in values_by_id.items() if one not in ids}


class _Planned(NamedTuple):
    """An alert that can be matched: its plan, what that costs, and whom it asks for."""

    plan: Plan
    cost: PlanCost
    rules: tuple[RecipientRule, ...]


def _plans_of(subscriptions: Sequence[EventSubscription]) -> tuple[dict[str, _Planned], dict[str, str]]:
    """Return what is matched of ``subscriptions``, by id, and why others cannot be read."""
    planned: dict[str, _Planned] = {}
    unreadable: dict[str, str] = {}
    for subscription in subscriptions:
        try:
            planned[subscription.id] = _plan(subscription)
        except _UNREADABLE as error:  # saving checked it, so an older Tocsin stored it, or this one errs
            unreadable[subscription.id] = _why_unreadable(subscription.id, error)
    return planned, unreadable


def _plan(subscription: EventSubscription) -> _Planned:
    plan, cost = _within_limits(subscription)
    check_schedule(subscription.trigger)
    return _Planned(plan, cost, recipient_rules(subscription, plan.questions, plan.states))


def _within_limits(subscription: EventSubscription) -> tuple[Plan, PlanCost]:
    """Return the plan and its cost; without the names before renames where these make it too costly."""
    plan = plan_of(subscription)
    if subscription.past_rules and PER_ALERT.exceeded_limit(cost_of(plan)):
        return _within_limits(subscription.model_copy(update={"past_rules": ()}))
    return plan, check_cost(plan)


def _why_unreadable(subscription_id: str, error: Exception) -> str:
    reason = error.message if isinstance(error, InvalidInput) else f"{type(error).__name__}: {error}"
    _LOG.warning("alert_unreadable", subscription_id=subscription_id, reason=reason)
    return reason
