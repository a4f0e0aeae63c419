"""Tests of the pipeline on executors in separate processes, from the built wheel."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import Engine, func, insert, select
from tests.company import SmallCompany
from tests.spark.test_match_stream import expected, stored
from tests.sparksession import QUICK_JAVA, SHORT_LIVED

from tocsin.store.tables import follow, notification, person

MAIL = [{"category": "Owners", "type": "Email"}]
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    words = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(words, check=True, capture_output=True)
    (built,) = folder.glob("tocsin-*.whl")
    return built


def told_on_a_cluster(engine: Engine, tmp_path: Path, wheel: Path) -> list[str]:
    """Process the whole log on executors in processes of their own; return the lines that this printed."""
    url = engine.url.render_as_string(hide_password=False)
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
    return done.stdout.splitlines()


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_hundred_thousand_followers_of_one_event_pass_by_the_driver(
    store_engine: Engine, tmp_path: Path, wheel: Path
) -> None:
    company = SmallCompany(store_engine)
    company.alert("all", [{"category": "Followers", "type": "ActivityFeed"}], resources=("table",))
    ids = [f"00000000-0000-4000-9000-{number:012}" for number in range(100_000)]
    with store_engine.begin() as connection:
        people = [{"user_id": one, "name": one, "email": f"{one}@example.com"} for one in ids]
        follows = [{"entity_id": company.ids["orders"], "user_id": one, "entity_type": "table"} for one in ids]
        connection.execute(insert(person), people)
        connection.execute(insert(follow), follows)
    company.describe("orders", "All orders.")
    printed = told_on_a_cluster(store_engine, tmp_path, wheel)
    with store_engine.connect() as connection:
        count = connection.scalar(select(func.count()).where(notification.c.recipient_id.in_(ids[::10_000])))
        everybody = connection.scalar(select(func.count()).select_from(notification))
    assert (count, everybody) == (10, 100_001)  # cem follows, too
    (grown,) = (line for line in printed if line.startswith("driver grew "))
    assert int(grown.split()[-1]) < 32 * 1024, "a hundred thousand rows would be more"


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
    printed = told_on_a_cluster(sqlite_engine, tmp_path, wheel)
    assert stored(sqlite_engine) == expected(company)
    places = [line for line in printed if line.startswith("executor ")]
    assert len(places) == 2
    assert all(wheel.name in place for place in places), places
