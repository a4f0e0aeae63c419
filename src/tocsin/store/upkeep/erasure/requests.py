"""Requested erasures of users, and what identifies a user: in all versions, events, and erasures that did not end.

Next: ``store/eventlog/requested_jobs.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
from sqlalchemy import Connection, Engine, Row, func, insert, select, update

from tocsin.errors import Conflict
from tocsin.model.entity import Document
from tocsin.model.erasure import Erasure, PersonalIdentity, identity_in
from tocsin.model.requested_job import JobState
from tocsin.store.database.documents import from_text, to_text
from tocsin.store.database.engine import fetch_first, reading, writing
from tocsin.store.database.people_tables import erasure
from tocsin.store.database.snapshots import EVENT_TEXT, VERSION_TEXT, Texts
from tocsin.store.database.tables import change_event, entity_version, message
from tocsin.store.database.vault import vault_of
from tocsin.store.eventlog.requested_jobs import RequestedJobs
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
            if not request.is_dry and (holds := holds_on(connection)):
                raise Conflict(f"Legal hold {holds[0].id} is in force: nothing is erased until it is lifted.")
            row = {
                **{name: getattr(request, name) for name in ("id", "user_id", "requested_by", "requested_at_ms")},
                "is_dry": request.is_dry,
                "identity": None if request.identity is None else self._seal_identity(connection, request.identity),
                "state": request.state.value,
            }
            connection.execute(insert(erasure), row)

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
            unfinished = connection.scalars(select(_ROW.identity).where(_ROW.user_id == user_id))
            unsealed = [vault_of(connection).open(from_text(text)) for text in unfinished if text is not None]
            earlier = [PersonalIdentity.from_json(document) for document in unsealed]
            stored = identity_in(user_id, _versions(connection, user_id))
        return PersonalIdentity(
            user_id,
            stored.names.union(*(identity.names for identity in earlier)),
            stored.emails.union(*(identity.emails for identity in earlier)),
            stored.display_names.union(*(identity.display_names for identity in earlier)),
        )

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


def _versions(connection: Connection, user_id: str) -> Iterator[Document]:
    """Yield the versions of a user, and what the events about it hold of it."""
    texts = Texts(connection)
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
