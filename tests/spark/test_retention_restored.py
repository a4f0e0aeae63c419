"""Test of retention and backups: a store that is restored beside a lake that retention has rewritten since."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine
from tests.spark.test_retention import SETTINGS, build_company, build_parts, read_all, run_after, types_in_lake

from tocsin.catalogue.people.retention import write_settings
from tocsin.jobs.lake import grow, sweep
from tocsin.jobs.retention import RetentionParts
from tocsin.model.people import SYSTEM
from tocsin.spark.lake import HistoryLocation
from tocsin.store.database.engine import open_engine
from tocsin.store.eventlog.lake import Lake
from tocsin.store.eventlog.log import EventLog

pytestmark = pytest.mark.spark


def test_a_restored_store_whose_lake_is_ahead_has_every_event_once(
    sqlite_engine: Engine, spark: SparkSession, tmp_path: Path
) -> None:
    """Fault scenario 62."""
    parts = build_parts(spark, build_company(sqlite_engine), tmp_path)
    write_settings(parts.writes, SETTINGS, actor=SYSTEM)
    read_all(parts)
    grow(parts.lake)
    before = types_in_lake(parts)
    with parts.engine.connect() as connection:
        raw: Any = connection.connection.dbapi_connection  # Any: the driver's own connection
        raw.execute(f"VACUUM INTO '{tmp_path / 'copy.db'}'")
    results = run_after(parts, 23)
    assert sum(int(str(one["lake"])) for one in results) > 0
    sweep(parts.lake, before_ms=parts.clock.now_ms() + 1)
    restored_engine = open_engine(f"sqlite:///{tmp_path / 'copy.db'}")
    place = HistoryLocation(parts.lake.place.root, restored_engine.url.render_as_string(hide_password=False))
    lake = replace(parts.lake, log=EventLog(restored_engine), lake=Lake(restored_engine), place=place)
    assert grow(lake).end == lake.log.readable_end()
    assert types_in_lake(RetentionParts(restored_engine, lake, youngest_ms=0)) == before
    restored_engine.dispose()
