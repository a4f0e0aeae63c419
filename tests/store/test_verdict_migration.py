"""Tests of the revision that adds verdicts to status reports: older reports get what they would have today."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, MetaData, delete, insert, select
from tests.company import SmallCompany
from tests.postgres import Cluster

from tocsin.model.people import SYSTEM
from tocsin.store.database.engine import open_engine
from tocsin.store.database.log_tables import status_report
from tocsin.store.database.schema import migrate
from tocsin.store.database.tables import change_event

BEFORE = "0010_replays"


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def older(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """Return an empty store of the revision before."""
    url = f"sqlite:///{tmp_path / 'unjudged.db'}"
    if request.param == "postgresql":
        cluster: Cluster = request.getfixturevalue("postgres")
        cluster.run("DROP DATABASE IF EXISTS unjudged")
        cluster.run("CREATE DATABASE unjudged")
        url = cluster.url("unjudged")
    engine = open_engine(url)
    migrate(engine, BEFORE)
    yield engine
    engine.dispose()


def test_reports_of_an_older_store_get_their_verdicts(sqlite_engine: Engine, older: Engine) -> None:
    company = SmallCompany(sqlite_engine)
    company.pipeline("etl")
    for status in ("Failed", "Pending", "Successful", "PartialSuccess", "Skipped"):
        company.run("etl", status)
    company.run("etl", "Failed", at_ms=company.clock.now_ms() - 900_000)
    company.writes.delete("pipeline", company.key("etl"), actor=SYSTEM, hard=True)
    with sqlite_engine.connect() as connection:
        reports = [
            row._asdict() for row in connection.execute(select(status_report).order_by(status_report.c.log_offset))
        ]
        events = [row._asdict() for row in connection.execute(select(change_event))]
    assert [row["verdict"] for row in reports] == [
        *("failed", None, "success", "partialsuccess", "skipped", "failed"),
        None,
    ]
    older_schema = MetaData()
    with older.begin() as connection:
        older_schema.reflect(connection)
        for table, values in (("change_event", events), ("status_report", reports)):
            columns = older_schema.tables[table].columns.keys()
            connection.execute(delete(older_schema.tables[table]))
            connection.execute(
                insert(older_schema.tables[table]), [{name: row[name] for name in columns} for row in values]
            )
    migrate(older)
    with older.connect() as connection:
        assert [
            row._asdict() for row in connection.execute(select(status_report).order_by(status_report.c.log_offset))
        ] == reports
