"""Change requests in the store: announced, answered and changed in the transaction of a write, and read.

Numbers have no gaps: writers that announce take turns. Next: ``catalogue/changes.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Engine,
    Row,
    Select,
    and_,
    bindparam,
    cast,
    func,
    insert,
    or_,
    select,
    text,
    tuple_,
    update,
)

from tocsin.chunks import chunks_of
from tocsin.flow.track.change_requests import DAY_MS
from tocsin.model.announcement import ChangeOutcome
from tocsin.model.change_request import (
    AnnouncedChange,
    AnswerWay,
    Basis,
    ChangeConsumer,
    ChangeKind,
    ConsumerAnswer,
    ConsumerVerdict,
    RequestStatus,
    RequestStep,
    RequestStepKind,
    StandingRequest,
    number_in,
)
from tocsin.model.entity import Document
from tocsin.store.catalogue.relations.past import CONSUMER, Relation
from tocsin.store.database.change_tables import change_request, change_request_consumer, change_request_step
from tocsin.store.database.engine import fetch_first, fetch_rows, is_sqlite, reading
from tocsin.store.database.keys import is_one_of, rows_by_key, take_by_key
from tocsin.store.database.page_bytes import BoundedList
from tocsin.store.database.statements import Prepared
from tocsin.store.database.tables import change_event, entity

_ROW, _STEP, _CONSUMER = change_request.c, change_request_step.c, change_request_consumer.c
_TURN = text("SELECT pg_advisory_xact_lock(hashtext('tocsin change requests'))")
_STANDS = (_ROW.withdrawn_at_ms.is_(None), _ROW.done_at_ms.is_(None))
_IS_DEPRECATION = _ROW.kind == ChangeKind.DEPRECATION.value
_COUNTS = and_(
    _ROW.withdrawn_at_ms.is_(None),
    or_(_ROW.done_at_ms.is_(None), and_(_IS_DEPRECATION, _ROW.outcome == ChangeOutcome.AS_ANNOUNCED.value)),
)
"""Which requests changes are compared with: a deprecation that is done says what is announced of the asset, too."""
_STANDS_OF_ONE = Prepared(select(_ROW.id).where(_ROW.entity_id == bindparam("entity_id"), _COUNTS).limit(1))
_CHANGEABLE = ("due_at_ms", "withdrawn_at_ms", "done_at_ms", "outcome", "updated_at_ms", "remind_at_ms")
_DECIDED = (RequestStepKind.ASKED.value, RequestStepKind.MISSING.value)
"""Steps after which a request that is due asks its author no more."""
MOST_REMOVED = 1000
"""Assets, deleted for good, among which one is looked for by its name."""
MOST_LISTED = 100
"""Requests of one asset that a list of assets shows."""
_OF_REQUEST, _OF_CONSUMER, _ANSWER = "of_request", "of_consumer", "answer"
_ANSWERING = (
    update(change_request_consumer)
    .where(_CONSUMER.request_id == bindparam(_OF_REQUEST), _CONSUMER.consumer_id == bindparam(_OF_CONSUMER))
    .values(step_id=bindparam(_ANSWER))
)
"""Makes steps the present answers of their consumers."""
_ANSWERED = change_request_consumer.outerjoin(change_request_step, _STEP.id == _CONSUMER.step_id)


class SqlChangeRequests:
    """Change requests on the connection of a transaction (``flow/capture/change_request_ports.py``)."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def hold(self, request_id: str) -> AnnouncedChange | None:
        """Return a request and hold it; None if there is none."""
        query = select(change_request).where(_ROW.id == request_id).with_for_update()
        row = self._connection.execute(query).one_or_none()
        return None if row is None else request_of(row)

    def find(self, request_id: str) -> AnnouncedChange | None:
        """Return a request, without holding it; None if there is none."""
        row = self._connection.execute(select(change_request).where(_ROW.id == request_id)).one_or_none()
        return None if row is None else request_of(row)

    def standing(self, entity_ids: Collection[str]) -> dict[str, list[StandingRequest]]:
        """Return, by asset, the requests that are neither withdrawn nor done, and deprecations done by themselves."""
        if len(entity_ids) == 1 and not self._has_standing(*entity_ids):  # nearly every write
            return {}
        query = select(change_request).where(_COUNTS)
        request_rows = rows_by_key(self._connection, query, _ROW.entity_id, entity_ids)
        requests = {one.id: one for one in map(request_of, request_rows)}
        if not requests:
            return {}
        counts = _verdict_counts(self._connection, list(requests))
        standing: dict[str, list[StandingRequest]] = {}
        for request_id, request in requests.items():
            of_it = counts[request_id]
            entry = StandingRequest(request, of_it.get(None, 0), ConsumerVerdict.OBJECTS in of_it)
            standing.setdefault(request.entity_id, []).append(entry)
        return standing

    def _has_standing(self, entity_id: str) -> bool:
        return _STANDS_OF_ONE.run(self._connection, {"entity_id": entity_id}).fetchone() is not None

    def is_asked(self, request_id: str, since_ms: int) -> bool:
        """Return whether the author of a request was asked, at a time or later, or was not as its column is missing."""
        is_it = (_STEP.request_id == request_id, _STEP.kind.in_(_DECIDED), _STEP.at_ms >= since_ms)
        return self._connection.execute(select(_STEP.id).where(*is_it).limit(1)).one_or_none() is not None

    def reminded_at_ms(self, request_id: str, consumer_id: str) -> int | None:
        """Return when one consumer of a request alone was last reminded; None: never."""
        query = select(func.max(_STEP.at_ms)).where(_STEP.request_id == request_id, _STEP.consumer_id == consumer_id)
        query = query.where(_STEP.kind == RequestStepKind.REMINDED.value)
        reminded_at_ms: int | None = self._connection.execute(query).scalar_one()
        return reminded_at_ms

    def open_count(self, request_id: str) -> int:
        """Return how many consumers of a request have not answered."""
        query = select(func.count()).where(_CONSUMER.request_id == request_id, _CONSUMER.step_id.is_(None))
        return int(self._connection.execute(query).scalar_one())

    def announced_count(self, author_id: str, at_ms: int) -> int:
        """Return how many requests of a person are announced at a time."""
        query = select(func.count()).where(_ROW.author_id == author_id)
        query = query.where(*_STANDS, _ROW.due_at_ms > at_ms)
        return int(self._connection.execute(query).scalar_one())

    def announce(self, request: AnnouncedChange, consumers: Sequence[ChangeConsumer]) -> AnnouncedChange:
        """Add a request with its consumers, and return it with its number."""
        if not is_sqlite(self._connection):  # SQLite has one writer
            self._connection.execute(_TURN)
        last = self._connection.execute(select(func.coalesce(func.max(_ROW.number), 0))).scalar_one()
        numbered = replace(request, number=int(last) + 1)
        self._connection.execute(insert(change_request), {**vars(numbered), "kind": numbered.kind.value})
        self.add_consumers(numbered.id, consumers, numbered.announced_at_ms)
        return numbered

    def add_consumers(self, request_id: str, consumers: Sequence[ChangeConsumer], at_ms: int) -> None:
        """Add those of these consumers that a request has not; the others keep their answers."""
        query = select(_CONSUMER.consumer_id).where(_CONSUMER.request_id == request_id)
        known_ids = set(self._connection.execute(query).scalars())
        new_rows = [_consumer_row(request_id, one, at_ms) for one in consumers if one.id not in known_ids]
        for chunk in chunks_of(new_rows):
            self._connection.execute(insert(change_request_consumer), chunk)

    def put(self, after: AnnouncedChange) -> None:
        """Replace the state of a request."""
        values = {name: getattr(after, name) for name in _CHANGEABLE}
        self._connection.execute(update(change_request).where(_ROW.id == after.id).values(values))

    def add_steps(self, steps: Sequence[RequestStep]) -> None:
        """Add what a person did; an answer becomes the present one of its consumer."""
        for chunk in chunks_of(steps):
            self._connection.execute(insert(change_request_step), [_step_row(one) for one in chunk])
        answers = [
            {_OF_REQUEST: step.request_id, _OF_CONSUMER: step.consumer_id, _ANSWER: step.id}
            for step in steps
            if step.kind is RequestStepKind.ANSWERED
        ]
        if answers:
            self._connection.execute(_ANSWERING, answers)

    def attach_event(self, step_id: str, event_id: str | None) -> None:
        """Note which event tells of a step."""
        self._connection.execute(update(change_request_step).where(_STEP.id == step_id).values(event_id=event_id))

    def answers(self, request_id: str) -> list[ConsumerAnswer]:
        """Return the consumers of a request with their answers."""
        return [_answer_of(row) for row in self._connection.execute(_answers_to(request_id))]


def erase(connection: Connection, entity_ids: Collection[str]) -> list[Relation]:
    """Remove assets or people who are about to go from the consumers of all requests; return what they were to them.

    ``since_offset`` is that of the first event about the request since it was added; None: there was none.
    """
    added_ms = func.coalesce(_CONSUMER.added_at_ms, 0)
    columns = (_CONSUMER.request_id, _CONSUMER.consumer_id, _CONSUMER.consumer_type, added_ms)
    removed_rows = take_by_key(connection, columns, _CONSUMER.consumer_id, entity_ids)
    if not removed_rows:
        return []
    events = _events_about(connection, {row.request_id for row in removed_rows})
    return [
        {
            "entity_id": request_id,
            "relation": CONSUMER,
            "other_id": consumer_id,
            "other_type": consumer_type,
            "since_offset": min((offset for at_ms, offset in events[request_id] if at_ms >= added_at_ms), default=None),
        }
        for request_id, consumer_id, consumer_type, added_at_ms in map(tuple, removed_rows)
    ]


def _events_about(connection: Connection, request_ids: Collection[str]) -> dict[str, list[tuple[int, int]]]:
    """Return, by request, the times (epoch milliseconds) and offsets of the events that tell of its steps."""
    query = select(_STEP.request_id, _STEP.at_ms, change_event.c.log_offset)
    query = query.join(change_event, change_event.c.id == _STEP.event_id)
    events: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for request_id, at_ms, offset in rows_by_key(connection, query, _STEP.request_id, request_ids):
        events[request_id].append((at_ms, offset))
    return events


@dataclass(frozen=True)
class RequestFilter:
    """Filters of requests; None is no filter. ``status`` is that at the time ``at_ms``."""

    at_ms: int
    status: RequestStatus | None = None
    entity_id: str | None = None
    author_id: str | None = None


class ChangeRequestLog:
    """The change requests of one store."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def find(self, name: str) -> AnnouncedChange | None:
        """Return the request with that number (``CR-12``) or id."""
        number = number_in(name)
        condition = _ROW.id == name if number is None else _ROW.number == number
        row = fetch_first(self._engine, select(change_request).where(condition))
        return None if row is None else request_of(row)

    def list_announced(self, entity_id: str, due_at_ms: int) -> list[AnnouncedChange]:
        """Return the requests about an asset for a date that are not withdrawn, newest first."""
        return self._requests_for(_ROW.entity_id == entity_id, due_at_ms)

    def list_announced_of_removed(self, entity_type: str, due_at_ms: int) -> list[AnnouncedChange]:
        """Return such requests about all assets of a type that are deleted for good."""
        return self._requests_for(and_(_ROW.entity_type == entity_type, ~_is_stored()), due_at_ms)

    def list_removed(self, entity_types: Collection[str]) -> list[Document]:
        """Return references to the assets of these types that are deleted for good, those last announced first.

        At most ``MOST_REMOVED``.
        """
        query = select(_ROW.entity_id, _ROW.entity_type).where(_ROW.entity_type.in_(entity_types), ~_is_stored())
        query = query.group_by(_ROW.entity_id, _ROW.entity_type).order_by(func.max(_ROW.number).desc())
        subject_rows = fetch_rows(self._engine, query.limit(MOST_REMOVED))
        return [{"id": row.entity_id, "type": row.entity_type} for row in subject_rows]

    def _requests_for(self, condition: ColumnElement[bool], due_at_ms: int) -> list[AnnouncedChange]:
        query = select(change_request).where(condition, _ROW.due_at_ms == due_at_ms, _ROW.withdrawn_at_ms.is_(None))
        return [request_of(row) for row in fetch_rows(self._engine, query.order_by(_ROW.number.desc()))]

    def page(self, criteria: RequestFilter, *, limit: int, before: int | None = None) -> BoundedList[AnnouncedChange]:
        """Return at most ``limit`` requests, newest first, with numbers below ``before``."""
        query = select(change_request)
        for column, value in ((_ROW.entity_id, criteria.entity_id), (_ROW.author_id, criteria.author_id)):
            query = query if value is None else query.where(column == value)
        if criteria.status is RequestStatus.WITHDRAWN:
            query = query.where(_ROW.withdrawn_at_ms.is_not(None))
        elif criteria.status is RequestStatus.DONE:
            query = query.where(_ROW.done_at_ms.is_not(None))
        elif criteria.status is not None:
            is_due = _ROW.due_at_ms <= criteria.at_ms
            is_asked = is_due if criteria.status is RequestStatus.DUE else ~is_due
            query = query.where(*_STANDS, is_asked)
        if before is not None:
            query = query.where(_ROW.number < before)
        requests = fetch_rows(self._engine, query.order_by(_ROW.number.desc()).limit(limit))
        return BoundedList(map(request_of, requests))

    def list_standing(self, entity_ids: Collection[str]) -> dict[str, list[AnnouncedChange]]:
        """Return, by asset, the newest ``MOST_LISTED`` requests that are neither withdrawn nor done, newest first."""
        place = func.row_number().over(partition_by=_ROW.entity_id, order_by=_ROW.number.desc()).label("place")
        standing: dict[str, list[AnnouncedChange]] = {}
        with reading(self._engine) as connection:
            is_wanted = is_one_of(connection, _ROW.entity_id, entity_ids)
            placed = select(change_request, place).where(*_STANDS, is_wanted).subquery()
            query = select(placed).where(placed.c.place <= MOST_LISTED).order_by(placed.c.number.desc())
            for row in connection.execute(query):
                standing.setdefault(row.entity_id, []).append(request_of(row))
        return standing

    def list_unasked(self, at_ms: int) -> list[str]:
        """Return the ids of requests that are due and not done, about assets that are there, still to be decided."""
        is_asking = (_STEP.request_id == _ROW.id, _STEP.kind.in_(_DECIDED))
        asking = select(_STEP.id).where(*is_asking, _STEP.at_ms >= _ROW.due_at_ms).exists()
        query = select(_ROW.id).where(*_STANDS, _ROW.due_at_ms <= at_ms, ~asking, _is_there())
        query = query.where(~_IS_DEPRECATION).order_by(_ROW.number)
        return [row.id for row in fetch_rows(self._engine, query)]

    def list_due_deprecations(self, at_ms: int) -> list[str]:
        """Return the ids of deprecations that are due and not done."""
        query = select(_ROW.id).where(*_STANDS, _IS_DEPRECATION, _ROW.due_at_ms <= at_ms)
        return [row.id for row in fetch_rows(self._engine, query.order_by(_ROW.number))]

    def list_to_remind(self, at_ms: int) -> list[str]:
        """Return the ids of requests about what is there that have open consumers and a reminder due at a time."""
        is_open = (_CONSUMER.request_id == _ROW.id, _CONSUMER.step_id.is_(None))
        has_open = select(_CONSUMER.consumer_id).where(*is_open).exists()
        two_intervals_ms = cast(_ROW.remind_every_days, BigInteger) * (2 * DAY_MS)
        is_far_ahead = _ROW.remind_at_ms - at_ms >= two_intervals_ms  # noted by a clock that has been set back since
        is_time = or_(_ROW.remind_at_ms <= at_ms, is_far_ahead)
        query = select(_ROW.id).where(*_STANDS, is_time, _ROW.due_at_ms > at_ms)
        query = query.where(has_open, _is_there()).order_by(_ROW.number)
        return [row.id for row in fetch_rows(self._engine, query)]

    def list_carried_out(self, entity_id: str) -> list[AnnouncedChange]:
        """Return the requests about an asset that ended with what they announced: on the date, early or objected."""
        query = select(change_request).where(_ROW.entity_id == entity_id)
        query = query.where(_ROW.outcome.is_not(None), _ROW.outcome != ChangeOutcome.OTHERWISE.value)
        return [request_of(row) for row in fetch_rows(self._engine, query)]

    def verdicts(self, request_ids: Collection[str]) -> dict[str, dict[ConsumerVerdict | None, int]]:
        """Return, by request, how many consumers answered what; None counts those that have not."""
        with reading(self._engine) as connection:
            return _verdict_counts(connection, request_ids)

    def consumers(
        self, request_id: str, *, limit: int | None = None, after: tuple[int, str] | None = None
    ) -> BoundedList[ConsumerAnswer]:
        """Return consumers of a request with their answers, nearest first, after a level and an id."""
        query = _answers_to(request_id)
        if after is not None:
            query = query.where(tuple_(_CONSUMER.level, _CONSUMER.consumer_id) > after)
        query = query.order_by(_CONSUMER.level, _CONSUMER.consumer_id).limit(limit)
        return BoundedList(map(_answer_of, fetch_rows(self._engine, query)))

    def steps(self, request_id: str, *, limit: int, after: tuple[int, str] | None = None) -> list[RequestStep]:
        """Return what people did to a request, in order, after a time and an id."""
        query = select(change_request_step).where(_STEP.request_id == request_id)
        if after is not None:
            query = query.where(tuple_(_STEP.at_ms, _STEP.id) > after)
        return [step_of(row) for row in fetch_rows(self._engine, query.order_by(_STEP.at_ms, _STEP.id).limit(limit))]


def _is_there() -> ColumnElement[bool]:
    """Return the condition that the asset of a request is there."""
    return select(entity.c.id).where(entity.c.id == _ROW.entity_id, ~entity.c.deleted).exists()


def _is_stored() -> ColumnElement[bool]:
    """Return the condition that the asset of a request is there, softly deleted or not."""
    return select(entity.c.id).where(entity.c.id == _ROW.entity_id).exists()


def _answers_to(request_id: str) -> Select[Any]:  # Any: columns of two tables
    steps = (column.label(f"step_{name}") for name, column in _STEP.items() if name != "id")
    query = select(change_request_consumer, *steps).select_from(_ANSWERED)
    return query.where(_CONSUMER.request_id == request_id)


def _verdict_counts(
    connection: Connection, request_ids: Collection[str]
) -> dict[str, dict[ConsumerVerdict | None, int]]:
    query = select(_CONSUMER.request_id, _STEP.verdict, func.count()).select_from(_ANSWERED)
    query = query.group_by(_CONSUMER.request_id, _STEP.verdict)
    counts: dict[str, dict[ConsumerVerdict | None, int]] = {one: {} for one in request_ids}
    for request_id, verdict, count in rows_by_key(connection, query, _CONSUMER.request_id, request_ids):
        counts[request_id][verdict and ConsumerVerdict(verdict)] = count
    return counts


def request_of(row: Row[Any]) -> AnnouncedChange:  # Any: SQLAlchemy's tuple of columns
    """Return the request in a row."""
    values = {name: getattr(row, name) for name in AnnouncedChange.__dataclass_fields__}
    outcome = None if row.outcome is None else ChangeOutcome(row.outcome)
    return AnnouncedChange(**{**values, "kind": ChangeKind(row.kind), "outcome": outcome})


def step_of(row: Row[Any]) -> RequestStep:  # Any: as above
    """Return the step in a row."""
    return _step({name: getattr(row, name) for name in RequestStep.__dataclass_fields__})


def _step(values: dict[str, Any]) -> RequestStep:  # Any: as above
    verdict, way = values["verdict"], values["way"]
    return RequestStep(
        **{
            **values,
            "kind": RequestStepKind(values["kind"]),
            "verdict": None if verdict is None else ConsumerVerdict(verdict),
            "way": None if way is None else AnswerWay(way),
        }
    )


def _answer_of(row: Row[Any]) -> ConsumerAnswer:  # Any: as above
    step_values = {name: getattr(row, f"step_{name}") for name in RequestStep.__dataclass_fields__}
    return ConsumerAnswer(_consumer_of(row), None if row.step_id is None else _step(step_values))


def _consumer_of(row: Row[Any]) -> ChangeConsumer:  # Any: as above
    return ChangeConsumer(row.consumer_id, row.consumer_type, row.level, Basis(row.basis))


def _consumer_row(request_id: str, consumer: ChangeConsumer, at_ms: int) -> dict[str, object]:
    return {
        "request_id": request_id,
        "consumer_id": consumer.id,
        "consumer_type": consumer.type,
        "level": consumer.level,
        "basis": consumer.basis.value,
        "added_at_ms": at_ms,
    }


def _step_row(step: RequestStep) -> dict[str, object]:
    verdict, way = (None if one is None else one.value for one in (step.verdict, step.way))
    return {**vars(step), "kind": step.kind.value, "verdict": verdict, "way": way}
