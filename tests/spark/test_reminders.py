"""Tests of the job that reminds of incidents: its tasks write each reminder once, and the pipeline notifies of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine
from tests.company import SmallCompany
from tests.spark.test_match_stream import has_caught_up, parts_of
from tests.store.test_alert_incidents import BELL
from tests.store.test_reminders import FAILED, HOUR_MS, hourly, plans, reminded_people, reminder_events
from tests.stores import ON_BOTH_STORES, store_url
from tests.waiting import until

from tocsin.jobs.match_stream import streaming
from tocsin.jobs.reminders import ReminderParts, WriteReminders, look
from tocsin.jobs.resolving import StoreAddress
from tocsin.spark.session import interpreting_session

__all__ = ["store_url"]

pytestmark = pytest.mark.spark


@ON_BOTH_STORES
def test_each_reminder_is_one_event_of_which_people_hear_once(
    spark: SparkSession, store_engine: Engine, tmp_path: Path
) -> None:
    """Fault scenario 76."""
    company = SmallCompany(store_engine)
    for name in ("etl", "loads"):
        company.pipeline(name, owners=[{"type": "user", "name": "dia"}])
    company.clock.advance(1_000)
    company.alert("hourly", [BELL], FAILED, resources=("pipeline",), trigger=hourly())
    store = StoreAddress(store_engine.url.render_as_string(hide_password=False), "NORMAL")
    parts = ReminderParts(interpreting_session(spark), store_engine, store, company.clock)
    assert look(parts) == 0
    with streaming(replace(parts_of(spark, store_engine, tmp_path / "match"), clock=company.clock)):
        for name in ("etl", "loads"):
            company.run(name, "Failed")
        until(lambda: has_caught_up(store_engine), within_s=120)
        company.clock.advance(HOUR_MS)
        task = WriteReminders(store, plans(company), company.clock.now_ms())
        (written_batch,) = task(iter([pa.RecordBatch.from_pylist([{"first": 1, "last": 1}])]))
        assert [row["written"] for row in written_batch.to_pylist()] == [1]
        assert look(parts) == 1, "the other one: as if the job had been killed between the two"
        assert look(parts) == 0
        until(lambda: has_caught_up(store_engine), within_s=120)
        company.clock.advance(3 * HOUR_MS)
        assert look(parts) == 2, "of what was missed, one each"
        until(lambda: has_caught_up(store_engine), within_s=120)
    assert len(reminder_events(company)) == 4
    assert reminded_people(company) == [("dia", 4)]
