"""Tests of the README's example: a change of the sample's orders table and its recipients."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr
from sqlalchemy import Engine
from tests.loadedsample import RECEIVER_PORT
from tests.notifying import dependencies_of
from tests.serving import KEY

from tocsin.catalogue.writes import Writes
from tocsin.clock import FixedClock
from tocsin.flow.match.local import matches
from tocsin.flow.match.plan import plan_of
from tocsin.flow.once import notifications_for
from tocsin.flow.schedule.messages import ScheduledNotification
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key
from tocsin.model.subscription import Channel
from tocsin.sample.alerts import WATCHED_TABLE
from tocsin.sample.company import DEMO_PERSON
from tocsin.server.bootstrap import first_start
from tocsin.settings import Settings
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.catalogue.people.identities import People
from tocsin.store.database.engine import open_engine
from tocsin.store.eventlog.log import EventLog

LATER_MS = 1_890_000_000_000
"""Long after the first start, which creates the alerts by the clock of this machine."""
NEW_COLUMN: Document = {"op": "add", "path": "/columns/-", "value": {"name": "gift_note", "dataType": "TEXT"}}

pytestmark = pytest.mark.xdist_group("sample load")  # one worker has what all of them look at


@pytest.fixture(scope="module")
def engine(loaded_sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """The store of a first start with the sample, after somebody gave the orders table a new column."""
    path = tmp_path_factory.mktemp("story") / "tocsin.db"
    path.write_bytes(loaded_sample.read_bytes())
    engine = open_engine(f"sqlite:///{path}", synchronous="NORMAL")
    first_start(engine, Settings(secrets_key=SecretStr(KEY)))
    Writes(SqlCatalogue(engine), FixedClock(LATER_MS)).patch(
        "table", Key.by_name(WATCHED_TABLE), [NEW_COLUMN], actor=SYSTEM
    )
    yield engine
    engine.dispose()


@pytest.fixture(scope="module")
def notifications(engine: Engine) -> list[ScheduledNotification]:
    """All recipients."""
    logged = EventLog(engine).read(0, 10_000)[-1]
    subscriptions = Subscriptions(engine).list_enabled()
    dependencies = dependencies_of(engine, subscriptions, FixedClock(LATER_MS))
    return notifications_for(logged, [one for one in subscriptions if matches(plan_of(one), logged)], dependencies)


def test_the_follower_hears_it_from_the_bell(notifications: list[ScheduledNotification], engine: Engine) -> None:
    person = People(engine).by_name(DEMO_PERSON)
    assert person is not None
    (bell,) = [one for one in notifications if one.draft.recipient_id == person.id and one.message_id is None]
    assert "you follow it (alert ActivityFeedAlert)" in [reason.sentence() for reason in bell.draft.reasons.in_order]


def test_the_owner_gets_one_mail_that_says_why(notifications: list[ScheduledNotification]) -> None:
    (mail,) = [one for one in notifications if one.draft.target == "priya.raman@fernhill.example.com"]
    assert "you own it (alert Tier1SchemaChanges)" in [reason.sentence() for reason in mail.draft.reasons.in_order]


def test_the_webhook_is_called_once(notifications: list[ScheduledNotification]) -> None:
    assert [one.draft.target for one in notifications if one.draft.channel == Channel.WEBHOOK] == [
        f"http://127.0.0.1:{RECEIVER_PORT}/hook"
    ]


def test_whoever_builds_on_the_table_hears_that_it_lies_upstream(notifications: list[ScheduledNotification]) -> None:
    sentences = {reason.sentence() for one in notifications for reason in one.draft.reasons.in_order if reason.hops}
    assert any("marts.fct_orders, 3 steps below" in sentence for sentence in sentences)


def test_nobody_is_notified_twice_over_one_channel(notifications: list[ScheduledNotification]) -> None:
    assert len({(one.draft.channel, one.draft.key) for one in notifications}) == len(notifications)
