"""Tests of the progress display: on a terminal only."""

from __future__ import annotations

import pytest

from tocsin.cli.progress import megabytes_so_far, progress_bar, waiting_for


def test_a_terminal_shows_what_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    with waiting_for("Starting Spark"):
        pass
    with progress_bar("Appending to the lake") as report:
        report(1, 2)
    output = capsys.readouterr()
    assert output.out == ""
    assert "Starting Spark" in output.err
    assert "0:00:0" in output.err
    assert "50%" in output.err


def test_a_pipe_gets_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with waiting_for("Starting Spark"), progress_bar("Appending to the lake") as report:
        report(1, 2)
    assert capsys.readouterr().err == ""


def test_what_takes_minutes_is_a_line_for_every_ten_megabytes_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    with megabytes_so_far("Fetching Kafka", 43) as report:
        for count in (0, 4, 11, 12, 35, 43, 44):
            report(count * 10**6)
    lines = [f"Fetching Kafka: {count} of 43 MB" for count in (0, 11, 35, 43)]
    assert capsys.readouterr() == ("\n".join([*lines, ""]), "")


def test_on_a_terminal_it_is_a_bar(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    with megabytes_so_far("Fetching Kafka", 40) as report:
        report(20 * 10**6)
    output = capsys.readouterr()
    assert output.out == ""
    assert "50%" in output.err
