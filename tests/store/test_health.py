"""Tests of what keeps notifications back, on both stores: each problem appears and passes."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import pytest
from sqlalchemy import Engine
from tests.company import STARTED_MS, SmallCompany
from tests.waiting import until

from tocsin.clock import FixedClock
from tocsin.flow.eventlog.readers import MATCH_STREAM
from tocsin.jobs.heartbeat import beating
from tocsin.store.eventlog.job_runs import ScheduledJobs
from tocsin.store.eventlog.log import EventLog
from tocsin.store.eventlog.outages import Waits
from tocsin.store.outbox.notifications import Notifications
from tocsin.store.outbox.sessions import Sessions
from tocsin.store.upkeep.health import LATE_AFTER_MS, PIPELINE, Health

NOW_MS = STARTED_MS + 3_600_000


class Watch:
    """A clock that does not run by itself."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def _health(engine: Engine, folder: Path, watch: Watch | None = None) -> Health:
    return Health(engine, folder, watch or Watch())


def _names(health: Health, *, now_ms: int = NOW_MS) -> list[str]:
    return [problem.name for problem in health.problems(now_ms=now_ms)]


def _all_run(engine: Engine) -> None:
    ScheduledJobs(engine).record_heartbeat(PIPELINE, now_ms=NOW_MS)
    Sessions(engine).begin("worker", lease_ms=90_000, now_ms=NOW_MS)


def test_processes_that_do_not_run_are_problems(store_engine: Engine, tmp_path: Path) -> None:
    health = _health(store_engine, tmp_path)
    assert _names(health) == ["pipelineStopped", "workerStopped"]
    _all_run(store_engine)
    assert _names(health) == []
    assert _names(health, now_ms=NOW_MS + LATE_AFTER_MS + 1) == ["pipelineStopped"]
    Sessions(store_engine).end("worker")
    assert _names(health) == ["workerStopped"]


def test_a_pipeline_that_starts_again_is_a_problem_until_this_run_has_read_the_log(
    store_engine: Engine, tmp_path: Path
) -> None:
    health, jobs, works = _health(store_engine, tmp_path), ScheduledJobs(store_engine), threading.Event()
    _all_run(store_engine)
    assert _names(health) == []
    with beating(jobs, FixedClock(NOW_MS), works, every_s=0.01):
        until(lambda: _names(health) == ["pipelineStopped"], within_s=30)
        works.set()
        until(lambda: _names(health) == [], within_s=30)
    assert _names(health) == ["pipelineStopped"], "it has ended"


def test_a_pipeline_that_runs_and_gets_nowhere_is_a_problem(store_engine: Engine, tmp_path: Path) -> None:
    health, log = _health(store_engine, tmp_path), EventLog(store_engine)
    _all_run(store_engine)
    SmallCompany(store_engine)
    assert _names(health) == ["pipelineBehind"]
    assert "late" in health.problems(now_ms=NOW_MS)[0].message
    Notifications(store_engine).advance(MATCH_STREAM, log.readable_end() - 1, now_ms=NOW_MS - 1_000)
    assert _names(health) == [], "it works through what has waited"
    Notifications(store_engine).advance(MATCH_STREAM, log.readable_end(), now_ms=NOW_MS - 2 * LATE_AFTER_MS)
    assert _names(health) == [], "there is nothing to do"


def test_what_a_query_waits_for_is_a_problem_with_the_way_out(store_engine: Engine, tmp_path: Path) -> None:
    health = _health(store_engine, tmp_path)
    _all_run(store_engine)
    Notifications(store_engine).advance(MATCH_STREAM, 0, now_ms=NOW_MS)
    Waits(store_engine).begin(MATCH_STREAM, "disk_full", since_ms=NOW_MS)
    (problem,) = health.problems(now_ms=NOW_MS)
    assert (problem.name, "Free some space" in problem.message) == ("pipelineWaits", True)


def test_a_full_disk_is_a_problem_until_there_is_room(
    sqlite_engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = Watch()
    health = _health(sqlite_engine, tmp_path, watch)
    _all_run(sqlite_engine)
    assert _names(health) == []

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as disk:
        disk.setattr(os, "fsync", full)
        assert _names(health) == [], "it is not tried at each request"
        watch.now_s = 11
        assert _names(health) == ["disk"]
    watch.now_s = 22
    assert _names(health) == []


def test_a_server_without_a_data_folder_has_no_disk_to_fill(sqlite_engine: Engine, tmp_path: Path) -> None:
    _all_run(sqlite_engine)
    assert _names(_health(sqlite_engine, tmp_path / "nowhere")) == []
