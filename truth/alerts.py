"""Alerts in the words of a replay: every condition as text for Tocsin and, beside it, as Python for the expectation.

Next: ``truth/alert_list.py``.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass

from truth.change_requests import ONLY_WHERE_NAMED
from truth.facts import Facts
from truth.history import Json
from truth.job_events import CHECK, HANDLED, REMINDER
from truth.steps import ADMIN
from truth.suite_runs import RUN

Held = frozenset[str]
"""What holds of a person: ``follows``, ``owns``, ``memberOf:<team>``."""

Test = Callable[[Facts, Held], bool]
_NAMESPACE = uuid.UUID("5d0a7c86-2c0e-4e0f-9d6c-8e6a5b1f3c11")
MAIL, BELL, HOOK = "Email", "ActivityFeed", "Webhook"
NO_ADDRESSES = ("Slack", "MsTeams", "GChat", "own webhook")
"""Channels by which nobody has an address."""

CRITICAL = "Priority.Critical"
"""Tag of alerts that override what people prefer."""

ENDPOINT = "http://127.0.0.1:9/"

CHECK_TIME = "0 %M %H %d %m ?"
"""Cron expression of the time of the check, once a year, as ``strftime`` completes it."""

_DAY_S = 86_400


def _always(_facts: Facts, _held: Held) -> bool:
    return True


@dataclass(frozen=True)
class Rule:
    """One condition: its text, the same in Python, and how it joins the rule before it."""

    text: str
    holds: Test
    effect: str = "include"
    prefix: str = "AND"


@dataclass(frozen=True)
class Destination:
    """Who is notified, and how. ``depth`` counts hops downstream: 0 none, None all."""

    category: str
    channel: str
    receivers: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    endpoint: str = ""
    depth: int | None = 0


@dataclass(frozen=True)
class Alert:
    """An alert; ``relations`` are what its conditions ask of people, ``maker`` is whoever sends it to the API.

    ``owner`` is the person of whom they ask it where it writes to nobody.
    ``editors`` are those who did so before. ``covers_results``: it is about tables and asks for results of their tests.
    ``opens_incidents``: it asks for results. ``daily_at`` is the hour (UTC) of one that notifies by a schedule.
    ``named_types`` are the types of events that it names and that match no alert which does not.
    ``repeat_days`` is after how many days it reminds of an incident again and again; None: never. ``reminded`` is what
    it asks of the asset and of people then. ``checks`` are the states of assets that it asks for at ``CHECK_TIME``.
    """

    name: str
    resources: tuple[str, ...]
    rules: tuple[Rule, ...]
    destinations: tuple[Destination, ...]
    relations: tuple[str, ...] = ()
    maker: str = ADMIN
    editors: tuple[str, ...] = ()
    owner: str = ""
    covers_results: bool = False
    opens_incidents: bool = False
    is_critical: bool = False
    daily_at: int | None = None
    named_types: tuple[str, ...] = ()
    repeat_days: float | None = None
    reminded: Test = _always
    checks: tuple[str, ...] = ()

    def destination_id(self, at: int) -> str:
        """Return the id of a destination, by its place."""
        return str(uuid.uuid5(_NAMESPACE, f"{self.name} {at}"))

    def definition(self) -> Json:
        """Return the alert in the API's words."""
        rules = [
            {"name": f"r{at}", "effect": rule.effect, "condition": rule.text, "prefixCondition": rule.prefix}
            for at, rule in enumerate(self.rules)
        ]
        destinations = [_wire(rule, self.destination_id(at)) for at, rule in enumerate(self.destinations)]
        owners = {"owners": [{"type": "user", "name": self.owner}]} if self.owner else {}
        filtering = {"resources": list(self.resources), "rules": rules}
        when: Json = {"tags": [{"tagFQN": CRITICAL}]} if self.is_critical else {}
        if self.daily_at is not None:
            when["trigger"] = {"triggerType": "Scheduled", "cronExpression": f"0 0 {self.daily_at} * * ?"}
        elif self.checks:
            when["trigger"] = {"triggerType": "Scheduled", "cronExpression": CHECK_TIME}
        elif self.repeat_days is not None:
            when["trigger"] = {"triggerType": "RealTime", "repeatInterval": round(self.repeat_days * _DAY_S)}
        return {"filteringRules": filtering, "destinations": destinations, **owners, **when}

    def matches(self, facts: Facts, relations: Held = frozenset()) -> bool:
        """Say whether an event matches, for a person of whom this holds: AND binds closer than OR."""
        if facts.event_type == REMINDER:
            return self.name in facts.reminding and self.reminded(facts, relations)
        if facts.event_type == CHECK:
            return self.finds(facts.entity_type, facts.states)
        if facts.event_type in (RUN, HANDLED, *ONLY_WHERE_NAMED) and facts.event_type not in self.named_types:
            return False
        is_result = self.covers_results and facts.entity_type == "testCase" and facts.test_status != ""
        if not is_result and not any(_is_about(one, facts) for one in self.resources):
            return False
        ways: list[list[bool]] = [[]]
        for at, rule in enumerate(self.rules):
            if at and rule.prefix == "OR":
                ways.append([])
            ways[-1].append(rule.holds(facts, relations) == (rule.effect == "include"))
        return any(all(way) for way in ways)

    def finds(self, entity_type: str, states: frozenset[str]) -> bool:
        """Say whether it asks for what is still so of an asset; of tables, also for what their tests report."""
        is_of_table = "table" in self.resources and entity_type == "testCase"
        asked_states = set(self.checks) - ({"stillWithoutOwner"} if is_of_table else set())
        return (is_of_table or entity_type in self.resources) and not states.isdisjoint(asked_states)


def _wire(destination: Destination, destination_id: str) -> Json:
    config: Json = dict.fromkeys(destination.flags, True)
    if destination.receivers:
        config["receivers"] = list(destination.receivers)
    if destination.endpoint:
        config["endpoint"] = destination.endpoint
    document: Json = {
        "id": destination_id,
        "category": destination.category,
        "type": destination.channel,
        "config": config,
    }
    if destination.depth != 0:
        document |= {"notifyDownstream": True, "downstreamDepth": destination.depth}
    return document


def _is_about(resource: str, facts: Facts) -> bool:
    if facts.entity_type == "thread":
        return resource in ("all", "thread", facts.thread_type.lower())
    return resource in ("all", facts.entity_type)


@dataclass(frozen=True)
class AlertPeople:
    """Names that alerts use: people, teams (one is ``renamed``), readers who may not see everything, a dataset."""

    first: str
    second: str
    reader: str
    other_reader: str
    group: str
    division: str
    domain: str
    dataset: str
    renamed: str
