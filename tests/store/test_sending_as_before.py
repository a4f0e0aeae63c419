"""Tests of the migration that lets stored alerts send as before: keys for bearer secrets that are sent, and arrays."""

from __future__ import annotations

import pytest
from pydantic import SecretStr
from sqlalchemy import Engine
from tests.conftest import KEY
from tests.store.catalogues import company
from tests.stores import drop_newest_tables

from tocsin.delivery.channels.webhook.authentication import authorization_of
from tocsin.model.entity import Document
from tocsin.model.people import SYSTEM
from tocsin.model.stored import Key
from tocsin.settings import Settings
from tocsin.store.catalogue.alerts.subscriptions import Subscriptions
from tocsin.store.database.schema import migrate
from tocsin.store.database.vault import use_vault
from tocsin.store.eventlog.log import EventLog
from tocsin.store.upkeep.fsck.inspection import inspect

BEFORE = "0024_curated"
MASK = "*********"
IDS = [f"00000000-0000-4000-8000-00000000000{number}" for number in range(3)]
BEARER = {"endpoint": "https://example.org/", "authType": {"type": "bearer", "secretKey": MASK}}


@pytest.fixture
def older(unmigrated_engine: Engine) -> Engine:
    """Return an empty store with a key; ``store_alert`` takes it back to the revision before."""
    use_vault(unmigrated_engine, Settings(secrets_key=SecretStr(KEY)))
    migrate(unmigrated_engine)
    return unmigrated_engine


def store_alert(engine: Engine, name: str, batch_size: int | None, *configs: Document) -> str:
    """Store an alert as older versions did, with a long history; return its id."""
    shop = company(engine)
    destinations = [
        {"id": destination_id, "category": "External", "type": "Webhook", "config": config}
        for destination_id, config in zip(IDS, configs, strict=False)
    ]
    request: Document = {"name": name, "alertType": "Notification", "description": "long " * 2_000}
    request |= {"destinations": destinations} | ({} if batch_size is None else {"batchSize": batch_size})
    alert_id = str(shop.writes.create("eventsubscription", request, actor=SYSTEM).document["id"])
    secrets_by_destination = {
        destination_id: {"endpoint": config["endpoint"], "authType": {"secretKey": "s"}}
        for destination_id, config in zip(IDS, configs, strict=False)
        if "authType" in config
    }
    Subscriptions(engine).keep_secrets(alert_id, secrets_by_destination)
    move_operation = {"op": "replace", "path": "/destinations/0/config/endpoint", "value": "https://example.org/"}
    rename_operation = {"op": "add", "path": "/displayName", "value": name.upper()}
    shop.writes.patch("eventsubscription", Key.by_id(alert_id), [move_operation, rename_operation], actor=SYSTEM)
    with engine.begin() as connection:
        for name in ("relabelling", "renaming", "earlier_holder", "suite_run"):  # later revisions make them
            connection.exec_driver_sql(f"DROP TABLE {name}")
        drop_newest_tables(connection)
        connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{BEFORE}'")
    return alert_id


def test_stored_alerts_send_as_before_and_say_so(older: Engine) -> None:
    plain = {"endpoint": "https://example.org/hook"}
    both = store_alert(older, "both", 10, BEARER, plain)
    migrate(older)
    alert_with_secrets = Subscriptions(older).with_secrets(both)
    assert alert_with_secrets is not None
    assert [one.sends_arrays for one in alert_with_secrets.destinations] == [True, True]
    assert [authorization_of(one.config) for one in alert_with_secrets.destinations] == [
        {"Authorization": "Bearer s"},
        {},
    ]
    events = [logged.event for logged in EventLog(older).read(0, 100) if logged.event.entity_id == both]
    assert len(events) == 2
    assert all(
        destination["config"]["batchBy"] == "all"
        for event in events
        for destination in (event.entity or {}).get("destinations", ())
    )
    assert not inspect(older, deep=True).counts


@pytest.mark.parametrize("batch_size", [None, 1, 100])
@pytest.mark.soak_on_postgresql
def test_alerts_that_did_neither_stay_as_they_are(older: Engine, batch_size: int | None) -> None:
    alert_id = store_alert(older, "plain", batch_size, {"endpoint": "https://example.org/hook"})
    before = Subscriptions(older).find(alert_id)
    migrate(older)
    assert Subscriptions(older).find(alert_id) == before
    assert before is not None
    assert not before.sends_arrays
