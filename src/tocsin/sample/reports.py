"""Test results and pipeline runs of the last days of the sample's year, one per day each.

Next: ``sample/history.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from tocsin.model.entity import Document
from tocsin.sample.calendar import DAYS, MINUTE_MS, Calendar
from tocsin.sample.rows import PipelineRow
from tocsin.sample.steps import ReportResult, ReportRun, Step

_TESTED_DAYS = 4
_RUN_DAYS = 5
_FAILING = "snowflake_dwh.warehouse.marts.fct_orders.orders_match_the_shop"
_FAILED_TESTS = 0.05
_FAILED_RUNS = 0.06


def results(cases: Sequence[str], calendar: Calendar, rng: Random) -> Iterator[Step]:
    """Yield the daily results of test cases (FQNs); one test has failed for days, others now and then."""
    for day in range(DAYS - _TESTED_DAYS, DAYS):
        for place, fqn in enumerate(cases):
            at_ms = calendar.at(day, 7) + place * 2_000
            failed = fqn == _FAILING or rng.random() < _FAILED_TESTS
            yield Step(at_ms, "quality-bot", ReportResult(fqn, _result(at_ms, failed=failed)))


def runs(pipelines: Sequence[PipelineRow], calendar: Calendar, rng: Random) -> Iterator[Step]:
    """Yield a run a day of each pipeline."""
    for day in range(DAYS - _RUN_DAYS, DAYS):
        for place, row in enumerate(pipelines):
            at_ms = calendar.at(day, 6) + place * MINUTE_MS
            failed_at = rng.randrange(len(row.tasks)) if rng.random() < _FAILED_RUNS else None
            yield Step(at_ms, "airflow-bot", ReportRun(f"airflow.{row.name}", _run(row, at_ms, failed_at)))


def _result(at_ms: int, *, failed: bool) -> Document:
    status, text = ("Failed", "Found what should not be there.") if failed else ("Success", "As it should be.")
    return {"timestamp": at_ms, "testCaseStatus": status, "result": text}


def _run(row: PipelineRow, at_ms: int, failed_at: int | None) -> Document:
    """Return the state of a run whose task number ``failed_at`` failed, or of one in which all went well."""
    done = len(row.tasks) if failed_at is None else failed_at
    outcomes = ["Successful"] * done + ["Failed"] * (failed_at is not None)
    return {
        "timestamp": at_ms,
        "executionStatus": "Successful" if failed_at is None else "Failed",
        "taskStatus": [
            {"name": name, "executionStatus": outcome} for name, outcome in zip(row.tasks, outcomes, strict=False)
        ],
    }
