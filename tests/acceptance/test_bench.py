"""Tests of the benchmarks at a small scale: each one runs and checks what it measures; its figures mean nothing.

What a benchmark asks of Spark costs the same at every scale, and a second of load is a second. So two of those without
Spark run always and all others with ``make soak``; mypy checks all of them against what they call, and what
they measure is tested where it is made.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from tests.sparksession import SHORT_LIVED

ROOT = Path(__file__).resolve().parents[2]
SMALL = {"waiting": {"ms", "KiB"}, "permissions": {"µs", "ms (p50)"}}
WITHOUT_SPARK = {
    "api": {"writes/s"},
    "catalogue": {"entities/s", "writes/s", "ms"},
    "webhooks": {"deliveries/s"},
    "deliveries": {"ms", "mails/s", "messages/s", "deliveries/s"},
    "consistency": {"events/s", "s"},
    "feeds": {"ms"},
    "streams": {"ms", "KiB"},
}
ON_SPARK = {
    "backlog": {"events/s", "rows/s"},
    "fanout": {"s", "MiB"},
    "sink": {"rows/s"},
    "latency": {"ms", "writes/s"},
    "lake": {"ms"},
    "phases": {"ms"},
    "startup": {"ms", "MiB"},
    "follows": {"ms", "1,000", ""},
    "domains": {"ms", "1,000", ""},
    "backtest": {"events/s"},
    "lake_sql": {"events/s"},
    "matching": {"events/s", "ms", "MiB"},
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "units",
    [
        pytest.param(SMALL, id="small"),
        pytest.param(WITHOUT_SPARK, id="without", marks=pytest.mark.soak),
        pytest.param(ON_SPARK, id="spark", marks=[pytest.mark.spark, pytest.mark.soak]),
    ],
)
@pytest.mark.timeout(1_800)  # a machine that is busy with other things takes that much longer
def test_benchmarks_measure_and_check_what_they_say(units: dict[str, set[str]]) -> None:
    """All in one process: what takes long is to start one."""
    options = [part for name in units for part in ("--only", name)]
    command = [sys.executable, "-m", "bench", *options, "--scale", "0.005", "--json"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "TOCSIN_SPARK_CONF": json.dumps(SHORT_LIVED)}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-4_000:]
    units_by_benchmark: dict[str, set[str]] = defaultdict(set)
    for row in json.loads(run.stdout):
        units_by_benchmark[row["benchmark"]].add(row["unit"])
        assert row["figure"] > 0, row
    assert units_by_benchmark == units
