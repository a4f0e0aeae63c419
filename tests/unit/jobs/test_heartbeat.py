"""Tests of the pipeline's heartbeat: there is none before the log has been read."""

from __future__ import annotations

import threading

from tests.waiting import until

from tocsin.clock import FixedClock
from tocsin.jobs.heartbeat import beating


class Heard:
    """Heartbeats, and an event for the first one."""

    def __init__(self) -> None:
        self.times: list[int] = []
        self.first = threading.Event()
        self.refusals = 0

    def record_heartbeat(self, name: str, *, now_ms: int) -> None:
        if self.refusals:
            self.refusals -= 1
            raise OSError("disk is full")
        self.times.append(now_ms)
        if now_ms:
            self.first.set()


def test_a_pipeline_that_has_not_read_the_log_has_no_heartbeat() -> None:
    heard, works = Heard(), threading.Event()
    with beating(heard, FixedClock(7), works, every_s=0.01):
        pass
    assert set(heard.times) == {0}


def test_a_pipeline_has_a_heartbeat_once_it_has_read_the_log() -> None:
    heard, works = Heard(), threading.Event()
    with beating(heard, FixedClock(7), works, every_s=0.01):
        works.set()
        assert heard.first.wait(30)
        assert heard.times[-1] == 7
    assert heard.times[-1] == 0, "it has ended"


def test_the_heartbeat_of_an_earlier_run_is_taken_back_though_the_store_refuses_at_first() -> None:
    heard, works = Heard(), threading.Event()
    heard.refusals = 1
    with beating(heard, FixedClock(7), works, every_s=0.01):
        until(lambda: heard.times == [0], within_s=30)
