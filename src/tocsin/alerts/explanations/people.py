"""Recipients of an alert for an event: how the alert reaches each, and what suppressed others; computed and stored.

Candidates come from ``flow/resolve/candidates.py``, as those of notifications do.
Next: ``alerts/explanations/answer.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from tocsin.access.permission_cache import PolicySnapshot
from tocsin.access.visibility import TypedDocument
from tocsin.alerts.explanations.reader import ANYBODY, ExplanationReader
from tocsin.conditions.relations import EVERYBODY, MEMBER, team_of
from tocsin.conditions.syntax import literal_text
from tocsin.errors import InvalidInput
from tocsin.flow.match.local import accepted_answers
from tocsin.flow.match.plan import Plan, plan_of
from tocsin.flow.resolve.candidates import Candidate, IndexedAudience, Stop, candidates
from tocsin.flow.resolve.directory import NO_END, Audience
from tocsin.flow.resolve.only_visible import Addressee, viewers_of
from tocsin.flow.resolve.person_conditions import PersonFacts
from tocsin.flow.resolve.recipient_rules import RecipientRule, recipient_rules
from tocsin.model.access import Operation
from tocsin.model.change import LoggedEvent
from tocsin.model.notification import NotificationIdScheme, Reason, ReasonKind
from tocsin.model.notification_draft import head_of
from tocsin.model.notification_record import NotificationRecord
from tocsin.model.own_address import shown_target
from tocsin.model.people import Person
from tocsin.model.subscription import Channel, EventSubscription

_STOPS = {
    Stop.SELF: "{name} made the change; nobody is notified of their own changes",
    Stop.BOT: "{name} {is_} a bot; bots are not notified",
    Stop.DELETED: "{name} {is_} deleted",
    Stop.NOT_THEN: "{name} got this relation only after the event",
    Stop.NO_LONGER: "{name} had already lost this relation when the event happened",
    Stop.MAY_NOT_VIEW: "{name} may not view what they follow and the asset belongs to",
    Stop.NOT_MEANT: "the alert's condition on recipients is false for {name}",
    Stop.NO_ADDRESS: "{name} {has} no e-mail address",
    Stop.NO_OWN_ADDRESS: "{name} {has} no address for {channel} in {their} profile",
    Stop.UNVERIFIED_ADDRESS: (
        "{name} {has} an address for {channel} in {their} profile ({address}), which is not verified"
    ),
    Stop.NO_BROWSER: "{name} {has} no browser that takes push messages now",
    Stop.NO_SUCH_WAY: "{channel} does not reach people",
}
_WORDS_TO_READER = {"name": "you", "is_": "are", "has": "have", "their": "your"}
_WORDS_ABOUT = {"is_": "is", "has": "has", "their": "the"}

_OF_NOW = frozenset({Stop.NOT_THEN, Stop.NO_LONGER, Stop.NOT_MEANT})
"""What is worked out from relations as they are now; where a notification is stored, its reasons know better."""


_NOT_AT_EVENT = frozenset({Stop.NOT_THEN, Stop.NO_LONGER})
_ENDING = frozenset({ReasonKind.OWNER, ReasonKind.FOLLOWER})
"""Relations that people lose or give up; who wrote or answered something has done so for good."""


@dataclass(frozen=True)
class Obstacle:
    """Reason why a person is not notified; ``kind`` is a word for programs, ``says`` a sentence."""

    kind: str
    says: str


@dataclass(frozen=True)
class RecipientPath:
    """One way in which an alert reaches a person, and what suppresses it; nothing if they were notified for it.

    ``has_ended``: they owned or followed at the event, and no longer do.
    """

    reason: Reason
    obstacle: Obstacle | None = None
    has_ended: bool = False


@dataclass(frozen=True)
class PossibleRecipient:
    """One possible recipient of an alert over one channel: all ways, and the stored notification.

    ``is_due`` says that, as of now, it would be notified; ``record`` is the stored notification with this alert as a
    reason; ``merged_alerts`` names the alerts it was merged with. Without a record, ``before`` names the alerts of a
    stored notification of this event that went out before this alert was processed. ``address`` is what everybody may
    know of the own address at which it would reach them, if it would.
    """

    channel: str
    key: str
    target: str
    person: Person | None
    ways: tuple[RecipientPath, ...]
    is_due: bool
    record: NotificationRecord | None = None
    merged_alerts: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    address: str = ""

    @property
    def name(self) -> str:
        """Return who it is: a person, or where it goes."""
        return self.person.name if self.person else self.target

    @property
    def shown_name(self) -> str:
        """Return who it is, as people say it."""
        return self.person.shown_name if self.person else self.target

    def obstacles(self) -> list[Obstacle]:
        """Return the obstacles of all ways, each once; nothing when one way has none."""
        if any(way.obstacle is None for way in self.ways):
            return []
        return list(dict.fromkeys(way.obstacle for way in self.ways if way.obstacle))


@dataclass(frozen=True)
class ExplanationInput:
    """Input for explaining one event: the audience (bots and deleted users included), policies, stored notifications.

    ``editors`` are the ids of the alerts' creators and editors, whose rights count for notifications to no person.
    ``telling_alerts`` are those that tell of the whole that the event is part of, by channel and key of who is told.
    ``reader`` is who asks: obstacles address them.
    """

    logged: LoggedEvent
    audience: Audience
    subjects: Sequence[TypedDocument]
    policies: PolicySnapshot
    editors: Mapping[str, Sequence[str]]
    records: Mapping[str, NotificationRecord]
    ids: NotificationIdScheme
    telling_alerts: Mapping[tuple[Channel, str], Collection[str]] = field(default_factory=dict)
    reader: ExplanationReader = ANYBODY


def recipient_rules_with_disabled(subscription: EventSubscription) -> tuple[RecipientRule, ...]:
    """Return the recipient rules of the destinations, disabled ones included."""
    switched_on = tuple(one.model_copy(update={"enabled": True}) for one in subscription.destinations)
    plan = _plan(subscription)
    return recipient_rules(
        subscription.model_copy(update={"destinations": switched_on}), plan.questions if plan else ()
    )


def possible_recipients(
    subscription: EventSubscription, inputs: ExplanationInput, *, matched: bool, only: str | None = None
) -> tuple[PossibleRecipient, ...]:
    """Return everybody whom ``subscription`` reaches, or ``only`` the user of that id, those to be notified first."""
    closed_ids = frozenset(to.id for to in subscription.destinations if not to.enabled)
    ways_by_recipient: dict[tuple[str, str], list[Candidate]] = defaultdict(list)
    rules, plan = recipient_rules_with_disabled(subscription), _plan(subscription)
    answers_by_alert = {subscription.id: accepted_answers(plan, inputs.logged) or EVERYBODY} if plan else {}
    answers = _Answers(plan.questions if plan else (), PersonFacts(inputs.audience.person_facts), inputs.logged)
    for candidate in candidates(inputs.logged, rules, inputs.audience, answers_by_alert):
        if only is None or (candidate.person is not None and candidate.person.id == only):
            ways_by_recipient[
                candidate.channel.value, candidate.person.id if candidate.person else candidate.target
            ].append(candidate)
    current_ways = _Standing.of(rules, inputs)
    recipients = (
        _possible_recipient(ways, inputs, (closed_ids, answers, current_ways), matched=matched)
        for ways in ways_by_recipient.values()
    )
    return tuple(sorted(recipients, key=lambda who: (not who.is_due, who.channel, who.name)))


def _plan(subscription: EventSubscription) -> Plan | None:
    """Return what it asks for; None when an older Tocsin stored what this one does not understand."""
    try:
        return plan_of(subscription)
    except InvalidInput:
        return None


@dataclass(frozen=True)
class _Answers:
    """What an alert asks of people, and how each would answer."""

    questions: tuple[str, ...]
    person_facts: PersonFacts
    logged: LoggedEvent

    def text_for(self, person: Person | None) -> str:
        """Return the questions as conditions write them, each with a person's answer."""
        if person is None:
            return "it is not a user, and the alert's owners count"
        answers = self.person_facts.answers(self.questions, person.id, self.logged.event.entity_id, self.logged.offset)
        stated = (
            f"{_question_text(question)} is {'true' if answers >> bit & 1 else 'false'}"
            for bit, question in enumerate(self.questions)
        )
        return ", ".join(stated)


@dataclass(frozen=True)
class _Standing:
    """The ways of an alert that stand now, each with who it leads to."""

    places: frozenset[tuple[str | None, ...]]

    @classmethod
    def of(cls, rules: Sequence[RecipientRule], inputs: ExplanationInput) -> _Standing:
        """Return those of an event that would happen now."""
        head = head_of(inputs.logged)._replace(offset=NO_END)
        ways = IndexedAudience(inputs.audience).candidates(head, rules, {})
        return cls(frozenset(_whose_place(one) for one in ways if one.stop not in _NOT_AT_EVENT))

    def has_ended(self, candidate: Candidate) -> bool:
        """Return whether a person owned or followed at the event, and no longer does.

        Follows of columns are known for the event alone.
        """
        reason, through = candidate.reason, candidate.reason.through
        if candidate.person is None or reason.kind not in _ENDING or candidate.stop in _NOT_AT_EVENT:
            return False
        is_of_column = through is not None and through.relation == "column"
        return not is_of_column and _whose_place(candidate) not in self.places


def _whose_place(candidate: Candidate) -> tuple[str | None, ...]:
    return (candidate.person.id if candidate.person else None, *_place(candidate.reason))


def _question_text(question: str) -> str:
    team = team_of(question)
    return f"user.{question}(entity)" if team is None else f"user.{MEMBER}({literal_text(team)})"


def _possible_recipient(
    ways: Sequence[Candidate],
    inputs: ExplanationInput,
    verdicts: tuple[frozenset[str], _Answers, _Standing],
    *,
    matched: bool,
) -> PossibleRecipient:
    first, (closed_ids, answers, current_ways) = ways[0], verdicts
    view_objection = _view_objection(first, inputs)
    key = next((one.key for one in ways if one.key), "")
    alert_id = first.reason.subscription_id
    logged_event = inputs.logged
    stored_record = inputs.records.get(inputs.ids.of(logged_event.offset, logged_event.event.id, first.channel, key))
    reasons = stored_record.notification.reasons if stored_record else ()
    record = stored_record if stored_record and stored_record.names(alert_id) else None
    is_told = record is None and alert_id in inputs.telling_alerts.get((first.channel, key), ())
    part = _part_objection(first, inputs.reader) if is_told else None
    notified_because = {_place(one) for one in reasons if one.subscription_id == alert_id}

    def obstacle(candidate: Candidate) -> Obstacle | None:
        """Return what suppresses this way; nothing for a stored reason, which was valid then."""
        is_passed_mute = candidate.stop is Stop.MUTED and not (stored_record and stored_record.is_muted)
        was_notified = (candidate.stop in _OF_NOW or is_passed_mute) and _place(candidate.reason) in notified_because
        return None if was_notified else _obstacle(candidate, closed_ids, answers, inputs) or view_objection or part

    paths = tuple(dict.fromkeys(RecipientPath(one.reason, obstacle(one), current_ways.has_ended(one)) for one in ways))
    is_due = matched and any(way.obstacle is None for way in paths)
    names = tuple(dict.fromkeys(reason.subscription_name for reason in reasons if reason.subscription_id != alert_id))
    merged_names, before = (names, ()) if record else ((), names)
    return PossibleRecipient(
        first.channel.value,
        key,
        _place_name(first),
        first.person,
        paths,
        is_due,
        record,
        merged_names,
        before,
        _shown_address(first, inputs.audience),
    )


def _place(reason: Reason) -> tuple[str | None, ...]:
    """Return the key that distinguishes an alert's reasons for one person."""
    through_id = reason.through.id if reason.through else None
    return reason.destination_id, reason.kind, reason.team, reason.via, through_id


def _obstacle(
    candidate: Candidate, closed_ids: frozenset[str], answers: _Answers, inputs: ExplanationInput
) -> Obstacle | None:
    reader = inputs.reader
    if candidate.reason.destination_id in closed_ids:
        return Obstacle("destinationDisabled", "the destination is disabled")
    if candidate.stop is None:
        return None
    name = _name_to(reader, candidate)
    if candidate.mute is not None:
        return Obstacle(candidate.stop.value, f"{name} {candidate.mute.in_words(reader.minute)}")
    is_to_reader = candidate.person is not None and reader.is_of(candidate.person.id)
    words = _WORDS_TO_READER if is_to_reader else {"name": name, **_WORDS_ABOUT}
    says = _STOPS[candidate.stop].format(
        **words, channel=candidate.channel.value, address=_shown_address(candidate, inputs.audience)
    )
    return Obstacle(
        candidate.stop.value,
        f"{says}: {answers.text_for(candidate.person)}" if candidate.stop is Stop.NOT_MEANT else says,
    )


def _shown_address(candidate: Candidate, audience: Audience) -> str:
    """Return what everybody may know of the own address that a candidate is reached at; empty where it is none."""
    addresses = ((one.channel, one.address.holder_id, one.text) for one in audience.own_addresses)
    return next((shown for channel, holder, shown in addresses if (channel, holder) == candidate[:2]), "")


def _part_objection(candidate: Candidate, reader: ExplanationReader) -> Obstacle:
    """Return the objection to a part of a change that the same alert tells the recipient of as a whole."""
    name = _name_to(reader, candidate)
    hears = "hear" if candidate.person is not None and reader.is_of(candidate.person.id) else "hears"
    return Obstacle("partOfWhole", f"{name} {hears} of it in one message with the change of what it lies below")


def _view_objection(candidate: Candidate, inputs: ExplanationInput) -> Obstacle | None:
    """Return the objection of the policies: a recipient must be able to view the event's subjects."""
    restricted_subjects = [subject for subject in inputs.subjects if not inputs.policies.is_open(subject[0])]
    person, reason = candidate.person, candidate.reason
    viewers = viewers_of(
        reason.kind,
        reason.subscription_id,
        recipient=Addressee(person.id if person else None, candidate.target),
        channel=candidate.channel,
        editors=inputs.editors,
    )
    verdicts = (
        (viewer, kind, inputs.policies.of(viewer).verdict(Operation.VIEW_BASIC, kind, document))
        for viewer in (viewers if restricted_subjects else ())
        for kind, document in restricted_subjects
    )
    refusal = next((found for found in verdicts if not found[2].is_allowed), None)
    if refusal is None:
        return None
    viewer, resource, verdict = refusal
    is_recipient = person is not None and person.id == viewer
    name = _name_to(inputs.reader, candidate) if is_recipient else "the creator or an editor of the alert"
    if verdict.ruling is None:
        return Obstacle("mayNotView", f"{name} may not view this {resource}: no policy allows it")
    rule, policy = verdict.ruling.rule.name, verdict.ruling.grant.policy.name
    return Obstacle("mayNotView", f"{name} may not view this {resource}: rule {rule} of policy {policy} denies it")


def _name_to(reader: ExplanationReader, candidate: Candidate) -> str:
    person = candidate.person
    return reader.name_of(person.id, person.shown_name) if person else _place_name(candidate)


def _place_name(candidate: Candidate) -> str:
    """Return what people call where something goes that is no person: a team, or an address, which may be masked."""
    is_team = candidate.person is None and candidate.reason.team is not None
    return f"team {candidate.reason.team}" if is_team else shown_target(candidate.target)
