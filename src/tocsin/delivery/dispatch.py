"""Dispatches: the input of one delivery attempt, with the message, the notifications in it and its route.

``store/outbox/messages.py`` reads these; ``delivery/channels`` take them.
Next: ``delivery/wording/event_formats.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import is_
from typing import NamedTuple, Protocol

from tocsin.conditions.asset_states import with_own_states
from tocsin.delivery.lines import YOU
from tocsin.delivery.rich_text import RichText
from tocsin.model.change import ChangeEvent, EventType
from tocsin.model.change_request import AskedFor, RequestNow, is_past_reminder
from tocsin.model.message import DroppedReason, Entry, Message, Outcome, OutcomeReason
from tocsin.model.notification import Reason
from tocsin.model.severity import Severity
from tocsin.model.subscription import DEFAULT_BATCH_SIZE, Destination, DestinationConfig
from tocsin.model.template import Template

Objection = Callable[[Entry, Reason], tuple[OutcomeReason, str] | None]
"""Says why a reason of a notification may not be sent now, in a word and in a sentence; None if it may."""


PageLink = Callable[[str, str], str]
"""Returns the address of a page as a message links to it, by the address and the id of the notification."""


@dataclass(frozen=True)
class Answered:
    """An earlier message that another one answers: its id, and what the receiver calls it, if that is known."""

    message_id: str
    remote_id: str | None = None


@dataclass(frozen=True)
class CauseThread:
    """What a message continues: the first message about its cause to the same recipient, by the same alert.

    ``remote_id`` is what the receiver calls that message, if that is known. ``earlier`` is what it shows, of what may
    be shown now, where it is to be changed in place; None: this message is another one.
    """

    message_id: str
    remote_id: str | None = None
    earlier: tuple[Entry, ...] | None = None

    @property
    def is_in_place(self) -> bool:
        """Return whether the earlier message is changed, so that it tells of both."""
        return self.earlier is not None


class ProbableCause(NamedTuple):
    """An incident upstream by its name, with the full names of what fails there and of the asset that this is about."""

    incident: str
    failing: str
    asset: str


class ToldPeople(NamedTuple):
    """Whom else a failure was told of: what some are called, how many people there are in all, and the ids of those."""

    names: tuple[str, ...]
    total: int
    ids: tuple[str, ...] = ()

    def among(self, user_ids: Collection[str]) -> ToldPeople:
        """Return these people with only the names of those who have one of these ids."""
        pairs = [(name, one) for name, one in zip(self.names, self.ids, strict=True) if one in user_ids]
        return self._replace(names=tuple(name for name, _ in pairs), ids=tuple(one for _, one in pairs))


class FailureIncident(NamedTuple):
    """The incident that a failure belongs to: its name, how bad it is, and who acknowledged it, by name.

    ``acknowledger`` is what people call who acknowledged it, where that is another name; ``acknowledger_id`` their id.
    ``is_resolved``: the success that a message tells of has resolved it. ``is_over``: a person or a success has
    resolved it since.
    """

    name: str
    severity: Severity | None = None
    acknowledged_by: str | None = None
    is_resolved: bool = False
    is_over: bool = False
    acknowledger: str | None = None
    acknowledger_id: str | None = None

    def read_by(self, reader_id: str | None) -> FailureIncident:
        """Return it as a message to a person says it: *you* if they have acknowledged it."""
        is_theirs = reader_id is not None and reader_id == self.acknowledger_id
        return self._replace(acknowledger=YOU) if is_theirs else self

    def without_display_name(self) -> FailureIncident:
        """Return it as it is said to who may not view the person: by the name of commands, as in the history."""
        return self._replace(acknowledger=None)

    @property
    def is_handled(self) -> bool:
        """Return whether nobody need acknowledge it any more."""
        return self.is_over or self.acknowledged_by is not None


class DefinitionRunbook(NamedTuple):
    """What is to be done when a test fails, by its definition: the full name of that, and its runbook."""

    definition: str
    runbook: str


class FailingRows(NamedTuple):
    """Some rows that failed a test, as their reader may see them: the values of each by column, as short texts.

    ``row_count`` and ``column_count`` are those of all kept rows. ``are_withheld``: the reader may see none of them.
    """

    columns: tuple[str, ...] = ()
    cells: tuple[tuple[str, ...], ...] = ()
    row_count: int = 0
    column_count: int = 0
    are_withheld: bool = False


@dataclass(frozen=True)
class FailureContext:
    """What surrounds a failure: since when its asset fails, how often in a row, the incident, and what is downstream.

    ``since_ms`` is the time of the first failure (epoch milliseconds), None for the first itself; ``last_success_ms``
    that of the last success before it, ``ended_ms`` that of the success that ends it. ``downstream`` are full names,
    the closest first, of assets that everybody may see whom the message is for.
    ``causes`` are incidents upstream that they may see as well, the farthest first. ``audience`` is whom else the
    failure was told of, where the reader may know. ``usual_ms`` is how long a successful run takes, if that is known.
    ``is_lineage_read``: ``downstream`` is known, also where it is empty.
    ``runbook`` is that of the test's definition, where the test has none of its own. ``failing_rows`` are those that
    failed a test, in a mail to one person.
    """

    since_ms: int | None = None
    count: int = 1
    downstream: tuple[str, ...] = ()
    last_success_ms: int | None = None
    ended_ms: int | None = None
    incident: FailureIncident | None = None
    causes: tuple[ProbableCause, ...] = ()
    audience: ToldPeople | None = None
    usual_ms: int | None = None
    runbook: DefinitionRunbook | None = None
    failing_rows: FailingRows | None = None
    is_lineage_read: bool = False


class Choice(NamedTuple):
    """Something that a button in a chat does there at once: its text, and the signed token of what it does."""

    text: str
    token: str


class Button(NamedTuple):
    """A link that does something: its text, where it leads, and the signed token of what it does, empty for nothing.

    ``choices`` are buttons of chats whose presses come back, beside the link.
    """

    text: str
    address: str
    token: str
    choices: tuple[Choice, ...] = ()


class Advice(NamedTuple):
    """What is to be done, as an address or a text, by the runbook of an alert, or of the test if none is named."""

    runbook: str
    alert: str = ""


class Guidance(NamedTuple):
    """What a notification says beside its event: how bad it is, and what is to be done."""

    severity: Severity | None = None
    advice: tuple[Advice, ...] = ()


NO_GUIDANCE = Guidance()


class RenderingAccount(NamedTuple):
    """Whose time a rendering takes: an alert, and the person who created it; nobody for Tocsin's own."""

    alert_id: str = ""
    person_id: str | None = None

    @property
    def name(self) -> str:
        """Return the person, or else the alert."""
        return self.person_id or self.alert_id


NOBODY = RenderingAccount()


@dataclass(frozen=True)
class Share:
    """How many of its notifications a message shows for an alert at most: of each asset, if it gathers by asset.

    ``is_of_administrators``: nobody but administrators, or Tocsin itself, has created or changed the alert.
    """

    count: int = DEFAULT_BATCH_SIZE
    by_asset: bool = False
    is_of_administrators: bool = False


_ALONE = Share()


class ComposedContent(NamedTuple):
    """Words of a digest that were composed ahead of its time, compressed, and the key of all that they are made of."""

    key: bytes
    content: bytes


@dataclass(frozen=True)
class Dispatch:
    """A claimed message with its notifications, in log order until a channel shows them: at least one.

    ``shares`` hold, by alert, how many of its notifications the message shows. To a webhook, a request for an alert
    that ``sends_arrays`` carries at most ``batch_size``, of one entity type if it ``sends_types_apart``. ``texts``
    holds, by the id of a notification, what a template says of it, ``payloads`` the body that a webhook's own template
    makes of it, ``addresses`` the e-mail addresses of owners who can be mentioned, by their ids.
    ``reaches_recipient``: what is sent to a person reaches that person, and nobody who could act in their place.
    ``payer`` is whose time the endpoint's templates take. ``answers`` is the first message about the failure that it
    resolves, ``cause_thread`` the first about its cause, ``failure`` what surrounds the failure that it is about,
    ``buttons`` are those to acknowledge incidents and to answer change requests, by the id of a notification, and so
    are ``guidance``, what change requests ask for (``answerable``), and in a digest the ``incidents`` that its failures
    belong to, and their ``streaks``: since when, and how often in a row. ``requests`` are these change requests by
    their ids, as they are now. ``read_only`` are the notifications whose recipients may not acknowledge their
    incidents, None: nobody asked yet. Times are said in an IANA ``zone``: a person's own, or else the alert's.
    ``event_bytes`` is the size of its events as JSON, and of the failing rows that it may show. ``is_reduced``: a
    policy hides notifications or changes of it from its readers. ``judged_at_s`` is the steady time at which its
    incidents and answers were found, and its rights and preferences looked ahead for. ``composed`` is what was
    composed ahead of its time, if anything was. ``page_link`` makes the links to pages, which mark what was read;
    None: as they are.
    """

    message: Message
    entries: tuple[Entry, ...]
    event_bytes: int = 0
    batch_size: int = 100
    sends_arrays: bool = False
    sends_types_apart: bool = False
    shares: Mapping[str, Share] = field(default_factory=dict)
    texts: Mapping[str, RichText] = field(default_factory=dict)
    payloads: Mapping[str, bytes] = field(default_factory=dict)
    addresses: Mapping[str, str] = field(default_factory=dict, repr=False)
    reaches_recipient: bool = True
    payer: RenderingAccount = NOBODY
    answerable: Mapping[str, AskedFor] = field(default_factory=dict)
    requests: Mapping[str, RequestNow] = field(default_factory=dict)
    read_only: frozenset[str] | None = None
    answers: Answered | None = None
    cause_thread: CauseThread | None = None
    failure: FailureContext | None = None
    buttons: Mapping[str, tuple[Button, ...]] = field(default_factory=dict, repr=False)
    guidance: Mapping[str, Guidance] = field(default_factory=dict)
    incidents: Mapping[str, FailureIncident] = field(default_factory=dict)
    streaks: Mapping[str, FailureContext] = field(default_factory=dict)
    zone: str = "UTC"
    is_reduced: bool = False
    judged_at_s: float | None = None
    composed: ComposedContent | None = None
    page_link: PageLink | None = field(default=None, repr=False, compare=False)

    @property
    def first(self) -> Entry:
        """Return the notification that comes first in the log; of most messages it is the only one."""
        return self.entries[0]

    @property
    def event(self) -> ChangeEvent:
        """Return the event of the first notification."""
        return self.first.carried.event


def selections(dispatch: Dispatch, most_entries: int) -> Iterator[tuple[Entry, ...]]:
    """Yield ever fewer of the notifications, for messages that show some and count the others; the last time none.

    At first each alert's share is shown, at most ``most_entries``, as if it had sent the message alone. Then less of
    each, alike; alerts of administrators give way last. A notification is of the alerts of its parts, too.
    """
    for limit in _halves(most_entries):
        yield _select_entries(dispatch, of_administrators=most_entries, of_others=limit)
    for limit in _halves(most_entries // 2):
        yield _select_entries(dispatch, of_administrators=limit, of_others=0)


def _halves(limit: int) -> Iterator[int]:
    while limit:
        yield limit
        limit //= 2
    yield 0


def _select_entries(dispatch: Dispatch, *, of_administrators: int, of_others: int) -> tuple[Entry, ...]:
    room: dict[tuple[str, str], int] = {}
    selected_entries: list[Entry] = []
    for entry in dispatch.entries:
        is_shown = False
        told_reasons = (reason for told in (entry, *entry.parts) for reason in told.reasons)
        for alert in {reason.subscription_id for reason in told_reasons} or {""}:
            share = dispatch.shares.get(alert, _ALONE)
            group = alert, entry.event.entity_id if share.by_asset else ""
            limit = min(share.count, of_administrators if share.is_of_administrators else of_others)
            is_shown = is_shown or room.get(group, limit) > 0
            room[group] = room.get(group, limit) - 1
        selected_entries += [entry] if is_shown else []
    return tuple(selected_entries)


def narrow_dispatch(dispatch: Dispatch, objection: Objection) -> tuple[Dispatch | None, tuple[DroppedReason, ...]]:
    """Drop the reasons to which ``objection`` objects; return the rest, None if nothing remains, and these reasons.

    A notification without reasons is left out. Its ``recipient_id`` becomes None if no remaining reason concerns a
    person: the message then goes to an address.
    """
    entries: list[Entry] = []
    drops: list[DroppedReason] = []
    for entry in dispatch.entries:
        objections = [(reason, objection(entry, reason)) for reason in entry.reasons]
        drops += [
            DroppedReason(notification_id=entry.notification_id, reason=reason, because=why[0], says=why[1])
            for reason, why in objections
            if why
        ]
        reasons = tuple(reason for reason, why in objections if why is None)
        entries += [_with_reasons(entry, reasons)] if reasons else []
    if not entries:
        return None, tuple(drops)
    is_same = all(map(is_, entries, dispatch.entries)) and not drops
    return dispatch if is_same else replace(dispatch, entries=tuple(entries)), tuple(drops)


def without_dropped(dispatch: Dispatch, dropped: Collection[DroppedReason]) -> Dispatch | None:
    """Return a dispatch without reasons that an attempt left out; None if it left out all."""
    objections = {(one.notification_id, one.reason): (one.because, one.says) for one in dropped}
    return narrow_dispatch(dispatch, lambda entry, reason: objections.get((entry.notification_id, reason)))[0]


def _with_reasons(entry: Entry, reasons: tuple[Reason, ...]) -> Entry:
    """Return a notification with some of its reasons only: mostly it is the same."""
    recipient_id = entry.recipient_id if any(reason.is_personal for reason in reasons) else None
    if (reasons, recipient_id) == (entry.reasons, entry.recipient_id):
        return entry
    remaining_entry = replace(entry, reasons=reasons, recipient_id=recipient_id)
    return remaining_entry.with_event(with_own_states(entry.event, reasons))


@dataclass(frozen=True)
class Route:
    """A destination as it is set up now.

    ``retries`` counts the attempts after the first, ``batch_size`` the notifications that a message may show,
    or an array hold where the alert ``sends_arrays``, of one entity type if it ``sends_types_apart``. ``rank`` decides
    between alerts that share a message (``flow/schedule/decide.rank_of``), ``share`` is what such a message shows for
    it. ``reaches_recipient``: messages to people are sent by Tocsin itself, or by a bot that an administrators' alert
    uses. ``template`` words its messages, in the time of ``payer``; where there is none any more,
    ``template_problem`` says so. ``severity`` and ``runbook`` are the alert's. ``zone`` is the IANA zone of its times.
    ``closed_because`` says why nothing may be sent there; ``None`` while it is open. ``waits_because`` says why nothing
    can be sent for now.
    """

    destination: Destination = field(repr=False)
    retries: int = 3
    batch_size: int = 100
    sends_arrays: bool = False
    sends_types_apart: bool = False
    closed_because: str | None = None
    waits_because: str | None = None
    template: Template | None = None
    template_problem: str = ""
    severity: Severity | None = None
    runbook: str | None = None
    zone: str = "UTC"
    rank: tuple[bool, int, str] = (True, 0, "")
    share: Share = _ALONE
    reaches_recipient: bool = True
    payer: RenderingAccount = NOBODY

    @property
    def is_of_administrators(self) -> bool:
        """Return whether nobody but administrators, or Tocsin itself, has created or changed the alert."""
        return self.share.is_of_administrators


Routes = Mapping[tuple[str, str], Route | None]
"""Where the reasons of a message lead now, by alert and destination; None where one is gone."""


def deciding_routes(entry: Entry, routes: Routes) -> list[tuple[Reason, Route]]:
    """Return the reasons of a notification, with their routes, whose alerts decide what it says beside the event.

    Alerts of administrators decide for the others: what one person's alert says never stands in a message that comes
    by an administrator's.
    """
    sharing = [(reason, route) for reason in entry.reasons if (route := routes.get(reason.destination_key))]
    return [one for one in sharing if one[1].is_of_administrators] or sharing


def route_objection(routes: Routes, now_ms: int, entry: Entry, reason: Reason) -> tuple[OutcomeReason, str] | None:
    """Return what keeps a reason from being sent: who or what is gone, or a reminder of what has been handled."""
    if entry.recipient_gone and reason.is_personal:
        return OutcomeReason.RECIPIENT_GONE, "the recipient no longer exists"
    route = routes[reason.destination_key]
    if route is None:
        return OutcomeReason.DISABLED, "the alert or its destination no longer exists"
    if route.closed_because is not None:
        return OutcomeReason.DISABLED, route.closed_because
    if entry.incident is None and entry.carried.reminds_of is EventType.INCIDENT_REMINDER:
        return OutcomeReason.HANDLED, "the incident has been acknowledged or resolved"
    is_of_request = entry.carried.reminds_of is EventType.CHANGE_REQUEST_REMINDER
    if reason in entry.answered_reasons or (is_of_request and is_past_reminder(entry.event, now_ms)):
        return OutcomeReason.HANDLED, "the change request has been answered, or is over"
    return None


def leading_route(dispatch: Dispatch, routes: Routes) -> Route:
    """Return the destination that sends a message: the leading alert's of those whose secrets can be read, if any can.

    They send by the same means: an endpoint or bot of its own makes a notification of its own.
    """
    destination_keys = {reason.destination_key for entry in dispatch.entries for reason in entry.reasons}
    open_routes = [route for key in destination_keys if (route := routes[key]) is not None]
    if len(open_routes) == 1:
        return open_routes[0]
    return min(open_routes, key=lambda route: (route.waits_because is not None, route.rank, route.destination.id))


def at_own_address(route: Route, config: DestinationConfig) -> Route:
    """Return a route that leads to the own address of its recipient: others may read there as well."""
    destination = route.destination.model_copy(update={"config": config})
    return replace(route, destination=destination, reaches_recipient=False)


class Sender(Protocol):
    """A delivery channel. Never raises for what the remote did, never waits between attempts."""

    async def send(self, dispatch: Dispatch, destination: Destination, *, now_ms: int) -> Outcome:
        """Make one attempt and return its outcome."""
