"""Membership of test cases in test suites, and the summary of a suite's results.

A test case belongs to the suite of its table, named in its document, and to any number of logical suites, which are
stored only here: two documents would have to agree on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from sqlalchemy import Connection, Engine, delete, func, insert, select

from tocsin.model.entity import Document
from tocsin.store.catalogue.access.visibility import Scopes, in_scopes
from tocsin.store.catalogue.relations.suite_members import is_member
from tocsin.store.database.documents import REFERENCE, reference_of
from tocsin.store.database.engine import fetch_rows
from tocsin.store.database.observation_tables import series, suite_member
from tocsin.store.database.tables import entity

_MEMBER = suite_member.c
ALL: Scopes = MappingProxyType({})
"""The scopes of a person who sees everything."""
STATUSES = {"Success": "success", "Failed": "failed", "Aborted": "aborted", "Queued": "queued"}
"""What a result may say, and what a suite's summary calls it."""


class SqlSuites:
    """Members of suites on the connection of a transaction."""

    def __init__(self, connection: Connection) -> None:
        self._run = connection.execute

    def add(self, suite_id: str, test_case_id: str) -> bool:
        """Put a test case into a suite; False if it is in it."""
        if self._run(select(_MEMBER.suite_id).where(is_member(suite_id, test_case_id))).first():
            return False
        self._run(insert(suite_member), {"suite_id": suite_id, "test_case_id": test_case_id, "own": False})
        return True

    def remove(self, suite_id: str, test_case_id: str) -> bool:
        """Take a test case out of a suite that is not its own; False if it is not in it."""
        deletion = delete(suite_member).where(is_member(suite_id, test_case_id), _MEMBER.own.is_(False))
        return self._run(deletion).rowcount > 0


class SuiteReader:
    """Reads suites; one per engine, safe to share between threads."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def tests(self, suite_id: str) -> list[Document]:
        """Return references to the test cases of a suite that are not deleted, by FQN."""
        query = select(*REFERENCE).join(suite_member, entity.c.id == _MEMBER.test_case_id)
        query = query.where(_MEMBER.suite_id == suite_id, entity.c.deleted.is_(False)).order_by(entity.c.fqn)
        return [reference_of(*row) for row in fetch_rows(self._engine, query)]

    def summaries(self, suite_ids: Sequence[str], scopes: Scopes = ALL) -> dict[str, Document]:
        """Return the number of tests by status of each suite, as far as ``scopes`` reach; by the suite's id."""
        is_visible = in_scopes(scopes)
        status = (
            select(series.c.status)
            .where(series.c.entity_id == _MEMBER.test_case_id, series.c.kind == "testCaseResult", series.c.part == "")
            .order_by(series.c.timestamp_ms.desc())
            .limit(1)
            .scalar_subquery()
        )
        members = (
            select(_MEMBER.suite_id, status.label("status"))
            .join(entity, entity.c.id == _MEMBER.test_case_id)
            .where(_MEMBER.suite_id.in_(suite_ids), entity.c.deleted.is_(False), is_visible)
            .subquery()
        )
        count_query = select(members.c.suite_id, members.c.status, func.count()).group_by(
            members.c.suite_id, members.c.status
        )
        counts_by_suite = {one: dict.fromkeys((*STATUSES.values(), "total"), 0) for one in suite_ids}
        for suite_id, stands, count in fetch_rows(self._engine, count_query):
            counts_by_suite[suite_id]["total"] += count
            if stands in STATUSES:
                counts_by_suite[suite_id][STATUSES[stands]] += count
        return dict(counts_by_suite)

    def of_tables(self, table_fqns: Sequence[str]) -> dict[str, Document]:
        """Return the reference to each table's own suite, by the table's FQN."""
        names = {f"{fqn}.testSuite": fqn for fqn in table_fqns}
        query = select(*REFERENCE).where(entity.c.entity_type == "testSuite", entity.c.fqn.in_(names))
        return {names[row.fqn]: reference_of(*row) for row in fetch_rows(self._engine, query)}
