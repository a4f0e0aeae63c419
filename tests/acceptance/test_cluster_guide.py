"""Tests of the guide "Run on a cluster": its commands, with folders and addresses of this machine.

A cluster starts a dozen processes of Java and Python, so ``make soak`` runs these. In each run, ``test_cluster.py`` has
an executor of its own, ``tests/unit/jobs`` tests what the pipeline asks of executors, and ``tests/docs`` that settings
and commands of the guide exist.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Engine, text
from tests.company import SmallCompany
from tests.otheraccount import command_lines, processes_under
from tests.spark.test_match_stream import expected_notifications, stored_notifications
from tests.sparkcluster import EXECUTORS_NAME, StandaloneCluster, guided_cluster, is_through
from tests.waiting import until

CONNECTIONS_PER_CORE = 7
"""What the guide says."""
MAIL = [{"category": "Owners", "type": "Email"}]
WITHIN_S = 300
_COUNT_EVERY_S = 0.02

pytestmark = [
    pytest.mark.spark,
    pytest.mark.postgres,
    pytest.mark.soak,
    pytest.mark.timeout(580),
    pytest.mark.xdist_group("cluster"),
]


@pytest.fixture
def cluster(tmp_path: Path, postgres_url: str) -> Iterator[StandaloneCluster]:
    with guided_cluster(tmp_path, postgres_url) as running:
        yield running


def test_the_guide_leads_to_a_pipeline_that_tells_everything_once(
    postgres_engine: Engine, cluster: StandaloneCluster
) -> None:
    """Whatever driver and executors print is in the guide."""
    company = SmallCompany(postgres_engine)
    company.clock.advance(1_000)
    company.alert("all", [*MAIL, {"category": "Followers", "type": "ActivityFeed"}], resources=("table",))
    company.alert("streaks", MAIL, "matchStatusInARow('Failed', {2, 3})")
    for number in range(20):
        company.describe("orders", f"text {number}")
    company.pipeline("etl", owners=[{"type": "user", "name": "ana"}])
    for _ in range(4):
        company.run("etl", "Failed")
    with cluster.pipeline() as pipeline, _counting_connections(postgres_engine) as counts:
        until(lambda: pipeline.poll() is not None or is_through(postgres_engine), within_s=WITHIN_S)
        lines = [line for worker in cluster.processes for line in command_lines(worker.pid)]
    assert stored_notifications(postgres_engine) == expected_notifications(company)
    assert pipeline.returncode == 0
    assert 0 < max(counts) <= 2 * CONNECTIONS_PER_CORE
    assert sum("CoarseGrainedExecutorBackend" in line for line in lines) == 2
    assert [line for line in lines if cluster.secret in line] == []
    assert any("tocsin.jobs.worker_daemon" in line for line in lines), "Tocsin's own daemon forks the Python workers"
    assert cluster.unexplained_lines() == []


def test_killed_executors_and_a_killed_worker_lose_nothing(postgres_engine: Engine, cluster: StandaloneCluster) -> None:
    company = SmallCompany(postgres_engine)
    company.clock.advance(1_000)
    company.alert("all", MAIL, resources=("table",))
    with cluster.pipeline(TOCSIN_PIPELINE_MAX_EVENTS_PER_BATCH="50", TOCSIN_PIPELINE_EVENTS_PER_PARTITION="10"):
        until(lambda: is_through(postgres_engine), within_s=WITHIN_S)
        for number in range(600):
            company.describe("orders", f"text {number}")
            if number in (100, 300):
                os.kill(_executor_under(cluster.processes[1].pid), signal.SIGKILL)
            if number == 450:
                for process_id in processes_under(cluster.processes[2].pid):
                    os.kill(process_id, signal.SIGKILL)
        until(lambda: is_through(postgres_engine), within_s=WITHIN_S)
    assert stored_notifications(postgres_engine) == expected_notifications(company)


def _executor_under(pid: int) -> int:
    """Return the executor of a worker; one that was killed is started again."""
    backends: list[int] = []

    def is_there() -> bool:
        lines = {one: Path(f"/proc/{one}/cmdline").read_bytes() for one in processes_under(pid)}
        backends.extend(process_id for process_id, line in lines.items() if b"CoarseGrainedExecutorBackend" in line)
        return bool(backends)

    until(is_there)
    return backends[0]


@contextmanager
def _counting_connections(engine: Engine) -> Iterator[list[int]]:
    """Give the numbers of connections that executors hold, counted again and again until the block ends."""
    counts, end = [0], threading.Event()
    query = text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = :name"
    )

    def count() -> None:
        while not end.wait(_COUNT_EVERY_S):
            with engine.connect() as connection:
                counts.append(connection.scalar(query, {"name": EXECUTORS_NAME}) or 0)

    thread = threading.Thread(target=count)
    thread.start()
    try:
        yield counts
    finally:
        end.set()
        thread.join()
