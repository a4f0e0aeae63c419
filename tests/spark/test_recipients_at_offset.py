"""Tests that a pipeline started at the end stores what one that keeps up stores."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine
from tests.company import SmallCompany
from tests.random_changes import change, prepare
from tests.soak import SOAK
from tests.spark.test_match_stream import expected_notifications, has_caught_up, running, stored_notifications
from tests.stores import ON_BOTH_STORES
from tests.stores import store_url as store_url
from tests.waiting import until

from tocsin.store.eventlog.log import EventLog

pytestmark = pytest.mark.spark

CHANGES = 60 if SOAK else 24


@ON_BOTH_STORES
def test_a_pipeline_started_at_the_end_stores_what_one_that_keeps_up_stores(
    spark: SparkSession, store_engine: Engine, tmp_path: Path
) -> None:
    company, chance = SmallCompany(store_engine), Random(7)
    prepare(company)
    log, keeping_up, unseen = EventLog(store_engine), expected_notifications(company), set[str]()
    for _ in range(CHANGES):
        read = log.readable_end()
        if change(company, chance):
            coming = {logged.event.id for logged in log.read(read, 100)}
            keeping_up |= expected_notifications(company, after=read)
            unseen |= coming if len(coming) > 1 else set()  # nobody can look between the events of one transaction
    with running(spark, store_engine, tmp_path / "checkpoint"):
        until(lambda: has_caught_up(store_engine))
    remaining = {key: row for key, row in stored_notifications(store_engine).items() if row[0] not in unseen}
    assert remaining == {key: row for key, row in keeping_up.items() if row[0] not in unseen}
    assert len(remaining) > CHANGES // 2
