"""Routes of registered consumers of the log: administrators register them, who owns one commits its position.

Next: ``store/eventlog/consumers.py``.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Response

from tocsin.catalogue.people.retention import note_consumer
from tocsin.errors import Conflict, Forbidden, InvalidInput, NotFound
from tocsin.model.consumer import Consumer, ConsumerRequest, PositionRequest
from tocsin.model.entity import Document
from tocsin.server.http.answer_shapes import json_of
from tocsin.server.http.consumer_shape import CONSUMER, OwnedConsumer
from tocsin.server.http.errors import parse_as
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, answer, list_answer

_Name = Annotated[str, Path(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]{0,59}$", description="Name of the consumer.")]
router = DeclaredRoutes(prefix="/events/consumers", tags=["events"])


@router.get("", openapi_extra=answers("ConsumerPage"))
def list_consumers(caller: Asked) -> Response:
    """List the registered consumers by name; administrators see all, others their own."""
    consumers = caller.parts.consumers.all()
    return list_answer([_as_json(caller, one) for one in consumers if _may_commit(caller, one)])


@router.get("/{name}", openapi_extra=answers("Consumer"))
def read_consumer(name: _Name, caller: Asked) -> Response:
    """Return a registered consumer, with the offset behind the last event that it has handled."""
    return answer(_as_json(caller, _consumer(caller, name)))


@router.put("/{name}", openapi_extra=answers("Consumer", reads="ConsumerRequest"))
def register_consumer(name: _Name, body: DocumentBody, caller: Asked) -> Response:
    """Register a consumer: retention waits for it, and its lag is measured. For administrators.

    `user` commits its position, by default you. It begins at `start`: `now` (the default), `start`, or behind an
    offset. If the consumer is registered, what is left out stays as it is.
    """
    if not caller.actor.is_admin:
        raise Forbidden("Only administrators may register consumers: ask one, or keep the position yourself.")
    request, parts = parse_as(ConsumerRequest, body), caller.parts
    registered = parts.consumers.find(name)
    user_id = _user_id(caller, request.user, registered)
    log_offset = _offset_of(caller, request.start, registered)
    if registered is not None:
        parts.consumers.change(name, user_id=user_id, log_offset=log_offset)
    elif parts.consumers.register(name, user_id, log_offset=log_offset, now_ms=parts.clock.now_ms()):
        note_consumer(parts.writes, name, is_removed=False, actor=caller.actor)
    return answer(_as_json(caller, _consumer(caller, name)))


@router.put("/{name}/position", openapi_extra=answers("Consumer", reads="PositionRequest"))
def commit_position(name: _Name, body: DocumentBody, caller: Asked) -> Response:
    """Commit the position of a consumer.

    409 if the position is no longer at `previousOffset`: another process consumes under the same name.
    """
    consumer, parts = _consumer(caller, name), caller.parts
    request = parse_as(PositionRequest, body)
    if request.offset > parts.log.highest_offset():
        raise InvalidInput(f"is behind the end of the log; last committed: {consumer.log_offset}", field="offset")
    now_ms = parts.clock.now_ms()
    if not parts.consumers.commit(name, request.offset, previous=request.previous_offset, now_ms=now_ms):
        raise Conflict(
            f"Consumer {name} is at {_consumer(caller, name).log_offset}, not at {request.previous_offset}: another "
            "process consumes under this name, or the store was restored. Begin again from the committed position."
        )
    return answer(_as_json(caller, _consumer(caller, name)))


@router.delete("/{name}", openapi_extra=answers("Consumer"))
def remove_consumer(name: _Name, caller: Asked) -> Response:
    """Remove a consumer: retention no longer waits for it. For administrators."""
    if not caller.actor.is_admin:
        raise Forbidden("Only administrators may remove consumers.")
    consumer, parts = _consumer(caller, name), caller.parts
    if parts.consumers.remove(name):
        note_consumer(parts.writes, name, is_removed=True, actor=caller.actor)
    return answer(_as_json(caller, consumer))


def _consumer(caller: Caller, name: str) -> Consumer:
    consumer = caller.parts.consumers.find(name)
    if consumer is None or not _may_commit(caller, consumer):
        raise NotFound(f"There is no consumer {name} that you may use; an administrator registers it.")
    return consumer


def _may_commit(caller: Caller, consumer: Consumer) -> bool:
    return caller.actor.is_admin or caller.actor.id == consumer.user_id


def _user_id(caller: Caller, name: str | None, registered: Consumer | None) -> str:
    if name is None:
        return caller.actor.id if registered is None else registered.user_id
    person = caller.parts.people.by_name(name)
    if person is None:
        similar = caller.parts.people.other_spelling(name)
        question = f"; did you mean {similar}?" if similar else ""
        raise InvalidInput(f"there is no user {name!r}{question}", field="user")
    return person.id


def _offset_of(caller: Caller, start: int | str | None, registered: Consumer | None) -> int:
    if start is None and registered is not None:
        return registered.log_offset
    if isinstance(start, int):
        if start > caller.parts.log.highest_offset():
            raise InvalidInput("is behind the end of the log", field="start")
        return start
    return 0 if start == "start" else caller.parts.log.readable_end()


def _as_json(caller: Caller, consumer: Consumer) -> Document:
    person = caller.parts.people.by_id(consumer.user_id)
    return json_of(CONSUMER, OwnedConsumer(consumer, None if person is None else person.name))
