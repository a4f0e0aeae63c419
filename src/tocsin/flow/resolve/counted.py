"""Recipients for counts: worked out once for events that differ in nothing that decides about recipients.

Events of one entity that the same alerts match differ in their place in the log, their time and their author. The
places and times at which a relation, membership or mute begins or ends cut them into groups with the same recipients;
an author matters where they could be a recipient themselves. Only for backtests: a notification names its event.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tocsin.flow.resolve.candidates import IndexedAudience
from tocsin.flow.resolve.directory import Directory, Member, PersonFact, Principal
from tocsin.flow.resolve.merge import Recipient, merge_candidates
from tocsin.flow.resolve.portions import PEOPLE_AT_ONCE, MatchedEvent, audiences_of
from tocsin.flow.resolve.recipient_rules import BY_ASSET, RecipientRule
from tocsin.model.notification_draft import EventHead


class Moment(NamedTuple):
    """Place in the log and time of an event."""

    log_offset: int
    timestamp_ms: int


class SimilarEvents(NamedTuple):
    """Events of one entity that the same alerts match: the first one, and the moments of all by who made the change."""

    first: MatchedEvent
    moments_by_author: Mapping[str | None, Sequence[Moment]]

    def offsets(self) -> Iterator[int]:
        """Yield the place in the log of each of these events."""
        yield from (moment.log_offset for moments in self.moments_by_author.values() for moment in moments)

    def events(self) -> Iterator[MatchedEvent]:
        """Yield each of these events by itself."""
        for author, moments in self.moments_by_author.items():
            for log_offset, timestamp_ms in moments:
                head = self.first.head._replace(offset=log_offset, user_id=author, timestamp_ms=timestamp_ms)
                yield self.first._replace(head=head)


class SharedRecipients(NamedTuple):
    """Recipients that some events have in common, as far as they are in one portion.

    ``head`` is that of one of the events, ``log_offsets`` are those of all.
    """

    head: EventHead
    recipients: Sequence[Recipient]
    log_offsets: Sequence[int]


def recipients_of_similar(
    similar: Sequence[SimilarEvents],
    rules: Mapping[str, Sequence[RecipientRule]],
    directory: Directory,
    *,
    people_at_once: int = PEOPLE_AT_ONCE,
) -> Iterator[SharedRecipients]:
    """Yield the recipients of all these events: together those of ``portions.resolve_events`` for each by itself."""
    firsts = [events.first for events in similar]
    entities = {offset: events.first.head.entity_id for events in similar for offset in events.offsets()}
    audiences = audiences_of(firsts, rules, directory, people_at_once, entities)
    for audience in audiences:
        for events in similar:
            yield from _recipients_in(audience, events, rules, is_only=len(audiences) == 1)


def _recipients_in(
    audience: IndexedAudience, events: SimilarEvents, rules: Mapping[str, Sequence[RecipientRule]], *, is_only: bool
) -> Iterator[SharedRecipients]:
    """Yield the recipients of these events that are in one audience; ``is_only``: there are no other portions."""
    accepted = events.first.answers_by_alert
    event_rules = [rule for alert in accepted for rule in rules.get(alert, ())]
    # Whether an address is meant may depend on people of other portions, event by event.
    by_event = not is_only and any(rule.questions for rule in event_rules)
    changes = _Changes.of(audience, events.first.head.entity_id, event_rules)
    for head, log_offsets in _groups(events, changes, by_event=by_event):
        ways = merge_candidates(audience.candidates(head, event_rules, accepted))
        if recipients := [recipient for recipient in ways if recipient.mute is None]:
            yield SharedRecipients(head, recipients, log_offsets)


@dataclass
class _Changes:
    """What changes recipients of an entity: offsets and times from which on they may be others, and their ids.

    ``followed`` is what people follow in place of it.
    """

    log_offsets: set[int] = field(default_factory=set)
    times_ms: set[int] = field(default_factory=set)
    people: set[str] = field(default_factory=set)
    followed: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, audience: IndexedAudience, entity_id: str, rules: Sequence[RecipientRule]) -> _Changes:
        """Return the changes of an audience for the events of one entity."""
        changes, nodes = cls(), {entity_id}
        for step in audience.steps.get(entity_id, ()):
            changes._add_span(step.since_offset, step.until_offset)
            nodes.add(step.node_id)
        for rule in rules:
            places = nodes if rule.relation in BY_ASSET else ()
            for node in places:
                for spans in audience.placed.get((rule.relation, node), ()):
                    changes._add_principals(spans, audience)
            if not places:
                changes._add_principals(audience.principals_by_reason.get((rule.relation, rule.receiver), ()), audience)
            for _, owner in rule.owners:
                changes._add_members(owner, audience)
        for fact in audience.person_facts.about(entity_id):
            changes._add_person(fact.user_id, fact)
        about_ids = {*nodes, *changes.followed, *(rule.subscription_id for rule in rules)}
        changes._add_mutes(audience, about_ids, rules)
        return changes

    def _add_mutes(self, audience: IndexedAudience, about_ids: set[str], rules: Sequence[RecipientRule]) -> None:
        for who in {*self.people, *(rule.receiver for rule in rules)} if audience.mutes else ():
            for mute in audience.mutes.get(who, ()):
                if mute.place_id in about_ids:
                    self.log_offsets.add(mute.since_offset)
                    self.times_ms.add(mute.until_ms)
                    self.log_offsets.add(mute.since_offset if mute.until_offset is None else mute.until_offset)

    def _add_principals(self, principals: Sequence[Principal], audience: IndexedAudience) -> None:
        for principal in principals:
            self._add_person(principal.principal_id, principal)
            self._add_members(principal.principal_id, audience)

    def _add_members(self, team_id: str, audience: IndexedAudience) -> None:
        for user_id, spans in audience.teams.get(team_id, {}).items():
            for member in spans:
                self._add_person(user_id, member)

    def _add_person(self, person_id: str, relation: Principal | Member | PersonFact) -> None:
        self.people.add(person_id)
        through = None if isinstance(relation, Member) else relation.through
        if through is not None and through.id is not None:
            self.followed.add(through.id)
        self._add_span(relation.since_offset, relation.until_offset)

    def _add_span(self, since_offset: int, until_offset: int) -> None:
        self.log_offsets.add(since_offset)
        self.log_offsets.add(until_offset + 1)


def _groups(events: SimilarEvents, changes: _Changes, *, by_event: bool) -> Iterator[tuple[EventHead, list[int]]]:
    """Yield the events that have the same recipients: the head of one of them, and the offsets of all."""
    if by_event:
        yield from ((event.head, [event.head.offset]) for event in events.events())
        return
    all_moments = [moment for moments in events.moments_by_author.values() for moment in moments]
    cuts = _within(changes.log_offsets, [moment.log_offset for moment in all_moments])
    cuts_ms = _within(changes.times_ms, [moment.timestamp_ms for moment in all_moments])
    groups: dict[tuple[str | None, int, int], list[Moment]] = defaultdict(list)
    for author, moments in events.moments_by_author.items():
        person = author if author in changes.people else None
        if not cuts and not cuts_ms:
            groups[person, 0, 0].extend(moments)
            continue
        for moment in moments:
            groups[person, bisect_right(cuts, moment.log_offset), bisect_right(cuts_ms, moment.timestamp_ms)].append(
                moment
            )
    for (person, _, _), moments in groups.items():
        log_offset, timestamp_ms = min(moments)
        head = events.first.head._replace(offset=log_offset, user_id=person, timestamp_ms=timestamp_ms)
        yield head, [moment.log_offset for moment in moments]


def _within(cuts: set[int], places: Sequence[int]) -> list[int]:
    """Return in order the cuts that part these places; a place that is a cut belongs to what follows."""
    least, greatest = min(places), max(places)
    return sorted(cut for cut in cuts if least < cut <= greatest)
