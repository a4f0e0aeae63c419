"""Tests of the benchmarks at a small scale: they run and their checks pass; the figures mean nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SPARK = (pytest.mark.spark, pytest.mark.slow)
FIGURES = [
    pytest.param("api", {"writes/s"}, marks=pytest.mark.slow),
    pytest.param("catalogue", {"entities/s", "writes/s", "ms"}, marks=pytest.mark.slow),
    pytest.param("webhooks", {"deliveries/s"}, marks=pytest.mark.slow),
    pytest.param("permissions", {"µs", "ms (p50)"}, marks=pytest.mark.slow),
    pytest.param("consistency", {"events/s", "s"}, marks=pytest.mark.slow),
    pytest.param("latency", {"ms"}, marks=SPARK),
    pytest.param("startup", {"ms", "MiB"}, marks=SPARK),
    pytest.param("backlog", {"events/s", "rows/s"}, marks=SPARK),
    pytest.param("matching", {"events/s", "ms", "MiB"}, marks=SPARK),
    pytest.param("fanout", {"s"}, marks=SPARK),
    pytest.param("follows", {"ms", "1,000", ""}, marks=SPARK),
    pytest.param("backtest", {"events/s"}, marks=SPARK),
]


@pytest.mark.parametrize(("name", "units"), FIGURES)
def test_a_benchmark_measures_and_checks_what_it_says(name: str, units: set[str]) -> None:
    command = [sys.executable, "-m", "bench", "--only", name, "--scale", "0.01", "--json"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=280)
    assert run.returncode == 0, run.stderr[-4_000:]
    rows = json.loads(run.stdout)
    assert {row["benchmark"] for row in rows} == {name}
    assert {row["unit"] for row in rows} == units
    assert all(row["figure"] > 0 for row in rows)
