"""Event subscriptions in the store, for matching and for sending.

A subscription is an entity of type ``eventsubscription``: the catalogue writes and versions it, this module parses it.
Its secrets are stored separately and encrypted, in ``destination_secret``. Next: ``flow/match/plan.py``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Engine, Row, exists, func, select

from tocsin.catalogue.naming.past_names import PastRenaming, with_past_names
from tocsin.delivery.channels.masking import with_secrets
from tocsin.errors import StaleSecrets, TocsinError, WrongKey
from tocsin.model.alert_incident import IncidentStatus
from tocsin.model.change import EventType
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM
from tocsin.model.subscription import Destination, EventSubscription, alert_of, bot_key_of
from tocsin.store.database.alert_tables import alert_editor, alert_incident, mute
from tocsin.store.database.documents import from_text, to_text
from tocsin.store.database.engine import fetch_first, fetch_rows, fetch_value, reading, writing
from tocsin.store.database.entity_tables import renaming
from tocsin.store.database.keys import delete_by_key, rows_by_key
from tocsin.store.database.tables import (
    change_event,
    destination_secret,
    destination_status,
    entity,
    entity_version,
    person,
)
from tocsin.store.database.vault import vault_of
from tocsin.store.eventlog.log import EventLog

ENTITY_TYPE = "eventsubscription"

_MOST_BY_ID = 500
"""More subscriptions than these are read together with all others, faster than one by one."""

_CREATED_AT = (
    select(func.min(entity_version.c.updated_at_ms)).where(entity_version.c.entity_id == entity.c.id).scalar_subquery()
)
_EDITED = (alert_editor.c.subscription_id == entity.c.id, alert_editor.c.user_id != SYSTEM.id)
IS_OF_ADMINISTRATORS = ~exists().where(
    *_EDITED,
    alert_editor.c.is_editor,
    alert_editor.c.user_id.not_in(select(person.c.user_id).where(person.c.is_admin, person.c.deleted.is_(False))),
)
"""Whether nobody but administrators, or Tocsin itself, has created or changed an alert, a row of ``entity``."""
_CREATOR = select(func.min(alert_editor.c.user_id)).where(*_EDITED, alert_editor.c.is_creator).scalar_subquery()
_SWITCH = "enabled"
_MOST = 1_000
"""Renames that are told apart: events from before these are matched by the oldest names of these."""

_RENAMING = renaming.c
_IS_REUSED = exists().where(
    entity.c.entity_type == _RENAMING.entity_type,
    entity.c.fqn == _RENAMING.old_fqn,
    entity.c.id != _RENAMING.entity_id,
)


UnreadableError = TocsinError | ValueError | LookupError | TypeError | AttributeError
UNREADABLE = (TocsinError, ValueError, LookupError, TypeError, AttributeError)
"""What reading one alert raises where its document or its secrets mean nothing to this version."""


class ForSending(NamedTuple):
    """A subscription with its secrets in clear, or masked, and why its destinations wait."""

    subscription: EventSubscription
    waits_because: str | None


class Subscriptions:
    """The event subscriptions of one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def list_enabled(self, subscription_ids: Collection[str] | None = None) -> list[EventSubscription]:
        """Return the enabled subscriptions, or those with these ids, secrets masked, ordered by name.

        Those that ``list_unparsable`` returns are left out.
        """
        parsed, _ = self._parse(subscription_ids)
        return [one for one in parsed if one.enabled and (subscription_ids is None or one.id in subscription_ids)]

    def list_unparsable(self, subscription_ids: Collection[str]) -> dict[str, str]:
        """Return those of the subscriptions whose document means nothing to this version, and why, by id."""
        _, unparsable = self._parse(subscription_ids)
        return {one: why for one, why in unparsable.items() if one in subscription_ids}

    def with_past_names(self, alerts: Sequence[EventSubscription], *, after: int) -> list[EventSubscription]:
        """Return subscriptions that match events after an offset by the names that entities had in these."""
        columns = _RENAMING.log_offset, _RENAMING.entity_type, _RENAMING.old_fqn, _RENAMING.new_fqn, _IS_REUSED
        query = select(*columns).where(_RENAMING.log_offset > after).order_by(_RENAMING.log_offset.desc())
        renamings = [PastRenaming(*row) for row in fetch_rows(self._engine, query.limit(_MOST))]
        return [with_past_names(one, renamings) for one in alerts]

    def progress(self, query_name: str) -> int:
        """Return the offset up to which a streaming query has matched events."""
        return EventLog(self._engine).progress(query_name)

    def list_all(self, subscription_ids: Collection[str] | None = None) -> list[EventSubscription]:
        """Return every subscription, or at least these, switched on or not, secrets masked, ordered by name."""
        return self._read(*_with_ids(subscription_ids))

    def critical_among(self, subscription_ids: Collection[str]) -> set[str]:
        """Return the ids of those of these subscriptions that are critical."""
        query = select(entity.c.id, entity.c.document)
        with reading(self._engine) as connection:
            alert_rows = rows_by_key(connection, query, entity.c.id, subscription_ids)
            return {row.id for row in alert_rows if alert_of(json.loads(row.document)).is_critical}

    def find(self, subscription_id: str) -> EventSubscription | None:
        """Return the subscription with that id, secrets masked."""
        return next(iter(self._read(entity.c.id == subscription_id)), None)

    def with_secrets(self, subscription_id: str) -> EventSubscription | None:
        """Return the subscription with that id for sending, with secrets in clear."""
        subscription = self.find(subscription_id)
        return None if subscription is None else _with_clear(subscription, self.secrets_of(subscription_id))

    def for_sending(self, subscription_ids: Collection[str]) -> dict[str, ForSending | UnreadableError]:
        """Return those of these subscriptions that exist, with secrets in clear, or why one cannot be read, by id.

        Where secrets cannot be opened, or are being changed, they stay masked, and it is said why.
        """
        outcomes: dict[str, ForSending | UnreadableError] = {}
        secret = destination_secret.c
        query = select(secret.subscription_id, secret.destination_id, secret.document)
        texts_by_alert: dict[str, list[tuple[str, str]]] = {}
        parsers = self._parsers(*_with_ids(subscription_ids))
        with reading(self._engine) as connection:
            for alert, destination, text in rows_by_key(connection, query, secret.subscription_id, subscription_ids):
                texts_by_alert.setdefault(alert, []).append((destination, text))
            for alert, parse in (one for one in parsers if one[0] in subscription_ids):
                try:
                    outcomes[alert] = _for_sending(connection, parse(), texts_by_alert.get(alert, ()))
                except UNREADABLE as error:
                    outcomes[alert] = error
        return outcomes

    def revision(self) -> int:
        """Return a number that differs whenever a subscription was written since.

        It is the sum of the log offsets of what happened to subscriptions, not the highest: on PostgreSQL a lower
        offset may commit after a higher one, and must count all the same.
        """
        query = select(func.coalesce(func.sum(change_event.c.log_offset), 0))
        return int(fetch_value(self._engine, query.where(change_event.c.entity_type == ENTITY_TYPE)) or 0)

    def has_open_incidents(self) -> bool:
        """Return whether an incident of an alert is not resolved."""
        row = alert_incident.c
        lasts = (row.status != IncidentStatus.RESOLVED.value, row.merged_into.is_(None))
        query = select(row.id).where(*lasts).limit(1)
        return fetch_first(self._engine, query) is not None

    def marks(self) -> dict[str, int]:
        """Return for every subscription there ever was a number that differs whenever it was written since."""
        event = change_event.c
        query = select(event.entity_id, func.sum(event.log_offset)).where(event.entity_type == ENTITY_TYPE)
        return {one: int(mark) for one, mark in fetch_rows(self._engine, query.group_by(event.entity_id))}

    def alerts_made_by(self, user_id: str) -> dict[str, Document]:
        """Return the documents of the existing alerts that a person created, by id."""
        is_creator = (alert_editor.c.subscription_id == entity.c.id) & alert_editor.c.is_creator
        query = select(entity.c.id, entity.c.document).select_from(entity.join(alert_editor, is_creator))
        of_person = query.where(~entity.c.deleted, alert_editor.c.user_id == user_id)
        return {one: from_text(text) for one, text in fetch_rows(self._engine, of_person)}

    def secrets_of(self, subscription_id: str) -> dict[str, Document]:
        """Return the secrets of a subscription by destination id.

        Raises
        ------
        WrongKey : they were sealed with a key that is not here
        """
        query = select(destination_secret.c.destination_id, destination_secret.c.document)
        with reading(self._engine) as connection:
            secrets = connection.execute(query.where(destination_secret.c.subscription_id == subscription_id)).all()
            return {destination: vault_of(connection).open(from_text(text)) for destination, text in secrets}

    def administrator_alerts_of_bot(self, bot: str) -> list[EventSubscription]:
        """Return the alerts of administrators that send by this bot (``bot_key_of``), secrets masked."""
        query = select(destination_secret.c.subscription_id).where(destination_secret.c.bot == bot)
        return [one for one in self._read(entity.c.id.in_(query)) if one.is_of_administrators]

    def keep_secrets(self, subscription_id: str, secrets: dict[str, Document]) -> None:
        """Make ``secrets``, by destination id, all the secrets this subscription has; they are sealed."""
        with writing(self._engine) as connection:
            secret_rows = [
                {"subscription_id": subscription_id, "destination_id": destination_id}
                | sealed_columns(connection, document)
                for destination_id, document in secrets.items()
                if document
            ]
            of_alert = destination_secret.c.subscription_id == subscription_id
            connection.execute(destination_secret.delete().where(of_alert))
            if secret_rows:
                connection.execute(destination_secret.insert(), secret_rows)

    def forget(self, subscription_id: str) -> None:
        """Drop the secrets of a subscription that could not be created, and the like."""
        with writing(self._engine) as connection:
            erase_alerts(connection, [subscription_id])

    def _read(self, *conditions: ColumnElement[bool]) -> list[EventSubscription]:
        return [parse() for _, parse in self._parsers(*conditions)]

    def _parse(self, subscription_ids: Collection[str] | None) -> tuple[list[EventSubscription], dict[str, str]]:
        """Return subscriptions, and why others cannot be parsed; of a few ids those alone, else all."""
        parsed, unparsable = list[EventSubscription](), dict[str, str]()
        for subscription_id, parse in self._parsers(*_with_ids(subscription_ids)):
            try:
                parsed.append(parse())
            except ValueError as error:  # an older version stored it, or a person wrote into the database
                unparsable[subscription_id] = str(error)
        return parsed, unparsable

    def _parsers(self, *conditions: ColumnElement[bool]) -> list[tuple[str, Callable[[], EventSubscription]]]:
        """Return ids, and what parses the document of each; it raises ValueError where it means nothing."""
        query = select(
            entity.c.id,
            entity.c.document,
            _CREATED_AT.label("created_at_ms"),
            _CREATOR.label("creator_id"),
            IS_OF_ADMINISTRATORS.label("is_of_administrators"),
        ).where(entity.c.entity_type == ENTITY_TYPE, entity.c.deleted.is_(False), *conditions)
        with reading(self._engine) as connection:
            alerts = connection.execute(query.order_by(entity.c.fqn)).all()
            watermarks = _watermarks(connection, [row.id for row in alerts])
            bots = _bots(connection, [row.id for row in alerts])
        return [
            (row.id, partial(_subscription, row, watermarks.get(row.id, -1) + 1, bots.get(row.id, {})))
            for row in alerts
        ]


def _with_ids(subscription_ids: Collection[str] | None) -> list[ColumnElement[bool]]:
    """Return what limits a reading to these subscriptions, as far as that makes it faster."""
    is_all = subscription_ids is None or len(subscription_ids) > _MOST_BY_ID
    return [] if is_all else [entity.c.id.in_(sorted(subscription_ids or ()))]


def _for_sending(
    connection: Connection, subscription: EventSubscription, sealed_texts: Iterable[tuple[str, str]]
) -> ForSending:
    try:
        secrets = {destination: vault_of(connection).open(from_text(text)) for destination, text in sealed_texts}
        return ForSending(_with_clear(subscription, secrets), None)
    except (StaleSecrets, WrongKey) as unreadable:
        return ForSending(subscription, unreadable.message)


def _with_clear(subscription: EventSubscription, secrets: dict[str, Document]) -> EventSubscription:
    """Return a subscription with these secrets, by destination id, in place of their masks."""
    destinations = []
    for destination in subscription.destinations:
        document = destination.to_wire()
        config = document.get("config", {})
        clear = with_secrets(config, secrets.get(destination.id, {}))
        destinations.append(
            destination if clear == config else Destination.model_validate({**document, "config": clear})
        )
    return subscription.model_copy(update={"destinations": type(subscription.destinations)(destinations)})


def sealed_columns(connection: Connection, secrets: Document) -> Document:
    """Return what is stored of the secrets of a destination, sealed."""
    bot = bot_key_of(secrets["botToken"]) if "botToken" in secrets else None
    return {"document": to_text(vault_of(connection).seal(secrets)), "bot": bot}


def _watermarks(connection: Connection, subscription_ids: Collection[str]) -> dict[str, int]:
    """Return the offset of the event that created each alert or last enabled it."""
    event, offsets = change_event.c, dict[str, int]()
    query = select(event.entity_id, event.log_offset, event.derived).where(
        (event.event_type == EventType.ENTITY_CREATED.value) | event.derived.contains(f'"{_SWITCH}"')
    )
    for row in rows_by_key(connection, query.order_by(event.log_offset), event.entity_id, subscription_ids):
        changed = json.loads(row.derived)
        if _SWITCH in changed["fieldsUpdated"] or row.entity_id not in offsets:
            offsets[row.entity_id] = row.log_offset
    return offsets


def _bots(connection: Connection, subscription_ids: Collection[str]) -> dict[str, dict[str, str]]:
    """Return what tells the bots of these alerts apart, by alert and destination."""
    secret, bots = destination_secret.c, dict[str, dict[str, str]]()
    query = select(secret.subscription_id, secret.destination_id, secret.bot).where(secret.bot.is_not(None))
    for row in rows_by_key(connection, query, secret.subscription_id, subscription_ids):
        bots.setdefault(row.subscription_id, {})[row.destination_id] = row.bot
    return bots


def _subscription(
    row: Row[*tuple[Any, ...]],  # Any: a column's value
    since_offset: int,
    bots: dict[str, str],
) -> EventSubscription:
    alert = alert_of(json.loads(row.document), created_at_ms=row.created_at_ms or 0, since_offset=since_offset)
    who = {"creator_id": row.creator_id or "", "is_of_administrators": bool(row.is_of_administrators)}
    return alert.model_copy(update={**who, "bots": bots})


def erase_alerts(connection: Connection, subscription_ids: Collection[str]) -> None:
    """Drop the secrets and the status of subscriptions that are deleted for good, and who had muted them."""
    columns = (mute.c.about_id, destination_secret.c.subscription_id, destination_status.c.subscription_id)
    for column in columns:
        delete_by_key(connection, column, subscription_ids)
