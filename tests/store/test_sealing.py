"""Tests of the encryption of secrets that earlier releases stored in clear, and of the server's keys."""

from __future__ import annotations

import json

import pytest
from pydantic import SecretStr
from sqlalchemy import Engine, select, text, update
from tests.store.catalogues import JANE

from tocsin.clock import FixedClock
from tocsin.errors import WrongSealOfKeys
from tocsin.flow.capture.operations import Writes
from tocsin.model.address import MASK
from tocsin.model.stored import Key
from tocsin.settings import Settings
from tocsin.store import tables
from tocsin.store.access.people import People
from tocsin.store.alerts.subscriptions import Subscriptions
from tocsin.store.catalogue.entities import SqlCatalogue
from tocsin.store.engine import open_engine
from tocsin.store.fsck.inspection import inspect
from tocsin.store.observations.reads import ObservationReads
from tocsin.store.observations.tables import attachment
from tocsin.store.sealing import mask_free_texts, seal_all
from tocsin.store.vault import new_key, reseal, use_vault

CANARY = 'c4n"ary'
HOOK = "https://hooks.example.org/services/T0/c4n-ary?sig=1"
CONFIG = {"type": "Postgres", "password": CANARY, "pwd": CANARY, "hostPort": "h:1"}
DESTINATION = "8b4f0b8e-6a47-4c63-9d0e-222222222222"
ALERT = {
    "name": "hook",
    "alertType": "Notification",
    "destinations": [
        {
            "id": DESTINATION,
            "category": "External",
            "type": "Webhook",
            "config": {"endpoint": HOOK, "secretKey": MASK, "headers": {"X-Key": CANARY}},
        }
    ],
}


def _left_in_clear(engine: Engine) -> str:
    """Make a service and an alert as earlier releases stored them; return the service's id."""
    writes = Writes(SqlCatalogue(engine), FixedClock(1))
    request = {"name": "pg", "serviceType": "Postgres", "connection": {"config": CONFIG}}
    service = str(writes.create("databaseService", request, actor=JANE).document["id"])
    alert = writes.create("eventsubscription", ALERT, actor=JANE).document["id"]
    Subscriptions(engine).keep_secrets(alert, {DESTINATION: {"secretKey": CANARY}})
    hidden, clear = f'"pwd":"{MASK}"', f'"pwd":{json.dumps(CANARY)}'
    with engine.begin() as connection:
        for table in (tables.entity, tables.entity_version, tables.change_event):
            for old in connection.execute(select(table.c.document)).scalars().all():
                values = {"document": old.replace(hidden, clear)}
                connection.execute(update(table).where(table.c.document == old).values(values))
        connection.execute(update(attachment).values(document=json.dumps({"connection.config.password": CANARY})))
        connection.execute(tables.server_secret.insert().values(name="token-key", value=CANARY))
    return service


def _dumped(engine: Engine) -> str:
    with engine.connect() as connection:
        return "".join(
            str(connection.execute(text(f"SELECT * FROM {table}")).all())
            for table in ("entity", "entity_version", "change_event", "attachment", "server_secret")
        )


def test_what_earlier_releases_kept_in_clear_is_sealed_and_still_known(store_engine: Engine) -> None:
    service = _left_in_clear(store_engine)
    assert "c4n" in _dumped(store_engine)
    for _ in range(2):
        with store_engine.begin() as connection:
            seal_all(connection)
        assert "c4n" not in _dumped(store_engine)
        known = ObservationReads(store_engine).attached([service], "secrets")[service]
        assert known == {"connection.config.password": CANARY, "connection.config.pwd": CANARY}
        (alert,) = (one for one in Subscriptions(store_engine).list_all() if one.name == "hook")
        clear = Subscriptions(store_engine).with_secrets(alert.id)
        assert clear is not None
        config = clear.destinations[0].config
        assert (config.endpoint, config.secret_key, config.headers) == (HOOK, CANARY, {"X-Key": CANARY})
        assert People(store_engine).secret("token-key", lambda: "other") == CANARY
        assert [finding.what for finding in inspect(store_engine).findings] == []


def test_the_keys_that_sign_are_sealed_and_a_wrong_key_says_the_way_out(store_engine: Engine, store_url: str) -> None:
    made = People(store_engine).secret("token-key", lambda: "the-first-key")
    assert "the-first-key" not in _dumped(store_engine)
    assert (made, People(store_engine).secret("token-key", lambda: "the-second-key")) == (
        "the-first-key",
        "the-first-key",
    )
    other = open_engine(store_url)
    use_vault(other, Settings(secrets_key=SecretStr(new_key())))
    with pytest.raises(WrongSealOfKeys, match=r"secrets_key.*renew-keys"):
        People(other).secret("token-key", lambda: "the-second-key")
    assert People(other).forget_secrets() == 1
    assert People(other).secret("token-key", lambda: "the-second-key") == "the-second-key"
    assert reseal(other) == 1
    other.dispose()


def test_free_maps_of_alerts_are_masked_in_the_past_and_what_receivers_said_is_dropped(store_engine: Engine) -> None:
    free = {"config": {"token": CANARY, "deep": [{"more": CANARY}], "retries": 3}}
    with store_engine.begin() as connection:
        tried = {"delivery_id": "d", "number": 1, "started_at_ms": 1, "duration_ms": 1, "outcome": "failed"}
        connection.execute(tables.attempt.insert().values(**tried, reason="x", detail=f"token {CANARY}"))
    writes = Writes(SqlCatalogue(store_engine), FixedClock(1))
    alert = writes.create("eventsubscription", {**ALERT, **free}, actor=JANE).document
    again = [{"op": "replace", "path": "/config/token", "value": f"{CANARY} once more"}]
    writes.patch("eventsubscription", Key.by_id(alert["id"]), again, actor=JANE)
    spelt = json.dumps(CANARY)[1:-1]
    assert spelt in _dump(store_engine)
    with store_engine.begin() as connection:
        mask_free_texts(connection)
        mask_free_texts(connection)
    assert spelt not in _dump(store_engine)
    kept = SqlCatalogue(store_engine).get("eventsubscription", Key.by_id(alert["id"]))["config"]
    assert kept == {"token": MASK, "deep": [{"more": MASK}], "retries": 3}


def _dump(engine: Engine) -> str:
    with engine.connect() as connection:
        own = (tables.entity, tables.entity_version, tables.change_event, tables.attempt)
        return "".join(str(row) for table in own for row in connection.execute(select(table))).replace("\\\\", "\\")
