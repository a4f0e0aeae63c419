"""Tests of connection secrets: only bots read them, and nothing stored or sent holds any."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest
from pydantic import SecretStr
from sqlalchemy import Engine
from tests.serving import Json, Served, running_server
from tests.startedstore import StartedStore

from tocsin.settings import Settings
from tocsin.store.catalogue.people.identities import People
from tocsin.store.database.engine import open_engine
from tocsin.store.database.vault import new_key, reseal, use_vault, vault_of

PATCH = {"Content-Type": "application/json-patch+json"}
SECRET = "correct horse battery"
CONFIG = {
    "type": "Postgres",
    "username": "u",
    "authType": {"password": SECRET},
    "hostPort": "h:1",
    "sslConfig": {"caCertificate": SECRET},
    "connectionArguments": {"apiKey": SECRET, "tokenUrl": "https://h/t"},
}
MASK = "*********"
SIGNING_KEYS = 4  # of tokens, of sessions in browsers, of logging in by OpenID, of links in mails


@pytest.fixture
def service(administrator: httpx.Client) -> Json:
    request = {"name": "pg", "serviceType": "Postgres", "connection": {"config": CONFIG}}
    answer = administrator.post("/services/databaseServices", json=request)
    assert answer.status_code == 201, answer.text
    return answer.json()


@pytest.fixture
def bot(served: Served, administrator: httpx.Client) -> Iterator[httpx.Client]:
    user = administrator.post("/users", json={"name": "robot", "email": "robot@example.org", "isBot": True}).json()
    token = administrator.put(f"/users/generateToken/{user['id']}", json={}).json()["JWTToken"]
    with served.client(token) as client:
        yield client


def test_people_read_masks_and_bots_read_secrets(administrator: httpx.Client, bot: httpx.Client, service: Json) -> None:
    path = f"/services/databaseServices/{service['id']}"
    for read in (service, administrator.get(path).json(), administrator.get("/services/databaseServices").json()):
        assert SECRET not in json.dumps(read)
        assert MASK in json.dumps(read)
    assert bot.get(path).json()["connection"]["config"] == CONFIG
    assert bot.get("/services/databaseServices?fields=*").json()["data"][0]["connection"]["config"] == CONFIG
    masked = administrator.get(path).json()["connection"]["config"]
    assert masked["connectionArguments"] == {"apiKey": MASK, "tokenUrl": MASK}
    assert (masked["username"], masked["hostPort"]) == ("u", "h:1")


def test_nothing_stored_or_sent_holds_a_secret(
    administrator: httpx.Client, service: Json, sqlite_engine: Engine
) -> None:
    path = f"/services/databaseServices/{service['id']}"
    patch = [{"op": "add", "path": "/connection/config/username", "value": "v"}]
    assert administrator.patch(path, content=json.dumps(patch), headers=PATCH).json()["version"] == 0.2
    with sqlite_engine.connect() as connection:
        holding = {
            name
            for (name,) in connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table'").all()
            if any(SECRET in str(row) for row in connection.exec_driver_sql(f'SELECT * FROM "{name}"'))
        }
    assert holding == set(), "what is attached is sealed"


ALERT = {
    "name": "hook",
    "alertType": "Notification",
    "resources": ["table"],
    "destinations": [
        {
            "category": "External",
            "type": "Webhook",
            "config": {
                "endpoint": "https://example.org/hook",
                "secretKey": SECRET,
                "headers": {"Authorization": SECRET},
                "queryParams": {"token": SECRET},
                "authType": {"type": "bearer", "secretKey": SECRET},
            },
        }
    ],
}


def test_nothing_stored_or_sent_holds_a_secret_of_an_alert(
    administrator: httpx.Client, bot: httpx.Client, sqlite_engine: Engine
) -> None:
    response = administrator.post("/events/subscriptions", json=ALERT)
    assert response.status_code == 201, response.text
    path = f"/events/subscriptions/{response.json()['id']}"
    patch = [{"op": "add", "path": "/destinations/0/config/headers/X-Api-Key", "value": SECRET}]
    changed = administrator.patch(path, content=json.dumps(patch), headers=PATCH)
    assert changed.json()["destinations"][0]["config"]["headers"] == {"Authorization": MASK, "X-Api-Key": MASK}
    for address in (path, f"{path}/versions", f"{path}/versions/0.1", f"{path}/diff", "/events?limit=100"):
        for client in (administrator, bot):
            assert SECRET not in client.get(address).text
    with sqlite_engine.connect() as connection:
        for (name,) in connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table'").all():
            assert not [row for row in connection.exec_driver_sql(f'SELECT * FROM "{name}"') if SECRET in str(row)]


def test_with_a_wrong_key_an_alert_is_changed_all_the_same_but_not_what_its_masks_stand_for(
    started_store: StartedStore, sqlite_url: str
) -> None:
    right, wrong = new_key(), new_key()
    path = "/events/subscriptions/name/hook"
    switched = [{"op": "add", "path": "/retries", "value": 7}]
    with _serving(sqlite_url, started_store, right) as (administrator, _):
        assert administrator.post("/events/subscriptions", json=ALERT).status_code == 201
    with _serving(sqlite_url, started_store, wrong) as (administrator, _):
        assert administrator.get(path).json()["destinations"][0]["config"]["secretKey"] == MASK
        answered = administrator.patch(path, content=json.dumps(switched), headers=PATCH)
        assert (answered.status_code, "secrets_key" in answered.json()["message"]) == (503, True)
        assert administrator.put("/events/subscriptions", json=ALERT).status_code == 200, "sent anew, sealed anew"
        assert administrator.patch(path, content=json.dumps(switched), headers=PATCH).status_code == 200


def test_the_mask_keeps_the_secret_and_a_new_one_replaces_it(
    administrator: httpx.Client, bot: httpx.Client, service: Json
) -> None:
    path = f"/services/databaseServices/{service['id']}"
    read = administrator.get(path).json()
    request = {"name": "pg", "serviceType": "Postgres", "connection": read["connection"]}
    assert administrator.put("/services/databaseServices", json=request).json()["version"] == 0.1
    assert bot.get(path).json()["connection"]["config"]["authType"]["password"] == SECRET
    patch = [{"op": "replace", "path": "/connection/config/authType/password", "value": "new"}]
    assert "new" not in administrator.patch(path, content=json.dumps(patch), headers=PATCH).text
    assert bot.get(path).json()["connection"]["config"]["authType"]["password"] == "new"


def test_a_mask_for_no_secret_is_refused(administrator: httpx.Client) -> None:
    config = {"type": "Postgres", "authType": {"password": MASK}}
    request = {"name": "pg", "serviceType": "Postgres", "connection": {"config": config}}
    answer = administrator.post("/services/databaseServices", json=request)
    assert (answer.status_code, "connection.config.authType.password" in answer.json()["message"]) == (400, True)


def test_secrets_outlive_a_change_of_keys_and_a_wrong_key_is_reported(
    started_store: StartedStore, sqlite_url: str
) -> None:
    old, new, wrong = (new_key() for _ in range(3))
    path = "/services/databaseServices"
    with _serving(sqlite_url, started_store, old) as (administrator, _):
        request = {"name": "pg", "serviceType": "Postgres", "connection": {"config": CONFIG}}
        assert administrator.post(path, json=request).status_code == 201
    with _serving(sqlite_url, started_store, f"{new} {old}") as (_, engine):
        assert reseal(engine) == 1 + SIGNING_KEYS
    with _serving(sqlite_url, started_store, wrong) as (administrator, _):
        masked_service = administrator.get(f"{path}/name/pg").json()
        assert MASK in json.dumps(masked_service["connection"])
        answer = administrator.put(path, json={**request, "connection": masked_service["connection"]})
        assert (answer.status_code, answer.json()["code"]) == (503, 503)
        assert "secrets_key" in answer.json()["message"]
        description_operations = [{"op": "add", "path": "/description", "value": "x"}]
        answer = administrator.patch(f"{path}/name/pg", content=json.dumps(description_operations), headers=PATCH)
        assert answer.status_code == 503, "the mask stands in it, too"
    with _serving(sqlite_url, started_store, new) as (administrator, engine):
        assert (
            administrator.patch(
                f"{path}/name/pg", content=json.dumps(description_operations), headers=PATCH
            ).status_code
            == 200
        )
        with engine.connect() as connection:
            (text,) = connection.exec_driver_sql("SELECT document FROM attachment WHERE kind = 'secrets'").one()
            assert vault_of(connection).open(json.loads(text))["connection.config.authType.password"] == SECRET
    with _serving(sqlite_url, started_store, wrong) as (administrator, _):
        assert administrator.put(path, json=request).status_code == 200, "sent anew, they are sealed anew"


@contextmanager
def _serving(url: str, started_store: StartedStore, keys: str) -> Iterator[tuple[httpx.Client, Engine]]:
    engine = open_engine(url)
    settings = Settings(log_level="warning", secrets_key=SecretStr(keys))
    use_vault(engine, settings)
    People(engine).forget_secrets()  # those of the server's own are not what these tests are about
    with running_server(engine, settings, password=started_store.password) as served, served.administrator() as client:
        yield client, engine
    engine.dispose()
