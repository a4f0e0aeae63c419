"""Explanation of one event: traces of its alerts and recipients, with a one-sentence summary.

``server/routes/notifications/explain.py`` returns it; ``alerts/explanations/matching.py`` and
``alerts/explanations/people.py`` compute its parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tocsin.alerts.explanations.digests import digest_of, has_left_digest
from tocsin.alerts.explanations.matching import MatchTrace, lateness_text
from tocsin.alerts.explanations.people import PossibleRecipient
from tocsin.alerts.explanations.reader import ANYBODY, ExplanationReader, to_recipient
from tocsin.delivery.channels.table import phrase_of
from tocsin.delivery.wording.reasons import RECEIVERS, reason_context
from tocsin.flow.resolve.candidates import Stop
from tocsin.flow.schedule.preferences import DIGESTS, OVER_LIMIT, PREFERRED
from tocsin.model.change import ChangeEvent, LoggedEvent
from tocsin.model.change_kinds import Frequency
from tocsin.model.inheritance import inherits_owners
from tocsin.model.kind_words import DEFAULT_SOURCES, follow_text, frequency_text, refusal_text
from tocsin.model.message import MessageStatus
from tocsin.model.mute import Mute
from tocsin.model.notification import Reason, ReasonContext, ReasonKind
from tocsin.model.notification_record import MessageRecord, NotificationRecord
from tocsin.model.own_address import named_target
from tocsin.model.people import Person
from tocsin.model.phrases import count_text
from tocsin.model.preferences import Layer
from tocsin.model.subscription import EventSubscription

_MOST_NAMED = 3
_ENDED = {ReasonKind.OWNER: "owned", ReasonKind.FOLLOWER: "followed"}


@dataclass(frozen=True)
class AlertTrace:
    """One alert: its match trace and, where computed, the people it reaches.

    ``is_whole``: ``reached`` holds everybody in question, not only the requester.
    """

    subscription: EventSubscription
    match: MatchTrace
    reached: tuple[PossibleRecipient, ...] = ()
    is_whole: bool = True

    def destination_names(self, reasons: Iterable[Reason]) -> list[str]:
        """Return what those destinations of the alert are called that give these reasons; many have no name."""
        ids = {reason.destination_id for reason in reasons}
        return list(dict.fromkeys(one.name for one in self.subscription.destinations if one.id in ids and one.name))


@dataclass(frozen=True)
class Disagreement:
    """What should be as of now and what is stored differ; ``kind`` is a word for programs."""

    kind: str
    alert: str
    who: str
    says: str


@dataclass(frozen=True)
class Explanation:
    """Explanation of one event and its candidate recipients.

    Attributes
    ----------
    alerts : those evaluated, the ones that match first; ``alert_count`` is how many there are
    notified : the stored notifications, of ``person`` alone where one is given; ``notified_count`` is their number
    pipeline_at : the offset up to which the pipeline has processed every event
    is_complete : ``notified`` and ``reached`` hold everybody, so that the two can be compared
    is_narrowed : there may be other recipients, which are hidden from the requester
    others_matched : alerts of others that matched and do not reach the requester; only counted
    missing_count : relations of a hard-deleted entity that were lost before its notification; 0 in a sound store
    is_pipeline_running : whether a pipeline was there a moment ago
    reader : who asks; sentences about them are in the second person, and times in their zone
    """

    logged: LoggedEvent
    alerts: tuple[AlertTrace, ...]
    notified: tuple[NotificationRecord, ...]
    notified_count: int
    pipeline_at: int
    alert_count: int
    person: Person | None = None
    is_complete: bool = True
    is_narrowed: bool = False
    others_matched: int = 0
    missing_count: int = 0
    is_pipeline_running: bool = True
    reader: ExplanationReader = ANYBODY

    @property
    def is_in_flight(self) -> bool:
        """Return whether the pipeline has yet to reach the event."""
        return self.pipeline_at < self.logged.offset

    def disagreements(self) -> list[Disagreement]:
        """Return where what should be, as of now, is not what is stored."""
        differences = [one for trace in self.alerts for one in self._differences(trace)] if self.is_complete else []
        if self.missing_count:
            alerts = _list_names([trace.subscription.name for trace in self.alerts if trace.match.matched])
            differences.append(Disagreement("relationMissing", alerts, "", self._lost_text()))
        return differences

    def answer(self) -> str:
        """Return one sentence that answers the question, and what is wrong, if anything is known to be."""
        return f"{self._answer()} {self._lost_text()}." if self.missing_count else self._answer()

    def _lost_text(self) -> str:
        relations = count_text(self.missing_count, "relation")
        whose = "of the deleted asset (owners, followers, downstream assets)"
        return f"{relations} {whose} were lost before it was notified"

    def _answer(self) -> str:
        if self.person is None:
            return self._of_everybody()
        if self.notified:
            return _yes_answer(self.person, self.notified, self.logged.event, self.reader)
        if self.is_in_flight:
            return f"Not yet: {self._flight()}."
        kept_back = " Alerts that you may not edit are not shown." if self.is_narrowed else ""
        is_concerned = any(trace.reached or trace.match.matched for trace in self.alerts)
        others_text = None if is_concerned else self._others_matched_text()
        return f"No: {others_text or self._why_not(self.person)}.{kept_back}{self._ended_text(self.person)}"

    def _of_everybody(self) -> str:
        matching = [trace.subscription.name for trace in self.alerts if trace.match.matched]
        if self.is_in_flight and not self.notified:
            return f"Not matched yet: {self._flight()}; currently {_list_names(matching) or 'no alert'} would match."
        if self.notified:
            names = dict.fromkeys(
                reason.subscription_name for record in self.notified for reason in record.notification.reasons
            )
            narrowing = " that you may see" if self.is_narrowed else ""
            count = count_text(self.notified_count, "notification")
            return f"{count}{narrowing}, by {_list_names(list(names))}.{self._hidden_note()}"
        shortfall = "you are not among the recipients" if self.is_narrowed else _no_recipient(self.alerts)
        because = (
            f"{_list_names(matching)} matched, but {_why_left_out(self.alerts, shortfall)}"
            if matching
            else self._others_matched_text()
        )
        you = "You were not notified by this alert" if self.alert_count == 1 else "You were not notified"
        who = you if self.is_narrowed else "Nobody was notified"
        return f"{who}: {because or self._first_obstacle()}.{self._hidden_note()}"

    def _others_matched_text(self) -> str | None:
        """Return that alerts matched of which the asker may know nothing else."""
        if not self.others_matched:
            return None
        who = "you are" if self.person is None else _name_and_is(self.person, self.reader)
        return f"{count_text(self.others_matched, 'alert')} of others matched, but {who} not among the recipients"

    def _why_not(self, person: Person) -> str:
        """Return why a person was not notified: of the alerts that reach them, the reason of the closest one."""
        name = self.reader.name_of(person.id, person.shown_name)
        for trace in self.alerts:
            if trace.match.matched and trace.reached:
                stops = [stop.says for one in trace.reached for stop in one.obstacles()]
                because = (
                    " and ".join(dict.fromkeys(stops))
                    or f"no notification is stored for {name}, although there should be one"
                )
                return f"{trace.subscription.name} matched, but {because}"
        near = [trace for trace in self.alerts if trace.reached and not trace.match.matched]
        if near:
            nearest = min(near, key=lambda trace: len(trace.match.obstacles()))
            reason, context = nearest.reached[0].ways[0].reason, explained_context(self.logged.event, self.reader)
            about = None if self.reader.is_of(person.id) else name
            because = reason.sentence(about, context=context, names_alert=False)
            alert = nearest.subscription.name
            return f"{alert} would have notified {name} because {because}, but it {_mismatch(nearest)}"
        matching = [trace.subscription.name for trace in self.alerts if trace.match.matched]
        if matching:
            return f"{_list_names(matching)} matched, but {_name_and_is(person, self.reader)} not among the recipients"
        return self._first_obstacle()

    def _ended_text(self, person: Person) -> str:
        """Return that a person owned or followed at the event, and no longer does; empty where they still do."""
        ways = [way for trace in self.alerts for one in trace.reached for way in one.ways]
        reason = next((way.reason for way in ways if way.has_ended), None)
        if reason is None:
            return ""
        asset = reason.via or "it"
        place = asset if reason.through is None else reason.through.with_asset(asset)
        name, does = ("You", "do") if self.reader.is_of(person.id) else (person.shown_name, "does")
        return f" {name} {_ENDED[reason.kind]} {place} when it happened, and no longer {does}."

    def _first_obstacle(self) -> str:
        """Return why no alert matched, of those that the reader may know: the only one's obstacle, or the event's."""
        if len(self.alerts) == self.alert_count == 1:
            return f"{self.alerts[0].subscription.name} {_mismatch(self.alerts[0])}"
        none = f"none of {self.alert_count} alerts matched" if self.alert_count else "no alert is yours or reaches you"
        return lateness_text(self.logged, self.reader.zone) or none

    def _hidden_note(self) -> str:
        return " Notifications of other people are not shown." if self.is_narrowed else ""

    def _flight(self) -> str:
        is_away = "" if self.is_pipeline_running else "; no pipeline is running: start one with `tocsin pipeline`"
        return f"the pipeline is at offset {self.pipeline_at}, this event at {self.logged.offset}{is_away}"

    def _differences(self, trace: AlertTrace) -> Iterator[Disagreement]:
        alert, name = trace.subscription.id, trace.subscription.name
        for recipient in trace.reached:
            if recipient.is_due and recipient.before:
                whom = f"{self._name_of(recipient, trace)} {phrase_of(recipient.channel)}"
                says = f"{_list_names(list(recipient.before))} had notified {whom} before"
                yield Disagreement("sentBefore", name, recipient.name, f"{says}: {name} came too late for that message")
            elif recipient.is_due and recipient.record is None and not self.is_in_flight:
                whom = f"{self._name_of(recipient, trace)} {phrase_of(recipient.channel)}"
                says = f"currently {name} would notify {whom}, but no notification is stored"
                yield Disagreement("expectedButNotStored", name, recipient.name, f"{says}; {_OTHERWISE}")
        due = {(recipient.channel, recipient.key) for recipient in trace.reached if recipient.is_due}
        for record in self.notified if trace.is_whole else ():
            notification = record.notification
            is_due = (notification.channel, notification.recipient) in due
            if record.names(alert) and not (is_due or record.is_muted):
                name_of_record = record.shown_name or named_target(
                    record.who, trace.destination_names(notification.reasons)
                )
                who = self.reader.name_of(notification.recipient_id, name_of_record)
                says = f"{name} notified {who} {phrase_of(notification.channel)}, but currently would not"
                yield Disagreement("storedButNotExpected", name, record.who, f"{says}; {_OTHERWISE}")

    def _name_of(self, recipient: PossibleRecipient, trace: AlertTrace) -> str:
        if recipient.person is None:
            return named_target(recipient.shown_name, trace.destination_names(way.reason for way in recipient.ways))
        return self.reader.name_of(recipient.person.id, recipient.shown_name)


_OTHERWISE = "the alert or the relations of the asset have probably changed since, or this person was deleted"


def explained_context(event: ChangeEvent, reader: ExplanationReader) -> ReasonContext:
    """Return what reasons say of an event where they are explained: also whose owners its asset has."""
    return reason_context(event, reader.answerable)._replace(is_inherited=inherits_owners(event))


def _yes_answer(
    person: Person, notified: Sequence[NotificationRecord], event: ChangeEvent, reader: ExplanationReader
) -> str:
    context = explained_context(event, reader)
    silent_ways = [_way_text(one, event, reader) for one in notified if _is_kept_back(one)]
    told_ways = [_way_text(one, event, reader) for one in notified if not _is_kept_back(one)]
    name = None if reader.is_of(person.id) else person.shown_name
    because = "; ".join(
        dict.fromkeys(
            reason.sentence(name, context=context, receiver=RECEIVERS.get(record.notification.channel, "address"))
            for record in ([one for one in notified if not _is_kept_back(one)] or notified)
            for reason in record.reasons or record.notification.reasons
        )
    )
    who = "you were" if name is None else f"{name} was"
    if not told_ways:
        return f"No: {who} not notified {' or '.join(silent_ways)}, although {because}."
    but_not = f"; but not {' or '.join(silent_ways)}" if silent_ways else ""
    return f"Yes: {who} notified {' and '.join(told_ways)}, because {because}{but_not}."


def _is_kept_back(record: NotificationRecord) -> bool:
    """Return whether nothing of a stored notification reaches its recipient, because none of its reasons may."""
    return record.is_off or record.is_withheld or bool(record.dropped_reasons and not record.reasons)


def _way_text(record: NotificationRecord, event: ChangeEvent, reader: ExplanationReader) -> str:
    return f"{phrase_of(record.notification.channel)} {_became(record, event, reader)}"


def _name_and_is(person: Person, reader: ExplanationReader) -> str:
    return "you are" if reader.is_of(person.id) else f"{person.shown_name} is"


def _became(record: NotificationRecord, event: ChangeEvent, reader: ExplanationReader) -> str:
    """Return the status of one notification: when it was due, and whether it was read or delivered."""
    digest, gathering = digest_of(record), _gathering_text(record, event, reader)
    at = f"in {digest.says(reader)}" if digest else f"at {reader.moment(record.notification.due_at_ms)}"
    at = f"{at}{gathering}"
    if record.is_off:
        return f"(not shown: {_choice_text(record, event, reader)})"
    if record.message is None:
        return f"{at} ({'read' if record.read_at_ms else 'unread'})"
    if _is_kept_back(record):
        drops = record.objections if record.is_withheld else record.dropped_reasons
        stops = "; ".join(dict.fromkeys(one.says for one in drops))
        because = to_recipient(stops) if reader.is_of(record.notification.recipient_id) else stops
        return f"{at} ({'will not be' if record.is_withheld else 'not'} sent: {because})"
    tries = count_text(record.message.attempt_count, "attempt")
    status = record.message.status
    if status == MessageStatus.QUEUED.value:
        return f"{at} (waits in the queue for a consumer)"
    if status in (MessageStatus.PENDING.value, MessageStatus.AWAITING_RETRY.value, MessageStatus.AWAITING_REPLAY.value):
        return f"{at} (not delivered yet, {tries})"
    return f"{at} ({'delivered' if status == MessageStatus.DELIVERED.value else 'given up'} after {tries})"


def _gathering_text(record: NotificationRecord, event: ChangeEvent, reader: ExplanationReader) -> str:
    """Return whether its message has its time from the recipient, and how many other notifications are in it."""
    choice = record.choice
    is_said = choice.layer is Layer.FOLLOW or (
        choice.layer in DEFAULT_SOURCES and choice.frequency is Frequency.IMMEDIATE
    )
    waits = choice.layer is not Layer.NOBODY and choice.frequency in DIGESTS
    if record.message is None:
        return f" as {_choice_text(record, event, reader)}" if waits or is_said else ""
    key, _, limit = (record.message.grouping_key or "").partition(OVER_LIMIT)
    if limit:
        who = "you want" if reader.is_of(record.notification.recipient_id) else "the recipient wants"
        way = phrase_of(record.notification.channel)
        return f"{_together_text(record.message)} because {who} at most {limit} an hour {way}"
    is_preferred = key.startswith(PREFERRED) or is_said
    preference = f" as {_choice_text(record, event, reader)}" if is_preferred else ""
    if has_left_digest(record):
        whose = "your" if reader.is_of(record.notification.recipient_id) else "the recipient's"
        preference = f" after {whose} preferences changed"
    if digest_of(record) is not None:
        return f"{_together_text(record.message, 'with')}{preference}"
    return f"{preference}{_together_text(record.message)}"


def _together_text(message: MessageRecord, how: str = "in one message with") -> str:
    """Return with how many other notifications one is in its message; empty for one that is alone."""
    other_count = message.notification_count - 1
    return f" {how} {count_text(other_count, 'other notification')}" if other_count > 0 else ""


def _choice_text(record: NotificationRecord, event: ChangeEvent, reader: ExplanationReader) -> str:
    """Return what its recipient preferred when it was written: ``you prefer changed descriptions daily``."""
    choice, is_reader = record.choice, reader.is_of(record.notification.recipient_id)
    if choice.layer is Layer.MUTE:
        return f"{'you' if is_reader else 'the recipient'} {Mute.from_text(choice.kind).in_words(reader.minute)}"
    follow = follow_text(choice, record.notification.reasons, event, "your" if is_reader else "the recipient's")
    if choice.frequency is Frequency.NEVER:
        return refusal_text(choice, "you never want" if is_reader else "the recipient never wants", follow)
    prefers = "you prefer" if is_reader else "the recipient prefers"
    is_said = choice.layer in (*DEFAULT_SOURCES, Layer.FOLLOW) or (
        choice.layer is Layer.OWN and choice.frequency is not Frequency.IMMEDIATE
    )
    return frequency_text(choice, prefers, follow) if is_said else prefers


def _mismatch(trace: AlertTrace) -> str:
    return f"did not match: {(trace.match.obstacles() or ['its rules are false'])[0]}"


def _why_left_out(alerts: Sequence[AlertTrace], otherwise: str) -> str:
    """Return why the people whom the alerts reach were not notified; ``otherwise`` if there are none."""
    matched = [one for trace in alerts if trace.match.matched for one in trace.reached]
    if matched and all(_is_deleted(one) for one in matched):
        return _nobody_else(matched)
    stops = dict.fromkeys(stop.says for one in matched for stop in one.obstacles())
    return _list_names(list(stops)) or (
        "no notification is stored, although there should be one" if matched else otherwise
    )


def _is_deleted(recipient: PossibleRecipient) -> bool:
    obstacles = recipient.obstacles()
    return bool(obstacles) and all(stop.kind == Stop.DELETED.value for stop in obstacles)


def _nobody_else(deleted: Sequence[PossibleRecipient]) -> str:
    """Return that an alert reaches only people who are deleted."""
    names = list(dict.fromkeys(one.shown_name for one in deleted))
    is_owned = all(way.reason.kind == ReasonKind.OWNER for one in deleted for way in one.ways)
    who = "nobody owns it" if is_owned else "nobody is among the recipients"
    return f"{who}: {_list_names(names)} {'is' if len(names) == 1 else 'are'} deleted"


def _no_recipient(alerts: Sequence[AlertTrace]) -> str:
    matching = [trace.subscription for trace in alerts if trace.match.matched]
    is_one = len(matching) == 1
    if not any(one.destinations for one in matching):
        return "it has no destinations" if is_one else "they have no destinations"
    return "it has no recipients" if is_one else "they have no recipients"


def _list_names(names: Sequence[str]) -> str:
    more_text = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more_text
