"""Tests of recipient resolution against a small oracle, on generated companies, alerts and events, in portions."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import pytest
from tests.directories import Company, company
from tests.soak import SOAK

from tocsin.flow.resolve.counted import Moment, SimilarEvents, recipients_of_similar
from tocsin.flow.resolve.directory import Principal
from tocsin.flow.resolve.portions import MatchedEvent, resolve_events
from tocsin.flow.resolve.recipient_rules import BY_ASSET, RecipientRule, recipient_rules
from tocsin.model.notification import Reason, ReasonKind
from tocsin.model.notification_draft import EventHead
from tocsin.model.subscription import Channel

NOW_MS = 1_760_000_000_000
Key = tuple[str, str, str]
Notified = dict[Key, tuple[str, str | None, list[tuple[object, ...]]]]
"""Where each notification goes, the id of the person, and its reasons, by event, channel and key."""
_EXPECTED: dict[int, Notified] = {}
"""Recipients by the identity of the case, which is cached as long."""


@dataclass(frozen=True)
class Case:
    events: tuple[MatchedEvent, ...]
    rules: dict[str, tuple[RecipientRule, ...]]
    company: Company


@cache
def case(seed: int, *, is_personal: bool = False) -> Case:
    rng = random.Random(seed)
    sample = company(rng)
    alerts = sample.alerts(rng)
    questions = {alert.id: _questions(rng) if is_personal else () for alert in alerts}
    rules = {alert.id: recipient_rules(alert, questions[alert.id]) for alert in alerts}
    events = tuple(_event(rng, sample, number, questions) for number in range(12))
    return Case(tuple(one for one in events if one.answers_by_alert), rules, sample)


def _questions(rng: random.Random) -> tuple[str, ...]:
    known_questions = ["follows", "owns", "isMemberOf:team-0", "isMemberOf:team-1", "isMemberOf:nobody"]
    return tuple(sorted(rng.sample(known_questions, rng.randrange(4))))


def _event(rng: random.Random, sample: Company, number: int, questions: dict[str, tuple[str, ...]]) -> MatchedEvent:
    who, at_ms = rng.choice([*sample.users, "system"]), NOW_MS + rng.choice([-1, 0, 1])
    head = EventHead(number, f"event-{number}", rng.choice(sample.assets), who, at_ms)
    answers = {one: rng.randrange(1, 2**2 ** len(asks)) for one, asks in questions.items() if rng.random() < 0.6}
    return MatchedEvent(head, answers)


def recipients_in_portions(case: Case, people_at_once: int) -> Notified:
    reasons_by_recipient: Notified = {}
    for head, recipients in resolve_events(case.events, case.rules, case.company, people_at_once=people_at_once):
        for recipient in (one for one in recipients if one.mute is None):
            key = (head.event_id, recipient.channel.value, recipient.key)
            assert key not in reasons_by_recipient, "two portions notify one recipient"
            reasons = _facts_of_reasons(recipient.reasons)
            reasons_by_recipient[key] = (recipient.target, recipient.user_id, reasons)
    return reasons_by_recipient


def _facts_of_reasons(reasons: Sequence[Reason]) -> list[tuple[object, ...]]:
    """Return what is compared, each once: people who share an address may meet different conditions of one alert."""
    return list(dict.fromkeys(_facts_of_reason(reason) for reason in reasons))


def _facts_of_reason(reason: Reason) -> tuple[object, ...]:
    alert = (reason.subscription_name, reason.subscription_id, reason.destination_id)
    through = reason.through.id if reason.through else None
    return (reason.kind, reason.hops, through, *alert, reason.team, reason.via)


class ExpectedRecipients:
    """Asks for every event, rule and person whether the one reaches the other, the long way round."""

    def __init__(self, case: Case) -> None:
        self._case, self._company = case, case.company

    def reasons_by_recipient(self) -> Notified:
        reasons: dict[Key, set[tuple[object, ...]]] = defaultdict(set)
        users: dict[Key, set[str]] = defaultdict(set)
        targets: dict[Key, str] = {}
        for event in self._case.events:
            for alert in event.answers_by_alert:
                for rule in self._case.rules[alert]:
                    for key, target, user_id, reason in self._recipients(event, rule):
                        at = (event.head.event_id, rule.channel.value, key)
                        reasons[at].add(reason)
                        targets[at] = target
                        users[at] |= {user_id} if user_id else set()
        in_order = {at: sorted(many, key=lambda one: [str(part or "") for part in one]) for at, many in reasons.items()}
        return {at: (targets[at], min(users[at], default=None), many) for at, many in in_order.items()}

    def _recipients(
        self, event: MatchedEvent, rule: RecipientRule
    ) -> Iterator[tuple[str, str, str | None, tuple[object, ...]]]:
        alert = (rule.subscription_name, rule.subscription_id, rule.destination_id)
        if rule.relation is ReasonKind.EXTERNAL:
            candidates = self._owners(rule) if rule.owners else [None, *self._able()]
            is_met = any(self._accepts(event, rule, one) for one in candidates)
            key = rule.receiver if rule.channel is Channel.EMAIL else f"{rule.subscription_id}:{rule.receiver}"
            if is_met and not self._is_muted(event, rule, rule.receiver):
                yield key, rule.receiver, None, (rule.relation, 0, None, *alert, None, None)
            return
        for user_id, node, hops, team, principal_through in self._related_people(event.head, rule):
            person, through = self._company.users[user_id], principal_through
            if rule.relation is ReasonKind.USER:
                through = self._through_met(event, rule, user_id)
            address = {Channel.EMAIL: person.email, Channel.ACTIVITY_FEED: user_id}.get(rule.channel)
            is_left_out = user_id == event.head.user_id or self._is_muted(event, rule, user_id, node, through or "")
            if address and not is_left_out and self._accepts(event, rule, user_id):
                via = f"fqn.{node}" if hops else None
                yield address, address, user_id, (rule.relation, hops, through, *alert, team, via)

    def _through_met(self, event: MatchedEvent, rule: RecipientRule, user_id: str) -> str | None:
        """Return what a person follows in place of the asset, if that is what makes them one the alert asks for."""
        ways = self._ways_of_following(user_id, event.head)
        is_needed = not self._accepts(event, rule, user_id, but_for="follows")
        return min(ways, default="") or None if "follows" in rule.questions and is_needed else None

    def _able(self) -> list[str]:
        return [one.id for one in self._company.users.values() if not (one.is_bot or one.deleted)]

    def _owners(self, rule: RecipientRule) -> list[str]:
        """Return the people who own the alert."""
        owners = {owner for kind, owner in rule.owners if kind == "user"}
        teams = [owner for kind, owner in rule.owners if kind == "team"]
        owners |= {member.user_id for member in self._company.members(teams)}
        return [one for one in self._able() if one in owners]

    def _related_people(
        self, head: EventHead, rule: RecipientRule
    ) -> Iterator[tuple[str, str, int, str | None, str | None]]:
        relation, nodes = rule.relation, {"": 0}
        if relation in BY_ASSET:
            nodes = {one.node_id: one.hops for one in self._company.reach([head.entity_id], rule.downstream_depth)}
        for node, hops in nodes.items():
            for principal in self._principals(relation, node, rule.receiver):
                if not principal.since_offset <= head.offset <= principal.until_offset:
                    continue
                people: dict[str, str | None] = {principal.principal_id: None}
                if principal.principal_type == "team":
                    people = {
                        member.user_id: member.team_name for member in self._company.members([principal.principal_id])
                    }
                through = principal.through.id if principal.through else None
                yield from ((user, node, hops, team, through) for user, team in people.items() if user in self._able())

    def _principals(self, relation: ReasonKind, node: str, receiver: str) -> list[Principal]:
        if relation in BY_ASSET:
            return list(self._company.stakeholders([node], relation))
        if relation is ReasonKind.ADMIN:
            return list(self._company.administrators())
        return list(self._company.principals_named(relation, [receiver]))

    def _accepts(
        self, event: MatchedEvent, rule: RecipientRule, user_id: str | None, *, but_for: str | None = None
    ) -> bool:
        answers = sum(
            1 << bit
            for bit, question in enumerate(rule.questions)
            if user_id is not None and question != but_for and self._holds(question, user_id, event.head)
        )
        return bool(event.answers_by_alert[rule.subscription_id] >> answers & 1)

    def _holds(self, question: str, user_id: str, head: EventHead) -> bool:
        company, asset = self._company, head.entity_id
        if question == "follows":
            return bool(self._ways_of_following(user_id, head))
        if question == "owns":
            teams = [who for who, kind in company.owners[asset] if kind == "team"]
            of_team = {one.user_id for one in company.members(teams)}
            return (user_id, "user") in company.owners[asset] or user_id in of_team
        team = question.partition(":")[2]
        return team in company.teams and user_id in {one.user_id for one in company.members([team])}

    def _ways_of_following(self, user_id: str, head: EventHead) -> list[str]:
        """Return what a person follows of what an asset belongs to; an empty name where it is the asset itself."""
        company, asset = self._company, head.entity_id
        containers = [one for one, since, until in company.belongings[asset] if since <= head.offset <= until]
        followed = [("", asset), *zip(containers, containers, strict=True)]
        is_late = company.followed_at[user_id] > head.offset
        return [] if is_late else [name for name, one in followed if user_id in company.followers[one]]

    def _is_muted(self, event: MatchedEvent, rule: RecipientRule, who: str, *about_ids: str) -> bool:
        about = (rule.subscription_id, event.head.entity_id, *about_ids)
        return any(
            mute.who == who
            and mute.about_id in about
            and mute.channel in ("", rule.channel.value)
            and mute.since_offset <= event.head.offset
            and event.head.timestamp_ms < mute.until_ms
            for mute in self._company.muted
        )


def expected_recipients(sample: Case) -> Notified:
    """Return what every portion of the case must come to; worked out once, for it takes longer than all portions."""
    if id(sample) not in _EXPECTED:
        _EXPECTED[id(sample)] = ExpectedRecipients(sample).reasons_by_recipient()
    return _EXPECTED[id(sample)]


@pytest.mark.parametrize("people_at_once", [1, 2, 3, 1_000])
@pytest.mark.parametrize("is_personal", [False, True])
@pytest.mark.parametrize("seed", range(12 if SOAK else 3))
def test_everybody_is_told_once_for_the_right_reasons(seed: int, people_at_once: int, *, is_personal: bool) -> None:
    sample = case(seed, is_personal=is_personal)
    expected = expected_recipients(sample)
    assert recipients_in_portions(sample, people_at_once) == expected
    assert expected or is_personal, "a case that tells nobody proves nothing"


def test_no_event_gives_no_recipient() -> None:
    sample = case(0)
    assert list(resolve_events((), sample.rules, sample.company)) == []


def similar_events(events: tuple[MatchedEvent, ...]) -> list[SimilarEvents]:
    """Return the events of each entity that the same alerts match with the same answers, as backtests group them."""
    groups: dict[object, list[MatchedEvent]] = defaultdict(list)
    for event in sorted(events, key=lambda event: event.head.offset):
        groups[event.head.entity_id, frozenset(event.answers_by_alert.items())].append(event)
    similar = []
    for group in groups.values():
        moments: dict[str | None, list[Moment]] = defaultdict(list)
        for event in group:
            moments[event.head.user_id].append(Moment(event.head.offset, event.head.timestamp_ms))
        similar.append(SimilarEvents(group[0], moments))
    return similar


@cache
def dense_case(seed: int, *, is_personal: bool) -> Case:
    """Return a case with many events of few entities, whose alerts match in two ways."""
    sample, rng = case.__wrapped__(seed, is_personal=is_personal), random.Random(seed)  # it is changed
    answers = [event.answers_by_alert for event in sample.events[:2]]
    events = []
    for offset in range(60):
        author, at_ms = rng.choice([*sample.company.users, "system", None]), NOW_MS + rng.choice([-1, 0, 1])
        head = EventHead(offset, f"event-{offset}", rng.choice(sample.company.assets[:3]), author, at_ms)
        events.append(MatchedEvent(head, rng.choice(answers)))
    for user in sample.company.users:
        sample.company.followed_at[user] = rng.randrange(60)
    return replace(sample, events=tuple(events))


@pytest.mark.parametrize("people_at_once", [2, 1_000])
@pytest.mark.parametrize("is_personal", [False, True])
@pytest.mark.parametrize("seed", range(12 if SOAK else 3))
def test_events_that_are_counted_together_have_the_recipients_of_each(
    seed: int, people_at_once: int, *, is_personal: bool
) -> None:
    sample = dense_case(seed, is_personal=is_personal)
    similar = similar_events(sample.events)
    oracle_recipients = expected_recipients(sample)
    counted_recipients: Notified = {}
    resolved_count = 0
    for group in recipients_of_similar(similar, sample.rules, sample.company, people_at_once=people_at_once):
        resolved_count += 1
        for recipient in group.recipients:
            for offset in group.log_offsets:
                key = (f"event-{offset}", recipient.channel.value, recipient.key)
                assert key not in counted_recipients, "an event is counted once"
                reasons = _facts_of_reasons(recipient.reasons)
                counted_recipients[key] = (recipient.target, recipient.user_id, reasons)
    assert counted_recipients == oracle_recipients
    if people_at_once == 1_000:
        assert resolved_count < len(sample.events), "some are worked out together"


def test_similar_events_are_worked_out_once_however_many_they_are() -> None:
    sample = case(0)
    (head, answers), moments = sample.events[0], [Moment(offset, NOW_MS) for offset in range(100, 1_100)]
    first = MatchedEvent(head._replace(offset=100, user_id=None, timestamp_ms=NOW_MS), answers)
    similar = SimilarEvents(first, {"somebody": moments, None: [Moment(1_100, NOW_MS)]})
    (counted,) = recipients_of_similar([similar], sample.rules, sample.company)
    assert counted.recipients and sorted(counted.log_offsets) == list(range(100, 1_101))
