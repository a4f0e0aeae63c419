"""Alerts of a backtest: the one that is evaluated, those that it triggers, and what incidents hold back.

Nothing is written: of each alert, the first match behind an incident passes, as the pipeline would have let one pass.
Next: ``jobs/backtest_tasks.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple, Protocol

from tocsin.chunks import chunks_of
from tocsin.conditions.relations import EVERYBODY
from tocsin.errors import InvalidInput
from tocsin.flow.match.cascade import Links, cascades_of, links_of, with_triggered
from tocsin.flow.match.plan import plan_of
from tocsin.flow.pipeline import AlertFacts, dependencies_of
from tocsin.flow.resolve.holding import HeldBack, Hidden, Waiting, nothing_hidden
from tocsin.flow.resolve.recipient_rules import RecipientRule, recipient_rules
from tocsin.flow.schedule.cron import check_schedule
from tocsin.jobs.resolving import EVENTS_AT_ONCE
from tocsin.model.match_result import Pair
from tocsin.model.subscription import EventSubscription


class Involved(NamedTuple):
    """The alert that is evaluated, and the enabled alerts that it triggers, directly or through others, by id.

    ``facts`` are about all of these; what the condition of the first reads decides about each. ``asks_for_states``: it
    asks for the state of assets at the times of its schedule, or reminds of incidents. ``names`` are those of the
    destinations that have one, by id.
    """

    own_id: str
    triggered: Mapping[str, EventSubscription]
    facts: AlertFacts
    asks_for_states: bool = False
    names: Mapping[str, str] = MappingProxyType({})

    def destination_names(self, alert_ids: Iterable[str], channel: str, target: str) -> list[str]:
        """Return what those destinations of these alerts are called that name an address or endpoint, each once."""
        rules = (rule for alert_id in alert_ids for rule in self.facts.rules.get(alert_id, ()))
        ids = (rule.destination_id for rule in rules if (rule.channel, rule.receiver) == (channel, target))
        return list(dict.fromkeys(self.names[one] for one in ids if one in self.names))


class HoldsBack(Protocol):
    """Knows the incidents that hold alerts back (``store/recipients/holding.py``)."""

    def find_held_back(
        self, waiting: Sequence[Waiting], *, may_claim: bool, hidden: Hidden = nothing_hidden
    ) -> Mapping[Pair, HeldBack]:
        """Return which matches incidents hold back; ``may_claim``: the first of each alert and incident is stored.

        Incidents of assets that are ``hidden`` from an alert do not hold it back.
        """


@dataclass
class HeldBackMatches:
    """Matches that incidents hold back, of one backtest; give them in the order of the log."""

    holding: HoldsBack
    depending: Mapping[str, tuple[str, ...]]
    hidden: Hidden = nothing_hidden
    _passed: dict[tuple[str, str], int] = field(default_factory=dict)

    def held_back_pairs(self, events: Iterable[tuple[int, str]]) -> frozenset[Pair]:
        """Return which matches of these events, given by offset and entity, notify nobody."""
        waiting = (
            Waiting(offset, entity_id, alert, upstream)
            for offset, entity_id in events
            for alert, upstream in self.depending.items()
        )
        # A few at a time: each is compared with all incidents of the time that they span.
        return frozenset(pair for some in chunks_of(waiting, EVENTS_AT_ONCE) for pair in self._held_pairs(some))

    def _held_pairs(self, waiting: Sequence[Waiting]) -> Iterator[Pair]:
        incidents_by_pair = self.holding.find_held_back(waiting, may_claim=False, hidden=self.hidden)
        for (offset, alert), by in sorted(incidents_by_pair.items()):
            if self._passed.setdefault((by.incident, alert), offset) != offset:
                yield offset, alert


def alerts_involved_in(alert: EventSubscription, stored: Callable[[], Sequence[EventSubscription]]) -> Involved:
    """Return the alerts of a backtest; ``stored`` returns the enabled alerts, and is called only if it triggers any.

    Those that are triggered cover the whole history, as the alert itself does.

    Raises
    ------
    InvalidInput : the alert is none that can be matched
    """
    rules: dict[str, Sequence[RecipientRule]] = {alert.id: _rules_of(alert)}
    alerts_by_id = {involved.id: involved for involved in stored() if involved.id != alert.id} if alert.triggers else {}
    links = {involved.id: Links(0, links_of(involved).triggers) for involved in (alert, *alerts_by_id.values())}
    cascades = cascades_of(links)
    _, by = with_triggered({alert.id: EVERYBODY}, 0, cascades)
    triggered_alerts = {alert_id: alerts_by_id[alert_id] for alert_id in by}
    for involved_alert in triggered_alerts.values():
        with suppress(InvalidInput):  # stored by an older Tocsin: the pipeline leaves it out as well
            check_schedule(involved_alert.trigger)
            rules[involved_alert.id] = _rules_of(involved_alert)
    if unreadable_ids := triggered_alerts.keys() - rules.keys():
        return alerts_involved_in(
            alert, lambda: [involved for involved in alerts_by_id.values() if involved.id not in unreadable_ids]
        )
    alerts, plan = (alert, *triggered_alerts.values()), plan_of(alert)
    facts = AlertFacts(
        rules,
        timings={},
        cascades=cascades,
        depending=dependencies_of(alerts),
        of_tocsin=frozenset(each.id for each in alerts if each.is_of_tocsin),
        reads=dict.fromkeys(rules, plan.reads),
    )
    names = {to.id: to.name for each in alerts for to in each.destinations if to.name}
    return Involved(alert.id, triggered_alerts, facts, bool(plan.states) or plan.repeat_ms is not None, names)


def _rules_of(alert: EventSubscription) -> Sequence[RecipientRule]:
    return recipient_rules(alert, plan_of(alert).questions)
