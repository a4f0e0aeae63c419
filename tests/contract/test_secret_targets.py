"""Tests of the binding of secrets to their targets, and of who may see targets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from sqlalchemy import Engine, inspect
from tests.serving import Json, Served, running_server
from tests.startedstore import StartedStore

MASK = "*********"
PATCH = {"Content-Type": "application/json-patch+json"}
SERVICES = "/services/databaseServices"
CANARY = "c4nary"
CONFIG = {
    "type": "Postgres",
    "scheme": "postgresql+psycopg2",
    "username": "svc@example.org",
    "hostPort": "db.example.org:5432",
    "database": "shop",
    "authType": {"password": CANARY},
    "pwd": CANARY,
    "dsn": f"postgres://u:{CANARY}@db.example.org/shop",
    "connectionOptions": {"sslmode": CANARY, "options": {"deep": CANARY}},
    "connectionArguments": {"pin": 1234, "trust": True, "list": [CANARY]},
}
ADDRESSES = {
    "type": "Airflow",
    "hostPort": f"http://airflow:{CANARY}@airflow.example.org:8080/home?token={CANARY}",
    "connection": {
        "type": "Postgres",
        "hostPort": f"u:{CANARY}@db.example.org:5432",
        "schemaRegistryConfig": {"basic.auth.user.info": CANARY},
        "consumerConfig": {"sasl.jaas.config": f"password={CANARY}"},
    },
}
HOOK = f"https://u:{CANARY}@hooks.example.org/services/T0/{CANARY}?sig={CANARY}"
ALERT = {
    "name": "hook",
    "alertType": "Notification",
    "resources": ["table"],
    "destinations": [
        {
            "category": "External",
            "type": "Webhook",
            "config": {
                "endpoint": HOOK,
                "secretKey": CANARY,
                "headers": {"X-Key": CANARY, "Authorization": CANARY},
                "queryParams": {"k": CANARY},
                "authType": {"type": "bearer", "secretKey": CANARY},
            },
        }
    ],
}


@pytest.fixture
def reader(served: Served) -> Iterator[httpx.Client]:
    _, client = served.person("reader")
    with client:
        yield client


@pytest.fixture
def service(administrator: httpx.Client) -> Json:
    return _made(administrator, SERVICES, {"name": "pg", "serviceType": "Postgres", "connection": {"config": CONFIG}})


@pytest.fixture
def alert(administrator: httpx.Client) -> Json:
    return _made(administrator, "/events/subscriptions", ALERT)


def _made(client: httpx.Client, path: str, request: Json) -> Json:
    answer = client.post(path, json=request)
    assert answer.status_code == 201, answer.text
    return answer.json()


def _patched(client: httpx.Client, path: str, *operations: Json) -> httpx.Response:
    return client.patch(path, content=json.dumps(operations), headers=PATCH)


def test_who_may_view_sees_no_secret_and_no_sign_of_one(
    administrator: httpx.Client, reader: httpx.Client, service: Json, alert: Json
) -> None:
    pipeline = _made(
        administrator,
        "/services/pipelineServices",
        {"name": "af", "serviceType": "Airflow", "connection": {"config": ADDRESSES}},
    )
    for number, path in enumerate((f"{SERVICES}/{service['id']}", f"/services/pipelineServices/{pipeline['id']}")):
        change = {"op": "add", "path": "/connection/config/database", "value": f"other{number}"}
        assert _patched(administrator, path, change).status_code == 200
        own = administrator.get(path).json()["connection"]["config"]
        for at in ("", "/versions", "/versions/0.1", "/diff", "?asOf=99999999999999"):
            said = reader.get(path + at)
            assert said.status_code == 200, said.text
            assert CANARY not in said.text + administrator.get(path + at).text
            assert "connectionOptions" not in said.text
            assert "sslmode" not in said.text
            assert f"{MASK}@" not in said.text
    read = reader.get(f"{SERVICES}/{service['id']}").json()["connection"]["config"]
    assert read.keys() == {*CONFIG} - {"pwd", "dsn", "connectionOptions"}
    assert own["hostPort"] == f"http://{MASK}@airflow.example.org:8080/home?{MASK}"
    path = f"/events/subscriptions/{alert['id']}"
    shown = administrator.get(path).json()["destinations"][0]["config"]
    assert shown["endpoint"] == f"https://{MASK}@hooks.example.org/services/{MASK}?{MASK}"
    assert set(shown["headers"].values()) | set(shown["queryParams"].values()) == {MASK}
    for at in ("", "/versions", "/versions/0.1", "/status"):
        said = reader.get(path + at)
        assert said.status_code == 200, said.text
        assert CANARY not in said.text
        assert MASK not in said.text
    for address in ("/events?limit=1000", "/events?limit=1000&format=tocsin", "/events?limit=1000&format=cloudEvents"):
        said = reader.get(address)
        assert CANARY not in said.text
        assert "sslmode" not in said.text
        assert "X-Key" not in said.text


def test_nothing_at_rest_holds_any(store_engine: Engine, started_store: StartedStore) -> None:
    airflow = {"name": "af", "serviceType": "Airflow", "connection": {"config": ADDRESSES}}
    password = (
        started_store.password if store_engine.dialect.name == "sqlite" else None
    )  # such stores begin started_store here
    with running_server(store_engine, password=password) as served, served.administrator() as client:
        for path, request in (
            (SERVICES, {"name": "pg", "serviceType": "Postgres", "connection": {"config": CONFIG}}),
            ("/services/pipelineServices", airflow),
            ("/events/subscriptions", ALERT),
        ):
            made = client.post(path, json=request)
            assert made.status_code == 201, made.text
            again = {"op": "add", "path": "/description", "value": "a second version"}
            assert _patched(client, f"{path}/{made.json()['id']}", again).status_code == 200
    with store_engine.connect() as connection:
        names = inspect(connection).get_table_names()
        holding = [
            name
            for name in names
            if any(CANARY in str(row) for row in connection.exec_driver_sql(f'SELECT * FROM "{name}"'))
        ]
    assert (len(names) > 30, holding) == (True, [])
    file = Path(store_engine.url.database or "")
    for one in file.parent.glob(f"{file.name}*"):  # free pages, and the write-ahead log
        assert CANARY.encode() not in one.read_bytes()


MOVES = [
    ("/connection/config/hostPort", "evil.example:5432"),
    ("/connection/config/hostPort", "db.example.org:5433"),
    ("/connection/config/scheme", "http"),
    ("/connection/config/type", "Mysql"),
    ("/connection/config/database", "shop?host=evil.example"),
    ("/connection/config/connectionOptions/host", "evil.example"),
    ("/connection/config/connectionArguments/proxy", "evil.example"),
    ("/connection/config/proxyHost", "evil.example"),
    ("/connection/config/sourcePythonClass", "evil.Source"),
]


@pytest.mark.parametrize(("place", "value"), MOVES)
def test_a_connection_that_leads_elsewhere_asks_for_its_secrets(
    administrator: httpx.Client, service: Json, place: str, value: str
) -> None:
    for path in (f"{SERVICES}/{service['id']}", f"{SERVICES}/name/pg"):
        refused = _patched(administrator, path, {"op": "add", "path": place, "value": value})
        assert (refused.status_code, "send the secret again" in refused.json()["message"]) == (400, True), refused.text
    assert administrator.get(f"{SERVICES}/{service['id']}").json()["version"] == 0.1


@pytest.mark.parametrize(
    ("place", "value"),
    [("hostPort", "DB.Example.ORG.:5432"), ("username", "other"), ("database", "other"), ("authType/password", "new")],
)
def test_a_connection_that_leads_where_it_did_keeps_them(
    administrator: httpx.Client, service: Json, place: str, value: str
) -> None:
    change = {"op": "add", "path": f"/connection/config/{place}", "value": value}
    answer = _patched(administrator, f"{SERVICES}/{service['id']}", change)
    assert answer.status_code == 200, answer.text
    assert answer.json()["connection"]["config"]["authType"] == {"password": MASK}


def test_every_door_asks_for_the_secrets_again(administrator: httpx.Client, service: Json) -> None:
    read = administrator.get(f"{SERVICES}/{service['id']}").json()["connection"]
    moved = {"config": {**read["config"], "hostPort": "evil.example:5432"}}
    request = {"name": "pg", "serviceType": "Postgres", "connection": moved}
    assert administrator.put(SERVICES, json=request).status_code == 400
    bulk = administrator.put(f"{SERVICES}/bulk", json=[request])
    assert "send the secret again" in bulk.text, bulk.text
    given = {"config": {**CONFIG, "hostPort": "new.example.org:5432", "dsn": "postgres://u:new@new.example.org/shop"}}
    assert administrator.put(SERVICES, json={**request, "connection": given}).status_code == 200
    back = administrator.post(f"{SERVICES}/{service['id']}/rollback", json={"version": 0.1})
    assert back.status_code == 200, back.text
    assert [one["field"] for one in back.json()["leftOut"]] == ["connection"]
    assert back.json()["entity"]["connection"]["config"]["hostPort"] == "new.example.org:5432"


def test_a_rollback_to_the_same_address_keeps_them(administrator: httpx.Client, service: Json) -> None:
    path = f"{SERVICES}/{service['id']}"
    assert _patched(administrator, path, {"op": "add", "path": "/description", "value": "x"}).status_code == 200
    back = administrator.post(f"{path}/rollback", json={"version": 0.1}).json()
    assert back["leftOut"] == []
    assert back["entity"]["connection"]["config"]["authType"] == {"password": MASK}


def test_an_alert_that_goes_elsewhere_asks_for_its_secrets(
    administrator: httpx.Client, served: Served, alert: Json
) -> None:
    path = f"/events/subscriptions/{alert['id']}"
    subscriptions = served.app.state.parts.subscriptions
    before = subscriptions.with_secrets(alert["id"])
    moved = {"op": "replace", "path": "/destinations/0/config/endpoint", "value": "https://evil.example/hook"}
    for address in (path, "/events/subscriptions/name/hook"):
        refused = _patched(administrator, address, moved)
        assert (refused.status_code, "send the secret again" in refused.json()["message"]) == (400, True), refused.text
    read = administrator.get(path).json()["destinations"]
    for endpoint in ("https://evil.example/hook", read[0]["config"]["endpoint"].replace("hooks.", "evil.")):
        request = {**ALERT, "destinations": [{**read[0], "config": {**read[0]["config"], "endpoint": endpoint}}]}
        assert administrator.put("/events/subscriptions", json=request).status_code == 400
        without_id = {**ALERT, "destinations": [{**request["destinations"][0], "id": None}]}
        assert administrator.put("/events/subscriptions", json=without_id).status_code == 400
        tried = administrator.post("/events/subscriptions/testDestination", json=request)
        assert tried.status_code == 400, tried.text
    assert administrator.put("/events/subscriptions", json={**ALERT, "destinations": read}).status_code == 200
    assert subscriptions.with_secrets(alert["id"]).destinations == before.destinations


def test_two_hooks_that_look_alike_are_two_receivers(administrator: httpx.Client, served: Served) -> None:
    def hook(token: str) -> Json:
        endpoint = f"https://hooks.example.org/services/{token}"
        return {"category": "External", "type": "Webhook", "config": {"endpoint": endpoint}}

    made = _made(administrator, "/events/subscriptions", {**ALERT, "destinations": [hook("a1"), hook("b2")]})
    assert len({one["config"]["endpoint"] for one in made["destinations"]}) == 1
    clear = served.app.state.parts.subscriptions.with_secrets(made["id"])
    assert [one.config.endpoint[-2:] for one in clear.destinations] == ["a1", "b2"]
    twice = administrator.put("/events/subscriptions", json={**ALERT, "destinations": [hook("a1"), hook("a1")]})
    assert (twice.status_code, "remove one of them" in twice.json()["message"]) == (400, True)


def test_an_alerts_free_map_is_shown_to_its_editors_alone(served: Served, administrator: httpx.Client) -> None:
    alert = {"name": "free", "alertType": "Notification", "filteringRules": {"resources": ["table"]}}
    said = {"config": {"token": "k4n4rie", "deep": {"list": ["k4n4rie"]}, "retries": 3}}
    made = administrator.post("/events/subscriptions", json={**alert, "destinations": [], **said}).json()
    path = f"/events/subscriptions/{made['id']}"
    patch = [{"op": "replace", "path": "/config/retries", "value": 4}]
    headers = {"Content-Type": "application/json-patch+json"}
    assert administrator.patch(path, content=json.dumps(patch), headers=headers).json()["config"]["retries"] == 4
    _, other = served.person("other")
    with other:
        for place in (path, f"{path}/versions", f"{path}/versions/0.2", "/events?limit=1000", "/events?format=tocsin"):
            answer = other.get(place)
            assert (answer.status_code, "k4n4rie" in answer.text) == (200, False), place
