"""Candidates for one event: every way an alert reaches a person, and what suppresses it.

Candidates that nothing suppresses are the recipients (``flow/resolve/local.py``); explanations list the others.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeVar

from tocsin.conditions.relations import ANYBODY, is_asked
from tocsin.flow.resolve.directory import Audience, DownstreamStep, Member, Principal
from tocsin.flow.resolve.person_conditions import PersonFacts
from tocsin.flow.resolve.recipient_rules import BY_ASSET, RecipientRule
from tocsin.model.change import LoggedEvent
from tocsin.model.mute import Mute
from tocsin.model.notification import Reason, ReasonKind
from tocsin.model.people import Person
from tocsin.model.subscription import Channel

K = TypeVar("K")
V = TypeVar("V")
_Span = TypeVar("_Span", Principal, Member)


class Stop(StrEnum):
    """Reason why a candidate is not notified."""

    SELF = "self"
    BOT = "bot"
    DELETED = "deleted"
    NOT_THEN = "notThen"
    NO_LONGER = "noLonger"
    NOT_MEANT = "notMeant"
    NO_ADDRESS = "noAddress"
    NO_SUCH_WAY = "noSuchWay"
    MUTED = "muted"


@dataclass(frozen=True)
class Candidate:
    """One way in which one alert reaches a person: channel, reason, and what suppresses it.

    ``person`` is None for an address or endpoint that the alert names. ``key`` and ``target`` are those of the
    would-be recipient, empty where there is none.
    """

    channel: Channel
    key: str
    target: str
    person: Person | None
    reason: Reason
    stop: Stop | None = None
    mute: Mute | None = None


@dataclass(frozen=True)
class _Scene:
    """The event and who could be concerned, with mutes by whose they are, and what is left to ask of people."""

    logged: LoggedEvent
    audience: Audience
    mutes: Mapping[str, Sequence[Mute]]
    person_facts: PersonFacts
    asked: Mapping[str, int]

    def means(self, row: RecipientRule, user_id: str | None) -> bool:
        """Say whether what the alert asks of people holds of this one; of anybody, where it goes to no person."""
        entity_id, offset = self.logged.event.entity_id, self.logged.offset
        asked = self.asked.get(row.subscription_id, ANYBODY)
        if user_id is None:
            return self.person_facts.anybody(asked, row.questions, entity_id, offset)
        return is_asked(asked, self.person_facts.answers(row.questions, user_id, entity_id, offset))

    def mute(self, who: str, row: RecipientRule, node_id: str = "") -> Mute | None:
        """Return what keeps ``row`` quiet towards this person or address."""
        about = (row.subscription_id, self.logged.event.entity_id, node_id)
        at = self.logged.offset, self.logged.event.timestamp
        return next((one for one in self.mutes.get(who, ()) if one.silences(about, row.channel, at)), None)


@dataclass(frozen=True)
class _Way:
    """A principal that an alert's row means, and over which node."""

    row: RecipientRule
    principal: Principal
    node_id: str = ""
    via: str | None = None
    hops: int = 0

    def of(self, member: Member) -> _Way:
        """Return the way on to a member of the principal, a team."""
        since = max(self.principal.since_offset, member.since_offset)
        until = min(self.principal.until_offset, member.until_offset)
        return replace(self, principal=replace(self.principal, since_offset=since, until_offset=until))


def candidates(
    logged: LoggedEvent, rows: Sequence[RecipientRule], audience: Audience, asked: Mapping[str, int] | None = None
) -> Iterator[Candidate]:
    """Yield every way in which ``rows`` reach a person of ``audience`` for ``logged``, suppressed or not.

    ``asked`` holds, by alert, the accepted answers to its conditions on the recipient (``conditions/relations.py``).
    """
    people = {person.id: person for person in audience.people}
    teams = _grouped((member.team_id, member) for member in audience.members)
    mutes = _grouped((one.who, one) for one in audience.mutes)
    scene = _Scene(logged, audience, mutes, PersonFacts(audience.person_facts), asked or {})
    for row in rows:
        if row.relation is ReasonKind.EXTERNAL:
            yield _addressed(row, scene)
    for way in _ways(rows, scene):
        user = people.get(way.principal.principal_id) if way.principal.principal_type == "user" else None
        if user is not None:
            yield _candidate(way, user, None, scene)
        of_team = _grouped((member.user_id, member) for member in teams.get(way.principal.principal_id, ()))
        for user_id, spans in of_team.items():
            if user_id in people:
                member = _at(logged.offset, spans)
                yield _candidate(way.of(member), people[user_id], member.team_name, scene)


def _ways(rows: Sequence[RecipientRule], scene: _Scene) -> Iterator[_Way]:
    principals = scene.audience.principals
    named = _grouped(((one.relation, one.receiver), one) for one in principals)
    spans = _grouped(((one.relation, one.node_id, one.principal_id), one) for one in principals)
    placed = _grouped((key[:2], _at(scene.logged.offset, many)) for key, many in spans.items())
    steps = [step for step in scene.audience.reach if step.root_id == scene.logged.event.entity_id]
    for row in rows:
        if row.relation not in BY_ASSET:
            yield from (_Way(row, principal) for principal in named.get((row.relation, row.receiver), ()))
            continue
        for step in _within(steps, row.downstream_depth, scene.logged.offset):
            via = step.node_fqn if step.hops else None
            for principal in placed.get((row.relation, step.node_id), ()):
                yield _Way(row, principal, step.node_id, via, step.hops)


def _grouped(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    found: dict[K, list[V]] = defaultdict(list)
    for key, value in pairs:
        found[key].append(value)
    return found


def _at(offset: int, spans: Sequence[_Span]) -> _Span:
    """Return the span that an offset lies in, else the first after it, else the last before it."""
    standing = (one for one in spans if one.since_offset <= offset <= one.until_offset)
    found = next(standing, None) or min((one for one in spans if one.since_offset > offset), default=None, key=_since)
    return found or max(spans, key=_since)


def _since(one: Principal | Member) -> int:
    return one.since_offset


def _within(steps: Sequence[DownstreamStep], depth: int, offset: int) -> Iterator[DownstreamStep]:
    return (step for step in steps if step.hops <= depth and step.since_offset <= offset <= step.until_offset)


def _candidate(way: _Way, person: Person, team: str | None, scene: _Scene) -> Candidate:
    row = way.row
    reason = _reason(row, team=team, via=way.via, hops=way.hops)
    address = {Channel.ACTIVITY_FEED: person.id, Channel.EMAIL: person.email or ""}.get(row.channel)
    mute = scene.mute(person.id, row, way.node_id)
    stop = _stop(way, person, scene) or (Stop.NO_SUCH_WAY if address is None else None)
    stop = stop or (Stop.NO_ADDRESS if not address else Stop.MUTED if mute else None)
    found = address or ""
    return Candidate(row.channel, found, found, person, reason, stop, mute if stop is Stop.MUTED else None)


def _stop(way: _Way, person: Person, scene: _Scene) -> Stop | None:
    event = scene.logged.event
    if scene.logged.offset < way.principal.since_offset:
        return Stop.NOT_THEN
    if scene.logged.offset > way.principal.until_offset:
        return Stop.NO_LONGER
    if person.deleted or person.is_bot:
        return Stop.DELETED if person.deleted else Stop.BOT
    if person.id == event.user_id:
        return Stop.SELF  # actors are not notified of their own changes
    return None if scene.means(way.row, person.id) else Stop.NOT_MEANT


def _addressed(row: RecipientRule, scene: _Scene) -> Candidate:
    key = row.receiver if row.channel is Channel.EMAIL else f"{row.subscription_id}:{row.receiver}"
    mute = scene.mute(row.receiver, row)
    stop = Stop.MUTED if mute else None if scene.means(row, None) else Stop.NOT_MEANT
    return Candidate(row.channel, key, row.receiver, None, _reason(row), stop, mute)


def _reason(row: RecipientRule, *, team: str | None = None, via: str | None = None, hops: int = 0) -> Reason:
    return Reason(
        kind=row.relation,
        subscription_id=row.subscription_id,
        subscription_name=row.subscription_name,
        destination_id=row.destination_id,
        team=team,
        via=via,
        hops=hops,
    )
