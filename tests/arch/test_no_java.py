"""Tests that the server and the worker run without Spark and Java."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

RunPython = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.parametrize("process", ["server", "worker"])
def test_a_process_starts_where_there_is_no_spark_and_no_java(
    process: str, run_python: RunPython, tmp_path: Path
) -> None:
    result = run_python("start_without_java.py", process, environment={"PATH": str(tmp_path)})
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout.splitlines()[-1])
    assert report["loaded"] == []
    assert report["answer"]
