"""Incidents in the store: the states of each, newest first, by test case, table, status or assignee.

Written inside the transaction of ``store/catalogue/entities/write.py``; ``catalogue/quality/incidents.py`` defines the
states.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, Select, and_, func, insert, or_, select, true, update

from tocsin.access.nodes import Condition
from tocsin.catalogue.quality.incidents import with_test_case
from tocsin.chunks import chunks_of
from tocsin.errors import NotFound
from tocsin.logic import ALWAYS
from tocsin.model.entity import Document
from tocsin.model.report import IncidentStep
from tocsin.store.catalogue.access.visibility import visible
from tocsin.store.database import tables
from tocsin.store.database.cursors import DocumentPage, ReportWindow, place_of, place_text
from tocsin.store.database.documents import REFERENCE, from_text, reference_of, references_by_id, to_text
from tocsin.store.database.engine import reading
from tocsin.store.database.observation_tables import incident_status

_ROW = incident_status.c
_ENTITY = tables.entity.c
_NAMED_ALIKE = ("id", "state_id", "test_case_id", "tested_id", "status", "assignee_id")
"""What a step and its row call the same."""

_PEOPLE = ("assignee", "resolvedBy", "updatedBy")
"""Keys of a step and of its details that name a user or team."""


@dataclass(frozen=True)
class IncidentStateFilter:
    """Filters of incident states; None is no filter.

    Attributes
    ----------
    latest : only the newest step of each test case
    tested_id : id of the table whose test cases are meant
    visible : which test cases the requester may see
    """

    statuses: Collection[str] | None = None
    assignee_id: str | None = None
    test_case_id: str | None = None
    tested_id: str | None = None
    latest: bool = False
    visible: Condition = ALWAYS


class SqlIncidents:
    """Incidents on the connection of a transaction."""

    def __init__(self, connection: Connection) -> None:
        self._run = connection.execute

    def latest(self, test_case_id: str) -> IncidentStep | None:
        """Return the newest step of all incidents of a test case."""
        newest = (
            select(incident_status).where(_ROW.test_case_id == test_case_id).order_by(_ROW.timestamp_ms.desc()).limit(1)
        )
        return self._step(newest)

    def get(self, step_id: str) -> IncidentStep | None:
        """Return one step."""
        return self._step(select(incident_status).where(_ROW.id == step_id))

    def add(self, step: IncidentStep) -> None:
        """Add a step, the newest of its test case from now on."""
        older = and_(_ROW.test_case_id == step.test_case_id, _ROW.latest)
        self._run(update(incident_status).where(older).values(latest=False))
        alike = {name: getattr(step, name) for name in _NAMED_ALIKE}
        row = {"timestamp_ms": step.at_ms, "latest": True, "document": to_text(step.document)}
        self._run(insert(incident_status), alike | row)

    def correct(self, step: IncidentStep) -> None:
        """Replace a step's document."""
        self._run(update(incident_status).where(_ROW.id == step.id).values(document=to_text(step.document)))

    def _step(self, query: Select[Any]) -> IncidentStep | None:  # Any: SQLAlchemy's tuple of columns
        row = self._run(query).one_or_none()
        if row is None:
            return None
        alike = {name: getattr(row, name) for name in _NAMED_ALIKE}
        return IncidentStep(at_ms=row.timestamp_ms, document=from_text(row.document), **alike)


class IncidentLog:
    """Reads incidents; one per engine, safe to share between threads."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def get(self, step_id: str) -> Document:
        """Return one step.

        Raises
        ------
        NotFound : there is no such step
        """
        steps = self._steps(_steps_with_cases().where(_ROW.id == step_id))
        if not steps:
            raise NotFound(f"incident status {step_id} not found")
        return steps[0]

    def of_state(self, state_id: str) -> list[Document]:
        """Return all steps of one incident, newest first."""
        return self._steps(_steps_with_cases().where(_ROW.state_id == state_id).order_by(_ROW.timestamp_ms.desc()))

    def of_states(self, state_ids: Collection[str]) -> dict[str, list[Document]]:
        """Return all steps of these incidents, of each the newest first."""
        steps_by_state: dict[str, list[Document]] = {state_id: [] for state_id in state_ids}
        for chunk in chunks_of(sorted(state_ids)):
            query = _steps_with_cases().where(_ROW.state_id.in_(chunk)).order_by(_ROW.timestamp_ms.desc())
            for step in self._steps(query):
                steps_by_state[step["stateId"]].append(step)
        return steps_by_state

    def latest_of(self, test_case_ids: Sequence[str]) -> dict[str, Document]:
        """Return the newest step of each test case that has had an incident, by the test case's id."""
        queries = (
            _steps_with_cases().where(_ROW.latest, _ROW.test_case_id.in_(chunk)) for chunk in chunks_of(test_case_ids)
        )
        return {step["testCaseReference"]["id"]: step for query in queries for step in self._steps(query)}

    def page(self, state_filter: IncidentStateFilter, window: ReportWindow) -> DocumentPage:
        """Return a page of steps, newest first."""
        with reading(self._engine) as connection:
            conditions = [*_conditions(state_filter, window), _is_visible(connection, state_filter.visible)]
            total = select(func.count()).select_from(incident_status).where(*conditions)
            total_count = connection.execute(total).scalar_one()
        query = _steps_with_cases().where(*conditions, *_lies_in(window))
        backwards = window.before is not None
        order = (_ROW.timestamp_ms, _ROW.id.desc()) if backwards else (_ROW.timestamp_ms.desc(), _ROW.id)
        steps = self._steps(query.order_by(*order).limit(window.limit + 1))
        page_steps = steps[: window.limit]
        onward = _cursor_at(page_steps[-1]) if page_steps and len(steps) > len(page_steps) else None
        if backwards:
            back = _cursor_at(page_steps[0]) if page_steps else None
            return DocumentPage(page_steps[::-1], total_count, after=back, before=onward)
        return DocumentPage(page_steps, total_count, after=onward)

    def _steps(self, query: Select[Any]) -> list[Document]:  # Any: SQLAlchemy's tuple of columns
        with reading(self._engine) as connection:
            steps = [with_test_case(from_text(text), reference_of(*case)) for text, *case in connection.execute(query)]
            _update_people(connection, steps)
        return steps


def _cursor_at(step: Document) -> str:
    return place_text(step["timestamp"], step["id"])


def _lies_in(window: ReportWindow) -> list[ColumnElement[bool]]:
    """Return the condition that a step lies after or before the place of a window, the newest first."""
    if window.before is not None:
        at_ms, step_id = place_of(window.before)
        return [or_(_ROW.timestamp_ms > at_ms, and_(_ROW.timestamp_ms == at_ms, _ROW.id < step_id))]
    if window.after is not None:
        at_ms, step_id = place_of(window.after)
        return [or_(_ROW.timestamp_ms < at_ms, and_(_ROW.timestamp_ms == at_ms, _ROW.id > step_id))]
    return []


def _update_people(connection: Connection, steps: list[Document]) -> None:
    """Replace the people whom a step names by their present selves; people deleted for good stay as they were."""
    holders = [holder for step in steps for holder in (step, step.get("testCaseResolutionStatusDetails") or {})]
    people_ids = {holder[key]["id"] for holder in holders for key in _PEOPLE if isinstance(holder.get(key), dict)}
    people = references_by_id(connection, people_ids)
    for holder in holders:
        for key in _PEOPLE:
            if isinstance(holder.get(key), dict):
                holder[key] = holder[key] | people.get(holder[key]["id"], {})


def _steps_with_cases() -> Select[Any]:  # Any: SQLAlchemy's tuple of columns
    return select(_ROW.document, *REFERENCE).join(tables.entity, _ENTITY.id == _ROW.test_case_id)


def _is_visible(connection: Connection, scope: Condition) -> ColumnElement[bool]:
    if scope is ALWAYS:
        return true()
    condition = visible(scope)
    return _ROW.test_case_id.in_(select(_ENTITY.id).where(_ENTITY.entity_type == "testCase", condition))


def _conditions(state_filter: IncidentStateFilter, window: ReportWindow) -> list[Any]:  # Any: SQLAlchemy's conditions
    conditions: list[Any] = [_ROW.timestamp_ms.between(window.start_ms, window.end_ms)]
    filters = (
        (_ROW.assignee_id, state_filter.assignee_id),
        (_ROW.test_case_id, state_filter.test_case_id),
        (_ROW.tested_id, state_filter.tested_id),
    )
    conditions += [column == value for column, value in filters if value is not None]
    if state_filter.statuses is not None:
        conditions.append(_ROW.status.in_(sorted(state_filter.statuses)))
    return [*conditions, _ROW.latest] if state_filter.latest else conditions
