"""People whom events about change requests ask, each for one event alone: at its place in the log.

Next: ``store/recipients/directory.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import NamedTuple

from sqlalchemy import Connection, func, select

from tocsin.clock import LATEST_MS
from tocsin.flow.resolve.directory import Principal
from tocsin.model.change_request import Basis, RequestStepKind
from tocsin.model.notification import ReasonKind
from tocsin.store.database.change_tables import change_request, change_request_consumer, change_request_step
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.tables import change_event
from tocsin.store.recipients import relations_over_time

_ROW, _STEP, _CONSUMER = change_request.c, change_request_step.c, change_request_consumer.c
_OFFSET = change_event.c.log_offset


class _Asking(NamedTuple):
    """An event about a request: its place in the log, the asset, the author, and the step that it tells of."""

    request_id: str
    entity_id: str
    author_id: str
    offset: int
    kind: RequestStepKind
    at_ms: int

    @property
    def is_of_author(self) -> bool:
        """Return whether it concerns the author alone: what became of the request, or an answer to it."""
        return self.kind in (RequestStepKind.ASKED, RequestStepKind.ANSWERED)

    @property
    def is_reminder(self) -> bool:
        """Return whether it concerns only those that were open."""
        return self.kind is RequestStepKind.REMINDED

    def principal(self, principal_id: str, principal_type: str) -> Principal:
        """Return that this event asks a person or team."""
        return Principal(
            ReasonKind.ASKED,
            principal_id,
            principal_type,
            self.entity_id,
            since_offset=self.offset,
            until_offset=self.offset,
        )


class _Consumer(NamedTuple):
    """A consumer of a request: an asset, or a person who follows."""

    id: str
    is_person: bool
    added_at_ms: int


def people_asked_at(connection: Connection, entity_ids: Collection[str], from_offset: int) -> Iterator[Principal]:
    """Yield whom events, at this offset or later, ask about requests of these assets.

    Of a request that is due, or answered, its author; else who answered for its consumers when the event was written,
    of a reminder for those that were open.
    """
    columns = (_ROW.id, _ROW.entity_id, _ROW.author_id, _STEP.kind, _STEP.at_ms, _OFFSET)
    query = select(*columns).join(change_request_step, _STEP.request_id == _ROW.id)
    query = query.join(change_event, change_event.c.id == _STEP.event_id).where(from_offset <= _OFFSET)
    askings = [
        _Asking(request_id, entity_id, author_id, offset, RequestStepKind(kind), at_ms)
        for request_id, entity_id, author_id, kind, at_ms, offset in rows_by_key(
            connection, query, _ROW.entity_id, entity_ids
        )
    ]
    yield from (one.principal(one.author_id, "user") for one in askings if one.is_of_author)
    of_consumers = [one for one in askings if not one.is_of_author]
    if of_consumers:
        yield from _who_answer(connection, of_consumers, from_offset)


def _who_answer(connection: Connection, askings: list[_Asking], from_offset: int) -> Iterator[Principal]:
    columns = (_CONSUMER.request_id, _CONSUMER.consumer_id, _CONSUMER.basis, _CONSUMER.added_at_ms)
    request_ids = {asking.request_id for asking in askings}
    consumers: dict[str, list[_Consumer]] = defaultdict(list)
    for request_id, consumer_id, basis, added_at_ms in rows_by_key(
        connection, select(*columns), _CONSUMER.request_id, request_ids
    ):
        consumers[request_id].append(_Consumer(consumer_id, basis == Basis.FOLLOW.value, added_at_ms or 0))
    asset_ids = {one.id for many in consumers.values() for one in many if not one.is_person}
    owners: dict[str, list[Principal]] = defaultdict(list)
    for owner in relations_over_time.owners(connection, asset_ids, from_offset) if asset_ids else ():
        owners[str(owner.node_id)].append(owner)
    first_answers = _first_answers(connection, {one.request_id for one in askings if one.is_reminder})
    for asking in askings:
        consumers_then = [one for one in consumers[asking.request_id] if one.added_at_ms <= asking.at_ms]
        if asking.is_reminder:
            answers = first_answers[asking.request_id]
            consumers_then = [one for one in consumers_then if answers.get(one.id, LATEST_MS) > asking.at_ms]
        principals = {(one.id, "user") for one in consumers_then if one.is_person}
        principals |= {
            (owner.principal_id, owner.principal_type)
            for consumer in consumers_then
            for owner in owners[consumer.id]
            if owner.since_offset <= asking.offset <= owner.until_offset
        }
        yield from (asking.principal(*one) for one in sorted(principals))


def _first_answers(connection: Connection, request_ids: Collection[str]) -> dict[str, dict[str, int]]:
    """Return, by request, when each of its consumers was first answered for, epoch milliseconds."""
    query = select(_STEP.request_id, _STEP.consumer_id, func.min(_STEP.at_ms))
    query = query.where(_STEP.kind == RequestStepKind.ANSWERED.value).group_by(_STEP.request_id, _STEP.consumer_id)
    first_answers: dict[str, dict[str, int]] = defaultdict(dict)
    for request_id, consumer_id, at_ms in rows_by_key(connection, query, _STEP.request_id, request_ids):
        first_answers[request_id][consumer_id] = at_ms
    return first_answers
