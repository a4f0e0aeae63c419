"""Tests that this tree goes on where the commit before it stopped: its store, its checkpoints, its state."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine
from tests.acceptance.test_crashes import creation_times
from tests.company import STARTED_MS
from tests.spark.test_match_stream import expected_notifications_in, has_caught_up, running, stored_notifications
from tests.spark.test_streak_stream import following, has_read_all_reports
from tests.waiting import until

from tocsin.catalogue.writes import Writes
from tocsin.clock import FixedClock
from tocsin.jobs.match_stream import QUERY_NAME as MATCH_STREAM
from tocsin.jobs.streak_stream import QUERY_NAME as STREAK_STREAM
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key
from tocsin.settings import Settings
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.database.engine import open_engine
from tocsin.store.database.schema import migrate

ROOT = Path(__file__).parents[2]
EARLIER = "tests/acceptance/earlier_product.py"


@pytest.fixture
def earlier_tree(tmp_path: Path) -> Path:
    """Return a folder with the sources and tests of the commit before."""
    tree = tmp_path / "earlier"
    tree.mkdir()
    archive = subprocess.run(["git", "archive", "HEAD~1", "src", "tests"], cwd=ROOT, capture_output=True, check=False)
    if archive.returncode:
        pytest.skip(f"no commit before this one is here: {archive.stderr.decode().strip()}")
    subprocess.run(["tar", "x", "-C", str(tree)], input=archive.stdout, check=True)
    if not (tree / EARLIER).exists():
        pytest.skip(f"the commit before has no {EARLIER}")
    (tree / ".pytest_cache").symlink_to(ROOT / ".pytest_cache")  # with the archive that its Java starts from
    return tree


def run_earlier(tree: Path, folder: Path) -> None:
    """Run the product of an earlier tree, with its own sources."""
    environment = os.environ | {"PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}"}
    words = [sys.executable, "-m", "tests.acceptance.earlier_product", str(folder)]
    process = subprocess.run(words, cwd=tree, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert process.returncode == 0, process.stderr[-3000:]


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_pipeline_continues_from_the_store_and_checkpoints_of_the_commit_before(
    spark: SparkSession, earlier_tree: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    run_earlier(earlier_tree, folder)
    engine = open_engine(f"sqlite:///{folder / 'tocsin.db'}", synchronous="NORMAL")
    migrate(engine)
    earlier, created = stored_notifications(engine), creation_times(engine)
    assert earlier
    assert earlier == expected_notifications_in(engine)

    continue_writing(engine)
    checkpoints = Settings(data_dir=folder).checkpoint_dir()
    before = sorted(path.name for path in checkpoints.iterdir())
    with running(spark, engine, checkpoints / MATCH_STREAM), following(spark, engine, checkpoints / STREAK_STREAM):
        until(lambda: has_caught_up(engine) and has_read_all_reports(engine), within_s=120)
    assert sorted(path.name for path in checkpoints.iterdir()) == before == sorted((MATCH_STREAM, STREAK_STREAM))
    notified = stored_notifications(engine)
    assert notified == expected_notifications_in(engine)
    assert earlier.items() <= notified.items()
    assert {message_id: at for message_id, at in creation_times(engine).items() if message_id in created} == created
    names = [reason["subscriptionName"] for row in notified.values() for reason in row[4]]
    assert names.count("streak") == 1


def continue_writing(engine: Engine) -> None:
    """Change a table, and report the third failure in a row of a pipeline that failed twice before."""
    clock = FixedClock(STARTED_MS + 3_600_000)
    writes = Writes(SqlCatalogue(engine), clock)
    patch = [{"op": "add", "path": "/description", "value": "written by this commit"}]
    writes.patch("table", Key.by_name("pg.store.public.orders"), patch, actor=SYSTEM)
    writes.add_pipeline_status("airflow.etl", {"timestamp": clock.now_ms(), "executionStatus": "Failed"}, actor=SYSTEM)
