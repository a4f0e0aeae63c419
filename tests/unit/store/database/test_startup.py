"""Tests of waiting for the store at start: only for faults that waiting can resolve."""

from __future__ import annotations

import threading

import pytest

from tocsin.errors import Unavailable
from tocsin.store.database.startup import may_pass, wait_for


class NotedWaits(threading.Event):
    """A signal to stop on which no wait takes time; notes how long each would have been."""

    def __init__(self) -> None:
        super().__init__()
        self.waits_s: list[float | None] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.waits_s.append(timeout)
        return self.is_set()


def test_a_store_that_is_not_there_yet_is_waited_for() -> None:
    answers: list[object] = [
        Unavailable("The store cannot be used: connection refused"),
        OSError(28, "No space left on device"),
        "there",
    ]

    def make() -> object:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    stopping = NotedWaits()
    assert wait_for("pipeline", make, stopping, passes=may_pass) == "there"
    assert stopping.waits_s == [1.0, 2.0]


@pytest.mark.parametrize(
    "reason",
    [
        'password authentication failed for user "x"',
        "failed to resolve host 'nowhere': [Errno -2] Name or service not known",
        "No space left on device",
    ],
)
def test_what_no_wait_mends_is_said_at_once(reason: str) -> None:
    def make() -> object:
        raise Unavailable(f"The store cannot be used: {reason}")

    with pytest.raises(Unavailable, match="cannot be used"):
        wait_for("server", make, threading.Event())


def test_who_stops_does_not_wait_for_the_store() -> None:
    stopping = threading.Event()

    def make() -> object:
        stopping.set()
        raise Unavailable("connection refused")

    assert wait_for("server", make, stopping) is None
