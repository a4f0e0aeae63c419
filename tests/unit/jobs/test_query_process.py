"""Tests of when the process for queries ends; a script answers in its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tocsin.jobs.query_main import QueryPlace
from tocsin.jobs.query_process import ProcessLimits, QueryProcess

_SCRIPT = """#!/bin/sh
read place
echo '{"ready": true}'
read question
sleep 0.3
echo '{"reason": "too long", "code": "TOO_LARGE"}'
read question
"""


def _place(scratch: str) -> QueryPlace:
    return QueryPlace("sqlite://", "lake", "local[1]", "1g", {}, None, scratch)


@pytest.mark.parametrize(("seconds", "stays"), [(60.0, True), (0.1, False)])
def test_a_query_that_took_too_long_leaves_nothing_that_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, seconds: float, stays: bool
) -> None:
    script = tmp_path / "python"
    script.write_text(_SCRIPT)
    script.chmod(0o700)
    monkeypatch.setattr("sys.executable", str(script))
    limits = ProcessLimits(row_count=1, answer_bytes=1_000, seconds=seconds, disk_bytes=1_000_000)
    process = QueryProcess(tmp_path / "files", _place, limits)
    try:
        assert process.answer({}, lambda: True)["code"] == "TOO_LARGE"
        assert (process._process is not None) is stays
    finally:
        process.close()
