"""Tests of the pipeline's heartbeat: there is none before the log has been read."""

from __future__ import annotations

import threading

from tocsin.clock import FixedClock
from tocsin.jobs.heartbeat import beating


class Heard:
    """Heartbeats, and an event for the first one."""

    def __init__(self) -> None:
        self.times: list[int] = []
        self.first = threading.Event()

    def record_heartbeat(self, name: str, *, now_ms: int) -> None:
        self.times.append(now_ms)
        self.first.set()


def test_a_pipeline_that_has_not_read_the_log_has_no_heartbeat() -> None:
    heard, works = Heard(), threading.Event()
    with beating(heard, FixedClock(7), works, every_s=0.01):
        pass
    assert heard.times == []


def test_a_pipeline_has_a_heartbeat_once_it_has_read_the_log() -> None:
    heard, works = Heard(), threading.Event()
    with beating(heard, FixedClock(7), works, every_s=0.01):
        works.set()
        assert heard.first.wait(30)
    assert set(heard.times) == {7}
