"""Candidates for one event: every way an alert reaches a person, and what suppresses it.

Candidates that nothing suppresses are the recipients (``flow/resolve/merge.py``); explanations list the others. One
event may have a million: what is made for each is a tuple, and reasons that are equal are one object.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple, TypedDict, TypeVar

from tocsin.conditions.relations import ANYBODY, is_asked
from tocsin.flow.resolve.directory import (
    EVERYBODY,
    Audience,
    DownstreamStep,
    Member,
    PersonFact,
    Portion,
    Principal,
)
from tocsin.flow.resolve.person_conditions import PersonFacts
from tocsin.flow.resolve.recipient_rules import BY_ASSET, RecipientRule
from tocsin.model.change import LoggedEvent
from tocsin.model.mute import Mute
from tocsin.model.notification import Followed, Reason, ReasonKind, recipient_key
from tocsin.model.notification_draft import EventHead, head_of
from tocsin.model.people import Person
from tocsin.model.subscription import Channel

K = TypeVar("K")
V = TypeVar("V")
_Span = TypeVar("_Span", Principal, Member)


class Stop(StrEnum):
    """Reason why a candidate is not notified.

    ``NOT_THEN``: the relation, such as to follow, began after the event; ``NO_LONGER``: it had ended before.
    ``NOT_MEANT``: the alert's condition on people does not hold. ``NO_SUCH_WAY``: this channel cannot reach them.
    """

    SELF = "self"
    BOT = "bot"
    DELETED = "deleted"
    NOT_THEN = "notThen"
    NO_LONGER = "noLonger"
    MAY_NOT_VIEW = "mayNotView"
    NOT_MEANT = "notMeant"
    NO_ADDRESS = "noAddress"
    NO_OWN_ADDRESS = "noOwnAddress"
    UNVERIFIED_ADDRESS = "unverifiedAddress"
    NO_BROWSER = "noBrowser"
    NO_SUCH_WAY = "noSuchWay"
    MUTED = "muted"


class Candidate(NamedTuple):
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


class IndexedAudience:
    """An audience, indexed once for all events that ask it.

    ``portion`` are the people it is about; ``is_addressed``: addresses and endpoints that alerts name are asked of this
    one. ``answering`` are the pairs of an event and an alert whose conditions on the recipient a person in another
    portion of the people has met.
    """

    def __init__(
        self,
        audience: Audience,
        portion: Portion = EVERYBODY,
        *,
        is_addressed: bool = True,
        answering: set[tuple[int, str]] | None = None,
    ) -> None:
        self.portion, self.is_addressed = portion, is_addressed
        self.answering = set[tuple[int, str]]() if answering is None else answering
        teams = _group_pairs((member.team_id, member) for member in audience.members)
        self.people = {person.id: person for person in audience.people}
        self.teams = {one: _group_pairs((member.user_id, member) for member in many) for one, many in teams.items()}
        self.mutes = _group_pairs((one.who, one) for one in audience.mutes)
        self.steps = _group_pairs((step.root_id, step) for step in audience.reach)
        unplaced_principals = (principal for principal in audience.principals if not principal.node_id)
        self.principals_by_reason = _group_pairs(((one.relation, one.receiver), one) for one in unplaced_principals)
        self.placed = _by_relation_and_node(audience.principals)
        self.person_facts = PersonFacts(audience.person_facts)
        self.own_addresses = {(one.channel, one.address.holder_id): one for one in audience.own_addresses}
        self.with_browser = audience.with_browser

    def candidates(
        self, head: EventHead, rules: Sequence[RecipientRule], accepted: Mapping[str, int]
    ) -> Iterator[Candidate]:
        """Yield every way in which ``rules`` reach a person for this event, suppressed or not."""
        context = _EventContext(head, self, accepted)
        for rule in rules:
            if rule.relation is ReasonKind.EXTERNAL:
                if context.meets_conditions(rule, None):
                    self.answering.add((head.offset, rule.subscription_id))
                if self.is_addressed:
                    yield _candidate_at_address(rule, context)
        people = self.people
        for way in _ways(rules, context):
            who = way.principal.principal_id
            if way.principal.principal_type == "user":
                if who in people:
                    yield _candidate(way, people[who], context)
            elif way.rule.by_own_address:
                yield from _whole_team(way, context) if self.is_addressed else ()
            else:
                yield from self._members(way, context)

    def _members(self, way: _Way, context: _EventContext) -> Iterator[Candidate]:
        for user_id, spans in self.teams.get(way.principal.principal_id, {}).items():
            if user_id in self.people:
                yield _candidate(
                    way.to_member(_nearest_span(context.head.offset, spans)), self.people[user_id], context
                )


class _EventContext(NamedTuple):
    """The event and who could be concerned, and what is left to ask of people, by alert."""

    head: EventHead
    audience: IndexedAudience
    accepted_answers: Mapping[str, int]

    def meets_conditions(self, rule: RecipientRule, user_id: str | None) -> bool:
        """Return whether the alert's condition on people holds for this person, or for a destination without one."""
        accepted = self.accepted_answers.get(rule.subscription_id, ANYBODY)
        if not rule.questions:
            return is_asked(accepted, 0)
        head, person_facts = self.head, self.audience.person_facts
        if user_id is None:
            if (head.offset, rule.subscription_id) in self.audience.answering:
                return True
            if rule.owners:
                return any(self.meets_conditions(rule, owner) for owner in self._owners(rule))
            return person_facts.anybody(accepted, rule.questions, head.entity_id, head.offset)
        return is_asked(accepted, person_facts.answers(rule.questions, user_id, head.entity_id, head.offset))

    def _owners(self, rule: RecipientRule) -> Iterator[str]:
        """Yield the people in this portion who own the alert, by themselves or in a team at the event's place."""
        for kind, owner in rule.owners:
            if kind == "user" and owner in self.audience.people and self.audience.portion.holds(owner):
                yield owner
            for user_id, spans in self.audience.teams.get(owner, {}).items():
                is_member = any(one.since_offset <= self.head.offset <= one.until_offset for one in spans)
                if is_member and user_id in self.audience.people:
                    yield user_id

    def fact_met(self, rule: RecipientRule, user_id: str) -> PersonFact | None:
        """Return the first thing that the alert asks for and that holds of this person; None for none."""
        accepted = self.accepted_answers.get(rule.subscription_id, ANYBODY)
        return self.audience.person_facts.first(rule.questions, accepted, user_id, self.head)

    def mute(self, who: str, rule: RecipientRule, about_ids: tuple[str, ...] = ()) -> Mute | None:
        """Return the mute of ``rule`` for a person or address: of the alert, the asset, or one of ``about_ids``."""
        mutes = self.audience.mutes.get(who)
        if mutes is None:
            return None
        about = (rule.subscription_id, self.head.entity_id, *about_ids)
        at = self.head.offset, self.head.timestamp_ms
        return next((one for one in mutes if one.silences(about, rule.channel, at)), None)


class _Way(NamedTuple):
    """A principal that an alert's rule means, for which reason, and over which node."""

    rule: RecipientRule
    principal: Principal
    reason: Reason
    node_id: str = ""

    @property
    def about_ids(self) -> tuple[str, ...]:
        """Return the ids of what the way leads over: the node, and what is followed in its place."""
        through = self.reason.through
        return (self.node_id,) if through is None or through.id is None else (self.node_id, through.id)

    def to_member(self, member: Member) -> _Way:
        """Return the way on to a member of the principal, a team."""
        since = max(self.principal.since_offset, member.since_offset)
        until = min(self.principal.until_offset, member.until_offset)
        principal = self.principal
        if (since, until) != (principal.since_offset, principal.until_offset):
            principal = principal._replace(since_offset=since, until_offset=until)
        reason = _reason(self.rule, member.team_name, **_relation_in(self.reason))
        return _Way(self.rule, principal, reason, self.node_id)


def candidates(
    logged: LoggedEvent, rules: Sequence[RecipientRule], audience: Audience, accepted: Mapping[str, int] | None = None
) -> Iterator[Candidate]:
    """Yield every way in which ``rules`` reach a person of ``audience`` for ``logged``, suppressed or not.

    ``accepted`` holds, by alert, the accepted answers to its conditions on the recipient (``conditions/relations.py``).
    """
    return IndexedAudience(audience).candidates(head_of(logged), rules, accepted or {})


def _by_relation_and_node(
    principals: Sequence[Principal],
) -> dict[tuple[ReasonKind, str | None], list[list[Principal]]]:
    """Return the principals of each relation to each node, each with all its spans of offsets.

    Who follows a node and what contains it is in both relations.
    """
    spans_by_relation: dict[tuple[ReasonKind, str | None], dict[tuple[str, str | None], list[Principal]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for (relation, node_id), group in groupby(principals, attrgetter("relation", "node_id")):
        if node_id:
            spans = spans_by_relation[relation, node_id]
            for principal in group:
                through = principal.through
                spans[principal.principal_id, None if through is None else through.id].append(principal)
    return {key: list(spans.values()) for key, spans in spans_by_relation.items()}


def _ways(rules: Sequence[RecipientRule], context: _EventContext) -> Iterator[_Way]:
    audience, offset = context.audience, context.head.offset
    steps = audience.steps.get(context.head.entity_id, ())
    for rule in rules:
        if rule.relation not in BY_ASSET:
            principals = audience.principals_by_reason.get((rule.relation, rule.receiver), ())
            yield from (_Way(rule, principal, _reason(rule)) for principal in principals)
            continue
        for step in _within(steps, rule.downstream_depth, offset):
            via = step.node_fqn if step.hops else None
            for spans in audience.placed.get((rule.relation, step.node_id), ()):
                principal = _nearest_span(offset, spans)
                is_of_subject = principal.is_of_subject or step.node_id != step.root_id
                of_subject = True if is_of_subject and not step.hops else None
                reason = _reason(
                    rule,
                    principal.team,
                    via=via,
                    hops=step.hops,
                    of_subject=of_subject,
                    through=principal.through,
                    follow=_follow_at(rule, step, principal),
                )
                yield _Way(rule, principal, reason, step.node_id)


def _follow_at(rule: RecipientRule, step: DownstreamStep, principal: Principal) -> str | None:
    """Return the key of the follow by which a principal is concerned, where it is of another asset than has changed."""
    if principal.follow is not None or rule.relation is not ReasonKind.FOLLOWER or principal.through is not None:
        return principal.follow
    return None if step.node_id == step.root_id else step.node_id


def _group_pairs(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    groups: dict[K, list[V]] = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return groups


def _nearest_span(offset: int, spans: Sequence[_Span]) -> _Span:
    """Return the span that an offset lies in, else the first after it, else the last before it."""
    if len(spans) == 1:
        return spans[0]
    standing = (one for one in spans if one.since_offset <= offset <= one.until_offset)
    later = (one for one in spans if one.since_offset > offset)
    nearest = next(standing, None) or min(later, default=None, key=attrgetter("since_offset"))
    return nearest or max(spans, key=attrgetter("since_offset"))


def _within(steps: Sequence[DownstreamStep], depth: int, offset: int) -> Iterator[DownstreamStep]:
    return (step for step in steps if step.hops <= depth and step.since_offset <= offset <= step.until_offset)


def _candidate(way: _Way, person: Person, context: _EventContext) -> Candidate:
    rule = way.rule
    met = context.fact_met(rule, person.id) if rule.questions and rule.relation is ReasonKind.USER else None
    if met is not None:
        way = way._replace(reason=_reason_met(way.reason, met.question, met.through, met.follow))
    stop, mute = _stop(way, person, context), None
    address: str | None = None
    if rule.channel is Channel.ACTIVITY_FEED:
        address = person.id
    elif rule.channel is Channel.PUSH:
        address = person.id if person.id in context.audience.with_browser else ""
    elif rule.by_address:
        address = person.email or ""
    elif rule.by_own_address:
        return _at_own_address(way, (person.id, person), (stop, context))
    if stop is None and not address:
        without_address = Stop.NO_BROWSER if rule.channel is Channel.PUSH else Stop.NO_ADDRESS
        stop = Stop.NO_SUCH_WAY if address is None else without_address
    if stop is None:
        mute = context.mute(person.id, rule, way.about_ids)
        stop = Stop.MUTED if mute else None
    target = address or ""
    return Candidate(rule.channel, recipient_key(target, rule.bot), target, person, way.reason, stop, mute)


def _at_own_address(
    way: _Way, holder: tuple[str, Person | None], verdict: tuple[Stop | None, _EventContext]
) -> Candidate:
    """Return the way to the address in the profile of a person, or of a team: then there is no person."""
    rule, (holder_id, person), (stop, context) = way.rule, holder, verdict
    own_address, mute = context.audience.own_addresses.get((rule.channel, holder_id)), None
    if stop is None and (own_address is None or not own_address.is_verified):
        stop = Stop.NO_OWN_ADDRESS if own_address is None else Stop.UNVERIFIED_ADDRESS
    if stop is None:
        mute = context.mute(holder_id, rule, way.about_ids)
        stop = Stop.MUTED if mute else None
    target = own_address.address.target() if own_address else ""
    return Candidate(rule.channel, holder_id if own_address else "", target, person, way.reason, stop, mute)


def _whole_team(way: _Way, context: _EventContext) -> Iterator[Candidate]:
    """Yield the way to the address of a team that has one; a team without one is not expanded."""
    team_id, offset = way.principal.principal_id, context.head.offset
    own_address = context.audience.own_addresses.get((way.rule.channel, team_id))
    if own_address is None or own_address.deleted:
        return
    stop = None
    if not way.principal.since_offset <= offset <= way.principal.until_offset:
        stop = Stop.NOT_THEN if offset < way.principal.since_offset else Stop.NO_LONGER
    elif not context.meets_conditions(way.rule, None):
        stop = Stop.NOT_MEANT
    named_way = way._replace(reason=_reason(way.rule, own_address.name, **_relation_in(way.reason)))
    yield _at_own_address(named_way, (team_id, None), (stop, context))


def _stop(way: _Way, person: Person, context: _EventContext) -> Stop | None:
    head = context.head
    if head.offset < way.principal.since_offset:
        return Stop.NOT_THEN
    if head.offset > way.principal.until_offset:
        return Stop.NO_LONGER
    if person.deleted or person.is_bot:
        return Stop.DELETED if person.deleted else Stop.BOT
    if person.id == head.user_id:
        return Stop.SELF  # actors are not notified of their own changes
    if way.principal.is_hidden:
        return Stop.MAY_NOT_VIEW  # a notification would say what contains the asset
    return None if context.meets_conditions(way.rule, person.id) else Stop.NOT_MEANT


def _candidate_at_address(rule: RecipientRule, context: _EventContext) -> Candidate:
    is_person = rule.by_address and "@" in rule.receiver
    key = recipient_key(rule.receiver, rule.bot) if is_person else f"{rule.subscription_id}:{rule.receiver}"
    mute = context.mute(rule.receiver, rule)
    stop = Stop.MUTED if mute else None if context.meets_conditions(rule, None) else Stop.NOT_MEANT
    return Candidate(rule.channel, key, rule.receiver, None, _reason(rule), stop, mute)


class _Relation(TypedDict):
    """How a reason's person is related to the event, beside the team."""

    via: str | None
    hops: int
    of_subject: bool | None


def _relation_in(reason: Reason) -> _Relation:
    return {"via": reason.via, "hops": reason.hops, "of_subject": reason.of_subject}


@lru_cache(maxsize=10_000)
def _reason_met(reason: Reason, met: str, through: Followed | None, follow: str | None) -> Reason:
    """Return a reason with the relation that a condition asked for, and what is followed in place of the asset."""
    return reason.model_copy(update={"met": met, "through": through, "follow": follow})


@lru_cache(maxsize=10_000)
def _reason(
    rule: RecipientRule,
    team: str | None = None,
    *,
    via: str | None = None,
    hops: int = 0,
    of_subject: bool | None = None,
    through: Followed | None = None,
    follow: str | None = None,
) -> Reason:
    return Reason(
        kind=rule.relation,
        subscription_id=rule.subscription_id,
        subscription_name=rule.subscription_name,
        destination_id=rule.destination_id,
        team=team,
        via=via,
        hops=hops,
        of_subject=of_subject,
        through=through,
        states=rule.states or None,
        search=rule.search or None,
        follow=follow,
    )
