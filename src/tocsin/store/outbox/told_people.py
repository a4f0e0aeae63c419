"""People whom a failure was told of, for messages to those who may know: administrators, and editors of the alert.

One statement finds who may know among the readers of a claim; another one, only for those, whom a failure was told of.
Next: ``store/outbox/failure_messages.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, func, or_, select, union_all
from sqlalchemy.sql.expression import literal

from tocsin.chunks import chunks_of
from tocsin.delivery.dispatch import Dispatch, ToldPeople
from tocsin.store.database.alert_tables import alert_editor
from tocsin.store.database.engine import is_sqlite
from tocsin.store.database.keys import is_one_of
from tocsin.store.database.tables import notification, person

_MOST_NAMED = 5
_FAILURES_EACH = 50
"""The people of so many failures are read in one statement."""

_NOTE, _PERSON, _EDITOR = notification.c, person.c, alert_editor.c
_EVERY_ALERT = ""


class _Failure(NamedTuple):
    """The place of a failure in the log, and the alerts of which the recipients are asked for; none: of all."""

    offset: int
    alert_ids: frozenset[str]


class _People(NamedTuple):
    """Ids and names of the first people, and how many there are."""

    first_people: list[tuple[str, str]]
    total: int


def told_people(connection: Connection, dispatches: Sequence[Dispatch]) -> dict[str, ToldPeople]:
    """Return whom else the failures of these messages, each of one notification, were told of; by notification."""
    alerts_by_reader = _alerts_known(
        connection, {one.first.recipient_id for one in dispatches if one.first.recipient_id}
    )
    failures: dict[str, _Failure] = {}
    for dispatch in dispatches:
        known_alerts = alerts_by_reader.get(dispatch.first.recipient_id or "", set())
        own_alerts = {reason.subscription_id for reason in dispatch.first.reasons} & known_alerts
        if _EVERY_ALERT in known_alerts or own_alerts:
            alert_ids = frozenset() if _EVERY_ALERT in known_alerts else frozenset(own_alerts)
            failures[dispatch.first.notification_id] = _Failure(dispatch.first.log_offset, alert_ids)
    people = _people_of(connection, set(failures.values()))
    return {
        first.notification_id: _without_reader(people[failures[first.notification_id]], first.recipient_id)
        for first in (dispatch.first for dispatch in dispatches)
        if first.notification_id in failures
    }


def _alerts_known(connection: Connection, readers: Collection[str]) -> Mapping[str, set[str]]:
    """Return the alerts of which each of these people may know the recipients."""
    alerts: dict[str, set[str]] = defaultdict(set)
    if not readers:
        return alerts
    administrators = select(_PERSON.user_id, literal(_EVERY_ALERT)).where(_PERSON.is_admin, ~_PERSON.deleted)
    editors = select(_EDITOR.user_id, _EDITOR.subscription_id).where(_EDITOR.is_editor)
    query = union_all(
        administrators.where(is_one_of(connection, _PERSON.user_id, readers)),
        editors.where(is_one_of(connection, _EDITOR.user_id, readers)),
    )
    for user_id, alert_id in connection.execute(query):
        alerts[user_id].add(alert_id)
    return alerts


def _people_of(connection: Connection, failures: Collection[_Failure]) -> dict[_Failure, _People]:
    """Return some people whom each of these failures was told of, in order, and how many there are."""
    people: dict[_Failure, _People] = {failure: _People([], 0) for failure in failures}
    for chunk in chunks_of(people, _FAILURES_EACH):
        queries = [select(_first_people(connection, *numbered).subquery()) for numbered in enumerate(chunk)]
        page = union_all(*queries) if len(queries) > 1 else queries[0]
        for row in sorted(connection.execute(page), key=attrgetter("name")):
            first_people = people[chunk[row.number]].first_people
            people[chunk[row.number]] = _People([*first_people, (row.user_id, row.name)], row.people_count)
    return people


def _first_people(connection: Connection, number: int, failure: _Failure) -> Select[Any]:
    """Return the query of some people whom a failure was told of: its number, ids and names, and how many there are."""
    people_count = func.count().over().label("people_count")
    name = func.coalesce(func.nullif(_PERSON.display_name, ""), _PERSON.name).label("name")
    query = select(literal(number).label("number"), _PERSON.user_id, name, people_count)
    query = query.join(notification, _NOTE.recipient_id == _PERSON.user_id).where(_NOTE.log_offset == failure.offset)
    if failure.alert_ids:
        position = func.instr if is_sqlite(connection) else func.strpos
        query = query.where(or_(*(position(_NOTE.reasons, one) > 0 for one in sorted(failure.alert_ids))))
    return (
        query.group_by(_PERSON.user_id, _PERSON.name, _PERSON.display_name)
        .order_by(_PERSON.name)
        .limit(_MOST_NAMED + 1)
    )


def _without_reader(people: _People, reader: str | None) -> ToldPeople:
    """Return people but for the reader, to whom the message goes that names them."""
    first_people, count = people
    other_people = [person for person in first_people if person[0] != reader][:_MOST_NAMED]
    ids, names = tuple(user_id for user_id, _ in other_people), tuple(name for _, name in other_people)
    return ToldPeople(names, max(0, count - 1), ids)
