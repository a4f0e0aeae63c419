"""Tests that invalid lake queries are rejected before Spark starts."""

from __future__ import annotations

import pytest
from tests.unit.cli.conftest import Run

from tocsin.errors import InvalidInput
from tocsin.jobs.lake_question import question_in


@pytest.mark.parametrize(
    "sql", ["DROP VIEW change_events", "insert into t values (1)", "SET x = 1", "", " ; ", "/* only */"]
)
def test_what_would_change_something_is_refused(run: Run, sql: str) -> None:
    ended = run("lake", "query", sql)
    assert (ended.code, ended.out) == (2, "")
    assert "SELECT, WITH, DESCRIBE, SHOW, EXPLAIN" in ended.err


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        "  select 1;",
        "(SELECT 1) UNION (SELECT 2)",
        "WITH a AS (SELECT 1) SELECT * FROM a",
        "-- how many?\nSELECT count(*) FROM change_events",
        "/* why */ EXPLAIN SELECT 1",
        "describe change_events",
        "DESC change_events",
        "SHOW VIEWS",
    ],
)
def test_questions_are_taken_as_they_are(sql: str) -> None:
    assert question_in(sql) == sql


def test_what_changes_something_after_its_with_is_no_question() -> None:
    with pytest.raises(InvalidInput):
        question_in("WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a")
