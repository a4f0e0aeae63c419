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
    return _create(administrator, SERVICES, {"name": "pg", "serviceType": "Postgres", "connection": {"config": CONFIG}})


@pytest.fixture
def alert(administrator: httpx.Client) -> Json:
    return _create(administrator, "/events/subscriptions", ALERT)


def _create(client: httpx.Client, path: str, request: Json) -> Json:
    answer = client.post(path, json=request)
    assert answer.status_code == 201, answer.text
    return answer.json()


def _send_patch(client: httpx.Client, path: str, *operations: Json) -> httpx.Response:
    return client.patch(path, content=json.dumps(operations), headers=PATCH)


def test_who_may_view_sees_no_secret_and_no_sign_of_one(
    administrator: httpx.Client, reader: httpx.Client, service: Json, alert: Json
) -> None:
    pipeline = _create(
        administrator,
        "/services/pipelineServices",
        {"name": "af", "serviceType": "Airflow", "connection": {"config": ADDRESSES}},
    )
    for number, path in enumerate((f"{SERVICES}/{service['id']}", f"/services/pipelineServices/{pipeline['id']}")):
        change = {"op": "add", "path": "/connection/config/database", "value": f"other{number}"}
        assert _send_patch(administrator, path, change).status_code == 200
        own_config = administrator.get(path).json()["connection"]["config"]
        for at in ("", "/versions", "/versions/0.1", "/diff", "?asOf=99999999999999"):
            response = reader.get(path + at)
            assert response.status_code == 200, response.text
            assert CANARY not in response.text + administrator.get(path + at).text
            assert "connectionOptions" not in response.text
            assert "sslmode" not in response.text
            assert f"{MASK}@" not in response.text
    read = reader.get(f"{SERVICES}/{service['id']}").json()["connection"]["config"]
    assert read.keys() == {*CONFIG} - {"pwd", "dsn", "connectionOptions"}
    assert own_config["hostPort"] == f"http://{MASK}@airflow.example.org:8080/home?{MASK}"
    path = f"/events/subscriptions/{alert['id']}"
    masked_config = administrator.get(path).json()["destinations"][0]["config"]
    assert masked_config["endpoint"] == f"https://{MASK}@hooks.example.org/services/{MASK}?{MASK}"
    assert set(masked_config["headers"].values()) | set(masked_config["queryParams"].values()) == {MASK}
    for at in ("", "/versions", "/versions/0.1", "/status"):
        response = reader.get(path + at)
        assert response.status_code == 200, response.text
        assert CANARY not in response.text
        assert MASK not in response.text
    for address in ("/events?limit=1000", "/events?limit=1000&format=tocsin", "/events?limit=1000&format=cloudEvents"):
        response = reader.get(address)
        assert CANARY not in response.text
        assert "sslmode" not in response.text
        assert "X-Key" not in response.text


def test_nothing_at_rest_holds_any(store_engine: Engine, started_store: StartedStore) -> None:
    airflow = {"name": "af", "serviceType": "Airflow", "connection": {"config": ADDRESSES}}
    password = (
        started_store.password if store_engine.dialect.name == "sqlite" else None
    )  # such stores begin started_store here
    with running_server(store_engine, password=password) as server, server.administrator() as client:
        for path, request in (
            (SERVICES, {"name": "pg", "serviceType": "Postgres", "connection": {"config": CONFIG}}),
            ("/services/pipelineServices", airflow),
            ("/events/subscriptions", ALERT),
        ):
            response = client.post(path, json=request)
            assert response.status_code == 201, response.text
            again = {"op": "add", "path": "/description", "value": "a second version"}
            assert _send_patch(client, f"{path}/{response.json()['id']}", again).status_code == 200
    with store_engine.connect() as connection:
        names = inspect(connection).get_table_names()
        holding = [
            name
            for name in names
            if any(CANARY in str(row) for row in connection.exec_driver_sql(f'SELECT * FROM "{name}"'))
        ]
    assert (len(names) > 30, holding) == (True, [])
    file = Path(store_engine.url.database or "")
    for stored_file in file.parent.glob(f"{file.name}*"):  # free pages, and the write-ahead log
        assert CANARY.encode() not in stored_file.read_bytes()


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
        refused = _send_patch(administrator, path, {"op": "add", "path": place, "value": value})
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
    answer = _send_patch(administrator, f"{SERVICES}/{service['id']}", change)
    assert answer.status_code == 200, answer.text
    assert answer.json()["connection"]["config"]["authType"] == {"password": MASK}


def test_every_door_asks_for_the_secrets_again(administrator: httpx.Client, service: Json) -> None:
    read = administrator.get(f"{SERVICES}/{service['id']}").json()["connection"]
    moved_connection = {"config": {**read["config"], "hostPort": "evil.example:5432"}}
    request = {"name": "pg", "serviceType": "Postgres", "connection": moved_connection}
    assert administrator.put(SERVICES, json=request).status_code == 400
    bulk = administrator.put(f"{SERVICES}/bulk", json=[request])
    assert "send the secret again" in bulk.text, bulk.text
    new_connection = {
        "config": {**CONFIG, "hostPort": "new.example.org:5432", "dsn": "postgres://u:new@new.example.org/shop"}
    }
    assert administrator.put(SERVICES, json={**request, "connection": new_connection}).status_code == 200
    back = administrator.post(f"{SERVICES}/{service['id']}/rollback", json={"version": 0.1})
    assert back.status_code == 200, back.text
    assert [one["field"] for one in back.json()["leftOut"]] == ["connection"]
    assert back.json()["entity"]["connection"]["config"]["hostPort"] == "new.example.org:5432"


def test_a_rollback_to_the_same_address_keeps_them(administrator: httpx.Client, service: Json) -> None:
    path = f"{SERVICES}/{service['id']}"
    assert _send_patch(administrator, path, {"op": "add", "path": "/description", "value": "x"}).status_code == 200
    back = administrator.post(f"{path}/rollback", json={"version": 0.1}).json()
    assert back["leftOut"] == []
    assert back["entity"]["connection"]["config"]["authType"] == {"password": MASK}


def test_an_alert_that_goes_elsewhere_asks_for_its_secrets(
    administrator: httpx.Client, served: Served, alert: Json
) -> None:
    path = f"/events/subscriptions/{alert['id']}"
    subscriptions = served.app.state.parts.subscriptions
    before = subscriptions.with_secrets(alert["id"])
    endpoint_operation = {
        "op": "replace",
        "path": "/destinations/0/config/endpoint",
        "value": "https://evil.example/hook",
    }
    for address in (path, "/events/subscriptions/name/hook"):
        refusal = _send_patch(administrator, address, endpoint_operation)
        assert (refusal.status_code, "send the secret again" in refusal.json()["message"]) == (400, True), refusal.text
    read = administrator.get(path).json()["destinations"]
    for endpoint in ("https://evil.example/hook", read[0]["config"]["endpoint"].replace("hooks.", "evil.")):
        request: Json = {**ALERT, "destinations": [{**read[0], "config": {**read[0]["config"], "endpoint": endpoint}}]}
        assert administrator.put("/events/subscriptions", json=request).status_code == 400
        without_id = {**ALERT, "destinations": [{**request["destinations"][0], "id": None}]}
        assert administrator.put("/events/subscriptions", json=without_id).status_code == 400
        trial = administrator.post("/events/subscriptions/testDestination", json=request)
        assert trial.status_code == 400, trial.text
    assert administrator.put("/events/subscriptions", json={**ALERT, "destinations": read}).status_code == 200
    assert subscriptions.with_secrets(alert["id"]).destinations == before.destinations


def test_two_hooks_that_look_alike_are_two_receivers(administrator: httpx.Client, served: Served) -> None:
    def hook(token: str) -> Json:
        endpoint = f"https://hooks.example.org/services/{token}"
        return {"category": "External", "type": "Webhook", "config": {"endpoint": endpoint}}

    alert = _create(administrator, "/events/subscriptions", {**ALERT, "destinations": [hook("a1"), hook("b2")]})
    assert len({one["config"]["endpoint"] for one in alert["destinations"]}) == 1
    clear = served.app.state.parts.subscriptions.with_secrets(alert["id"])
    assert [one.config.endpoint[-2:] for one in clear.destinations] == ["a1", "b2"]
    twice = administrator.put("/events/subscriptions", json={**ALERT, "destinations": [hook("a1"), hook("a1")]})
    assert (twice.status_code, "remove one of them" in twice.json()["message"]) == (400, True)


def test_an_alerts_free_map_is_shown_to_its_editors_alone(served: Served, administrator: httpx.Client) -> None:
    alert = {"name": "free", "alertType": "Notification", "filteringRules": {"resources": ["table"]}}
    free_map = {"config": {"token": "k4n4rie", "deep": {"list": ["k4n4rie"]}, "retries": 3}}
    created = administrator.post("/events/subscriptions", json={**alert, "destinations": [], **free_map}).json()
    path = f"/events/subscriptions/{created['id']}"
    patch = [{"op": "replace", "path": "/config/retries", "value": 4}]
    headers = {"Content-Type": "application/json-patch+json"}
    assert administrator.patch(path, content=json.dumps(patch), headers=headers).json()["config"]["retries"] == 4
    _, other_reader = served.person("other")
    with other_reader:
        for place in (path, f"{path}/versions", f"{path}/versions/0.2", "/events?limit=1000", "/events?format=tocsin"):
            answer = other_reader.get(place)
            assert (answer.status_code, "k4n4rie" in answer.text) == (200, False), place
