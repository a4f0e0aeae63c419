"""People whom events about change requests ask, each for one event alone: at its place in the log.

Next: ``store/recipients/directory.py``, and for reminders that waited ``store/outbox/current_state.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, Row, Select, false, func, literal, select

from tocsin.clock import LATEST_MS
from tocsin.flow.resolve.directory import NO_END, Principal
from tocsin.model.change import ChangeEvent
from tocsin.model.change_request import (
    NOT_ASKED,
    AskedAsset,
    AskedFor,
    Basis,
    ConsumerVerdict,
    ObjectionReason,
    RequestNow,
    RequestStatus,
    RequestStepKind,
    request_in,
    tells_author,
)
from tocsin.model.notification import Reason, ReasonKind
from tocsin.store.catalogue.relations.past import CONSUMER
from tocsin.store.database.change_tables import change_request, change_request_consumer, change_request_step
from tocsin.store.database.dialects import json_text
from tocsin.store.database.engine import reading
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.tables import change_event, entity, past_relation
from tocsin.store.recipients import relations_over_time

_ROW, _STEP, _CONSUMER = change_request.c, change_request_step.c, change_request_consumer.c
_OFFSET, _PAST = change_event.c.log_offset, past_relation.c
_MOST_EVENTS = 16
"""Events of which it is remembered whom they asked: one may ask thousands of people, each by a message of their own."""


_ASKS = tuple(one.value for one in (RequestStepKind.ANNOUNCED, RequestStepKind.MOVED, RequestStepKind.REMINDED))
"""Steps whose events ask consumers for an answer."""


class AskingEvent(NamedTuple):
    """An event that asked for answers: its place in the log, its step, and the ids of people by consumer."""

    offset: int
    kind: RequestStepKind
    people: Mapping[str, Collection[str]]


class _Asking(NamedTuple):
    """An event about a request: its place in the log, the asset, the author, and the step that it tells of.

    ``consumer_id`` is the only consumer that a reminder concerns; None: all that were open.
    """

    request_id: str
    entity_id: str
    author_id: str
    offset: int
    kind: RequestStepKind
    at_ms: int
    event_id: str
    consumer_id: str | None = None

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
    """A consumer of a request, an asset or a person who follows; ``answered_at_ms``: when it was first answered for.

    One that is there was added at a time; of one that is deleted for good is known for which events it was there.
    """

    id: str
    answered_at_ms: int
    is_person: bool
    reads_column: bool
    level: int
    added_at_ms: int = 0
    since_offset: int = 0
    until_offset: int = NO_END

    @property
    def is_open(self) -> bool:
        """Return whether it is there and has no answer."""
        return self.answered_at_ms == LATEST_MS and self.until_offset == NO_END

    def is_asked_by(self, asking: _Asking) -> bool:
        """Return whether it was a consumer when an event was written, and the event is not for another one alone."""
        if asking.is_reminder and asking.consumer_id not in (None, self.id):
            return False
        return self.added_at_ms <= asking.at_ms and self.since_offset <= asking.offset <= self.until_offset


_Consumers = Mapping[_Asking, Sequence[_Consumer]]
"""Consumers of the request of each event."""


def people_asked_at(connection: Connection, entity_ids: Collection[str], from_offset: int) -> Iterator[Principal]:
    """Yield whom events, at this offset or later, ask about requests of these assets.

    Of a request that is due, or answered, its author; else who answered for its consumers when the event was written,
    of a reminder for those that were open.
    """
    query = _query_of_askings().where(from_offset <= _OFFSET)
    askings = [_event_of(row) for row in rows_by_key(connection, query, _ROW.entity_id, entity_ids)]
    yield from (one.principal(one.author_id, "user") for one in askings if one.is_of_author)
    of_consumers = [one for one in askings if not one.is_of_author]
    if of_consumers:
        asked_consumers = {
            asking: _consumers_of_asking(asking, many)
            for asking, many in _consumers_of(connection, of_consumers).items()
        }
        yield from (principal for _, principal in _who_answer(connection, asked_consumers, from_offset))


def requests_that_ask(connection: Connection, request_ids: Collection[str]) -> set[str]:
    """Return which of these requests are neither withdrawn nor done, and have a consumer without an answer."""
    is_open = (_CONSUMER.request_id == _ROW.id, _CONSUMER.step_id.is_(None))
    query = select(_ROW.id).where(_ROW.withdrawn_at_ms.is_(None), _ROW.done_at_ms.is_(None))
    query = query.where(select(_CONSUMER.consumer_id).where(*is_open).exists())
    return {row.id for row in rows_by_key(connection, query, _ROW.id, request_ids)}


def requests_now(connection: Connection, request_ids: Collection[str]) -> dict[str, RequestNow]:
    """Return these requests as they are stored, by their ids."""
    query = select(_ROW.id, _ROW.author_id, _ROW.due_at_ms, _ROW.withdrawn_at_ms, _ROW.done_at_ms)
    requests: dict[str, RequestNow] = {}
    for row in rows_by_key(connection, query, _ROW.id, request_ids):
        end = None if row.done_at_ms is None else RequestStatus.DONE
        end = end if row.withdrawn_at_ms is None else RequestStatus.WITHDRAWN
        requests[row.id] = RequestNow(row.author_id, row.due_at_ms, end)
    return requests


def askings_open_for(connection: Connection, entity_ids: Mapping[str, str], user_id: str) -> set[str]:
    """Return which of these events, given with their assets, ask a person for an answer that is still missing.

    Of a request that is withdrawn or done nothing is missing, nor where another member of their team has answered.
    """
    lasts = (_ROW.withdrawn_at_ms.is_(None), _ROW.done_at_ms.is_(None))
    query = _query_of_askings().where(*lasts)
    rows_of_assets = rows_by_key(connection, query, _ROW.entity_id, set(entity_ids.values()))
    askings = [_event_of(row) for row in rows_of_assets if row.event_id in entity_ids]
    askings = [one for one in askings if not one.is_of_author]
    consumers = _consumers_of(connection, askings)
    pairs = select(_CONSUMER.request_id, _CONSUMER.consumer_id).where(_CONSUMER.step_id.is_(None))
    requests = {one.request_id for one in askings}
    open_pairs = {tuple(row) for row in rows_by_key(connection, pairs, _CONSUMER.request_id, requests)}
    open_consumers = {
        asking: [one for one in many if (asking.request_id, one.id) in open_pairs] for asking, many in consumers.items()
    }
    if not any(open_consumers.values()):
        return set()
    return {asking.event_id for asking, people in _people_of(connection, open_consumers).items() if user_id in people}


def people_who_answered(connection: Connection, request_ids: Collection[str]) -> dict[str, set[str]]:
    """Return, by the ids of events that remind of these requests, people whom they asked and who have answered since.

    What they answer for has an answer, be it theirs or another member's of their team.
    """
    query = _query_of_askings().where(_STEP.kind == RequestStepKind.REMINDED.value)
    askings = [_event_of(row) for row in rows_by_key(connection, query, _STEP.request_id, request_ids)]
    consumers = _consumers_of(connection, askings)
    answered_consumers = {
        asking: [one for one in many if asking.at_ms < one.answered_at_ms < LATEST_MS]
        for asking, many in consumers.items()
    }
    if not any(answered_consumers.values()):
        return {}
    open_consumers = {asking: [one for one in many if one.is_open] for asking, many in consumers.items()}
    answering, asked_people = (_people_of(connection, many) for many in (answered_consumers, open_consumers))
    return {asking.event_id: answering[asking] - asked_people[asking] for asking in askings}


class _AskedPeople(NamedTuple):
    """Whom an event has asked: the consumers by who answers for them, and the teams among those of each person."""

    consumers: Mapping[str, Sequence[_Consumer]]
    teams: Mapping[str, Sequence[str]]


class AskedConsumers:
    """What events about change requests have asked people for: the assets and teams by the names that they have now."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._asked_by = lru_cache(maxsize=_MOST_EVENTS)(self._read)  # whom an event has asked never changes

    def of_notification(self, event: ChangeEvent, reasons: Sequence[Reason], user_id: str | None) -> AskedFor:
        """Return what a notification asks its recipient for, hidden or not; nothing if it asks nobody."""
        if user_id is None or all(reason.kind is not ReasonKind.ASKED for reason in reasons):
            return NOT_ASKED
        return self.of_event(event, user_id)

    def of_event(self, event: ChangeEvent, user_id: str) -> AskedFor:
        """Return what an event asks a person for, hidden or not; nothing if that is no request.

        It asks its author for nothing, and says why a consumer objects.
        """
        if tells_author(event):
            return AskedFor(objection=self._objection(event, user_id))
        request = request_in(event)
        return self.of(str(request.get("id")), event.id, user_id) if request else NOT_ASKED

    def _objection(self, event: ChangeEvent, author_id: str) -> ObjectionReason | None:
        """Return why a consumer objects, if the event tells that, and that person is the request's author."""
        request = request_in(event) or {}
        answer = request.get("answered")
        if not isinstance(answer, dict) or answer.get("answer") != ConsumerVerdict.OBJECTS:
            return None
        display_name = json_text(entity.c.document, "displayName").label("display_name")
        query = select(_STEP.comment, entity.c.entity_type, entity.c.fqn, display_name).join(
            entity, entity.c.id == _STEP.consumer_id
        )
        query = query.join(change_request, _ROW.id == _STEP.request_id)
        query = query.where(_ROW.author_id == author_id, _STEP.request_id == str(request.get("id")))
        query = query.where(_STEP.event_id == event.id, _STEP.comment.is_not(None))
        with reading(self._engine) as connection:
            row = connection.execute(query).first()
        if row is None:
            return None
        return ObjectionReason(row.fqn, row.comment, row.display_name if row.entity_type == "user" else None)

    def of(self, request_id: str, event_id: str, user_id: str) -> AskedFor:
        """Return what an event has asked a person for, hidden or not; nothing if it does not ask them."""
        people = self._asked_by(request_id, event_id)
        own_teams, follows = people.teams.get(user_id, ()), False
        held_consumers: list[tuple[str | None, _Consumer]] = []
        for team_id in (None, *own_teams):
            for consumer in people.consumers.get(team_id or user_id, ()):
                follows = follows or consumer.is_person
                held_consumers += [] if consumer.is_person else [(team_id, consumer)]
        ids = {*own_teams, *(consumer.id for _, consumer in held_consumers)}
        query = select(entity.c.id, entity.c.name, entity.c.fqn)
        with reading(self._engine) as connection:
            rows_by_id = {row.id: row for row in rows_by_key(connection, query, entity.c.id, ids)}
        held_consumers = [
            (team_id, consumer)
            for team_id, consumer in held_consumers
            if consumer.id in rows_by_id and (team_id is None or team_id in rows_by_id)
        ]
        held_consumers.sort(key=lambda one: (one[1].level, rows_by_id[one[1].id].fqn))
        assets = (
            AskedAsset(
                rows_by_id[consumer.id].fqn,
                rows_by_id[consumer.id].name,
                rows_by_id[team_id].name if team_id else None,
                consumer.reads_column,
            )
            for team_id, consumer in held_consumers
        )
        return AskedFor(tuple(assets), follows)

    def newest_of_request(self, request_id: str, *, limit: int) -> list[AskingEvent]:
        """Return the newest events that asked consumers of a request, newest first, each with the people it asked."""
        query = _query_of_askings().where(_STEP.request_id == request_id, _STEP.kind.in_(_ASKS))
        with reading(self._engine) as connection:
            askings = [_event_of(row) for row in connection.execute(query.order_by(_OFFSET.desc()).limit(limit))]
            people = _people_by_consumer(connection, askings) if askings else {}
        return [AskingEvent(one.offset, one.kind, people[one]) for one in askings]

    def _read(self, request_id: str, event_id: str) -> _AskedPeople:
        query = _query_of_askings().where(_STEP.request_id == request_id, _STEP.event_id == event_id)
        with reading(self._engine) as connection:
            events = map(_event_of, connection.execute(query))
            asking = next((one for one in events if not one.is_of_author), None)
            if asking is None:
                return _AskedPeople({}, {})
            asked_consumers = _consumers_of_asking(asking, _consumers_of(connection, [asking])[asking])
            consumers: dict[str, list[_Consumer]] = defaultdict(list)
            team_ids: set[str] = set()
            for _, consumer, (who, kind) in _answers_needed(connection, {asking: asked_consumers}, asking.offset):
                consumers[who].append(consumer)
                team_ids |= {who} if kind == "team" else set()
            teams: dict[str, list[str]] = defaultdict(list)
            for team_id, user_id, (since, until) in relations_over_time.members_over_time(
                connection, team_ids, asking.offset
            ):
                if since <= asking.offset <= until:
                    teams[user_id].append(team_id)
        return _AskedPeople(dict(consumers), dict(teams))


def _consumers_of_asking(asking: _Asking, consumers: Sequence[_Consumer]) -> list[_Consumer]:
    """Return those of the consumers of an event that it asks about: a reminder only those that were open."""
    return [one for one in consumers if not asking.is_reminder or one.answered_at_ms > asking.at_ms]


def _query_of_askings() -> Select[Any]:  # Any: columns of three tables
    """Return the query of the events that tell of steps of requests."""
    columns = (_ROW.id, _ROW.entity_id, _ROW.author_id, _OFFSET, _STEP.kind, _STEP.at_ms, _STEP.event_id)
    query = select(*columns, _STEP.consumer_id).join(change_request_step, _STEP.request_id == _ROW.id)
    return query.join(change_event, change_event.c.id == _STEP.event_id)


def _event_of(row: Row[Any]) -> _Asking:  # Any: as above
    kind = RequestStepKind(row.kind)
    return _Asking(row.id, row.entity_id, row.author_id, row.log_offset, kind, row.at_ms, row.event_id, row.consumer_id)


def _consumers_of(connection: Connection, askings: Sequence[_Asking]) -> dict[_Asking, list[_Consumer]]:
    """Return the consumers that the request of each event had then, those of reminders with their first answers."""
    first_answers = _first_answers(connection, {one.request_id for one in askings if one.is_reminder})
    consumers: dict[str, list[_Consumer]] = defaultdict(list)
    for request_id, consumer_id, *details in _consumer_rows(connection, {one.request_id for one in askings}):
        answered_at_ms = first_answers[request_id].get(consumer_id, LATEST_MS)
        consumers[request_id].append(_Consumer(consumer_id, answered_at_ms, *details))
    return {asking: [one for one in consumers[asking.request_id] if one.is_asked_by(asking)] for asking in askings}


def _consumer_rows(connection: Connection, request_ids: Collection[str]) -> Iterator[Any]:  # Any: rows of SQLAlchemy's
    """Yield the fields of the consumers of requests, also of those deleted for good, without answers."""
    bases = [_CONSUMER.basis == basis.value for basis in (Basis.FOLLOW, Basis.COLUMN)]
    added_at_ms = func.coalesce(_CONSUMER.added_at_ms, 0)
    query = select(_CONSUMER.request_id, _CONSUMER.consumer_id, *bases, _CONSUMER.level, added_at_ms)
    yield from rows_by_key(connection, query, _CONSUMER.request_id, request_ids)
    details = (_PAST.other_type == "user", false(), literal(0), literal(0), _PAST.since_offset, _PAST.until_offset)
    past_query = select(_PAST.entity_id, _PAST.other_id, *details).where(_PAST.relation == CONSUMER)
    yield from rows_by_key(connection, past_query, _PAST.entity_id, request_ids)


def _who_answer(connection: Connection, consumers: _Consumers, from_offset: int) -> Iterator[tuple[_Asking, Principal]]:
    """Yield who answers for the consumers of each event, each once."""
    principals: dict[_Asking, set[tuple[str, str]]] = {asking: set() for asking in consumers}
    for asking, _, principal in _answers_needed(connection, consumers, from_offset):
        principals[asking].add(principal)
    for asking, many in principals.items():
        yield from ((asking, asking.principal(*one)) for one in sorted(many))


def _answers_needed(
    connection: Connection, consumers: _Consumers, from_offset: int
) -> Iterator[tuple[_Asking, _Consumer, tuple[str, str]]]:
    """Yield each consumer of each event with the id and type of who answers: for assets who owned them at the event."""
    asset_ids = {one.id for many in consumers.values() for one in many if not one.is_person}
    owners: dict[str, list[Principal]] = defaultdict(list)
    for owner in relations_over_time.owners(connection, asset_ids, from_offset) if asset_ids else ():
        owners[str(owner.node_id)].append(owner)
    for asking, many in consumers.items():
        yield from ((asking, consumer, (consumer.id, "user")) for consumer in many if consumer.is_person)
        yield from (
            (asking, consumer, (owner.principal_id, owner.principal_type))
            for consumer in many
            for owner in owners[consumer.id]
            if owner.since_offset <= asking.offset <= owner.until_offset
        )


def _people_of(connection: Connection, consumers: _Consumers) -> dict[_Asking, set[str]]:
    """Return the people who answer for the consumers of each event, those of teams included."""
    from_offset = min(asking.offset for asking in consumers)
    principals = list(_who_answer(connection, consumers, from_offset))
    team_ids = {one.principal_id for _, one in principals if one.principal_type == "team"}
    members: dict[str, list[tuple[str, relations_over_time.Span]]] = defaultdict(list)
    for team_id, user_id, span in relations_over_time.members_over_time(connection, team_ids, from_offset):
        members[team_id].append((user_id, span))
    people: dict[_Asking, set[str]] = {asking: set() for asking in consumers}
    for asking, principal in principals:
        if principal.principal_type == "user":
            people[asking].add(principal.principal_id)
        people[asking] |= {
            user for user, (since, until) in members[principal.principal_id] if since <= asking.offset <= until
        }
    return people


def _people_by_consumer(connection: Connection, askings: Sequence[_Asking]) -> dict[_Asking, dict[str, set[str]]]:
    """Return, by event and consumer, the people who answered for it then, those of teams included."""
    from_offset = min(one.offset for one in askings)
    consumers = {
        asking: _consumers_of_asking(asking, many) for asking, many in _consumers_of(connection, askings).items()
    }
    answers = list(_answers_needed(connection, consumers, from_offset))
    team_ids = {principal_id for _, _, (principal_id, kind) in answers if kind == "team"}
    members: dict[str, list[tuple[str, relations_over_time.Span]]] = defaultdict(list)
    for team_id, user_id, span in relations_over_time.members_over_time(connection, team_ids, from_offset):
        members[team_id].append((user_id, span))
    people: dict[_Asking, dict[str, set[str]]] = {asking: defaultdict(set) for asking in askings}
    for asking, consumer, (principal_id, kind) in answers:
        people[asking][consumer.id] |= {principal_id} if kind == "user" else set()
        people[asking][consumer.id] |= {
            user for user, (since, until) in members[principal_id] if since <= asking.offset <= until
        }
    return people


def _first_answers(connection: Connection, request_ids: Collection[str]) -> dict[str, dict[str, int]]:
    """Return, by request, when each of its consumers was first answered for, epoch milliseconds."""
    query = select(_STEP.request_id, _STEP.consumer_id, func.min(_STEP.at_ms))
    query = query.where(_STEP.kind == RequestStepKind.ANSWERED.value).group_by(_STEP.request_id, _STEP.consumer_id)
    first_answers: dict[str, dict[str, int]] = defaultdict(dict)
    for request_id, consumer_id, at_ms in rows_by_key(connection, query, _STEP.request_id, request_ids):
        first_answers[request_id][consumer_id] = at_ms
    return first_answers
