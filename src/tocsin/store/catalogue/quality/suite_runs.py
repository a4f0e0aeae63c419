"""Runs of test suites: where the last one of each ended, and the results that make the next one.

Stored is only where the last run of a suite ended; runs follow from the stored results
(``catalogue/quality/suite_runs.py``). That row is also the lock under which results of the suite are looked at, so that
of two that come at the same time the second sees the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, FromClause, Label, Select, and_, bindparam, case, func, select, update

from tocsin.catalogue.observations.profiles import place_of
from tocsin.model.report import SuiteResult, SuiteRun
from tocsin.store.database.documents import REFERENCE, reference_of
from tocsin.store.database.engine import insert_into
from tocsin.store.database.keys import rows_by_key
from tocsin.store.database.observation_tables import series, suite_member, suite_run
from tocsin.store.database.statements import Prepared
from tocsin.store.database.tables import entity

_ENTITY, _MEMBER, _RESULT, _RUN = entity.c, suite_member.c, series.c, suite_run.c
_QUEUED, _SUCCEEDED = "Queued", "Success"
_REFERENCE_COUNT = len(REFERENCE)


def _live_tests(*columns: ColumnElement[Any]) -> Select[Any]:  # Any: SQLAlchemy's tuple of columns
    """Return the query of these columns of a suite's tests that are not deleted."""
    tests = select(*columns).select_from(entity).join(suite_member, _MEMBER.test_case_id == _ENTITY.id)
    return tests.where(_MEMBER.suite_id == bindparam("suite_id"), _ENTITY.deleted.is_(False))


def _time_of_result(*conditions: ColumnElement[bool], order: ColumnElement[Any]) -> Label[Any]:
    """Return the time of the first result of a test of the surrounding query, in this order."""
    is_done = func.coalesce(_RESULT.status, _QUEUED) != _QUEUED
    query = select(_RESULT.timestamp_ms).where(_is_result_of(_ENTITY.id), is_done, *conditions).correlate(entity)
    return query.order_by(order).limit(1).scalar_subquery().label("at_ms")


def _is_result_of(test_case_id: ColumnElement[str]) -> ColumnElement[bool]:
    return and_(_RESULT.entity_id == test_case_id, _RESULT.kind == "testCaseResult", _RESULT.part == "")


_AT_MS = _RESULT.timestamp_ms
_AFTER, _BEFORE = bindparam("after_ms") < _AT_MS, bindparam("before_ms") > _AT_MS
_UNTIL = bindparam("at_ms") >= _AT_MS
_FIRST_TIME = _time_of_result(_AFTER, _BEFORE, order=_AT_MS)
_FIRST = _live_tests(_FIRST_TIME).subquery()
_LAST = _live_tests(_time_of_result(_BEFORE, order=_AT_MS.desc())).subquery()
_NEWEST = _live_tests(*REFERENCE, _time_of_result(_UNTIL, order=_AT_MS.desc())).subquery()
_SUITES_OF_TEST = select(_MEMBER.suite_id).where(_MEMBER.test_case_id == bindparam("test_case_id"))

_HOLD_SUITES = Prepared(
    select(_ENTITY.id)
    .where(_ENTITY.id.in_(_SUITES_OF_TEST), _ENTITY.deleted.is_(False))
    .order_by(_ENTITY.id)
    .with_for_update(read=True, key_share=True)
)
_HOLD_RUNS = Prepared(
    select(_RUN.suite_id, _RUN.ended_at_ms, _RUN.status)
    .where(_RUN.suite_id.in_(_SUITES_OF_TEST))
    .order_by(_RUN.suite_id)
    .with_for_update()
)
_LACKING = Prepared(
    _live_tests(_ENTITY.id).where(_FIRST_TIME.element.is_(None)).order_by(_MEMBER.test_case_id.desc()).limit(1)
)
"""A test without a result: the newest of them, because tests tend to report in the order in which they were made."""
_NEXT_END = Prepared(select(func.max(_FIRST.c.at_ms)))
_NEWEST_BEFORE = Prepared(select(func.max(_LAST.c.at_ms)))
_FAILED_RESULT, _SUCCESS = series.alias("failed_result"), series.alias("success")


def _is_result_until(result: FromClause) -> ColumnElement[bool]:
    """Return whether a result is one of the newest result's test, not after it."""
    is_of_test = and_(result.c.entity_id == _NEWEST.c.id, result.c.kind == "testCaseResult", result.c.part == "")
    return and_(is_of_test, result.c.timestamp_ms <= _NEWEST.c.at_ms)


_LAST_SUCCESS_MS = (
    select(func.max(_SUCCESS.c.timestamp_ms))
    .where(_is_result_until(_SUCCESS), _SUCCESS.c.status == _SUCCEEDED)
    .correlate(_NEWEST)
    .scalar_subquery()
)
_FAILING_SINCE_MS = (
    select(func.min(_FAILED_RESULT.c.timestamp_ms))
    .where(_is_result_until(_FAILED_RESULT), func.coalesce(_FAILED_RESULT.c.status, _QUEUED) != _QUEUED)
    .where(_FAILED_RESULT.c.timestamp_ms > func.coalesce(_LAST_SUCCESS_MS, -1))
    .correlate(_NEWEST)
    .scalar_subquery()
)
_RESULTS = Prepared(
    select(_NEWEST, _RESULT.status, case((_RESULT.status != _SUCCEEDED, _FAILING_SINCE_MS)))
    .join(series, and_(_is_result_of(_NEWEST.c.id), _NEWEST.c.at_ms == _AT_MS))
    .order_by(_NEWEST.c.fqn)
)
_END = Prepared(
    update(suite_run)
    .where(_RUN.suite_id == bindparam("of_suite"))
    .values(ended_at_ms=bindparam("at_ms"), status=bindparam("worst"))
)


class SqlSuiteRuns:
    """Runs of suites on the connection of a transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def hold(self, test_case_id: str) -> list[SuiteRun]:
        """Return the last run of each live suite of a test case, by the suite's id, and hold them in that order.

        No suite among them can be deleted for good before the transaction ends.
        """
        of_test = {"test_case_id": test_case_id}
        ids = [row[0] for row in _HOLD_SUITES.run(self._connection, of_test).fetchall()]
        runs = self._held_runs(of_test)
        if missing_ids := [one for one in ids if one not in runs]:
            self._begin(missing_ids)
            runs = self._held_runs(of_test)
        return [runs[one] for one in ids]

    def _held_runs(self, of_test: dict[str, Any]) -> dict[str, SuiteRun]:  # Any: a row's values
        return {row[0]: SuiteRun(*row) for row in _HOLD_RUNS.run(self._connection, of_test).fetchall()}

    def _begin(self, suite_ids: Sequence[str]) -> None:
        new_rows = [{"suite_id": one, "ended_at_ms": 0} for one in suite_ids]
        self._connection.execute(insert_into(self._connection, suite_run).on_conflict_do_nothing(), new_rows)

    def next_end(self, suite_id: str, *, after_ms: int, before_ms: int) -> int | None:
        """Return when each live test of a suite has a result after one moment; None if one has none before another."""
        values = {"suite_id": suite_id, "after_ms": after_ms, "before_ms": before_ms}
        if _LACKING.run(self._connection, values).fetchone():
            return None
        end_ms = _NEXT_END.run(self._connection, values).fetchone()[0]
        return None if end_ms is None else int(end_ms)

    def newest_before(self, suite_id: str, at_ms: int) -> int:
        """Return the time of the newest result of a suite's live tests before a moment; 0 if there is none."""
        values = {"suite_id": suite_id, "before_ms": at_ms}
        return int(_NEWEST_BEFORE.run(self._connection, values).fetchone()[0] or 0)

    def results(self, suite_id: str, until_ms: int) -> list[SuiteResult]:
        """Return the newest result of each live test of a suite until a moment, by the test's FQN."""
        result_rows = _RESULTS.run(self._connection, {"suite_id": suite_id, "at_ms": until_ms}).fetchall()
        tests = [(reference_of(*row[:_REFERENCE_COUNT]), *row[_REFERENCE_COUNT:]) for row in result_rows]
        table_fqns = [place_of(test["fullyQualifiedName"])[0] for test, *_ in tests]
        query = select(*REFERENCE).where(_ENTITY.entity_type == "table")
        table_rows = rows_by_key(self._connection, query, _ENTITY.fqn, set(table_fqns))
        tables = {row.fqn: reference_of(*row) for row in table_rows}
        return [
            SuiteResult(test, tables.get(table_fqn), status, at_ms, since_ms)
            for (test, at_ms, status, since_ms), table_fqn in zip(tests, table_fqns, strict=True)
        ]

    def end(self, run: SuiteRun) -> None:
        """Remember this run as the last one of its suite, which is held."""
        _END.run(self._connection, {"of_suite": run.suite_id, "at_ms": run.ended_at_ms, "worst": run.status})
