"""Tests of the process that prepares ``tocsin up``: its result, its errors, and how it says that its wait is over."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from tests.waiting import until

from tocsin.cli.preparation import Report, preparing
from tocsin.errors import InvalidInput, Unavailable


def test_the_result_comes_from_another_process_which_then_waits(tmp_path: Path) -> None:
    def prepare(report: Report) -> None:
        report(os.getpid(), (tmp_path / "over").exists)

    with preparing(prepare) as preparation:
        pid = preparation.result()
        assert pid != os.getpid()
        assert not asyncio.run(preparation.is_over())
        (tmp_path / "over").touch()
        until(lambda: asyncio.run(preparation.is_over()))
        assert asyncio.run(preparation.is_over()), "it stays so"


def test_its_error_is_raised_as_it_was() -> None:
    def prepare(_report: Report) -> None:
        raise InvalidInput("no such folder", field="--data-dir")

    with preparing(prepare) as preparation, pytest.raises(InvalidInput, match="no such folder") as raised:
        preparation.result()
    assert raised.value.field == "--data-dir"


def test_a_full_disk_is_said_as_in_every_command() -> None:
    def prepare(_report: Report) -> None:
        raise OSError(28, "No space left on device")

    with preparing(prepare) as preparation, pytest.raises(Unavailable, match="No space left"):
        preparation.result()


def test_an_unexpected_end_is_no_result() -> None:
    def prepare(_report: Report) -> None:
        os._exit(3)

    with preparing(prepare) as preparation, pytest.raises(Unavailable, match="ended early"):
        preparation.result()


def test_a_process_that_ends_while_it_waits_is_noticed() -> None:
    def prepare(report: Report) -> None:
        report("ready", lambda: os._exit(3))

    with preparing(prepare) as preparation:
        assert preparation.result() == "ready"
        with pytest.raises(Unavailable, match="ended early"):
            until(lambda: asyncio.run(preparation.is_over()))


def test_it_ends_with_the_block() -> None:
    def prepare(report: Report) -> None:
        report(os.getpid(), lambda: False)

    with preparing(prepare) as preparation:
        pid = preparation.result()
    with pytest.raises(ProcessLookupError):
        os.kill(int(str(pid)), 0)
