"""Tests of loading the sample on both stores: complete, once, and reproducible."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest
from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError
from pydantic import SecretStr
from sqlalchemy import Engine, text
from tests.loadedsample import LOOPBACK, NOW_MS, RECEIVER_PORT
from tests.serving import KEY
from tests.startedstore import StartedStore
from tests.store.event_documents import assert_records_are_the_same

from tocsin.catalogue.writes import Writes
from tocsin.clock import FixedClock, SystemClock
from tocsin.flow.match.plan import Plan, plan_of
from tocsin.model.change import EventType
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key
from tocsin.model.subscription import EventSubscription
from tocsin.sample.alerts import HOOK_ALERT
from tocsin.sample.company import BOTS, DEMO_PERSON
from tocsin.sample.load import is_loaded, lead_hook_to, load
from tocsin.settings import Settings
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.catalogue.entities.catalogue import SqlCatalogue
from tocsin.store.catalogue.people.identities import People
from tocsin.store.database.engine import open_engine, reading
from tocsin.store.database.vault import use_vault
from tocsin.store.eventlog.log import EventLog

EVENT_TABLES = ("entity", "entity_version", "entity_tag", "ownership", "follow", "membership", "lineage_edge")
REPORTED_TABLES = ("series", "incident_status", "suite_member")

pytestmark = pytest.mark.xdist_group("sample load")  # one worker has what all of them look at


@pytest.fixture(scope="module")
def sample(loaded_sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """A loaded sample to look at; tests that write load their own."""
    path = tmp_path_factory.mktemp("sample") / "sample.db"
    path.write_bytes(loaded_sample.read_bytes())
    engine = open_engine(f"sqlite:///{path}", synchronous="NORMAL")
    use_vault(engine, Settings(secrets_key=SecretStr(KEY)))
    yield engine
    engine.dispose()


class LoadedBeside(NamedTuple):
    """A store with a sample, the alerts that were there before it, and where the log ended then."""

    engine: Engine
    alerts: list[Plan]
    end_before: int


@pytest.fixture(scope="module")
def beside_alerts(started_store: StartedStore, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoadedBeside]:
    """A sample loaded after a first start, where no webhook may be called; to look at."""
    path = tmp_path_factory.mktemp("beside_alerts") / "sample.db"
    path.write_bytes(started_store.path.read_bytes())
    engine = open_engine(f"sqlite:///{path}", synchronous="OFF")
    use_vault(engine, Settings(secrets_key=SecretStr(KEY)))
    alerts = [plan_of(one) for one in Subscriptions(engine).list_enabled()]
    end_before = EventLog(engine).readable_end()
    load(engine, Settings(egress_allow=()), now_ms=SystemClock().now_ms())
    yield LoadedBeside(engine, alerts, end_before)
    engine.dispose()


@pytest.fixture
def sample_to_change(sample: Engine, tmp_path: Path) -> Iterator[Engine]:
    """A copy of the loaded sample, to write to."""
    path = tmp_path / "sample.db"
    with closing(sqlite3.connect(str(sample.url.database))) as loaded, closing(sqlite3.connect(path)) as copy:
        loaded.backup(copy)
    engine = open_engine(f"sqlite:///{path}", synchronous="NORMAL")
    use_vault(engine, Settings(secrets_key=SecretStr(KEY)))
    yield engine
    engine.dispose()


def test_alerts_have_the_custom_properties_that_the_page_of_alerts_names(sample: Engine) -> None:
    catalogue = SqlCatalogue(sample)
    properties = catalogue.get("type", Key.by_name("eventsubscription"))["customProperties"]
    names = ["dataClassification", "costCenter", "retentionPeriod", "applicationOwner"]
    assert [one["name"] for one in properties] == names
    alert = catalogue.get("eventsubscription", Key.by_name("PersonalDataChanges"))
    assert list(alert["extension"]) == names


def test_a_loaded_sample_has_its_assets_and_its_year(sample: Engine) -> None:
    _check_assets_and_year(sample)


@pytest.mark.soak  # each kind of write is tried on PostgreSQL in test_paths.py
@pytest.mark.postgres
def test_a_loaded_sample_has_its_assets_and_its_year_on_postgresql(postgres_engine: Engine) -> None:
    assert not is_loaded(postgres_engine)
    load(postgres_engine, LOOPBACK, now_ms=NOW_MS)
    _check_assets_and_year(postgres_engine)


def _check_assets_and_year(engine: Engine) -> None:
    assert is_loaded(engine)
    events = EventLog(engine).read(0, 10_000)
    assert 1_600 <= len(events) <= 1_900
    kinds = {event.event.event_type for event in events}
    assert kinds == {
        EventType.ENTITY_CREATED,
        EventType.ENTITY_UPDATED,
        EventType.ENTITY_SOFT_DELETED,
        EventType.ENTITY_RESTORED,
        EventType.TEST_CASE_FAILURE,
        EventType.LOGICAL_TEST_CASE_ADDED,
        EventType.TEST_SUITE_RUN_COMPLETED,
    }
    assert [event.event.timestamp for event in events] == sorted(event.event.timestamp for event in events)


def test_each_bot_of_a_loaded_sample_is_listed_with_the_user_that_it_acts_as(sample: Engine) -> None:
    bots = [SqlCatalogue(sample).get("bot", Key.by_name(name)) for name, _ in BOTS]
    assert [bot["botUser"]["name"] for bot in bots] == [name for name, _ in BOTS]


def test_the_past_of_the_sample_notifies_nobody(sample: Engine) -> None:
    created_at_ms = {one.created_at_ms for one in Subscriptions(sample).list_enabled()}
    assert created_at_ms == {NOW_MS}
    events = [event.event for event in EventLog(sample).read(0, 10_000)]
    assert all(event.timestamp < NOW_MS or event.entity_type == "eventsubscription" for event in events)


def test_the_past_of_the_sample_notifies_nobody_of_an_alert_that_was_there_before(beside_alerts: LoadedBeside) -> None:
    past = EventLog(beside_alerts.engine).read(beside_alerts.end_before, 10_000)
    past = [one for one in past if one.event.entity_type != "eventsubscription"]
    assert len(past) > 1_000
    assert beside_alerts.alerts
    assert sum(alert.stood_before(one) for one in past for alert in beside_alerts.alerts) == 0


def test_records_of_the_year_are_the_same_from_events_and_from_their_json(sample: Engine) -> None:
    assert_records_are_the_same(sample)


def test_loading_again_only_draws_a_new_password(sample_to_change: Engine) -> None:
    before, first_hash = _rows(sample_to_change), _password_hash(sample_to_change)
    again = load(sample_to_change, LOOPBACK, now_ms=NOW_MS + 1)
    assert _rows(sample_to_change) == before
    password_hash = _password_hash(sample_to_change)
    assert password_hash != first_hash
    assert PasswordHasher().verify(password_hash, again.password)
    with pytest.raises(VerifyMismatchError):
        PasswordHasher().verify(first_hash, again.password)
    assert again.password not in password_hash


def test_nobody_else_in_the_sample_can_log_in(sample: Engine) -> None:
    with reading(sample) as connection:
        assert connection.execute(text("SELECT count(*) FROM credential")).scalar_one() == 1


def test_the_webhook_has_a_key_that_no_version_and_no_event_shows(sample: Engine) -> None:
    subscriptions = Subscriptions(sample)
    orders = next(one for one in subscriptions.list_enabled() if one.name == "OrdersTable")
    (secret,) = subscriptions.secrets_of(orders.id).values()
    with reading(sample) as connection:
        for table in ("entity", "entity_version", "change_event"):
            documents = connection.execute(text(f"SELECT document FROM {table}")).scalars()
            assert all(secret["secretKey"] not in document for document in documents)


def test_the_webhook_follows_the_dev_receiver_and_stays_where_it_was_led_elsewhere(sample_to_change: Engine) -> None:
    assert _orders(sample_to_change).destinations[0].config.endpoint == f"http://127.0.0.1:{RECEIVER_PORT}/hook"
    secret = Subscriptions(sample_to_change).secrets_of(_orders(sample_to_change).id)
    lead_hook_to(sample_to_change, 8586, clock=FixedClock(NOW_MS + 1))
    moved_alert = _orders(sample_to_change)
    assert moved_alert.destinations[0].config.endpoint == "http://127.0.0.1:8586/hook"
    assert Subscriptions(sample_to_change).secrets_of(moved_alert.id) == {
        destination_id: destination_secret | {"endpoint": "http://127.0.0.1:8586/hook"}
        for destination_id, destination_secret in secret.items()
    }
    alert_with_secrets = Subscriptions(sample_to_change).with_secrets(moved_alert.id)
    assert alert_with_secrets is not None
    assert [
        {"secretKey": destination.config.secret_key, "endpoint": destination.config.endpoint}
        for destination in alert_with_secrets.destinations
    ] == [destination_secret | {"endpoint": "http://127.0.0.1:8586/hook"} for destination_secret in secret.values()]
    before = _rows(sample_to_change)
    lead_hook_to(sample_to_change, 8586, clock=FixedClock(NOW_MS + 2))
    assert _rows(sample_to_change) == before
    elsewhere = [{"op": "replace", "path": "/destinations/0/config/endpoint", "value": "https://hooks.example.com/x"}]
    writes = Writes(SqlCatalogue(sample_to_change), FixedClock(NOW_MS + 3))
    writes.patch("eventsubscription", Key.by_id(moved_alert.id), elsewhere, actor=SYSTEM)
    lead_hook_to(sample_to_change, 9000, clock=FixedClock(NOW_MS + 4))
    assert _orders(sample_to_change).destinations[0].config.endpoint == "https://hooks.example.com/x"


def _orders(engine: Engine) -> EventSubscription:
    return next(one for one in Subscriptions(engine).list_enabled() if one.name == HOOK_ALERT)


def test_a_load_that_fails_half_way_leaves_nothing_and_the_next_leaves_the_rows_of_any_other(
    sample: Engine, sqlite_engine: Engine
) -> None:
    progress: list[tuple[int, int]] = []

    def stop(done_count: int, _total: int) -> None:
        if done_count == 100:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load(sqlite_engine, LOOPBACK, now_ms=NOW_MS, progress=stop)
    assert EventLog(sqlite_engine).read(0, 10) == []
    assert not is_loaded(sqlite_engine)

    def note(done_count: int, total: int) -> None:
        progress.append((done_count, total))

    load(sqlite_engine, LOOPBACK, now_ms=NOW_MS, progress=note, receiver_port=RECEIVER_PORT)
    assert is_loaded(sqlite_engine)
    assert progress == [(done, len(progress)) for done in range(1, len(progress) + 1)], "progress counts every step"
    assert _rows(sqlite_engine) == _rows(sample)


def test_no_webhook_is_set_up_where_none_may_be_called(beside_alerts: LoadedBeside) -> None:
    assert is_loaded(beside_alerts.engine)
    assert HOOK_ALERT not in {one.name for one in Subscriptions(beside_alerts.engine).list_enabled()}


def _rows(engine: Engine) -> dict[str, list[tuple[object, ...]]]:
    """Return all rows that a load leaves, by table; what is drawn anew at each load left out."""
    with reading(engine) as connection:
        return {
            table: [tuple(row) for row in connection.execute(text(f"SELECT * FROM {table} ORDER BY 1, 2"))]
            for table in (*EVENT_TABLES, *REPORTED_TABLES, "change_event")
        }


def _password_hash(engine: Engine) -> str:
    people = People(engine)
    person = people.by_name(DEMO_PERSON)
    assert person is not None
    password_hash = people.password_hash(person.id)
    assert password_hash is not None
    return password_hash
