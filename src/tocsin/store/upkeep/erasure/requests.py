"""Requested erasures of users, and what identifies a user: in all versions, events, and erasures that did not end.

Next: ``store/eventlog/requested_jobs.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
from sqlalchemy import Connection, Engine, Row, false, func, insert, or_, select, update

from tocsin.errors import Conflict
from tocsin.model.entity import Document
from tocsin.model.erasure import Erasure, PersonalIdentity, identity_in
from tocsin.model.look_alikes import look_of
from tocsin.model.requested_job import JobState
from tocsin.model.spellings import fold
from tocsin.store.database.documents import from_text, to_text
from tocsin.store.database.engine import fetch_first, reading, writing
from tocsin.store.database.people_tables import erasure, name_look
from tocsin.store.database.retention_tables import deleted_entity
from tocsin.store.database.snapshots import EVENT_TEXT, VERSION_TEXT, Texts
from tocsin.store.database.tables import change_event, entity_version, message, person
from tocsin.store.database.vault import vault_of
from tocsin.store.eventlog.requested_jobs import RequestedJobs
from tocsin.store.upkeep.erasure.needles import ESCAPE, like_patterns
from tocsin.store.upkeep.retention.policy import holds_on

KIND = "erasures"
"""What the pipeline's being there for erasures is called in the store."""

_ROW = erasure.c


class Erasures(RequestedJobs[Erasure]):
    """The erasures of one store."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine, erasure, KIND)

    def job_of(self, row: Row[*tuple[Any, ...]]) -> Erasure:  # Any: a column's value
        """Return the erasure in a row."""
        return Erasure(
            id=row.id,
            user_id=row.user_id,
            requested_by=row.requested_by,
            requested_at_ms=row.requested_at_ms,
            is_dry=row.is_dry,
            identity=None if row.identity is None else self._open_identity(row.identity),
            state=JobState(row.state),
            done_count=row.done_count,
            total_count=row.total_count,
            tries=row.tries,
            result=None if row.result is None else from_text(row.result),
            reason=row.reason,
            ended_at_ms=row.ended_at_ms,
        )

    def add(self, request: Erasure) -> None:
        """Store a request.

        Raises
        ------
        Conflict : one of this user is under way, or a legal hold is in force
        """
        with writing(self._engine) as connection:
            under_way = select(func.count()).where(_ROW.user_id == request.user_id, self._is_open)
            if connection.execute(under_way).scalar_one():
                raise Conflict("An erasure of this user is under way; wait for it.")
            if not request.is_dry:
                _check_no_hold(connection)
            row = {
                **{name: getattr(request, name) for name in ("id", "user_id", "requested_by", "requested_at_ms")},
                "is_dry": request.is_dry,
                "identity": None if request.identity is None else self._seal_identity(connection, request.identity),
                "state": request.state.value,
            }
            connection.execute(insert(erasure), row)

    def renew_identity(self, request: Erasure) -> PersonalIdentity:
        """Return what identifies the user now, all that did at the request included, and keep it for the next try.

        Raises
        ------
        Conflict : a legal hold is in force
        """
        identity = self.identity_of(request.user_id)
        with writing(self._engine) as connection:
            _check_no_hold(connection)
            sealed_identity = self._seal_identity(connection, identity)
            connection.execute(update(erasure).where(_ROW.id == request.id).values(identity=sealed_identity))
        return identity

    def newest_of(self, user_id: str) -> Erasure | None:
        """Return the erasure of a user that was requested last."""
        query = select(erasure).where(_ROW.user_id == user_id).order_by(_ROW.requested_at_ms.desc(), _ROW.id).limit(1)
        row = fetch_first(self._engine, query)
        return None if row is None else self.job_of(row)

    def forget_identity(self, user_id: str) -> None:
        """Forget what identified a user, once nothing contains it any more."""
        with writing(self._engine) as connection:
            connection.execute(update(erasure).where(_ROW.user_id == user_id).values(identity=None))

    def identity_of(self, user_id: str) -> PersonalIdentity:
        """Return what identifies a user; without any name where nothing is known of them."""
        with reading(self._engine) as connection:
            unfinished_texts = connection.scalars(select(_ROW.identity).where(_ROW.user_id == user_id))
            identity_documents = [
                vault_of(connection).open(from_text(text)) for text in unfinished_texts if text is not None
            ]
            earlier_identities = [PersonalIdentity.from_json(document) for document in identity_documents]
            stored_identity = identity_in(user_id, _versions(connection, user_id))
            names = stored_identity.names.union(*(identity.names for identity in earlier_identities))
            emails = stored_identity.emails.union(*(identity.emails for identity in earlier_identities))
            display_names = stored_identity.display_names.union(
                *(identity.display_names for identity in earlier_identities)
            )
            shared_spellings = _shared_spellings(connection, PersonalIdentity(user_id, names, emails, display_names))
        return PersonalIdentity(user_id, names, emails, display_names, shared_spellings)

    def sent_counts(self, user_id: str) -> dict[str, int]:
        """Return how many messages to a user went out, by channel."""
        query = select(message.c.channel, func.count()).where(message.c.recipient_id == user_id)
        with reading(self._engine) as connection:
            return {row[0]: row[1] for row in connection.execute(query.group_by(message.c.channel))}

    def _seal_identity(self, connection: Connection, identity: PersonalIdentity) -> str:
        return to_text(vault_of(connection).seal(identity.to_json()))

    def _open_identity(self, text: str) -> PersonalIdentity:
        with reading(self._engine) as connection:
            return PersonalIdentity.from_json(vault_of(connection).open(from_text(text)))


def _check_no_hold(connection: Connection) -> None:
    if holds := holds_on(connection):
        raise Conflict(f"Legal hold {holds[0].id} is in force: nothing is erased until it is lifted.")


def _shared_spellings(connection: Connection, identity: PersonalIdentity) -> frozenset[str]:
    """Return which of these names and addresses another user has now."""
    look_by_name = {name: look_of(name) for name in identity.names}
    address_by_email = {email: email.strip().lower() for email in identity.emails}
    of_others = person.c.user_id != identity.user_id
    names = select(name_look.c.look).join(person, person.c.user_id == name_look.c.entity_id)
    looks = connection.scalars(names.where(of_others, name_look.c.look.in_(look_by_name.values())))
    addresses = connection.scalars(
        select(person.c.email).where(of_others, person.c.email.in_(address_by_email.values()))
    )
    patterns = {pattern for name in identity.display_names for pattern in like_patterns(name)}
    is_like = or_(false(), *(person.c.display_name.ilike(pattern, escape=ESCAPE) for pattern in patterns))
    full_names = {fold(name) for name in connection.scalars(select(person.c.display_name).where(of_others, is_like))}
    taken_keys = {*looks, *addresses}
    spellings = {**look_by_name, **address_by_email}
    shared_names = {name for name in identity.display_names if fold(name) in full_names}
    return frozenset(spelling for spelling, key in spellings.items() if key in taken_keys).union(shared_names)


def _is_user(connection: Connection, user_id: str) -> bool:
    """Return whether an id is that of a user, there or deleted."""
    queries = (
        select(person.c.user_id).where(person.c.user_id == user_id),
        *(
            select(table.c.entity_id).where(table.c.entity_id == user_id, table.c.entity_type == "user").limit(1)
            for table in (change_event, deleted_entity)
        ),
    )
    return any(connection.execute(query).first() is not None for query in queries)


def _versions(connection: Connection, user_id: str) -> Iterator[Document]:
    """Yield the versions of a user, and what the events about it hold of it; none if the id is no user's."""
    if not _is_user(connection, user_id):
        return
    texts = Texts(connection)
    last_states = select(deleted_entity.c.document).where(deleted_entity.c.entity_id == user_id)
    yield from map(from_text, connection.scalars(last_states))
    versions = select(*VERSION_TEXT).where(entity_version.c.entity_id == user_id)
    for row in connection.execute(versions):
        yield orjson.loads(texts.of(row))
    events = select(*EVENT_TEXT).where(change_event.c.entity_id == user_id)
    for row in connection.execute(events):
        event = orjson.loads(texts.of(row))
        yield event.get("entity") or {}
        for changes in (event.get("changeDescription") or {}).values():
            for change in changes if isinstance(changes, list) else ():
                yield {change["name"]: change.get("oldValue")}
                yield {change["name"]: change.get("newValue")}
