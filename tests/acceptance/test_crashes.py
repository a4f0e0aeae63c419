"""``kill -9`` at any step of the pipeline: nothing is lost, nothing is told twice."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import Engine, select
from tests.acceptance.crashing_pipeline import POINTS
from tests.company import SmallCompany
from tests.spark.test_match_stream import expected, stored

from tocsin.store.engine import open_engine
from tocsin.store.schema import migrate
from tocsin.store.tables import delivery

ROUNDS = 20


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    made = open_engine(f"sqlite:///{tmp_path / 'tocsin.db'}", synchronous="NORMAL")
    migrate(made)
    return made


def run(folder: Path, point: str) -> int:
    words = [sys.executable, "-m", "tests.acceptance.crashing_pipeline", str(folder), point]
    done = subprocess.run(words, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr[-3000:]
    return done.returncode


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_twenty_kills_at_five_points_lose_and_repeat_nothing(engine: Engine, tmp_path: Path) -> None:
    company = SmallCompany(engine)
    company.clock.advance(1_000)
    hook = {"category": "External", "type": "Webhook", "config": {"endpoint": "http://127.0.0.1:9/hook"}}
    company.alert("hook", [hook, {"category": "Owners", "type": "Email"}], "fieldChanged == 'description'")
    company.alert("bell", [{"category": "Followers", "type": "ActivityFeed"}])
    first_written: dict[str, object] = {}
    for number in range(ROUNDS):
        company.describe("orders", f"round {number}")
        assert run(tmp_path, POINTS[number % len(POINTS)]) == -signal.SIGKILL
        first_written = {**created(engine), **first_written}
    assert run(tmp_path, "nowhere") == 0
    told = stored(engine)
    assert told == expected(company)
    assert len({row[0] for row in told.values()}) >= ROUNDS
    assert {one: at for one, at in created(engine).items() if one in first_written} == first_written
    assert all(json.dumps(row) for row in told.values())


def created(engine: Engine) -> dict[str, object]:
    """When each delivery was first written: writing it again must leave it as it was."""
    with engine.connect() as connection:
        rows = connection.execute(select(delivery.c.id, delivery.c.created_at_ms)).all()
    return {row.id: row.created_at_ms for row in rows}
