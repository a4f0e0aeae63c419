"""Expected notifications: who must hear of each event, over which channel and why.

Written from ``docs/`` and the seeds; it shares no code with Tocsin. Its sources are the script and the API's answers.
Next: ``truth/compare.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

from truth.alert_list import OWN_ALERTS
from truth.alerts import BELL, HOOK, NO_ADDRESSES, Alert, Destination
from truth.calls import CHECK_DAY, DAY_MS, address_of
from truth.expected_state import ExpectedState
from truth.facts import Event, Facts, facts_of
from truth.failures import Incident, incidents_of
from truth.frequencies import ABOVE_OWNED, OWNED, ChoicesByFollow, Frequencies, Tie, follow_tie
from truth.history import Key
from truth.kinds import kinds_of
from truth.passing_time import Reminders, check_events, mute_events, request_events
from truth.predicted import surprises as surprises_of
from truth.predicted import unlike_requests
from truth.script import HIDDEN, NAMES_NOW, OTHER, READERS, VAULT, Script
from truth.steps import (
    ADMIN,
    Change,
    DropAlert,
    MakeMany,
    Principal,
    Remove,
    RemoveUser,
    Restore,
    SetAlert,
    Step,
    SwitchAlert,
    Wait,
)
from truth.values import is_bot

ALL = 10**9
"""Depth of a destination without a limit."""


@dataclass(frozen=True, order=True)
class Reason:
    """Why somebody is notified; ``at`` is the place of the destination in its alert.

    ``through`` names what a follower follows that contains the asset, empty where they follow the asset itself.
    """

    kind: str
    alert: str
    at: int
    team: str = ""
    via: str = ""
    hops: int = 0
    through: str = ""


Address = tuple[str, str, str]
"""Id of the event, channel, recipient: a person's name, a mail address, or an alert's endpoint (``Outside[0]``)."""

Notifications = dict[Address, frozenset[Reason]]


@dataclass(frozen=True)
class Expectation:
    """What must be stored; ``firings`` holds the ids of the matching events of each alert.

    ``too_new`` are the alerts that were made after what a result or run was about, and so did not match its report.
    ``frequencies`` say how often people want what they are told of where: ``weekly friday``.
    """

    notifications: Notifications
    firings: Mapping[str, set[str]]
    surprises: Sequence[str]
    too_new: frozenset[str] = frozenset()
    frequencies: Mapping[Address, str] = field(default_factory=dict)


class Alerts:
    """The alerts as a pipeline sees them that keeps up; or one that is started at the end: only their last state."""

    def __init__(self, script: Script, *, at_the_end: bool) -> None:
        self._definitions = script.alerts
        self._versions: dict[str, int] = defaultdict(int)
        self._known = {one.name: one for one in OWN_ALERTS}
        self._enabled = set(self._known)
        self._from: dict[str, int] = {}
        self._last = _last_steps(script.steps) if at_the_end else None

    def at(self, step: int) -> Iterator[Alert]:
        """Yield the alerts that the events of a step may match."""
        for name in sorted(self._enabled):
            if self._last is None or name in (one.name for one in OWN_ALERTS) or self._last.get(name, step) < step:
                yield self._known[name] if self._last is None or name not in self._definitions else self._final(name)

    def _final(self, name: str) -> Alert:
        return self._definitions[name][-1]

    def follow(self, step: Step) -> None:
        """Take note of a step about an alert."""
        match step:
            case SetAlert(alert=name):
                self._known[name] = self._definitions[name][self._versions[name]]
                self._versions[name] += 1
                self._enabled.add(name)
            case SwitchAlert(alert=name, enabled=enabled):
                self._enabled.add(name) if enabled or self._last is not None else self._enabled.discard(name)
            case DropAlert(alert=name):
                self._enabled.discard(name)


def _last_steps(steps: Sequence[Step]) -> dict[str, int]:
    """Return, for each alert, the step that created or last enabled it; of a dropped one, a step that never comes."""
    last_steps: dict[str, int] = {}
    for number, step in enumerate(steps):
        match step:
            case SetAlert(alert=name):
                last_steps.setdefault(name, number)
            case SwitchAlert(alert=name, enabled=True):
                last_steps[name] = number
            case DropAlert(alert=name):
                last_steps[name] = len(steps)
    return last_steps


def expectation_of(
    script: Script,
    events: Sequence[Sequence[Event]],
    *,
    at_the_end: bool,
    started_ms: int = 0,
    ids: Mapping[Key, str] | None = None,
) -> Expectation:
    """Return what must be stored when the events of each step are these.

    ``events`` holds those of the setup steps, then those of the others. ``at_the_end``: the pipeline knows the
    alerts and choices for follows as they are after the last step. ``started_ms`` is the start, epoch milliseconds.
    ``ids`` are those of entities.
    """
    judging, surprises = _Judging(script, started_ms, at_the_end=at_the_end), list[str]()
    for step, step_events in zip((*script.setup, *script.steps), events, strict=True):
        before, own_events, after = _split_by_writer(step_events)
        judging.hear(before)
        judging.foresee(step)
        surprises += surprises_of(step, own_events, judging.world)
        judging.follow(step, own_events)
        surprises += unlike_requests(step, own_events, judging.world)
        judging.hear(after)
    frequencies = judging.frequencies(Frequencies(script.preferences, ids or {}), at_the_end=at_the_end)
    return Expectation(judging.notifications, judging.firings, surprises, frozenset(judging.too_new), frequencies)


def _split_by_writer(events: Sequence[Event]) -> tuple[Sequence[Event], Sequence[Event], Sequence[Event]]:
    """Return what other writers made before the first event of a step, what the step made, and what others made later.

    All is earlier where a step makes no event: others pause for it if that matters (``truth/clients.py``).
    """
    own_events = [one for one in events if one.actor != OTHER]
    first = events.index(own_events[0]) if own_events else len(events)
    return events[:first], own_events, [one for one in events[first:] if one.actor == OTHER]


class _Judging:
    """What must be stored for the events so far; ``world`` is the catalogue after them."""

    def __init__(self, script: Script, started_ms: int, *, at_the_end: bool) -> None:
        self._started_ms = started_ms
        self.world = ExpectedState()
        if at_the_end:  # who is gone when the pipeline looks is not notified of anything
            self.world.gone |= {step.user for step in script.steps if isinstance(step, RemoveUser)}
        self.notifications: Notifications = {}
        self._ties: dict[Address, dict[Reason, set[Tie]]] = defaultdict(lambda: defaultdict(set))
        self._moments: dict[str, tuple[frozenset[str], ChoicesByFollow]] = {}
        """The kinds of each event, and what was chosen for follows at its moment."""
        self._people = {address_of(one): one for one in script.people} | {one: one for one in script.people}
        self.firings: dict[str, set[str]] = defaultdict(set)
        self.too_new: set[str] = set()
        self._alerts = Alerts(script, at_the_end=at_the_end)
        self._bots = frozenset(one for one in script.people if is_bot(one))
        self._made_ms: dict[str, int] = {}
        self._reports: list[Event] = []
        self._days: dict[str, int] = {}
        self._reminders = Reminders()
        self._number = -len(script.setup)

    def foresee(self, step: Step) -> None:
        """Let the world know what jobs must make as time passes in a step."""
        self.world.job_events = {}
        if not isinstance(step, Wait):
            return
        is_check_due, before = self.world.day < CHECK_DAY <= step.days, self.world.day
        self.world.day = step.days
        alerts = {one.name: one for one in self._alerts.at(self._number)}
        job_events = [
            *self._reminders.take(self._incidents_open(alerts), alerts, self._days, step.days),
            *request_events(self.world),
            *mute_events(self.world, before),
            *(check_events(self.world, alerts.values()) if is_check_due else ()),
        ]
        self.world.job_events = {(one.event_type, one.key[1]): one for one in job_events}

    def _incidents_open(self, alerts: Mapping[str, Alert]) -> dict[Key, Incident]:
        """Return the incidents that last and that nobody has acknowledged, by their assets."""
        opening = [name for name, one in alerts.items() if one.opens_incidents]
        keys = {event.entity_id: event.key for event in self._reports}
        waiting = self.world.all_live() - self.world.acknowledged
        lasting = (one for one in incidents_of(self._reports, self.firings, opening) if one.resolved_by is None)
        return {key: one for one in lasting if (key := keys[one.asset_id]) in waiting}

    def follow(self, step: Step, events: Sequence[Event]) -> None:
        """Judge the events of a step, and do what it does to the catalogue and the alerts."""
        is_before = isinstance(step, Remove) and step.is_hard
        if not is_before:
            former_places = {step.key: self.world.governance_of(step.key)} if isinstance(step, Change) else {}
            self.world.apply(step)
            self.world.left = former_places
        for event in events:
            self._judge(event, step)
        self.world.left = {}
        if isinstance(step, Change) and step.key[0] == "table":
            self.world.end_column_follows(step.key)
        for whole_event, parts in _wholes_of(step, events):
            self._tell_as_one(whole_event, parts)
        if is_before:
            self.world.apply(step)
        self._alerts.follow(step)
        if isinstance(step, SetAlert) and events:
            self._made_ms.setdefault(step.alert, events[0].timestamp_ms)
        self._number += 1

    def _tell_as_one(self, whole_event: Event, parts: set[str]) -> None:
        """Leave out what an alert says of entities below another one, to whom it says of that what became of all."""
        of_whole = {at[1:]: reasons for at, reasons in self.notifications.items() if at[0] == whole_event.id}
        for at in [one for one in self.notifications if one[0] in parts]:
            alerts = {reason.alert for reason in of_whole.get(at[1:], ())}
            left_reasons = frozenset(reason for reason in self.notifications.pop(at) if reason.alert not in alerts)
            if left_reasons:
                self.notifications[at] = left_reasons

    def frequencies(self, choosing: Frequencies, *, at_the_end: bool) -> dict[Address, str]:
        """Return how often people want what they are told of; ``at_the_end``: by the choices of now for all of it."""
        frequencies: dict[Address, str] = {}
        for address, reasons in self.notifications.items():
            event_id, channel, recipient = address
            kinds, choices = self._moments[event_id]
            ties = {one for reason in reasons for one in self._ties[address].get(reason, (Tie(),))}
            if (person := self._people.get(recipient)) is not None and channel != HOOK:
                choices_then = self.world.following.choices if at_the_end else choices
                frequencies[address] = choosing.frequency((person, channel), kinds, ties, choices_then)
        return frequencies

    def hear(self, events: Sequence[Event]) -> None:
        """Judge the events of another writer."""
        for event in events:
            self.world.note(event.event_type, event.key, ends=event.ends, is_gone="lineage" in event.deleted)
            if event.status:
                self.world.note_report(event.key, event.status)
            self._judge(event, None)

    def _judge(self, event: Event, step: Step | None) -> None:
        if event.status:
            self._reports.append(event)
            self._days[event.id] = self.world.day
        self._moments[event.id] = kinds_of(event), self.world.following.choices
        audience = Audience(facts_of(event, step, self.world, self._bots), self.world, self._bots)
        critical, new = set[str](), dict[Address, frozenset[Reason]]()
        for alert in self._alerts.at(self._number):
            if not audience.fires(alert):
                continue
            if event.dated_ms is not None and event.dated_ms < self._made_ms.get(alert.name, 0):
                self.too_new.add(alert.name)
            else:
                self.firings[alert.name].add(event.id)
                critical |= {alert.name} if alert.is_critical else set()
                for address, reason, tie in audience.addressees(alert):
                    new[address] = new.get(address, frozenset()) | {reason}
                    self._ties[address][reason].add(tie)
        muting = self._people_muting(event)
        for address, reasons in new.items():
            if address[2] not in muting or not critical.isdisjoint(reason.alert for reason in reasons):
                self.notifications[address] = self.notifications.get(address, frozenset()) | reasons

    def _people_muting(self, event: Event) -> set[str]:
        """Return the names and addresses of who mutes everything, or all of its author's, when an event happens."""
        people = {
            mute.user
            for mute in self.world.broad_mutes
            if mute.author in ("", event.actor) and event.timestamp_ms < self._started_ms + mute.days * DAY_MS
        }
        return people | set(map(address_of, people))


def _wholes_of(step: Step, events: Sequence[Event]) -> Iterator[tuple[Event, set[str]]]:
    """Yield the events that are told in place of others of a step, with the ids of these."""
    keys = step.told_as_one if isinstance(step, MakeMany) else [step.key] if isinstance(step, Remove | Restore) else []
    for whole_event in (one for one in events if one.key in keys):
        part_type = "entityCreated" if isinstance(step, MakeMany) else whole_event.event_type
        below = f"{whole_event.key[1]}." if isinstance(step, MakeMany) else ""
        parts = {one.id for one in events if one.event_type == part_type and one.key[1].startswith(below)}
        yield whole_event, parts - {whole_event.id}


@dataclass(frozen=True)
class Way:
    """One way to a person: by a relation to an asset so many hops downstream, through a team if it is named.

    ``followed`` is what a follower follows that contains the asset; None where they follow the asset itself, which is
    ``place``: a test, or the table that it tests. ``column`` is that of the asset which they follow, where it is one.
    """

    person: str
    kind: str
    team: str
    node: Key
    hops: int
    followed: Key | None = None
    column: str = ""
    place: Key | None = None

    @property
    def through(self) -> str:
        """Return what the reason calls what is followed; empty for the asset itself."""
        return ".".join(filter(None, [self.followed[1] if self.followed else "", self.column]))


class Audience:
    """People around one event."""

    def __init__(self, facts: Facts, world: ExpectedState, bots: frozenset[str]) -> None:
        self.facts, self.world, self.bots = facts, world, bots

    def fires(self, alert: Alert) -> bool:
        """Say whether an alert matches, for some person that could be if it asks something of people.

        It does not where somebody who made or changed it may not see the event.
        """
        if not all(map(self._may_see, (alert.maker, *alert.editors))):
            return False
        parts = [combinations(alert.relations, size) for size in range(len(alert.relations) + 1)]
        return any(alert.matches(self.facts, frozenset(held)) for some in parts for held in some)

    def relations_of(self, alert: Alert, person: str) -> frozenset[str]:
        """Return which of the relations that an alert asks about hold of a person."""
        return frozenset(one for one in alert.relations if person in self._holders(one))

    def addressees(self, alert: Alert) -> Iterator[tuple[Address, Reason, Tie]]:
        """Yield whom an alert notifies, with each reason and what it says of what they own and follow."""
        for at, destination in enumerate(alert.destinations):
            yield from ((*outside, Tie()) for outside in self._outside(alert, at, destination))
            for way in self._inside(alert, destination) if destination.channel not in NO_ADDRESSES else ():
                if self._is_notified(alert, destination, way):
                    recipient = way.person if destination.channel == BELL else address_of(way.person)
                    team, via = NAMES_NOW.get(way.team, way.team), way.node[1] if way.hops else ""
                    reason = Reason(way.kind, alert.name, at, team, via, way.hops, way.through)
                    yield (self.facts.event.id, destination.channel, recipient), reason, self._tie(way, alert)

    def _tie(self, way: Way, alert: Alert) -> Tie:
        """Return what a way says of what its person owns and follows."""
        if way.kind == "owner":
            return Tie(ABOVE_OWNED if way.hops else OWNED)
        key = way.followed or way.place
        if way.kind != "follower" or key is None:
            return Tie()
        followed = self.world.following.follow_of(key, way.column)
        is_around = way.followed is not None and not way.column
        is_of_subject = (not way.hops and way.node != self.facts.event.key) or key == self._tested_table
        return follow_tie(alert.name, way.hops, followed, is_around=is_around, is_of_subject=is_of_subject)

    def _outside(self, alert: Alert, at: int, destination: Destination) -> Iterator[tuple[Address, Reason]]:
        targets = [one.lower() for one in destination.receivers if "@" in one]
        if destination.channel == HOOK:
            targets = [f"{alert.name}[{at}]"]
        owner = alert.owner or alert.maker
        is_meant = not alert.relations or alert.matches(self.facts, self.relations_of(alert, owner))
        if is_meant:
            for target in targets:
                yield (self.facts.event.id, destination.channel, target), Reason("external", alert.name, at)

    def _is_notified(self, alert: Alert, destination: Destination, way: Way) -> bool:
        person = way.person
        if person in self.bots | self.world.gone or person == self.facts.event.actor or not self._may_see(person):
            return False
        about = (alert.name, self.facts.asset, self._tested_table, self.facts.event.key, way.node, way.followed)
        if any((person, one, channel) in self.world.mutes for one in about for channel in ("", destination.channel)):
            return False
        return not alert.relations or alert.matches(self.facts, self.relations_of(alert, person))

    def _inside(self, alert: Alert, destination: Destination) -> Iterator[Way]:
        """Yield each way to a person whom a destination asks for."""
        depth = ALL if destination.depth is None else destination.depth
        for kind, receiver in _wanted_relations(alert, destination):
            goes_downstream = kind in ("owner", "follower")
            nodes = self._reach(depth) if goes_downstream else {self.facts.asset: 0}
            for node, hops in nodes.items():
                if kind == "follower":
                    yield from self._follower_ways(node, hops)
                    continue
                for principal in self._principals(kind, receiver, node):
                    yield from (Way(person, kind, team, node, hops) for person, team in self._expand(principal))

    def _follower_ways(self, node: Key, hops: int) -> Iterator[Way]:
        """Yield the ways to who follows an asset, what contains it or a column, and to members of teams that follow."""
        places = {node, self._tested_table if node == self.facts.event.key and self._tested_table else node}
        direct = [(name, key) for key in places if key in self.world for name in self.world.entities[key].followers]
        yield from (Way(name, "follower", "", node, hops, place=place) for name, place in sorted(direct))
        direct_names = {name for name, _ in direct}
        for place in sorted(places):
            for person, team in self.world.default_followers(place).items():
                if person not in direct_names:
                    yield Way(person, "follower", team, node, hops, place=place)
        for container in self._containers(node):
            followers = self.world.entities[container].followers
            teams = dict.fromkeys(sorted(followers), "")
            for person, team in (self.world.default_followers(container) | teams).items():
                yield Way(person, "follower", team, node, hops, container)
        if node == self.facts.event.key:
            for person, column in self.world.following.followers_of_columns(node, self.facts.event.columns):
                yield Way(person, "follower", "", node, hops, node, column)

    def _reach(self, depth: int) -> dict[Key, int]:
        """Return what an event concerns and what lies downstream; a test lies where its table does."""
        start = self._tested_table or self.facts.asset
        return {self.facts.asset: 0} | {node: hops for node, hops in self.world.reach(start, depth).items() if hops}

    @property
    def _tested_table(self) -> Key | None:
        """Return the table that is tested, if the event is of a test case."""
        return self.world.table_of(self.facts.event.key) if self.facts.entity_type == "testCase" else None

    def _containers(self, node: Key) -> list[Key]:
        """Return what the asset of a node lies in, as far as who follows it follows the asset."""
        asset = self._tested_table if node == self.facts.event.key and self._tested_table else node
        return self.world.followable_around(asset)

    def _expand(self, principal: Principal) -> Iterator[tuple[str, str]]:
        kind, name = principal
        if kind == "user":
            yield name, ""
        else:
            yield from ((one, name) for one in self.world.people(name))

    def _principals(self, kind: str, receiver: str, node: Key) -> Sequence[Principal]:
        match kind:
            case "owner":
                return self.world.principals_of(node, "owners")
            case "follower":
                places = {node, self._tested_table if node == self.facts.event.key else node}
                entities = [self.world.entities[one] for one in places if one in self.world.entities]
                return [("user", one) for one in sorted({name for one in entities for name in one.followers})]
            case "admin":
                return [("user", ADMIN)]
            case "asked":
                return self.facts.asked_principals
            case "user" | "team":
                return [(kind, self.world.renamed.get(receiver, receiver))]
            case _:
                return self._in_thread(kind)

    def _in_thread(self, kind: str) -> Sequence[Principal]:
        thread = self.world.threads.get(self.facts.thread)
        if thread is None:
            return ()
        match kind:
            case "creator":
                return [("user", thread.author)]
            case "assignee":
                return thread.assignees
            case "mention":
                return thread.mentioned
            case _:
                return sorted(thread.earlier)

    def _holders(self, relation: str) -> frozenset[str]:
        if relation == "follows":
            places = self._containers(self.facts.asset)
            around = [("user", one) for place in places for one in self.world.entities[place].followers]
            around += [("user", way.person) for way in self._follower_ways(self.facts.asset, 0)]
            return self._all([*self._principals("follower", "", self.facts.asset), *around])
        if relation == "owns":
            return self._all(self._principals("owner", "", self.facts.asset))
        team = relation.partition(":")[2]
        return self._all([("team", self.world.renamed.get(team, team))])

    def _all(self, principals: Sequence[Principal]) -> frozenset[str]:
        people = frozenset(one for principal in principals for one, _ in self._expand(principal))
        return people - self.bots - self.world.gone

    def _may_see(self, person: str) -> bool:
        return person not in READERS or all(person in seen for seen in self._viewers)

    @cached_property
    def _viewers(self) -> list[frozenset[str]]:
        """Readers who may see each of the event's subjects, where not all may."""
        entity_type, fqn = self.facts.asset
        subject = ("table", fqn.rpartition(".")[0]) if entity_type in ("testCase", "testSuite") else self.facts.asset
        viewers = []
        for key in (subject, *self.facts.event.ends):
            tags = self.world.tags(key)
            if HIDDEN in tags:
                viewers.append(frozenset[str]())
            elif VAULT in tags:
                viewers.append(self._all(self.world.principals_of(key, "owners")))
        return viewers


def _wanted_relations(alert: Alert, destination: Destination) -> Iterator[tuple[str, str]]:
    """Yield the relations that a destination asks for, with the name of a user or team where it names one."""
    match destination.category:
        case "Owners":
            yield from (("owner", ""), ("creator", ""))
        case "Followers":
            yield "follower", ""
        case "Admins":
            yield "admin", ""
        case "Assignees":
            yield from (("assignee", ""), ("asked", ""))
        case "Mentions":
            yield from (("mention", ""), ("participant", ""))
        case "Users" | "Teams":
            kind = destination.category[:-1].lower()
            yield from ((kind, one) for one in destination.receivers if "@" not in one)
            if not destination.receivers and not destination.flags:
                yield from (_selected_relation(one) for one in alert.relations)
    for flag in destination.flags:
        yield {"sendToOwners": "owner", "sendToFollowers": "follower", "sendToAdmins": "admin"}[flag], ""


def _selected_relation(relation: str) -> tuple[str, str]:
    kind, _, team = relation.partition(":")
    return ("team", team) if team else ({"follows": "follower", "owns": "owner"}[kind], "")
