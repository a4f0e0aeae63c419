"""Tests of the scheduler: jobs run when due, after failures and clock changes."""

from __future__ import annotations

import threading

import pytest
from tests.waiting import until

pytest.importorskip("pyspark")

from tocsin.clock import FixedClock
from tocsin.errors import Unavailable
from tocsin.jobs.intervals import Job, keep_running, run_when_due


class Remembered(dict[str, int]):
    def ran(self, name: str, *, now_ms: int) -> None:
        self[name] = now_ms

    def run_times_ms(self) -> dict[str, int]:
        return self


def test_jobs_are_done_at_their_interval_and_a_failure_ends_nothing() -> None:
    clock, stopping, memory = FixedClock(100_000_000), threading.Event(), Remembered(old=99_995_000)
    calls: list[str] = []

    def fails() -> None:
        calls.append("fails")
        raise Unavailable("not now")

    jobs = [
        Job("never", 0, lambda: calls.append("never")),
        Job("fails", 10, fails, after_s=0),
        Job("old", 10, lambda: calls.append("old"), after_s=0),
        Job("late", 10, lambda: calls.append("late"), after_s=3_600),
    ]
    thread = threading.Thread(target=run_when_due, args=(jobs, memory, clock, stopping), kwargs={"look_every_s": 0.001})
    thread.start()
    try:
        until(lambda: calls == ["fails"])
        clock.advance(5_000)
        until(lambda: calls == ["fails", "old"])
        clock.advance(5_000)
        until(lambda: calls == ["fails", "old", "fails"])
        clock.advance(-86_400_000)
        until(lambda: {"old", "late"} < set(calls[3:]))
    finally:
        stopping.set()
        thread.join()
    assert all(at_ms == 100_010_000 - 86_400_000 for at_ms in memory.values())


def test_an_error_in_one_job_keeps_no_other_from_its_turn() -> None:
    clock, stopping, memory = FixedClock(100_000_000), threading.Event(), Remembered()
    calls: list[str] = []

    def has_a_mistake() -> None:
        calls.append("mistaken")
        raise TypeError("a column is no text")

    def ends() -> None:
        calls.append("after it")
        stopping.set()

    jobs = [Job("mistaken", 10, has_a_mistake, after_s=0), Job("after it", 10, ends, after_s=0)]
    run_when_due(jobs, memory, clock, stopping, look_every_s=0.001)
    assert calls == ["mistaken", "after it"]


def test_a_thread_that_fails_begins_again_until_it_is_to_end() -> None:
    stopping, calls = threading.Event(), 0

    def work() -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            stopping.set()
        raise TypeError("a result is no JSON")

    keep_running(work, "erasures", stopping, again_after_s=0.001)
    assert calls == 3
