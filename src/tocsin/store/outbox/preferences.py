"""Notification preferences in the store: set by their owner, looked up for the recipients of notifications.

A changed preference moves the messages that wait. Locks are taken on messages first; notifications that another
transaction has locked stay where they are, so that neither waits for the other. Next: ``flow/schedule/preferences.py``.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Engine, and_, exists, or_, select, update

from tocsin.chunks import chunks_of
from tocsin.conditions.event_kinds import kinds_of
from tocsin.flow.schedule.preferences import (
    DIGESTS,
    NEVER_MS,
    NO_PREFERENCES,
    PREFERRED,
    Preferred,
    quiet_times_of,
)
from tocsin.model.change_kinds import EventKind
from tocsin.model.follow_choices import FollowChoices
from tocsin.model.message import MessageStatus
from tocsin.model.notification import gathered_message_id, recipient_key
from tocsin.model.notification_draft import NotificationDraft
from tocsin.model.preferences import (
    PREFERRED_CHANNELS,
    DefaultPreferences,
    Layer,
    Layers,
    Preferences,
    TeamPreferences,
    times_of,
)
from tocsin.store.catalogue.people.teams import memberships_in
from tocsin.store.catalogue.relations.follow_choices import change_choices, choices_of, parse_choices
from tocsin.store.database.alert_tables import IS_BROAD, mute
from tocsin.store.database.engine import insert_into, is_sqlite, reading, writing
from tocsin.store.database.inbox_columns import IS_LATER
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.people_tables import EVERYBODY, NO_DOCUMENT, notification_preference, team_preference
from tocsin.store.database.tables import change_event, destination_secret, message, notification, person
from tocsin.store.outbox.team_preferences import defaults_of_teams
from tocsin.store.recipients.mutes import broad_mutes_of

_ROW, _EVENT = notification_preference.c, change_event.c

_PRESENCE = select(
    exists(select(_ROW.user_id)).label("preferences"),
    exists(select(team_preference.c.team_id)).label("teams"),
    exists(select(mute.c.who).where(IS_BROAD)).label("mutes"),
)
"""What some person, or a team, has set at all: most stores have neither teams' defaults nor broad mutes."""

_FREE = (message.c.status == MessageStatus.PENDING.value, message.c.lease_owner.is_(None))
RETRY_STATES = (MessageStatus.AWAITING_RETRY.value, MessageStatus.AWAITING_REPLAY.value)
RETRY = ":retry"
"""What the grouping keys of retries end with that wait for their recipient's time; nothing is gathered into them."""
_SAME = ("channel", "recipient", "recipient_id", "target", "subscription_id", "destination_id")


WaitingFor = tuple[int, list[str]]
"""By which preferences notifications of a person wait (``Preferred.versions``), and their ids."""


class RecentPreferences(NamedTuple):
    """Preferences of people, and the steady time (seconds) just before they were read."""

    preferred: Preferred
    read_at_s: float


class SqlPreferences:
    """The preferences of one store's people."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def of(self, user_id: str) -> Preferences:
        """Return what a person prefers, with the times of the server where theirs are unset: the default if nothing."""
        return own_preferences(self.layers_of(user_id))

    def layers_of(self, user_id: str) -> Layers:
        """Return the preferences that hold for a person, their own first."""
        with reading(self._engine) as connection:
            return _layers_of(connection, user_id)

    def defaults(self) -> DefaultPreferences:
        """Return what holds where people have chosen nothing: in a new store what is recommended."""
        with reading(self._engine) as connection:
            text = connection.scalar(select(_ROW.document).where(_ROW.user_id == EVERYBODY))
        return DefaultPreferences.model_validate_json(text) if text else DefaultPreferences()

    def put_defaults(self, defaults: DefaultPreferences, *, now_ms: int) -> None:
        """Replace what holds where people have chosen nothing, from the next notification on."""
        row = {"document": json.dumps(defaults.to_wire()), "updated_at_ms": now_ms}
        with writing(self._engine) as connection:
            if defaults == DefaultPreferences():
                connection.execute(notification_preference.delete().where(_ROW.user_id == EVERYBODY))
                return
            insert = insert_into(connection, notification_preference).values({"user_id": EVERYBODY, **row})
            connection.execute(insert.on_conflict_do_update(index_elements=["user_id"], set_=row))

    def put(
        self,
        user_id: str,
        preferences: Preferences,
        *,
        now_ms: int,
        check: Callable[[Layers], None] | None = None,
    ) -> Layers:
        """Replace what a person prefers; messages that wait for their time become due as they prefer it now.

        Return what holds for them then, also if another change follows at once. Times that they leave to their teams or
        the server, and that are sent as these have them, stay unset. ``check`` gets what holds for the person, which
        nobody else changes meanwhile: what it raises keeps all as it is.
        """
        written_layers: Layers = ()

        def write(connection: Connection) -> None:
            nonlocal written_layers
            if check is not None:
                check(_locked_layers(connection, user_id, now_ms))
            own_choices = preferences.without_borrowed(*_own_and_beneath(connection, user_id))
            row = {"document": json.dumps(own_choices.to_stored()), "updated_at_ms": now_ms}
            insert = insert_into(connection, notification_preference).values({"user_id": user_id, **row})
            connection.execute(insert.on_conflict_do_update(index_elements=["user_id"], set_=row))
            written_layers = _layers_of(connection, user_id)

        self._write(user_id, write, now_ms)
        return written_layers

    def choices_for_follows(self, user_id: str) -> Mapping[str, FollowChoices]:
        """Return what a person has chosen for single follows, by ``follow_key``."""
        with reading(self._engine) as connection:
            return choices_of(connection, user_id)

    def choose_for_follows(
        self, user_id: str, choices: Mapping[str, FollowChoices], ended_keys: Collection[str] = (), *, now_ms: int
    ) -> None:
        """Replace what a person chose for some follows; messages move as in ``put``.

        What they had chosen for ``ended_keys``, which they no longer follow, goes.

        Raises
        ------
        InvalidInput : they are more than a person may have
        """
        self._write(user_id, lambda it: change_choices(it, user_id, choices, ended_keys, now_ms), now_ms)

    def _write(self, user_id: str, write: Callable[[Connection], None], now_ms: int) -> None:
        """Write something that a person prefers; messages that wait become due as they prefer it now."""
        with writing(self._engine) as connection:
            write(connection)
            planned_ids = _plan_by_newest(connection, user_id, now_ms)
            _show_in_app(connection, user_id, now_ms)
            has_one_writer = is_sqlite(connection)
        with writing(self._engine) as connection:  # apart: who writes notifications locks both, in another order
            follow(connection, planned_ids)
        if not has_one_writer:  # a transaction may have written by the older preferences while this one ended
            self._move(user_id, (), now_ms)

    def move_late(self, waiting: Mapping[str, WaitingFor], *, now_ms: int) -> None:
        """Move what was just stored by preferences that had changed by then, by recipient; the others are not read."""
        with reading(self._engine) as connection:
            versions = versions_of(connection, waiting)
        for user_id, (version, notification_ids) in sorted(waiting.items()):
            if versions.get(user_id, 0) != version:
                self._move(user_id, notification_ids, now_ms)

    def _move(self, user_id: str, notification_ids: Sequence[str], now_ms: int) -> None:
        """Move notifications that wait for a person's time by older preferences; in the app only these."""
        with writing(self._engine) as connection:
            planned_ids = _plan_by_newest(connection, user_id, now_ms)
            for chunk in chunks_of(notification_ids):
                _show_in_app(connection, user_id, now_ms, notification.c.id.in_(chunk))
        if planned_ids:
            with writing(self._engine) as connection:
                follow(connection, planned_ids)

    def of_recipients(self, drafts: Sequence[NotificationDraft]) -> Preferred:
        """Return the preferences of those who get mails, direct messages, or notifications in the app."""
        choosing_drafts = (one for one in drafts if one.mute is not None or one.channel in PREFERRED_CHANNELS)
        people = {draft.recipient_id for draft in choosing_drafts if draft.recipient_id}
        if not people:
            return NO_PREFERENCES
        with reading(self._engine) as connection:
            presence = connection.execute(_PRESENCE).one()
            mutes = broad_mutes_of(connection, people) if presence.mutes else {}
            if not (mutes or presence.preferences or presence.teams):
                return NO_PREFERENCES
            choices = replace(find_preferences(connection, people, has_teams=presence.teams), mutes=mutes)
            if choices.is_empty:
                return NO_PREFERENCES
            choosing_people = people
            if not choices.beneath:
                choosing_people = {one for one, layers in choices.layers.items() if _depend_on_kinds(layers)}
                choosing_people |= mutes.keys() | choices.follows.keys()
            events = {draft.event.event_id for draft in drafts if draft.recipient_id in choosing_people}
            return replace(choices, kinds=kinds_of_events(connection, events))


def find_preferences(connection: Connection, user_ids: Collection[str], *, has_teams: bool = True) -> Preferred:
    """Return what holds for those of these people who prefer something or whose teams do, and for all others.

    Times that are unset in a layer are those of the one beneath. ``has_teams``: teams may have defaults.
    """
    query = select(notification_preference)
    preference_rows = {row.user_id: row for row in rows_by_key(connection, query, _ROW.user_id, {*user_ids, EVERYBODY})}
    of_everybody = preference_rows.pop(EVERYBODY, None)
    beneath: Layers = ()
    if of_everybody is not None:
        beneath = ((Layer.SERVER, DefaultPreferences.model_validate_json(of_everybody.document)),)
    team_layers = _layers_of_members(connection, user_ids, beneath) if has_teams else {}
    documents = {user_id: row.document for user_id, row in preference_rows.items() if row.document != NO_DOCUMENT}
    layers = {**team_layers, **dict(_own_layers(documents, team_layers, beneath))}
    versions = {user_id: row.updated_at_ms for user_id, row in preference_rows.items()}
    follows = {user_id: parse_choices(row.follows) for user_id, row in preference_rows.items() if row.follows}
    return Preferred(layers, versions, beneath=beneath, follows=follows)


def own_preferences(layers: Layers) -> Preferences:
    """Return what a person prefers of what holds for them, with the times beneath where theirs are unset."""
    if layers and layers[0][0] is Layer.OWN:
        return layers[0][1]
    return Preferences().above(times_of(layers))


def _layers_of(connection: Connection, user_id: str) -> Layers:
    preferred = find_preferences(connection, [user_id])
    return preferred.layers.get(user_id, preferred.beneath)


def _locked_layers(connection: Connection, user_id: str, now_ms: int) -> Layers:
    """Return what holds for a person, once nobody else is changing it; it stays so until the transaction ends."""
    empty = {"user_id": user_id, "document": NO_DOCUMENT, "updated_at_ms": now_ms}
    connection.execute(insert_into(connection, notification_preference).values(empty).on_conflict_do_nothing())
    connection.execute(select(_ROW.user_id).where(_ROW.user_id == user_id).with_for_update())
    return _layers_of(connection, user_id)


def _own_layers(
    documents: Mapping[str, str], team_layers: Mapping[str, Layers], beneath: Layers
) -> Iterator[tuple[str, Layers]]:
    """Yield what holds for people who have chosen something: those who chose the same share it, and what it decides.

    ``documents`` are their stored choices.
    """
    shared_layers: dict[tuple[str, int], Layers] = {}
    for user_id, document in documents.items():
        lower_layers = team_layers.get(user_id, beneath)
        key = (document, id(lower_layers))
        if key not in shared_layers:
            choices = Preferences.model_validate_json(document)
            shared_layers[key] = ((Layer.OWN, choices.above(times_of(lower_layers))), *lower_layers)
        yield user_id, shared_layers[key]


def _own_and_beneath(connection: Connection, user_id: str) -> tuple[Preferences, Preferences]:
    """Return what a person has set themselves, and the preferences whose times hold where they have set none."""
    text = connection.scalar(select(_ROW.document).where(_ROW.user_id == user_id))
    choices = Preferences.model_validate_json(text) if text and text != NO_DOCUMENT else Preferences()
    return choices, times_of([it for it in _layers_of(connection, user_id) if it[0] is not Layer.OWN])


def _layers_of_members(connection: Connection, user_ids: Collection[str], beneath: Layers) -> dict[str, Layers]:
    """Return what holds for those of these people whose teams have defaults; people of the same teams share it."""
    teams = defaults_of_teams(connection)
    layers_by_teams: dict[frozenset[str], Layers] = {}
    layers: dict[str, Layers] = {}
    for user_id, team_ids in memberships_in(connection, user_ids, teams).items():
        if team_ids not in layers_by_teams:
            together = TeamPreferences.of([teams[team_id] for team_id in team_ids]).above(times_of(beneath))
            layers_by_teams[team_ids] = ((Layer.TEAM, together), *beneath)
        layers[user_id] = layers_by_teams[team_ids]
    return layers


def _depend_on_kinds(layers: Layers) -> bool:
    return any(preferences.names_kinds() for _, preferences in layers)


def kinds_of_events(connection: Connection, event_ids: Collection[str]) -> dict[str, tuple[EventKind, ...]]:
    """Return the kinds of each of these events."""
    query = select(_EVENT.id, _EVENT.event_type, _EVENT.derived)
    event_rows = rows_by_key(connection, query, _EVENT.id, event_ids)
    return {row.id: kinds_of(row.event_type, json.loads(row.derived)) for row in event_rows}


def versions_of(connection: Connection, user_ids: Collection[str]) -> dict[str, int]:
    """Return which preferences those of these people have who have some (``Preferred.versions``)."""
    query = select(_ROW.user_id, _ROW.updated_at_ms)
    return {row.user_id: row.updated_at_ms for row in rows_by_key(connection, query, _ROW.user_id, user_ids)}


def plan_again(connection: Connection, user_id: str, grouping_key: str, *, due_at_ms: int, now_ms: int) -> list[str]:
    """Move messages that wait for a person's time to another time: one message per channel, under this key.

    Retries that wait for it are moved as they are.

    Returns
    -------
    the ids of the messages that are due then; the notifications in them follow in a transaction of their own
    """
    recipients, key = recipients_of(connection, user_id), message.c.grouping_key
    is_waiting = key.startswith(PREFERRED, autoescape=True) & key.not_in((grouping_key, f"{grouping_key}{RETRY}"))
    is_retry = message.c.status.in_(RETRY_STATES) & message.c.lease_owner.is_(None) & key.endswith(RETRY)
    is_theirs = message.c.recipient.in_(recipients)
    query = select(message).where(is_theirs, is_waiting, or_(and_(*_FREE), is_retry)).order_by(message.c.id)
    groups: dict[tuple[str, str], list[Any]] = defaultdict(list)  # Any: rows of SQLAlchemy's
    planned_ids: list[str] = []
    for row in connection.execute(query.with_for_update()):
        if row.status in RETRY_STATES:
            planned_ids.append(row.id)
        else:
            groups[row.channel, row.recipient].append(row)
    due_columns = {"due_at_ms": due_at_ms, "wait_ms": max(0, due_at_ms - now_ms)}
    for chunk in chunks_of(planned_ids):
        retry_columns = {**due_columns, "grouping_key": f"{grouping_key}{RETRY}"}
        connection.execute(update(message).where(message.c.id.in_(chunk)).values(retry_columns))
    for group in groups.values():
        ids = [row.id for row in group]
        for chunk in chunks_of(ids):
            connection.execute(update(message).where(message.c.id.in_(chunk)).values(due_columns))
        planned_ids += [
            *ids,
            *gather_into(connection, group, {**due_columns, "grouping_key": grouping_key, "updated_at_ms": now_ms}),
        ]
    return planned_ids


def _plan_by_newest(connection: Connection, user_id: str, now_ms: int) -> list[str]:
    """Move messages that wait by older preferences than a person's to now, or the end of quiet times; return ids."""
    choices = find_preferences(connection, [user_id])
    quiet = quiet_times_of(times_of(choices.layers.get(user_id, choices.beneath)))
    due_at_ms = now_ms if quiet is None else quiet.ends_after(now_ms)
    return plan_again(connection, user_id, choices.grouping_key(user_id), due_at_ms=due_at_ms, now_ms=now_ms)


def _show_in_app(connection: Connection, user_id: str, now_ms: int, *conditions: ColumnElement[bool]) -> None:
    """Show now what comes into the app with a person's digest; what they never want, and what alerts delay, waits."""
    column = notification.c
    is_in_digest = or_(*(column.preferred.contains(f" {frequency} ") for frequency in DIGESTS))
    is_waiting = and_(IS_LATER, column.due_at_ms > now_ms, column.due_at_ms < NEVER_MS)
    theirs = update(notification).where(column.recipient_id == user_id, is_waiting, is_in_digest, *conditions)
    connection.execute(theirs.values(due_at_ms=now_ms))


def recipients_of(connection: Connection, user_id: str) -> list[str]:
    """Return as what messages to a person name them: by id for their own address, by mail address, also with a bot."""
    address = connection.scalar(select(person.c.email).where(person.c.user_id == user_id)) or ""
    bots = select(destination_secret.c.bot).where(destination_secret.c.bot.is_not(None)).distinct()
    return [user_id, address, *(recipient_key(address, bot) for bot in connection.scalars(bots) if bot)]


def follow(connection: Connection, message_ids: Sequence[str]) -> None:
    """Let notifications be due when their messages are."""
    due = select(message.c.due_at_ms).where(message.c.id == notification.c.message_id).scalar_subquery()
    for chunk in chunks_of(message_ids):
        connection.execute(update(notification).where(notification.c.message_id.in_(chunk)).values(due_at_ms=due))


def gather_into(connection: Connection, messages: Sequence[Any], planned: Mapping[str, Any]) -> list[str]:
    """Move the notifications of these messages into one, which takes more under its key; return its id, if it does."""
    first = messages[0]
    gathered_id = gathered_message_id(planned["grouping_key"], first.channel, first.recipient, planned["due_at_ms"])
    row = {name: getattr(first, name) for name in _SAME} | dict(planned)
    row |= {"id": gathered_id, "status": MessageStatus.PENDING.value, "created_at_ms": first.created_at_ms}
    connection.execute(insert_into(connection, message).values(row).on_conflict_do_nothing())
    if connection.scalar(select(message.c.id).where(message.c.id == gathered_id, *_FREE).with_for_update()) is None:
        return []  # a worker is sending it: the others go out by themselves
    other_ids = [row.id for row in messages if row.id != gathered_id]
    for chunk in chunks_of(other_ids):
        notification_ids = (
            select(notification.c.id).where(notification.c.message_id.in_(chunk)).order_by(notification.c.id)
        )
        ids = connection.execute(notification_ids.with_for_update(skip_locked=True)).scalars().all()
        for moved_ids in chunks_of(ids):
            connection.execute(
                update(notification).where(notification.c.id.in_(moved_ids)).values(message_id=gathered_id)
            )
        is_full = exists().where(notification.c.message_id == message.c.id)
        connection.execute(message.delete().where(message.c.id.in_(chunk), ~is_full))
    return [gathered_id]
