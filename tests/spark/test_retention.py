"""Tests of the retention job: lake and log, its event, its dry run, and a clock that leaps."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine
from tests.company import SmallCompany
from tests.stores import ON_BOTH_STORES, store_url

from tocsin.catalogue.people.retention import write_settings
from tocsin.clock import FixedClock
from tocsin.flow.eventlog.readers import MATCH_STREAM
from tocsin.jobs.lake import LakeParts, grow, show_history
from tocsin.jobs.retention import RetentionParts, apply, preview
from tocsin.model.change import EventType
from tocsin.model.people import SYSTEM
from tocsin.model.retention import DAY_MS, LegalHold, RetentionRule, RetentionSettings
from tocsin.spark.lake import HistoryLocation, folder_of
from tocsin.spark.session import register_source
from tocsin.spark.sources import LogSource
from tocsin.store.eventlog.lake import Lake
from tocsin.store.eventlog.log import EventLog
from tocsin.store.outbox.notifications import Notifications
from tocsin.store.upkeep.retention.events import EventRemoval
from tocsin.store.upkeep.retention.policy import Holds

__all__ = ["store_url"]

pytestmark = [pytest.mark.spark, ON_BOTH_STORES]
SETTINGS = RetentionSettings(
    rules=(
        RetentionRule(event_type=EventType.ENTITY_UPDATED, log_days=7),
        RetentionRule(event_type=EventType.ENTITY_CREATED, log_days=7, audit_days=20),
        RetentionRule(event_type=EventType.ENTITY_CREATED, entity_type="user"),
    )
)


def build_company(engine: Engine) -> SmallCompany:
    company = SmallCompany(engine)
    company.put("team", {"name": "Organization", "teamType": "Organization"})
    for number in range(10):
        company.describe("orders", f"text {number}")
    return company


def build_parts(spark: SparkSession, company: SmallCompany, folder: Path) -> RetentionParts:
    session, engine = spark.newSession(), company.engine
    register_source(session, LogSource)
    place = HistoryLocation(str(folder / "lake"), engine.url.render_as_string(hide_password=False))
    clock = FixedClock(company.clock.now_ms())
    lake = LakeParts(session, EventLog(engine), Lake(engine), place, clock, events_per_segment=10)
    return RetentionParts(engine, lake, youngest_ms=2 * DAY_MS)


@pytest.fixture
def company(store_engine: Engine) -> SmallCompany:
    return build_company(store_engine)


@pytest.fixture
def parts(spark: SparkSession, company: SmallCompany, tmp_path: Path) -> RetentionParts:
    return build_parts(spark, company, tmp_path)


def run_after(parts: RetentionParts, days: int) -> list[dict[str, object]]:
    """Run once a day for so many days; return the results."""
    results = []
    for _ in range(days):
        parts.clock.advance(DAY_MS)  # type: ignore[attr-defined]
        applied = apply(parts)
        assert applied is not None
        results.append(applied.to_wire())
    return results


def read_all(parts: RetentionParts) -> None:
    Notifications(parts.engine).advance(MATCH_STREAM, parts.lake.log.readable_end(), now_ms=1)


def types_in_lake(parts: RetentionParts) -> dict[str, int]:
    counted = show_history(parts.lake).groupBy("eventType").count().collect()
    return {row.eventType: row["count"] for row in counted}


def test_nothing_is_removed_by_default(parts: RetentionParts) -> None:
    read_all(parts)
    assert apply(parts) is None
    assert preview(parts)["log"] == 0


def test_the_audit_trail_keeps_what_the_log_no_longer_does(parts: RetentionParts, company: SmallCompany) -> None:
    write_settings(parts.writes, SETTINGS, actor=SYSTEM)
    before = types_in_lake(parts)
    read_all(parts)
    (waiting,) = run_after(parts, 9)[-1:]
    assert waiting["log"] == 0, "the lake has yet to read what it keeps"
    grow(parts.lake)
    forecast = preview(parts)
    read_all(parts)
    (result,) = run_after(parts, 1)
    assert result["log"] == forecast["log"]
    assert result["logByType"] == forecast["logByType"]
    after = types_in_lake(parts)
    assert {**after, "retentionApplied": 1} == {**before, "retentionApplied": 1}
    old_ids = {segment.id for segment in parts.lake.lake.segments()}
    hold = LegalHold("00000000-0000-4000-8000-000000000009", "case", "ana", 1, entity_id=company.ids["orders"])
    Holds(parts.engine).add(hold)
    results = run_after(parts, 13)
    users = 4
    removed_count = sum(int(str(one["lake"])) for one in results)
    assert removed_count == before["entityCreated"] - users - 1
    assert types_in_lake(parts)["entityCreated"] == users + 1, "users are kept, and what is held"
    assert types_in_lake(parts)["entityUpdated"] == after["entityUpdated"]
    segments = parts.lake.lake.segments()
    assert [one.after for one in segments][1:] == [one.through for one in segments][:-1]
    assert old_ids - {one.id for one in segments}
    assert all(Path(folder_of(parts.lake.place.root, one.id)).is_dir() for one in segments)
    grow(parts.lake)
    assert types_in_lake(parts)["entityCreated"] == users + 1, "what was removed does not come back"


def test_a_run_puts_one_event_on_the_organization(parts: RetentionParts) -> None:
    rule = RetentionRule(event_type=EventType.ENTITY_UPDATED, log_days=2)
    write_settings(parts.writes, RetentionSettings(rules=(rule,)), actor=SYSTEM)
    read_all(parts)
    grow(parts.lake)
    results = run_after(parts, 4)
    events = [one.event for one in parts.lake.log.read(0, 1_000) if one.event.event_type == "retentionApplied"]
    assert sum(int(str(one["log"])) for one in results) > 0
    assert [one.id for one in events] == [one["run"] for one in results if one["log"]]
    assert events[0].entity_fully_qualified_name == "Organization"


def test_a_run_ends_when_the_settings_change(parts: RetentionParts) -> None:
    rule = RetentionRule(event_type=EventType.ENTITY_UPDATED, log_days=2, audit_days=2)
    write_settings(parts.writes, RetentionSettings(rules=(rule,)), actor=SYSTEM)
    read_all(parts)
    run_after(parts, 1)
    parts.events = EventRemoval(parts.engine, portion=2)
    parts.clock.advance(DAY_MS)  # type: ignore[attr-defined]

    def switch_off() -> bool:
        write_settings(parts.writes, RetentionSettings(), actor=SYSTEM)
        return False

    result = apply(parts, switch_off)
    assert result is not None and result.to_wire()["log"] == 2
    assert apply(parts) is None


def test_a_clock_that_leaps_removes_a_days_events_and_one_that_is_set_back_none(parts: RetentionParts) -> None:
    """Fault scenario 61."""
    write_settings(parts.writes, SETTINGS, actor=SYSTEM)
    read_all(parts)
    grow(parts.lake)
    (leaping,) = run_after(parts, 1)
    parts.clock.advance(400 * DAY_MS)  # type: ignore[attr-defined]
    assert apply(parts).to_wire()["log"] == leaping["log"] == 0  # type: ignore[union-attr]
    parts.clock.advance(-400 * DAY_MS)  # type: ignore[attr-defined]
    assert any(result["log"] for result in run_after(parts, 8))
