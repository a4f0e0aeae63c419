"""Tests that this tree goes on where the commit before it stopped: its store, its checkpoints, its state."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from sqlalchemy import Engine
from tests.acceptance.earlier_features import FACTS, facts_of
from tests.acceptance.test_crashes import creation_times
from tests.company import STARTED_MS, SmallCompany
from tests.notifying import notify_all
from tests.spark.test_match_stream import expected_notifications_in, has_caught_up, running, stored_notifications
from tests.spark.test_streak_stream import following, has_read_all_reports
from tests.store.test_alert_incidents import handle_incident
from tests.store.test_incident_merging import ACKNOWLEDGE, split_incident
from tests.store.test_reminders import HOUR_MS, look, reminder_events
from tests.store.test_scheduled_checks import state_of, write
from tests.waiting import until

from tocsin.catalogue.changes import answer_request
from tocsin.catalogue.observations.scheduled_checks import DueCheck
from tocsin.catalogue.writes import Writes
from tocsin.clock import FixedClock
from tocsin.flow.match.plan import plan_of
from tocsin.jobs.expiry import ExpiryJob
from tocsin.jobs.match_stream import QUERY_NAME as MATCH_STREAM
from tocsin.jobs.streak_stream import QUERY_NAME as STREAK_STREAM
from tocsin.model.change_request import ChangeAnswer
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key
from tocsin.settings import Settings
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.catalogue.changes.requests import ChangeRequestLog
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.database.engine import open_engine
from tocsin.store.database.schema import migrate
from tocsin.store.outbox.scheduled_checks import ScheduledChecks
from tocsin.store.upkeep.fsck.inspection import inspect

ROOT = Path(__file__).parents[2]
EARLIER = "tests/acceptance/earlier_product.py"
EARLIER_FEATURES = "tests/acceptance/earlier_features.py"


@pytest.fixture
def earlier_tree(tmp_path: Path) -> Path:
    """Return a folder with the sources and tests of the commit before."""
    tree = tmp_path / "earlier"
    tree.mkdir()
    archive = subprocess.run(["git", "archive", "HEAD~1", "src", "tests"], cwd=ROOT, capture_output=True, check=False)
    if archive.returncode:
        pytest.skip(f"no commit before this one is here: {archive.stderr.decode().strip()}")
    subprocess.run(["tar", "x", "-C", str(tree)], input=archive.stdout, check=True)
    for module in (EARLIER, EARLIER_FEATURES):
        if not (tree / module).exists():
            pytest.skip(f"the commit before has no {module}")
    (tree / ".pytest_cache").symlink_to(ROOT / ".pytest_cache")  # with the archive that its Java starts from
    return tree


def run_earlier(tree: Path, module: str, folder: Path) -> None:
    """Run a module of an earlier tree, with its own sources."""
    environment = os.environ | {"PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}"}
    words = [sys.executable, "-m", module.removesuffix(".py").replace("/", "."), str(folder)]
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
    run_earlier(earlier_tree, EARLIER, folder)
    engine = open_engine(f"sqlite:///{folder / 'tocsin.db'}", synchronous="NORMAL")
    migrate(engine)
    earlier, earlier_times = stored_notifications(engine), creation_times(engine)
    assert earlier
    assert earlier == expected_notifications_in(engine)

    continue_writing(engine)
    checkpoints = Settings(data_dir=folder).checkpoint_dir()
    before = sorted(path.name for path in checkpoints.iterdir())
    with running(spark, engine, checkpoints / MATCH_STREAM), following(spark, engine, checkpoints / STREAK_STREAM):
        until(lambda: has_caught_up(engine) and has_read_all_reports(engine), within_s=120)
    assert sorted(path.name for path in checkpoints.iterdir()) == before == sorted((MATCH_STREAM, STREAK_STREAM))
    notifications = stored_notifications(engine)
    assert notifications == expected_notifications_in(engine)
    assert earlier.items() <= notifications.items()
    assert {
        message_id: at for message_id, at in creation_times(engine).items() if message_id in earlier_times
    } == earlier_times
    names = [reason["subscriptionName"] for row in notifications.values() for reason in row[4]]
    assert names.count("streak") == 1


def continue_writing(engine: Engine) -> None:
    """Change a table, and report the third failure in a row of a pipeline that failed twice before."""
    clock = FixedClock(STARTED_MS + 3_600_000)
    writes = Writes(SqlCatalogue(engine), clock)
    patch = [{"op": "add", "path": "/description", "value": "written by this commit"}]
    writes.patch("table", Key.by_name("pg.store.public.orders"), patch, actor=SYSTEM)
    writes.add_pipeline_status("airflow.etl", {"timestamp": clock.now_ms(), "executionStatus": "Failed"}, actor=SYSTEM)


class ReopenedCompany(SmallCompany):
    """A company in a store that was written before."""

    def __post_init__(self) -> None:
        self.writes = Writes(SqlCatalogue(self.engine), self.clock)


@pytest.mark.slow
def test_what_takes_days_continues_from_the_store_of_the_commit_before(earlier_tree: Path, tmp_path: Path) -> None:
    run_earlier(earlier_tree, EARLIER_FEATURES, tmp_path)
    engine = open_engine(f"sqlite:///{tmp_path / 'tocsin.db'}", synchronous="NORMAL")
    migrate(engine)
    facts = json.loads((tmp_path / FACTS).read_text())
    company = ReopenedCompany(engine, FixedClock(facts.pop("nowMs")), facts.pop("ids"))
    now_facts = json.loads(json.dumps(facts_of(engine)))
    assert {key: now_facts[key] for key in facts} == facts
    assert notify_all(engine, now_ms=company.clock.now_ms()) == 0, "nobody is told of the same twice"
    assert ExpiryJob(engine, company.clock).look() == 0
    continue_handling(company)
    continue_checks(company)
    answer_again(company)
    assert inspect(engine, deep=True).counts == {}


def continue_handling(company: SmallCompany) -> None:
    """Remind of the merged incidents once, split and acknowledge them."""
    reminder_count = len(reminder_events(company))
    assert [look(company, after_ms=9 * HOUR_MS), look(company)] == [1, 0]
    assert len(reminder_events(company)) == reminder_count + 1
    split_incident(company, "INC-2")
    for name in ("INC-1", "INC-2"):
        handle_incident(company, name, ACKNOWLEDGE)
    assert look(company, after_ms=9 * HOUR_MS) == 0


def continue_checks(company: SmallCompany) -> None:
    """Release the digest of the last check, which is written no second time."""
    checks = ScheduledChecks(company.engine)
    ((schedule_id, last),) = checks.last_checks().items()
    (alert,) = Subscriptions(company.engine).list_enabled({company.ids["red"]})
    orphan = state_of(company, "orphan", may_lack_owner=True)
    assert write(company, DueCheck(schedule_id, last.due_at_ms, (plan_of(alert),)), orphan) == 0
    assert checks.release(schedule_id, now_ms=last.due_at_ms + 1_000) == 1


def answer_again(company: SmallCompany) -> None:
    """Answer the change request for the last of its consumers."""
    requests = ChangeRequestLog(company.engine)
    request = requests.find("CR-1")
    assert request is not None
    (open_id,) = [one.consumer.id for one in requests.consumers(request.id) if one.answer is None]
    company.clock.at_ms = request.due_at_ms - 1
    answer = ChangeAnswer.model_validate({"answer": "ready"})
    work = partial(answer_request, request_id=request.id, answer=answer, consumer_ids=[open_id])
    company.writes.within(work, actor=company.actor("cem"))
    assert [one.answer is None for one in requests.consumers(request.id)] == [False] * 3
