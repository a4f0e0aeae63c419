"""Rows that say which test cases are in which test suites.

A test case names the suite of its table in its document; ``catalogue/quality/suites.py`` adds it to logical suites.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, and_, delete, insert, select

from tocsin.model.entity import Document
from tocsin.model.stored import Stored
from tocsin.store.database.documents import REFERENCE, references_by_key
from tocsin.store.database.observation_tables import suite_member
from tocsin.store.database.tables import entity

_MEMBER = suite_member.c


def update_suite_member(connection: Connection, old: Stored | None, new: Stored) -> None:
    """Update the row of a test case's basic suite from the state ``old`` to ``new``."""
    before, after = (_own_suite_id(one) if one else None for one in (old, new))
    if before == after:
        return
    if before:
        connection.execute(delete(suite_member).where(is_member(before, new.id)))
    if after:
        connection.execute(delete(suite_member).where(is_member(after, new.id)))  # it may have been a logical one
        connection.execute(insert(suite_member), {"suite_id": after, "test_case_id": new.id, "own": True})


def add_suites(connection: Connection, cases: Sequence[Document]) -> None:
    """Fill in the suites that test cases are in."""
    by_id = {case["id"]: case for case in cases}
    for case in cases:
        case.pop("testSuites", None)
    query = select(_MEMBER.test_case_id, *REFERENCE).join(entity, entity.c.id == _MEMBER.suite_id)
    query = query.where(_MEMBER.test_case_id.in_(by_id)).order_by(_MEMBER.own.desc(), entity.c.fqn)
    for case_id, suites in references_by_key(connection.execute(query)).items():
        by_id[case_id]["testSuites"] = suites


def _own_suite_id(case: Stored) -> str | None:
    suite = case.document.get("testSuite")
    return suite.get("id") if isinstance(suite, dict) else None


def is_member(suite_id: str, test_case_id: str) -> ColumnElement[bool]:
    """Return the condition that a row is the membership of this test case in this suite."""
    return and_(_MEMBER.suite_id == suite_id, _MEMBER.test_case_id == test_case_id)
