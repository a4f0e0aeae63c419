"""Tests of backtest claims on both stores: claimed once, taken over from dead runners, ended once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import Engine

from tocsin.errors import Conflict
from tocsin.model.backtest import Backtest
from tocsin.model.requested_job import JobState
from tocsin.store.catalogue.alerts.backtests import MOST_OPEN, Backtests
from tocsin.store.eventlog.job_runs import ScheduledJobs
from tocsin.store.eventlog.requested_jobs import MOST_TRIES

LOST_AFTER_MS = 60_000
ASKED = Backtest("b0", "ana", 1_000, {"name": "a"}, 5, None, JobState.WAITING)


def claim(backtests: Backtests, runner: str, now_ms: int) -> Backtest | None:
    return backtests.claim(runner, now_ms=now_ms, lost_after_ms=LOST_AFTER_MS)


def test_a_backtest_is_run_once_and_its_result_is_kept(store_engine: Engine) -> None:
    backtests = Backtests(store_engine)
    assert claim(backtests, "one", 1_000) is None
    backtests.add(ASKED)
    assert backtests.find("b0") == ASKED
    claimed_backtest = claim(backtests, "one", 2_000)
    assert claimed_backtest == replace(ASKED, state=JobState.RUNNING, tries=1)
    assert claim(backtests, "two", 2_000) is None
    assert backtests.note_progress(claimed_backtest, "one", 5, 10, now_ms=3_000)
    assert not backtests.note_progress(claimed_backtest, "two", 6, 10, now_ms=3_000)
    assert not backtests.finish(claimed_backtest, "two", {"matched": 2}, now_ms=4_000)
    assert backtests.finish(claimed_backtest, "one", {"matched": 1}, now_ms=4_000)
    finished_backtest = backtests.find("b0")
    assert finished_backtest and (
        finished_backtest.state,
        finished_backtest.result,
        finished_backtest.done_count,
        finished_backtest.ended_at_ms,
    ) == (
        "done",
        {"matched": 1},
        10,
        4_000,
    )
    assert not backtests.cancel(claimed_backtest, now_ms=5_000)
    assert not backtests.fail(claimed_backtest, "late", now_ms=5_000)
    backtests.forget(before_ms=4_001)
    assert backtests.find("b0") is None


def test_what_a_dead_pipeline_left_is_taken_over_and_given_up_in_the_end(store_engine: Engine) -> None:
    backtests, now_ms = Backtests(store_engine), 2_000
    backtests.add(ASKED)
    for attempt in range(1, MOST_TRIES + 1):
        claimed = claim(backtests, f"runner {attempt}", now_ms)
        assert claimed is not None and claimed.tries == attempt
        assert claim(backtests, "other", now_ms + LOST_AFTER_MS) is None
        now_ms += LOST_AFTER_MS + 1
    assert claim(backtests, "last", now_ms) is None
    given_up = backtests.find("b0")
    assert given_up and (given_up.state, given_up.reason) == ("failed", "3 pipelines stopped while running it.")


def test_what_a_dead_pipeline_left_is_taken_over_after_a_clock_was_set_back(store_engine: Engine) -> None:
    backtests, day_ms = Backtests(store_engine), 86_400_000
    backtests.add(ASKED)
    assert claim(backtests, "dead", day_ms) is not None
    claimed = claim(backtests, "other", 2_000)
    assert claimed is not None and claimed.tries == 2
    assert claim(backtests, "third", 2_001) is None


def test_a_pipeline_that_is_stopped_gives_back_what_it_had(store_engine: Engine) -> None:
    backtests = Backtests(store_engine)
    backtests.add(ASKED)
    claimed = claim(backtests, "one", 2_000)
    assert claimed is not None
    backtests.release(claimed, "one")
    again = claim(backtests, "two", 2_001)
    assert again is not None and again.tries == 1


def test_what_nobody_wants_any_more_is_not_run(store_engine: Engine) -> None:
    backtests = Backtests(store_engine)
    for number in range(2):
        backtests.add(replace(ASKED, id=f"b{number}", requested_at_ms=number))
    claimed = claim(backtests, "one", 2_000)
    assert claimed is not None and claimed.id == "b0"
    second = backtests.find("b1")
    assert second is not None and backtests.ahead_of(second) == 1
    assert backtests.cancel(claimed, now_ms=3_000) and backtests.cancel(second, now_ms=3_000)
    assert not backtests.note_progress(claimed, "one", 1, 2, now_ms=3_001)
    assert claim(backtests, "one", 4_000) is None


def test_one_person_has_a_few_under_way_at_most(store_engine: Engine) -> None:
    backtests = Backtests(store_engine)
    for number in range(MOST_OPEN):
        backtests.add(replace(ASKED, id=f"b{number}"))
    with pytest.raises(Conflict, match="running backtests"):
        backtests.add(replace(ASKED, id="more"))
    backtests.add(replace(ASKED, id="other", requested_by="ben"))
    first = backtests.find("b0")
    assert first is not None and backtests.cancel(first, now_ms=1)
    backtests.add(replace(ASKED, id="more"))


def test_jobs_remember_when_they_were_done(store_engine: Engine) -> None:
    jobs = ScheduledJobs(store_engine)
    assert (jobs.ran_at_ms("lake"), jobs.seen_at_ms("lake")) == (0, 0)
    jobs.ran("lake", now_ms=5)
    jobs.record_heartbeat("lake", now_ms=7)
    jobs.ran("lake", now_ms=9)
    assert (jobs.ran_at_ms("lake"), jobs.seen_at_ms("lake")) == (9, 7)
