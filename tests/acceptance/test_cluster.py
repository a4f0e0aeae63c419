"""Tests of the pipeline on executors in separate processes, from the built wheel."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import Engine
from tests.company import SmallCompany
from tests.spark.test_match_stream import expected, stored
from tests.sparksession import QUICK_JAVA, SHORT_LIVED

MAIL = [{"category": "Owners", "type": "Email"}]
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    words = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(words, check=True, capture_output=True)
    (built,) = folder.glob("tocsin-*.whl")
    return built


@pytest.mark.spark
@pytest.mark.slow
def test_executors_of_their_own_tell_the_same(sqlite_engine: Engine, tmp_path: Path, wheel: Path) -> None:
    company = SmallCompany(sqlite_engine)
    company.clock.advance(1_000)
    company.alert("all", [*MAIL, {"category": "Followers", "type": "ActivityFeed"}], resources=("table",))
    for number in range(10):
        company.describe("orders", f"text {number}")
    company.alert("streaks", MAIL, "matchStatusInARow('Failed', {2, 3})")
    company.pipeline("etl", owners=[{"type": "user", "name": "ana"}])
    company.pipeline("elt", owners=[{"type": "user", "name": "dia"}])
    for _ in range(4):
        company.run("etl", "Failed")
        company.run("elt", "Failed")
    url = sqlite_engine.url.render_as_string()
    script = Path(__file__).with_name("cluster_pipeline.py")
    conf = {**SHORT_LIVED, "spark.executor.extraJavaOptions": QUICK_JAVA, "spark.executor.memory": "1g"}
    done = subprocess.run(
        [sys.executable, str(script), url, str(tmp_path / "checkpoint"), str(wheel), json.dumps(conf)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(wheel)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert stored(sqlite_engine) == expected(company)
    places = [line for line in done.stdout.splitlines() if line.startswith("executor ")]
    assert len(places) == 2
    assert all(wheel.name in place for place in places), places
