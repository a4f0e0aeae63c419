"""Tests of the pipeline on executors in separate processes, from the built wheel, until its Java has no memory left.

Each run of the tests has one executor, with the query that needs no earlier reports; ``make soak`` has two, and both.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark
import pytest
from sqlalchemy import Engine, func, insert, select
from tests.company import SmallCompany
from tests.otheraccount import RPC_RESPONSE, answers_to, command_lines, listening_ports, open_blocks_request, type_of
from tests.quickspark import QUICK_JAVA
from tests.soak import SOAK
from tests.spark.test_match_stream import expected_notifications, stored_notifications
from tests.sparksession import CANARY, SHORT_LIVED

from tocsin.store.database.tables import follow, notification, person

MAIL = [{"category": "Owners", "type": "Email"}]
EXECUTORS = 2 if SOAK else 1

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.xdist_group("wheel")]


@dataclass(frozen=True)
class Cluster:
    """A driver and its executors, each a process, which process one store after the other."""

    driver: subprocess.Popen[str]
    errors: Path

    def tell(self, engine: Engine, tmp_path: Path) -> dict[str, Any]:
        """Process the whole log of a store; return what the driver says of it."""
        assert self.driver.stdin
        url = engine.url.render_as_string(hide_password=False)
        print(json.dumps({"url": url, "checkpoint": str(tmp_path / "checkpoint")}), file=self.driver.stdin, flush=True)
        return self._answer()

    def end(self) -> dict[str, Any]:
        """Let the driver's Java run out of memory; return how it ended, and what the pipeline says of that."""
        assert self.driver.stdin
        self.driver.stdin.close()
        return self._answer()

    def has_ended(self) -> bool:
        """Return whether it was told to end."""
        assert self.driver.stdin
        return self.driver.stdin.closed

    def _answer(self) -> dict[str, Any]:
        assert self.driver.stdout
        for line in self.driver.stdout:
            if line.startswith("{"):
                return dict(json.loads(line))
        raise AssertionError(self.errors.read_text()[-3000:])


@pytest.fixture
def cluster(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("cluster")
    script = Path(__file__).with_name("cluster_pipeline.py")
    conf = {**SHORT_LIVED, "spark.executor.extraJavaOptions": QUICK_JAVA, "spark.executor.memory": "1g"}
    conf["spark.tocsin.secret"] = CANARY
    inherited_variables = {
        name: value for name, value in os.environ.items() if name != "SPARK_HOME"
    }  # that of the library
    with (folder / "errors").open("w") as errors:
        driver = subprocess.Popen(
            [sys.executable, str(script), str(wheel), str(EXECUTORS)],
            cwd=folder,
            env={**inherited_variables, "PYTHONPATH": str(wheel), "TOCSIN_SPARK_CONF": json.dumps(conf)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        with driver:
            started_cluster = Cluster(driver, folder / "errors")
            yield started_cluster
            if not started_cluster.has_ended():
                started_cluster.end()
    assert driver.returncode == 0, (folder / "errors").read_text()[-3000:]


@pytest.mark.soak
@pytest.mark.postgres
def test_a_hundred_thousand_followers_of_one_event_pass_by_the_driver(
    postgres_engine: Engine, tmp_path: Path, cluster: Cluster
) -> None:
    """Fault scenario 29."""
    company = SmallCompany(postgres_engine)
    company.alert("all", [{"category": "Followers", "type": "ActivityFeed"}], resources=("table",))
    ids = [f"00000000-0000-4000-9000-{number:012}" for number in range(100_000)]
    with postgres_engine.begin() as connection:
        people = [{"user_id": one, "name": one, "email": f"{one}@example.com"} for one in ids]
        follows = [{"entity_id": company.ids["orders"], "user_id": one, "entity_type": "table"} for one in ids]
        connection.execute(insert(person), people)
        connection.execute(insert(follow), follows)
    company.describe("orders", "All orders.")
    outcome = cluster.tell(postgres_engine, tmp_path)
    with postgres_engine.connect() as connection:
        count = connection.scalar(select(func.count()).where(notification.c.recipient_id.in_(ids[::10_000])))
        everybody = connection.scalar(select(func.count()).select_from(notification))
    assert (count, everybody) == (10, 100_001)  # cem follows, too
    assert outcome["grown_kib"] < 32 * 1024, "a hundred thousand rows would be more"


def test_executors_of_their_own_tell_the_same(
    sqlite_engine: Engine, tmp_path: Path, wheel: Path, cluster: Cluster
) -> None:
    """The driver of such a cluster runs no task: executors match and resolve, by a Python that has the wheel alone."""
    company = SmallCompany(sqlite_engine)
    company.clock.advance(1_000)
    company.alert("all", [*MAIL, {"category": "Followers", "type": "ActivityFeed"}], resources=("table",))
    for number in range(10):
        company.describe("orders", f"text {number}")
    if SOAK:
        _report_failures(company)
    outcome = cluster.tell(sqlite_engine, tmp_path)
    expected_rows = expected_notifications(company)
    assert len(expected_rows) >= 20
    assert stored_notifications(sqlite_engine) == expected_rows
    assert len(outcome["executors"]) == EXECUTORS
    _check_other_accounts_reach_nothing(cluster.driver.pid)
    for of_tocsin, of_pyspark in outcome["executors"]:
        assert wheel.name in of_tocsin
        assert of_pyspark == pyspark.__file__, "what is compiled, not the zip that Spark comes with"
    end_report = cluster.end()
    assert end_report["code"] == 3, "Java leaves nothing behind that half works"
    assert "Spark has stopped" in end_report["message"]


def _report_failures(company: SmallCompany) -> None:
    """Let runs fail again and again, for an alert on such streaks."""
    company.alert("streaks", MAIL, "matchStatusInARow('Failed', {2, 3})")
    company.pipeline("etl", owners=[{"type": "user", "name": "ana"}])
    company.pipeline("elt", owners=[{"type": "user", "name": "dia"}])
    for _ in range(4):
        company.run("etl", "Failed")
        company.run("elt", "Failed")


def _check_other_accounts_reach_nothing(pid: int) -> None:
    executor_lines = list(command_lines(pid))
    assert sum("CoarseGrainedExecutorBackend" in line for line in executor_lines) == EXECUTORS
    assert any("tocsin.jobs.worker_daemon" in line for line in executor_lines), "Tocsin's own daemon forks the workers"
    assert [line for line in executor_lines if CANARY in line or "spark.authenticate.secret" in line] == []
    ports = listening_ports(pid)
    assert len(ports) > 2 + EXECUTORS, "the driver, its blocks, py4j, and blocks of the executors"
    answers = answers_to(ports, open_blocks_request()).values()
    assert RPC_RESPONSE not in [type_of(answer) for answer in answers]
