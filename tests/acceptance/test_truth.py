"""Tests of ``make truth`` at a small size: nothing differs; with faults of the past put back, it finds what is lost.

Each run notifies by the Python engine; ``make soak`` by the pipeline, in each way and on both stores.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path

import pytest
from sqlalchemy import Engine, select
from tests.acceptance import forgetting
from tests.acceptance.official_client.conftest import environment
from tests.acceptance.python_pipeline import sitecustomize_for
from tests.notifying import notify_all
from tests.soak import SOAK
from tests.sparksession import SHORT_LIVED
from truth.agreement import Questions
from truth.alert_list import SHARED
from truth.alerts import MAIL
from truth.clients import with_clients
from truth.compare import Difference, Kind, differences
from truth.history import FOLDER, read_history
from truth.judgement import Judgement, judge
from truth.script import OTHER, Script, script_of
from truth.steps import NEEDS_INCIDENTS
from truth.stored import read_notifications
from truth.ways import Place, Way

from tocsin.settings import Settings
from tocsin.store.database.engine import open_engine
from tocsin.store.database.tables import change_event
from tocsin.store.database.vault import use_vault
from tocsin.store.outbox.notifications import Notifications

__all__ = ["environment"]

ROOT = Path(__file__).resolve().parents[2]
CHANGES, SEED = (300, 3) if SOAK else (40, 3)
QUESTIONS = Questions() if SOAK else Questions(explained=20, backtested=0, is_audited=False)
"""Audits and backtests are compared with what the pipeline stores by their own tests, which share one Spark."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.spark,
    pytest.mark.timeout(900),
    pytest.mark.xdist_group("truth"),  # one worker replays what all of them look at
    pytest.mark.skipif(not FOLDER.is_dir(), reason="needs the real history of ../shared/data"),
]


@dataclass(frozen=True)
class Replay:
    """A replay that was judged, and a copy of its store as it was before the pipeline was started and days passed."""

    judgement: Judgement
    before: Path
    folder: Path


@pytest.fixture(scope="module")
def script() -> Script:
    full_script = script_of(read_history(CHANGES, SEED), SEED)
    if SOAK:
        return full_script
    # The Python engine has no jobs that do anything as days pass.
    steps = takewhile(lambda step: not isinstance(step, NEEDS_INCIDENTS), full_script.steps)
    return replace(full_script, steps=tuple(steps))


@pytest.fixture(scope="module")
def replay(script: Script, tmp_path_factory: pytest.TempPathFactory) -> Replay:
    folder, before = tmp_path_factory.mktemp("replay"), tmp_path_factory.mktemp("before") / "tocsin.db"

    days_pass = (number for number, step in enumerate(script.steps) if isinstance(step, NEEDS_INCIDENTS))
    step_count = next(days_pass, len(script.steps))

    def copy_store(phase: str, done_count: int, _total: int) -> None:
        if phase == "requests" and done_count == step_count:
            with sqlite3.connect(folder / "tocsin.db") as source, sqlite3.connect(before) as target:
                source.backup(target)

    paths = () if SOAK else (sitecustomize_for(tmp_path_factory.mktemp("python")),)
    place = Place(folder, environment=pipeline(*paths))
    return Replay(judge(script, Way.AT_THE_END, place, copy_store, questions=QUESTIONS), before, folder)


@pytest.fixture
def unnotified_store(replay: Replay, tmp_path: Path) -> Iterator[Engine]:
    """The store of the replay, of which nobody was notified yet."""
    shutil.copy(replay.before, tmp_path / "tocsin.db")
    engine = open_engine(f"sqlite:///{tmp_path / 'tocsin.db'}", synchronous="OFF")
    use_vault(engine, Settings(data_dir=replay.folder))
    yield engine
    engine.dispose()


def pipeline(*paths: Path) -> dict[str, str]:
    """Environment of a pipeline that lives for seconds."""
    places = os.pathsep.join(map(str, (*paths, ROOT / "src", ROOT)))
    return {"TOCSIN_SPARK_CONF": json.dumps(SHORT_LIVED), "PYTHONPATH": places}


def differences_in(engine: Engine, replay: Replay) -> list[Difference]:
    """Notify in Python of what the store holds, and compare; what happened later is left out."""
    notify_all(engine)
    stored = read_notifications(engine, replay.judgement.names)
    with engine.connect() as connection:
        event_ids = set(connection.scalars(select(change_event.c.id)))
    due = replay.judgement.due
    notifications = {address: reasons for address, reasons in due.notifications.items() if address[0] in event_ids}
    return list(differences(replace(due, notifications=notifications), stored, replay.judgement.events))


def test_what_is_stored_is_what_must_be(replay: Replay) -> None:
    assert [one.text() for one in replay.judgement.differences] == []
    assert len(replay.judgement.stored) > 5 * CHANGES


def test_an_address_that_alerts_share_gets_the_reasons_that_their_makers_may_tell(replay: Replay) -> None:
    alerts_by_event = {
        event: {reason.alert for reason in reasons}
        for (event, *address), reasons in replay.judgement.stored.items()
        if address == [MAIL, SHARED]
    }
    hidden_events = {
        event
        for event, alerts in alerts_by_event.items()
        if "SharedByAdmin" in alerts and "SharedByReader" not in alerts
    }
    assert hidden_events, "no table that the reader may not see has changed"
    fired_events = replay.judgement.due.firings["SharedByReader"]
    assert fired_events, "no table that the reader may see has changed"
    assert fired_events.isdisjoint(hidden_events), "an alert does not match what its maker may not view"


def test_the_engine_of_explanations_finds_the_same(replay: Replay, unnotified_store: Engine) -> None:
    assert [one.text() for one in differences_in(unnotified_store, replay)] == []


def test_recipients_of_now_are_found_to_be_wrong(
    replay: Replay, unnotified_store: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    forgetting.recipients_of_now(monkeypatch.setattr)
    kinds = Counter(one.kind for one in differences_in(unnotified_store, replay))
    assert kinds[Kind.MISSING] > 0
    assert kinds[Kind.EXTRA] > 0


def test_relations_that_a_faster_reader_lets_go_are_found_to_be_lost(
    replay: Replay, unnotified_store: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    forgetting.letting_go(monkeypatch.setattr)
    Notifications(unnotified_store).advance(forgetting.SEARCH, 10**9, now_ms=0)
    differences = differences_in(unnotified_store, replay)
    assert_lost(differences)


def assert_lost(differences: list[Difference]) -> None:
    """Fail unless people missed deletions, and nobody missed anything else."""
    kinds = Counter(one.kind for one in differences)
    assert kinds[Kind.MISSING] > 0
    assert any(one.about.startswith("entityDeleted") for one in differences if one.kind is Kind.MISSING)
    assert not kinds[Kind.EXTRA]


@pytest.mark.soak
@pytest.mark.parametrize("way", [Way.KEEPING_UP, Way.FULL_SPEED, Way.KILLED])
def test_every_way_stores_what_must_be(script: Script, tmp_path: Path, way: Way) -> None:
    judgement = judge(script, way, Place(tmp_path, environment=pipeline()), questions=QUESTIONS)
    assert [one.text() for one in judgement.differences] == []


@pytest.mark.soak
@pytest.mark.usefixtures("environment")
def test_what_openmetadatas_client_writes_meanwhile_changes_nothing(script: Script, tmp_path: Path) -> None:
    place = Place(tmp_path, environment=pipeline(), has_clients=True)
    judgement = judge(with_clients(script), Way.FULL_SPEED, place, questions=QUESTIONS)
    assert [one.text() for one in judgement.differences] == []
    written = {event.key[0] for event in judgement.events if event.actor == OTHER}
    assert {"table", "testCase", "query", "ingestionPipeline"} <= written


@pytest.mark.postgres
@pytest.mark.soak
def test_postgresql_stores_what_must_be(script: Script, tmp_path: Path, postgres_url: str) -> None:
    place = Place(tmp_path, postgres_url, pipeline())
    judgement = judge(script, Way.AT_THE_END, place, questions=QUESTIONS)
    assert [one.text() for one in judgement.differences] == []


@pytest.mark.soak
def test_a_pipeline_whose_search_lets_go_is_found_to_lose(script: Script, tmp_path: Path) -> None:
    (tmp_path / "patched").mkdir()
    (tmp_path / "patched" / "sitecustomize.py").write_text(
        "import sys\n"
        "import truth.ahead.sitecustomize  # the clock of the replay, which this file hides\n"
        "if 'pipeline' in sys.orig_argv:\n"
        "    from tests.acceptance import forgetting\n"
        "    forgetting.letting_go_in_a_pipeline()\n"
    )
    (tmp_path / "store").mkdir()
    place = Place(tmp_path / "store", environment=pipeline(tmp_path / "patched"))
    judgement = judge(script, Way.AT_THE_END, place, questions=None)
    kinds = Counter(difference.kind for difference in judgement.differences)
    assert kinds[Kind.MISSING] > 0
    assert not kinds[Kind.EXTRA]
