"""Tests of the progress display: on a terminal only."""

from __future__ import annotations

import pytest

from tocsin.cli.progress import progress_bar, waiting_for


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
