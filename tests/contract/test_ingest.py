"""Tests of the route that takes events of other systems: who may send them, in which modes, and what it answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import httpx
import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine
from tests.notifying import notify_all
from tests.serving import Json, Served
from tests.soak import SOAK
from typer.testing import CliRunner

from tocsin.cli.app import app_of
from tocsin.client import Client

INGEST = "/events/ingest"
SCHEMA = "warehouse.shop.public"
ORDERS = f"{SCHEMA}.orders"
SOURCE = "https://feeds.example.com"


def give_rules(administrator: httpx.Client, name: str, *rules: Json) -> str:
    """Create a role with these rules, and return its id."""
    complete = [
        {"name": f"rule{number}", "effect": "allow", "resources": ["all"], **rule} for number, rule in enumerate(rules)
    ]
    policy = administrator.post("/policies", json={"name": f"{name}Policy", "rules": complete})
    assert policy.status_code == 201, policy.text
    role = administrator.post("/roles", json={"name": f"{name}Role", "policies": [f"{name}Policy"]})
    assert role.status_code == 201, role.text
    return str(role.json()["id"])


def make_bot(served: Served, name: str, *rules: Json) -> httpx.Client:
    """Return a client of a new bot with these rules."""
    with served.administrator() as administrator:
        role = give_rules(administrator, name, *rules)
        request = {"name": name, "email": f"{name}@example.org", "isBot": True, "roles": [role]}
        user = administrator.put("/users", json=request).json()
        token = administrator.put(f"/users/generateToken/{user['id']}").json()["JWTToken"]
    return served.client(token)


EVERYTHING = {"operations": ["Ingest", "Create", "EditAll", "ViewAll", "Delete"]}


@pytest.fixture
def bot(served: Served, orders: Json) -> Iterator[httpx.Client]:
    with make_bot(served, "feeder", EVERYTHING) as client:
        yield client


def cloud_event(data: Json, kind: str = "entityUpdated", **fields: Json) -> Json:
    envelope = {"specversion": "1.0", "id": str(uuid4()), "source": SOURCE, "type": f"com.example.{kind}"}
    return envelope | {"entitytype": "table", "data": data} | fields


def change(name: str, new: str, fqn: str = ORDERS, **fields: Json) -> Json:
    description = {"fieldsUpdated": [{"name": name, "oldValue": "", "newValue": new}]}
    event = {"id": str(uuid4()), "eventType": "entityUpdated", "entityType": "table", "changeDescription": description}
    return event | {"entityFullyQualifiedName": fqn} | fields


def table(name: str = "carts", **fields: Json) -> Json:
    return {"name": name, "databaseSchema": SCHEMA, "columns": [{"name": "id", "dataType": "INT"}], **fields}


def send(client: httpx.Client, body: Json, status: int = 200, **options: Json) -> Json:
    answer = client.post(INGEST, json=body, **options)
    assert answer.status_code == status, answer.text
    return answer.json()


def states(answer: Json) -> list[str]:
    return [one["state"] for one in answer["data"]]


def test_all_modes_of_cloud_events_and_bare_change_events(bot: httpx.Client) -> None:
    structured = {"content-type": "application/cloudevents+json; charset=utf-8"}
    answer = send(bot, cloud_event(table(), "entityCreated"), headers=structured)
    (result,) = answer["data"]
    assert (result["state"], result["fullyQualifiedName"], result["version"]) == ("applied", f"{SCHEMA}.carts", 0.1)
    assert answer["counts"]["applied"] == 1
    batch = [cloud_event(table(description="Carts.")), cloud_event(change("displayName", "Orders"))]
    results = send(bot, batch, headers={"content-type": "application/cloudevents-batch+json"})
    assert states(results) == ["applied", "applied"]
    binary = {"ce-specversion": "1.0", "ce-id": "7%2F8", "ce-source": SOURCE, "ce-type": "x.entityDeleted"}
    event = send(bot, {"fullyQualifiedName": f"{SCHEMA}.carts"}, headers={**binary, "ce-entitytype": "table"})
    assert [(one["state"], one["id"]) for one in event["data"]] == [("applied", "7/8")]
    assert states(send(bot, change("description", "All."), params={"source": "x"})) == ["applied"]


def test_an_event_says_its_origin_and_no_person_of_ours(bot: httpx.Client, administrator: httpx.Client) -> None:
    event = change("description", "All orders.", userName="admin", userId=str(uuid4()))
    (result,) = send(bot, cloud_event(event))["data"]
    ours = administrator.get(f"/events/{result['eventId']}").json()
    assert ours["userName"] == "feeder"
    origin = administrator.get(f"/events/{result['eventId']}/origin").json()
    assert {key: origin[key] for key in ("source", "bot", "claimedAuthor")} == {
        "source": SOURCE,
        "bot": "feeder",
        "claimedAuthor": "admin",
    }
    created = administrator.get("/events").json()["data"][0]
    assert administrator.get(f"/events/{created['id']}/origin").status_code == 404


def test_a_follower_who_is_the_claimed_author_is_told(
    served: Served, bot: httpx.Client, orders: Json, sqlite_engine: Engine
) -> None:
    user_id, jane = served.person("jane")
    with jane:
        assert jane.put(f"/tables/{orders['id']}/followers", json=user_id).status_code == 200
        event = change("description", "All orders.", userName="jane", userId=user_id)
        assert states(send(bot, cloud_event(event))) == ["applied"]
        notify_all(sqlite_engine)
        inbox = jane.get(f"/users/{user_id}/notifications").json()["data"]
    assert [ORDERS in str(one) for one in inbox] == [True]


def test_only_bots_with_the_operation_may_send(served: Served, administrator: httpx.Client, orders: Json) -> None:
    event = cloud_event(change("description", "All."))
    assert "Only bots" in send(administrator, event, 403)["message"]
    _, person = served.person("jane", roles=[give_rules(administrator, "people", EVERYTHING)])
    with person, make_bot(served, "reader", {"operations": ["EditAll", "Create", "ViewAll"]}) as reader:
        assert "Only bots" in send(person, event, 403)["message"]
        assert "Ingest" in send(reader, event, 403)["message"]
    with served.client() as nobody:
        assert nobody.post(INGEST, json=event).status_code == 401
    assert "description" not in administrator.get(f"/tables/name/{ORDERS}").json()


def test_a_bot_needs_its_rights_to_each_entity(served: Served, orders: Json) -> None:
    rules = ({"operations": ["Ingest"], "resources": ["table"]}, {"operations": ["EditDescription", "ViewAll"]})
    with make_bot(served, "describer", *rules) as describer:
        events = [
            cloud_event(change("description", "All.")),
            cloud_event(change("displayName", "Orders")),
            cloud_event(table(), "entityCreated"),
            cloud_event({"fullyQualifiedName": ORDERS}, "entitySoftDeleted"),
            cloud_event({"fullyQualifiedName": SCHEMA}, "entitySoftDeleted", entitytype="databaseSchema"),
        ]
        results = send(describer, events)["data"]
    assert [one["state"] for one in results] == ["applied", *["refused"] * 4]
    assert {one["reason"] for one in results[1:]} == {"FORBIDDEN"}


def test_answers_do_not_tell_whether_a_hidden_entity_exists(served: Served, orders: Json) -> None:
    hides = {
        "effect": "deny",
        "operations": ["All"],
        "resources": ["table"],
        "condition": "matchAnyTag('PII.Sensitive')",
    }
    tag_operations = [{"op": "add", "path": "/tags", "value": [{"tagFQN": "PII.Sensitive"}]}]
    with served.administrator() as administrator:
        headers = {"content-type": "application/json-patch+json"}
        assert administrator.patch(f"/tables/{orders['id']}", json=tag_operations, headers=headers).status_code == 200
    may = {"operations": ["Ingest", "EditAll", "ViewAll", "Delete"]}

    def outcomes(client: httpx.Client, name: str) -> list[Json]:
        fqn = f"{SCHEMA}.{name}"
        events = [
            cloud_event(change("description", "All.", fqn)),
            cloud_event({"fullyQualifiedName": fqn}, "entityRestored"),
            cloud_event({"fullyQualifiedName": fqn}, "entitySoftDeleted"),
            cloud_event({"fullyQualifiedName": fqn}, "entityDeleted"),
            cloud_event(table(name)),
            cloud_event(table(name, tags=[{"tagFQN": "No.Such"}])),
            cloud_event(table(name, columns="none")),
        ]
        text = orjson.dumps([one | {"id": ""} for one in send(client, events)["data"]]).decode()
        answers: list[Json] = orjson.loads(text.replace(name, "NAME"))
        return answers

    with make_bot(served, "blind", may, hides) as blind:
        assert outcomes(blind, "orders") == outcomes(blind, "nothing")
        assert [one["state"] for one in outcomes(blind, "orders")] == [
            *["refused"] * 2,
            *["duplicate"] * 0,
            *["unchanged"] * 2,
            *["refused"] * 3,
        ]


def test_a_single_event_that_is_refused_answers_with_its_error(bot: httpx.Client) -> None:
    missing = change("description", "All.", f"{SCHEMA}.missing")
    assert send(bot, missing, 404)["message"] == f"table {SCHEMA}.missing not found"
    assert send(bot, change("version", "2"), 400)["message"].endswith("version is worked out by Tocsin")
    stale = change("description", "All.") | {"eventType": "policyViolation"}
    assert "not taken" in send(bot, stale, 400)["message"]


def test_binary_mode_is_a_single_event_whatever_its_body(bot: httpx.Client) -> None:
    headers = {"ce-specversion": "1.0", "ce-id": "1", "ce-source": SOURCE, "ce-type": "x.entityUpdated"}
    assert send(bot, [change("description", "All.")], 400, headers=headers)["message"].startswith("data: must be")


@pytest.mark.parametrize("name", ["ce-id", "ce-source", "ce-type"])
def test_attributes_in_headers_without_a_specversion_are_refused(bot: httpx.Client, name: str) -> None:
    message = send(bot, change("description", "All."), 400, headers={name: "x"})["message"]
    assert message == "ce-specversion: is missing: a header of each CloudEvent in binary mode, 1.0"


def test_a_wrong_time_is_refused_at_its_place(bot: httpx.Client) -> None:
    answer = send(bot, cloud_event(change("description", "All."), time="yesterday"), 400)
    assert answer["message"] == "time: must have the form 2026-01-31T12:00:00Z"


def test_names_that_no_store_can_hold_are_refused(bot: httpx.Client) -> None:
    attributes = {"ce-specversion": "1.0", "ce-id": "%00", "ce-source": SOURCE, "ce-type": "x.entityUpdated"}
    assert send(bot, change("description", "All."), 400, headers=attributes)["message"].startswith("id: must be")
    long = change("description", "All.", "x" * 3_000)
    assert "entityFullyQualifiedName: must be" in send(bot, long, 400)["message"]
    assert states(send(bot, [cloud_event(change("description", "All."), id="x" * 501)])) == ["refused"]


def test_limits_of_events_and_rate(bot: httpx.Client, served: Served) -> None:
    assert "1 to 1000 events" in send(bot, [{}] * 1_001, 400)["message"]
    assert "1 to 1000 events" in send(bot, [], 400)["message"]
    rate = served.app.state.parts.traffic.ingest_rate
    rate._limit = 3
    assert states(send(bot, [{}, {}])) == ["refused", "refused"]
    answer = bot.post(INGEST, json=[{}, {}])
    assert (answer.status_code, int(answer.headers["retry-after"]) > 0) == (429, True)


def test_a_dry_run_and_a_repetition_change_nothing(bot: httpx.Client) -> None:
    event = cloud_event(change("description", "All."))
    assert states(send(bot, event, params={"dryRun": "true"})) == ["applied"]
    assert "description" not in bot.get(f"/tables/name/{ORDERS}").json()
    assert states(send(bot, event)) == ["applied"]
    assert states(send(bot, event)) == ["duplicate"]


def test_what_the_server_sent_is_ignored(bot: httpx.Client, administrator: httpx.Client) -> None:
    page = administrator.get("/events", params={"format": "cloudEvents", "limit": 5}).json()["data"]
    assert states(send(bot, page)) == ["ignored"] * 5
    page = administrator.get("/events", params={"format": "default", "limit": 5}).json()["data"]
    assert set(states(send(bot, page))) <= {"ignored", "refused"}


def test_client_and_command_send_events(
    served: Served, bot: httpx.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = bot.headers["authorization"].removeprefix("Bearer ")
    events = [cloud_event(table(f"t{number}"), "entityCreated") for number in range(3)]
    with Client(served.url, token=token) as client:
        assert states(client.events_ingest(events[:1])) == ["applied"]
        (event,) = [one for one in client.events() if one.entity_name == f"{SCHEMA}.t0"]
        assert client.event_origin(event.event["id"])["source"] == SOURCE
    monkeypatch.setenv("TOCSIN_SERVER", served.url)
    monkeypatch.setenv("TOCSIN_TOKEN", token)
    lines = tmp_path / "events.jsonl"
    lines.write_bytes(b"\n".join(map(orjson.dumps, events)))
    dry = CliRunner().invoke(app_of(), ["events", "ingest", str(lines), "--dry-run", "--json"])
    assert (dry.exit_code, [one["state"] for one in orjson.loads(dry.output)]) == (
        0,
        ["duplicate", "applied", "applied"],
    )
    events_file = tmp_path / "events.json"
    events_file.write_bytes(orjson.dumps([*events, {}]))
    ingest_result = CliRunner().invoke(app_of(), ["events", "ingest", str(events_file)])
    assert ingest_result.exit_code == 1
    assert "refused" in ingest_result.output


_TEXTS = st.text(max_size=8) | st.sampled_from(
    ["1.0", "entityUpdated", "table", ORDERS, "2026-01-01T00:00:00Z", "\u0000"]
)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | _TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=6,
)
_NAMES = st.sampled_from(
    [
        "description",
        "columns",
        "columns.id",
        "columns.id.tags",
        "tags",
        "owners",
        "extension.a",
        "a..b",
        '"',
        "columns.id.x.y",
    ]
)
_FIELD_CHANGES = st.lists(
    st.fixed_dictionaries({"name": _NAMES | _TEXTS}, optional={"oldValue": _VALUES, "newValue": _VALUES}), max_size=3
)
_CHANGES = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("fieldsAdded", "fieldsUpdated", "fieldsDeleted"), _FIELD_CHANGES | _VALUES)
)
_KINDS = st.sampled_from(["entityCreated", "entityUpdated", "entitySoftDeleted", "entityDeleted", "entityRestored"])
_ENTITIES = st.fixed_dictionaries(
    {"name": st.sampled_from(["orders", "x"]) | _VALUES, "databaseSchema": st.just(SCHEMA) | _VALUES},
    optional={"columns": _VALUES, "tags": _VALUES, "owners": _VALUES, "extension": _VALUES, "description": _VALUES},
)
_EVENTS = st.fixed_dictionaries(
    {"eventType": _KINDS | _VALUES, "entityType": st.just("table") | _VALUES},
    optional={
        "id": _VALUES,
        "entityFullyQualifiedName": st.just(ORDERS) | _VALUES,
        "entity": _ENTITIES
        | _ENTITIES.map(lambda one: orjson.dumps(one, default=str).decode() if _fits(one) else "")
        | _VALUES,
        "changeDescription": _CHANGES | _VALUES,
        "timestamp": _VALUES,
        "userName": _VALUES,
    },
)
_CLOUD_EVENTS = st.fixed_dictionaries(
    {"specversion": st.just("1.0") | _VALUES, "id": _TEXTS | _VALUES, "source": _TEXTS | _VALUES},
    optional={
        "type": _KINDS | _VALUES,
        "entitytype": st.just("table") | _VALUES,
        "time": _VALUES,
        "data": _EVENTS | _ENTITIES,
    },
)


def _fits(value: Json) -> bool:
    try:
        orjson.dumps(value)
    except (TypeError, ValueError):
        return False
    return True


@settings(max_examples=150 if SOAK else 40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(events=st.lists(_EVENTS | _CLOUD_EVENTS | _VALUES, min_size=1, max_size=4))
def test_garbage_is_refused_and_never_fails(events: Json, bot: httpx.Client) -> None:
    body = httpx.Request("POST", "http://x", json=events).content if _plain(events) else b"[]"
    answer = bot.post(INGEST, content=body, headers={"content-type": "application/json"})
    assert answer.status_code < 500, answer.text
    assert bot.get(f"/tables/name/{ORDERS}", params={"include": "all"}).status_code in (200, 404)


def _plain(value: Json) -> bool:
    try:
        httpx.Request("POST", "http://x", json=value)
    except (TypeError, ValueError):
        return False
    return True


def test_what_events_came_to_is_counted_in_the_metrics(bot: httpx.Client, administrator: httpx.Client) -> None:
    event = cloud_event({"fullyQualifiedName": ORDERS}, "entitySoftDeleted")
    unknown = cloud_event(change("description", "None.", f"{SCHEMA}.none"))
    assert bot.post(INGEST, json=[event, unknown], params={"dryRun": True}).status_code == 200
    assert bot.post(INGEST, json=[event, event, unknown]).json()["counts"]["refused"] == 1
    assert bot.post(INGEST, json=unknown).status_code == 404
    text = administrator.get(str(administrator.base_url.join("/metrics"))).text
    assert "# TYPE tocsin_ingested_events_total counter" in text
    lines = {line for line in text.splitlines() if line.startswith("tocsin_ingested_events_total")}
    assert lines == {
        'tocsin_ingested_events_total{state="applied",reason=""} 1',
        'tocsin_ingested_events_total{state="duplicate",reason=""} 1',
        'tocsin_ingested_events_total{state="refused",reason="NOT_FOUND"} 2',
    }
