"""Tests of starts of the server and the worker: without Spark and Java, and without libraries they need later."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

RunPython = Callable[..., subprocess.CompletedProcess[str]]


@pytest.mark.parametrize(
    ("process", "needs"), [("server", []), ("worker", ["aiohttp", "aiosmtplib", "jinja2"])], ids=["server", "worker"]
)
def test_a_process_starts_where_there_is_no_spark_and_no_java(
    process: str, needs: list[str], run_python: RunPython, sqlite_template: Path, tmp_path: Path
) -> None:
    """On a store of this release, it imports no library that only some requests or messages need."""
    (tmp_path / "tocsin.db").write_bytes(sqlite_template.read_bytes())
    result = run_python("start_without_java.py", process, environment={"PATH": str(tmp_path)})
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout.splitlines()[-1])
    assert report["loaded"] == []
    assert set(report["late"]) <= set(needs)
    assert report["answer"]
