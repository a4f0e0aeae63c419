"""Tests of ``threads.py``."""

from __future__ import annotations

import threading

import pytest

from tocsin.threads import run_beside


def test_work_runs_beside_the_block_and_ends_with_it() -> None:
    names: list[str] = []

    def work(ending: threading.Event) -> None:
        begun.set()
        ending.wait()
        names.append(threading.current_thread().name)

    begun = threading.Event()
    with run_beside(work, "beside"):
        assert begun.wait(30)
        assert names == []
    assert names == ["beside"]


def test_work_ends_with_a_block_that_fails() -> None:
    ended = threading.Event()

    def work(ending: threading.Event) -> None:
        ending.wait()
        ended.set()

    with pytest.raises(ValueError, match="the block"), run_beside(work, "beside"):
        raise ValueError("the block")
    assert ended.is_set()


def test_work_that_does_not_end_in_time_is_left_behind() -> None:
    may_end, ended = threading.Event(), threading.Event()

    def work(_ending: threading.Event) -> None:
        may_end.wait(30)
        ended.set()

    with run_beside(work, "beside", ends_within_s=0.01):
        pass
    assert not ended.is_set()
    may_end.set()
    assert ended.wait(30)
