"""Tests of ``kill -9`` at every step of the pipeline: nothing is lost, nothing is notified twice."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine, select
from tests.acceptance.crashing_pipeline import BETWEEN_PORTIONS, POINTS
from tests.company import SmallCompany
from tests.spark.test_match_stream import (
    expected_notifications,
    has_caught_up,
    parts_of,
    running,
    stored_notifications,
)
from tests.spark.test_scheduled_checks import CEMS_MAIL, EIGHT, FIRST_EIGHT_MS, check_parts, messages, states_found
from tests.store.test_resolving import followed_by_many
from tests.waiting import until

from tocsin.flow.eventlog.readers import STREAK_STREAM
from tocsin.jobs.match_stream import QUERY_NAME, streaming
from tocsin.jobs.scheduled_checks import look
from tocsin.model.subscription import Trigger
from tocsin.settings import Settings
from tocsin.store.database.engine import open_engine
from tocsin.store.database.schema import migrate
from tocsin.store.database.tables import message
from tocsin.store.eventlog.log import EventLog
from tocsin.store.outbox.event_portions import EventPortions
from tocsin.store.outbox.notifications import Notifications
from tocsin.store.outbox.scheduled_checks import LastCheck, ScheduledChecks

REPORTS = ("Failed",) * 6 + ("Successful",) * 4 + ("Failed",) * 2


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    new_engine = open_engine(f"sqlite:///{tmp_path / 'tocsin.db'}", synchronous="NORMAL")
    migrate(new_engine)
    return new_engine


def run(folder: Path, point: str, *arguments: str) -> int:
    words = [sys.executable, "-m", "tests.acceptance.crashing_pipeline", str(folder), point, *arguments]
    process = subprocess.run(words, capture_output=True, text=True, timeout=180, check=False)
    assert process.returncode in (0, -signal.SIGKILL), process.stderr[-3000:]
    return process.returncode


@pytest.mark.spark
@pytest.mark.soak
@pytest.mark.timeout(900)
def test_kills_at_each_point_lose_and_repeat_nothing(spark: SparkSession, engine: Engine, tmp_path: Path) -> None:
    """Fault scenario 11. What goes on at the end uses the Spark that is running already."""
    company = SmallCompany(engine)
    company.clock.advance(1_000)
    hook = {"category": "External", "type": "Webhook", "config": {"endpoint": "http://127.0.0.1:9/hook"}}
    company.alert("hook", [hook, {"category": "Owners", "type": "Email"}], "fieldChanged == 'description'")
    company.alert("bell", [{"category": "Followers", "type": "ActivityFeed"}])
    first_written: dict[str, object] = {}
    kills = 4 * POINTS
    for number, point in enumerate(kills):
        company.describe("orders", f"round {number}")
        assert run(tmp_path, point) == -signal.SIGKILL
        first_written = {**creation_times(engine), **first_written}
    with running(spark, engine, Settings(data_dir=tmp_path).checkpoint_dir() / QUERY_NAME):
        until(lambda: has_caught_up(engine), within_s=120)
    notifications = stored_notifications(engine)
    assert notifications == expected_notifications(company)
    assert len({row[0] for row in notifications.values()}) >= len(kills)
    assert {one: at for one, at in creation_times(engine).items() if one in first_written} == first_written
    assert all(json.dumps(row) for row in notifications.values())


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_pipeline_killed_between_portions_of_an_event_goes_on_with_those_that_are_not_stored(
    spark: SparkSession, engine: Engine, tmp_path: Path
) -> None:
    """Fault scenario 11."""
    company = followed_by_many(engine, 30)
    assert run(tmp_path, BETWEEN_PORTIONS) == -signal.SIGKILL
    portions = EventPortions(engine)
    waiting, first_written, earlier_times = (
        portions.pending_keys(),
        stored_notifications(engine),
        creation_times(engine),
    )
    assert waiting
    assert first_written
    parts = parts_of(spark, engine, Settings(data_dir=tmp_path).checkpoint_dir() / QUERY_NAME)
    with streaming(replace(parts, portions=portions)):
        until(lambda: has_caught_up(engine), within_s=120)
    notifications = stored_notifications(engine)
    assert notifications == expected_notifications(company)
    assert first_written.items() <= notifications.items()
    assert earlier_times.items() <= creation_times(engine).items()
    assert portions.pending_keys() == []


@pytest.mark.spark
@pytest.mark.soak
@pytest.mark.timeout(900)
def test_a_kill_in_the_middle_of_a_micro_batch_leaves_streaks_as_they_would_have_been(
    engine: Engine, tmp_path: Path
) -> None:
    company = SmallCompany(engine)
    company.pipeline("etl", owners=[{"type": "user", "name": "ana"}])
    company.clock.advance(1_000)
    mail = [{"category": "Owners", "type": "Email"}]
    company.alert("row", mail, "matchStatusInARow({'Failed','Successful'}, {2, 3, 4, 5, 6})")
    company.alert("change", mail, "firstFailure() || resolved() || noSuccessFor('2m')")
    points = (*POINTS, "nowhere")
    share = len(REPORTS) // len(points)
    for number, point in enumerate(points):
        for status in REPORTS[number * share : (number + 1) * share]:
            company.run("etl", status)
        assert run(tmp_path, point, "streaks") == (0 if point == "nowhere" else -signal.SIGKILL)
    notifications = stored_notifications(engine)
    assert notifications == expected_notifications(company)
    names = [reason["subscriptionName"] for row in notifications.values() for reason in row[4]]
    assert (names.count("row"), names.count("change")) == (9, 5)


@pytest.mark.spark
@pytest.mark.soak
@pytest.mark.timeout(300)
def test_a_check_that_is_killed_is_repeated_and_its_digest_is_one(
    spark: SparkSession, engine: Engine, tmp_path: Path
) -> None:
    """Fault scenario 75. ``tests/spark/test_scheduled_checks.py`` repeats a check that was not noted, unkilled."""
    company = SmallCompany(engine)
    for name in ("orphan", "waif"):
        company.table(name)
    company.clock.at_ms = FIRST_EIGHT_MS - 1_000
    company.alert("red", [CEMS_MAIL], "stillWithoutOwner()", resources=("table",), trigger=EIGHT)
    schedule_id = Trigger.model_validate(EIGHT).schedule_id
    ScheduledChecks(engine).keep({schedule_id: LastCheck(FIRST_EIGHT_MS - 1_000)})
    assert run(tmp_path, str(FIRST_EIGHT_MS + 5_000), "checks") == -signal.SIGKILL
    expected_states = [(name, "stillWithoutOwner") for name in ("orphan", "waif")]
    assert states_found(engine) == expected_states
    company.clock.at_ms = FIRST_EIGHT_MS + 60_000
    parts = check_parts(spark, company, tmp_path)
    stream = replace(parts_of(spark, engine, tmp_path / "match"), clock=company.clock)
    with streaming(stream):
        until(lambda: has_caught_up(engine), within_s=120)
    Notifications(engine).advance(STREAK_STREAM, EventLog(engine).readable_end(), now_ms=company.clock.now_ms())
    assert look(parts) == 0
    assert states_found(engine) == expected_states
    assert messages(engine) == [("cem@example.com", company.clock.now_ms(), 2)]


def creation_times(engine: Engine) -> dict[str, object]:
    """When each message was first written: writing it again must leave it as it was."""
    with engine.connect() as connection:
        message_rows = connection.execute(select(message.c.id, message.c.created_at_ms)).all()
    return {row.id: row.created_at_ms for row in message_rows}
