"""Check at the moment of sending: the recipient may still see the event, wants it, and has not muted it since.

Days may pass between an event and its mail; policies, tags, owners and mutes change. Each reason is checked separately.
Next: ``delivery/worker/attempt.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain
from typing import TypeVar

from sqlalchemy import Connection, Engine, select

from tocsin.access.incident_rights import may_acknowledge
from tocsin.access.permission_cache import PermissionCache, PolicySnapshot
from tocsin.access.person_visibility import Visibility, event_without
from tocsin.clock import Steady, steady_s
from tocsin.delivery.dispatch import Dispatch, Objection, narrow_dispatch
from tocsin.delivery.lines import moment_text
from tocsin.flow.resolve.directory import NO_END
from tocsin.flow.resolve.only_visible import Addressee, is_to_endpoint, viewers_of
from tocsin.flow.schedule.preferences import NO_PREFERENCES, Preferred
from tocsin.model.change_kinds import Frequency
from tocsin.model.follow_choices import FollowChoices
from tocsin.model.kind_words import follow_text, refusal_text
from tocsin.model.message import DroppedReason, Entry, OutcomeReason
from tocsin.model.mute import Mute
from tocsin.model.notification import Reason
from tocsin.model.notification_draft import EventHead
from tocsin.model.preferences import IN_APP, Layer, Layers, zone_of
from tocsin.model.subscription import Channel
from tocsin.model.ways import told_because
from tocsin.store.catalogue.access.entity_states import SqlEntityStates
from tocsin.store.catalogue.access.subjects import SqlSubjects
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.database.engine import reading
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.tables import notification
from tocsin.store.outbox.inbox_marks import READ_AT
from tocsin.store.outbox.preferences import RecentPreferences, find_preferences, kinds_of_events
from tocsin.store.recipients.event_subjects import SqlEvents
from tocsin.store.recipients.mutes import broad_mutes_of, mutes_in, people_muting
from tocsin.store.recipients.relations_over_time import KnownRelations

_HIDDEN_FROM_PERSON = "a policy hides it from the recipient"
_HIDDEN_FOLLOWED = "a policy hides from the recipient what they follow, to which the asset belongs"
_HIDDEN_FROM_EDITOR = "a policy hides it from an editor of the alert, who could read what is sent"
_READ = "the recipient has read it in the app, and does not want it then"
SURE_FOR_S = 1.0
"""Seconds until the store is queried again whether everybody may view everything, and who has muted anything."""

Viewers = Callable[[Entry, Reason], Sequence[Visibility]]
_Place = tuple[str | None, str, str]
"""What a message tells a person of: their id, the event's, and the channel."""
_Key = TypeVar("_Key")


class Permitted:
    """What may be sent of the messages of one store.

    Attributes
    ----------
    permission_cache : the rights of people, by the policies of now
    """

    def __init__(self, engine: Engine, *, steady: Steady = steady_s) -> None:
        self._engine = engine
        self._steady = steady
        self._open_until_s = float("-inf")
        self._silent_until_s: dict[str, float] = {}
        self._wanted_until_s: dict[_Place, float] = {}
        self._zones: dict[str, str] = {}
        self.permission_cache = PermissionCache(SqlSubjects(engine))
        self._standing = SqlEntityStates(engine)
        self._events = SqlEvents(engine)
        self._subscriptions = Subscriptions(engine)

    def is_certain(self, dispatch: Dispatch) -> bool:
        """Return whether a message may go out as it is, without asking the store.

        So it is if everybody could view everything a moment ago, and nobody whom it is for objected to it then.
        """
        return self._steady() < self._open_until_s and self._is_wanted(dispatch)

    def look_ahead(self, dispatches: Sequence[Dispatch], recent: RecentPreferences) -> None:
        """Ask for all of these messages together what makes them certain; they will be sent soon.

        ``recent`` are the preferences of all people whom they are for.
        """
        choices, asked_at_s = recent
        addressees = set[str]().union(*map(_addressees, dispatches))
        with reading(self._engine) as connection:
            muting_people = people_muting(connection, addressees)
            objecting_people = _people_who_may_object(dispatches, choices)
            wanted_places = _wanted_places(connection, dispatches, choices, objecting_people - muting_people)
        silent_addressees = addressees - muting_people - objecting_people
        self._silent_until_s = _remember(self._silent_until_s, silent_addressees, asked_at_s)
        self._wanted_until_s = _remember(self._wanted_until_s, wanted_places, asked_at_s)
        self._zones = {one: zone for one, zone in self._zones.items() if one not in addressees}
        zones = {person: zone_of(layers) for person, layers in choices.layers.items()}
        self._zones |= {person: zone for person, zone in zones.items() if zone is not None}
        self._read_policies(asked_at_s)

    def zone_of(self, person_id: str | None) -> str | None:
        """Return the IANA zone that a person prefers, as ``look_ahead`` has found it; None for no preference."""
        return self._zones.get(person_id or "")

    def _is_wanted(self, dispatch: Dispatch) -> bool:
        """Return whether nobody whom a message is for had muted anything, or objected to its events, a moment ago."""
        now_s, silent_until_s, wanted_until_s = self._steady(), self._silent_until_s, self._wanted_until_s
        channel, people = dispatch.message.channel, {entry.recipient_id for entry in dispatch.entries}
        if any(now_s >= silent_until_s.get(one, now_s) for one in _addressees(dispatch) - people):
            return False
        return all(
            now_s < silent_until_s.get(entry.recipient_id, now_s)
            or now_s < wanted_until_s.get((entry.recipient_id, entry.event.id, channel), now_s)
            for entry in dispatch.entries
            if entry.recipient_id
        )

    def permitted_part(self, dispatch: Dispatch, *, now_ms: int) -> tuple[Dispatch | None, tuple[DroppedReason, ...]]:
        """Return a message with the reasons that may be sent now, and the others; None when no reason may.

        What no remaining reason lets its viewers see is taken out of the events. While everybody may view everything,
        no rights are looked up; mutes and preferences are, where a person has a way to set them.
        """
        if self._is_wanted(dispatch):
            return self.visible_part(dispatch)
        unmuted_dispatch, muted_reasons = narrow_dispatch(dispatch, self._mute_objection(dispatch, now_ms))
        if unmuted_dispatch is None:
            return None, muted_reasons
        welcome, unwanted_reasons = narrow_dispatch(
            unmuted_dispatch, self._preference_objection(unmuted_dispatch, now_ms)
        )
        if welcome is None:
            return None, (*muted_reasons, *unwanted_reasons)
        visible_dispatch, hidden_reasons = self.visible_part(welcome)
        return visible_dispatch, (*muted_reasons, *unwanted_reasons, *hidden_reasons)

    def names_seen(self, dispatch: Dispatch, names: Sequence[str]) -> tuple[str, ...]:
        """Return those of these names that a message may show: all viewers of one of its reasons may see them."""
        policies = self.permission_cache.current_policies()
        if policies.are_all_open():
            return tuple(names)
        viewers = self._viewers(dispatch, policies)
        reasons = ((entry, reason) for entry in dispatch.entries for reason in entry.reasons)
        visible_names = {
            name for entry, reason in reasons for name in _names_seen_by_all(viewers(entry, reason), names)
        }
        return tuple(one for one in names if one in visible_names)

    def people_seen(self, dispatch: Dispatch, user_ids: Collection[str]) -> frozenset[str]:
        """Return the ids of those of these people whom a message may show, as ``names_seen`` does of names."""
        policies = self.permission_cache.current_policies()
        if policies.are_all_open():
            return frozenset(user_ids)
        viewers = self._viewers(dispatch, policies)
        people = [{"id": one, "type": "user"} for one in user_ids]
        reasons = ((entry, reason) for entry in dispatch.entries for reason in entry.reasons)
        seen_ids = (
            set(user_ids).intersection(*(viewer.sees(people) for viewer in viewers(entry, reason)))
            for entry, reason in reasons
        )
        return frozenset().union(*seen_ids)

    def read_only(self, dispatches: Sequence[Dispatch]) -> frozenset[str]:
        """Return the ids of the notifications whose recipients may not acknowledge the incidents that they name.

        Asked for all messages together: the number of statements does not grow with theirs.
        """
        asking = [entry for one in dispatches for entry in one.entries if entry.incident and entry.recipient_id]
        if not asking:
            return frozenset()
        policies = self.permission_cache.current_policies()
        permissions = policies.of_many({str(entry.recipient_id) for entry in asking})
        places = [place for entry in asking if entry.incident for place in entry.incident.places]
        assets = self._standing.of({place.entity_id for place in places})
        tables = self._standing.tested_tables(assets)
        return frozenset(
            entry.notification_id
            for entry in asking
            if entry.incident
            and not may_acknowledge(entry.incident, permissions[str(entry.recipient_id)], assets, tables)
        )

    def _preference_objection(self, dispatch: Dispatch, now_ms: int) -> Objection:
        """Return the objection of people who prefer never to be notified of changes of that category.

        Nobody objects to what a critical alert reports to them. A broad mute counts that held when the event happened,
        or holds now.
        """
        people = {entry.recipient_id for entry in dispatch.entries if entry.recipient_id}
        with reading(self._engine) as connection:
            choices = find_preferences(connection, people) if people else NO_PREFERENCES
            choices = replace(choices, mutes=broad_mutes_of(connection, people))
            choosing_people = choices.layers.keys() | choices.mutes.keys() | choices.follows.keys()
            choosing_people = people if choices.beneath else choosing_people
            choosing = {one.event.id for one in dispatch.entries if one.recipient_id in choosing_people}
            by_recipient = replace(choices, kinds=kinds_of_events(connection, choosing))
            asking = [one for one in people if _leaves_out_read(choices.layers.get(one, choices.beneath))]
            offsets = {one.log_offset for one in dispatch.entries if one.recipient_id in asking}
            pairs_read = _read_by(connection, asking, offsets) if asking else set()
        channel = Channel(dispatch.message.channel)
        alerts = {reason.subscription_id for entry in dispatch.entries for reason in entry.reasons}
        critical_alerts = cache(lambda: self._subscriptions.critical_among(alerts))

        def objection(entry: Entry, reason: Reason) -> tuple[OutcomeReason, str] | None:
            refusal = refusal_of(entry) if reason.is_personal else None
            if refusal is None:
                return None
            personal_alerts = {one.subscription_id for one in entry.reasons if one.is_personal}
            return refusal if personal_alerts.isdisjoint(critical_alerts()) else None

        def refusal_of(entry: Entry) -> tuple[OutcomeReason, str] | None:
            if (entry.recipient_id, entry.event.id) in pairs_read:
                return OutcomeReason.HANDLED, _READ
            because = told_because(entry.reasons)
            heads = (_head_of(entry), _head_of(entry)._replace(offset=NO_END, timestamp_ms=now_ms))
            choices = (by_recipient.choice(entry.recipient_id, head, channel, because) for head in heads)
            choice = next((choice for choice in choices if choice.frequency is Frequency.NEVER), None)
            if choice is None:
                return None
            if choice.layer is Layer.MUTE:
                mute = Mute.from_text(choice.kind)
                return OutcomeReason.MUTED, f"the recipient {mute.in_words(moment_text)}"
            follow = follow_text(choice, entry.reasons, entry.event, "the recipient's")
            return OutcomeReason.MUTED, refusal_text(choice, "the recipient never wants", follow)

        return objection

    def _mute_objection(self, dispatch: Dispatch, now_ms: int) -> Objection:
        """Return the objection of people who muted the alert, the asset, or an asset or container that reaches them.

        A mute counts that held when the event happened, or holds now; none of what is of a mandatory kind.
        """
        target, channel = dispatch.message.target.lower(), dispatch.message.channel
        people = _addressees(dispatch)
        with reading(self._engine) as connection:
            people = people_muting(connection, people)
        if not people:
            return lambda _entry, _reason: None
        reasons = [reason for entry in dispatch.entries for reason in entry.reasons]
        nodes = self._standing.references_named({reason.via for reason in reasons if reason.via})
        ids = {via: str(many[0]["id"]) for via, many in nodes.items() if many}
        followed_ids = {reason.through.id for reason in reasons if reason.through and reason.through.id}
        about = {entry.event.entity_id for entry in dispatch.entries} | {reason.subscription_id for reason in reasons}
        with reading(self._engine) as connection:
            memory = KnownRelations(min(entry.log_offset for entry in dispatch.entries))
            mutes = list(mutes_in(connection, people, about | followed_ids | set(ids.values()), memory))
            choices = find_preferences(connection, people) if mutes else NO_PREFERENCES
            events = {entry.event.id for entry in dispatch.entries} if choices.layers or choices.beneath else set()
            choices = replace(choices, kinds=kinds_of_events(connection, events))

        def objection(entry: Entry, reason: Reason) -> tuple[OutcomeReason, str] | None:
            owner_of_mute = entry.recipient_id if reason.is_personal else target
            followed_id = (reason.through.id if reason.through else None) or ""
            place = (reason.subscription_id, entry.event.entity_id, ids.get(reason.via or "", ""), followed_id)
            moments = ((entry.log_offset, entry.event.timestamp), (NO_END, now_ms))
            silencing = (
                mute
                for mute in mutes
                if mute.who == owner_of_mute and any(mute.silences(place, channel, at) for at in moments)
            )
            mute = next(silencing, None)
            if mute is None or (reason.is_personal and _is_mandatory(entry, choices)):
                return None
            return OutcomeReason.MUTED, f"the recipient {mute.in_words(moment_text)}"

        return objection

    def visible_part(self, dispatch: Dispatch) -> tuple[Dispatch | None, tuple[DroppedReason, ...]]:
        """Return a message with the reasons for which its readers may see it now, and the others; None for none."""
        policies = self._read_policies(self._steady())
        if policies.are_all_open():
            return dispatch, ()
        viewers = self._viewers(dispatch, policies)

        def objection(entry: Entry, reason: Reason) -> tuple[OutcomeReason, str] | None:
            seeing = viewers(entry, reason)
            hidden_from = [not one.sees_event(entry.event) for one in seeing]
            followed = reason.through if reason.is_personal and entry.recipient_id is not None else None
            if followed is not None and not seeing[0].sees_followed([followed]):
                return OutcomeReason.MAY_NOT_VIEW, _HIDDEN_FOLLOWED
            if not any(hidden_from):
                return None
            is_person = reason.is_personal and entry.recipient_id is not None and hidden_from[0]
            return OutcomeReason.MAY_NOT_VIEW, _HIDDEN_FROM_PERSON if is_person else _HIDDEN_FROM_EDITOR

        permitted_dispatch, dropped_reasons = narrow_dispatch(dispatch, objection)
        if permitted_dispatch is None:
            return None, dropped_reasons
        entries = self._without_hidden_authors(
            [_visible_entry(one, viewers) for one in permitted_dispatch.entries], permitted_dispatch.entries, viewers
        )
        lacks_changes = any(map(_lacks_changes, entries, permitted_dispatch.entries))
        is_reduced = lacks_changes or len(entries) < len(dispatch.entries)
        return replace(permitted_dispatch, entries=entries, is_reduced=is_reduced), dropped_reasons

    def _without_hidden_authors(
        self, entries: Sequence[Entry], whole_entries: Sequence[Entry], viewers: Viewers
    ) -> tuple[Entry, ...]:
        """Return notifications with the log-in names of authors whose display names their readers may not see."""
        hidden_ids = _hidden_authors(whole_entries, viewers)
        documents = self._standing.of(hidden_ids) if hidden_ids else {}
        names = {user_id: str(document["name"]) for user_id, (_, document) in documents.items() if "name" in document}

        def with_name(entry: Entry) -> Entry:
            name = names.get(entry.event.user_id or "", entry.event.user_name)
            if name == entry.event.user_name:
                return entry
            return entry.with_event(entry.event.model_copy(update={"user_name": name}))

        return tuple(map(with_name, entries))

    def _read_policies(self, asked_at_s: float) -> PolicySnapshot:
        """Return the policies of now, and note whether everybody may view everything."""
        policies = self.permission_cache.current_policies()
        self._open_until_s = asked_at_s + SURE_FOR_S if policies.are_all_open() else float("-inf")
        return policies

    def _viewers(self, dispatch: Dispatch, policies: PolicySnapshot) -> Viewers:
        """Return the function that gives what those see who must be able to see what is sent for a reason."""
        reasons = [reason for entry in dispatch.entries for reason in entry.reasons]
        channel = dispatch.message.channel
        alert_ids = {reason.subscription_id for reason in reasons if is_to_endpoint(reason.kind, channel)}
        editors = self._events.editors_of(alert_ids) if alert_ids else {}
        visibility_by_id: dict[str, Visibility] = {}

        def viewers(entry: Entry, reason: Reason) -> list[Visibility]:
            alert, recipient = reason.subscription_id, Addressee(entry.recipient_id, dispatch.message.target)
            ids = viewers_of(reason.kind, alert, recipient=recipient, channel=channel, editors=editors)
            for viewer_id in ids:
                visibility_by_id.setdefault(viewer_id, Visibility(policies.of(viewer_id), self._standing))
            return [visibility_by_id[viewer_id] for viewer_id in ids]

        return viewers


def _people_who_may_object(dispatches: Sequence[Dispatch], choices: Preferred) -> set[str]:
    """Return those of the people whom these messages are for who leave out something, by what holds for them."""
    people = {entry.recipient_id for dispatch in dispatches for entry in dispatch.entries if entry.recipient_id}
    objecting_people = {person for person, layers in choices.layers.items() if _may_object(layers)}
    objecting_people |= {person for person, follows in choices.follows.items() if any(map(_is_quiet, follows.values()))}
    return objecting_people | (people - choices.layers.keys() if _may_object(choices.beneath) else set())


def _wanted_places(
    connection: Connection, dispatches: Sequence[Dispatch], choices: Preferred, people: Collection[str]
) -> set[_Place]:
    """Return what these messages tell some of their people of that these want, whether they are mentioned or not.

    Nothing is returned for who leaves out what they have read.
    """
    entries = [
        ((entry.recipient_id, entry.event.id, dispatch.message.channel), entry)
        for dispatch in dispatches
        for entry in dispatch.entries
        if entry.recipient_id in people
    ]
    kinds = kinds_of_events(connection, {event_id for (_, event_id, _), _ in entries})
    choices = replace(choices, kinds=kinds)
    reading_people = {one for one in people if _leaves_out_read(choices.layers.get(one, choices.beneath))}

    def is_wanted(place: _Place, entry: Entry) -> bool:
        person, head, channel = entry.recipient_id, _head_of(entry), Channel(place[2])
        because = told_because(entry.reasons)
        both = (because._replace(is_mentioned=is_mentioned) for is_mentioned in (False, True))
        both_choices = (choices.choice(person, head, channel, one) for one in both)
        return person not in reading_people and all(one.frequency is not Frequency.NEVER for one in both_choices)

    return {place for place, _ in entries} - {place for place, entry in entries if not is_wanted(place, entry)}


def _remember(until_s: Mapping[_Key, float], keys: Collection[_Key], asked_at_s: float) -> dict[_Key, float]:
    """Return until when (steady seconds) something is sure, with these keys, of which it was read just now."""
    fresh = {key: moment_s for key, moment_s in until_s.items() if asked_at_s < moment_s}
    return fresh | dict.fromkeys(keys, asked_at_s + SURE_FOR_S)


def _may_object(layers: Layers) -> bool:
    return _leaves_out_read(layers) or any(preferences.has(Frequency.NEVER) for _, preferences in layers)


def _is_quiet(choices: FollowChoices) -> bool:
    return choices.has(Frequency.NEVER)


def _leaves_out_read(layers: Layers) -> bool:
    choices = (preferences.leave_out_read for _, preferences in layers)
    return next((choice for choice in choices if choice is not None), False)


def _read_by(connection: Connection, people: Collection[str], offsets: Collection[int]) -> set[tuple[str, str]]:
    """Return what these people have read in the app of the events at these offsets: recipient and event."""
    column = notification.c
    query = select(column.recipient_id, column.event_id).where(
        column.recipient_id.in_(people), column.channel == IN_APP.value, READ_AT.is_not(None)
    )
    return {(row.recipient_id, row.event_id) for row in rows_by_key(connection, query, column.log_offset, offsets)}


def _is_mandatory(entry: Entry, choices: Preferred) -> bool:
    return choices.has_mandatory_kind(entry.recipient_id, _head_of(entry), told_because(entry.reasons))


def _head_of(entry: Entry) -> EventHead:
    event = entry.event
    return EventHead(entry.log_offset, event.id, event.entity_id, event.user_id, event.timestamp, event.part_of)


def _addressees(dispatch: Dispatch) -> set[str]:
    """Return who may have muted a message: people by their ids, and the mail address that it goes to."""
    target = dispatch.message.target.lower()
    people = {entry.recipient_id for entry in dispatch.entries if entry.recipient_id}
    return people | ({target} if _is_mail_address(target) else set())


def _is_mail_address(target: str) -> bool:
    return "@" in target and "://" not in target


def _visible_entry(entry: Entry, viewers: Viewers) -> Entry:
    """Return a notification with what one of its reasons shows at least: each alone would show as much."""
    hidden = set.intersection(*(_hidden_names(entry, viewers(entry, reason)) for reason in entry.reasons))
    reasons = (_reason_for(reason, viewers(entry, reason)) for reason in entry.reasons)
    visible_event = event_without(entry.event, hidden)
    if not any(all(one.is_whole for one in viewers(entry, reason)) for reason in entry.reasons):
        visible_event = visible_event.by_itself()
    visible_entry = entry.with_event(visible_event)
    return replace(visible_entry, reasons=tuple(dict.fromkeys(reasons)))


def _hidden_authors(entries: Sequence[Entry], viewers: Viewers) -> set[str]:
    """Return the authors of these that nobody who sees one for one of its reasons may see: one look-up per viewer."""
    author_viewers = [
        (entry.event.user_id, [viewers(entry, reason) for reason in entry.reasons])
        for entry in entries
        if entry.event.user_id is not None
    ]
    authors_by_viewer: dict[Visibility, set[str]] = defaultdict(set)
    for author_id, viewers_by_reason in author_viewers:
        for viewer in chain.from_iterable(viewers_by_reason):
            authors_by_viewer[viewer].add(author_id)
    visible_ids = {
        viewer: viewer.sees({"id": one, "type": "user"} for one in author_ids)
        for viewer, author_ids in authors_by_viewer.items()
    }
    return {
        author_id
        for author_id, viewers_by_reason in author_viewers
        if not any(all(author_id in visible_ids[one] for one in seeing) for seeing in viewers_by_reason)
    }


def _lacks_changes(entry: Entry, whole_entry: Entry) -> bool:
    return entry is not whole_entry and entry.event.change_description != whole_entry.event.change_description


def _hidden_names(entry: Entry, viewers: Sequence[Visibility]) -> set[str]:
    return {name for one in viewers for name in one.hidden_names_of(entry.event)}


def _names_seen_by_all(viewers: Sequence[Visibility], names: Sequence[str]) -> set[str]:
    return set(names).intersection(*(one.sees_named(names) for one in viewers))


def _reason_for(reason: Reason, viewers: Sequence[Visibility]) -> Reason:
    for viewer in viewers:
        (reason,) = viewer.reasons([reason])
    return reason
