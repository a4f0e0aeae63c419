"""Walk through the change events page of the seeds, section by section: server, relay, broker and worker are real.

The Python engine stands for the pipeline, which ``test_alerts_page.py`` runs: the broker is that of the relay's tests.
The history of one table is that of the page's examples; each test then looks at what came of it. The program under
"Kafka/Pulsar Consumer" runs in ``relay/test_consumers.py``, the SQL of "Audit Trail" in ``tests/spark/test_lake.py``.
"""

from __future__ import annotations

import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import orjson
import pytest
from tests import seedschema
from tests.acceptance import change_events_page as page
from tests.acceptance.office import Office, due_times, post_room, working
from tests.acceptance.official_client.indexing import following_index
from tests.acceptance.relay.conftest import NEEDS_JAVA
from tests.kafka import Kafka
from tests.notifying import notify_all
from tests.serving import Json, running_server, server_settings
from tests.startedstore import StartedStore
from tests.waiting import until

from tocsin.client import ApiSource, Client, EventBatch
from tocsin.clock import SystemClock
from tocsin.delivery.worker.dev_receiver import Receiver
from tocsin.model.change import EventType
from tocsin.model.retention import PRESETS
from tocsin.relay.build import relay_of
from tocsin.store.database.engine import open_engine
from tocsin.store.eventlog.log import EventLog

pytestmark = [NEEDS_JAVA, pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.xdist_group("kafka")]

TOPIC = "metadata-change-events"
SCHEMA_FQN = "snowflake_prod.sales.public"
CUSTOMERS = f"{SCHEMA_FQN}.customers"
SECRET = "your-secret-key"
EARLIER_NAMES = {"owner": "owners"}
"""Fields that the page calls by the name that they had in OpenMetadata 1.4."""


@pytest.fixture(scope="module")
def office(kafka: Kafka, started_store: StartedStore, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    """The office after everything has happened, all that is due was sent, and the topic has every event."""
    folder = tmp_path_factory.mktemp("office")
    shutil.copy(started_store.path, folder / "tocsin.db")
    receiver = Receiver(lambda _line: None, secret=SECRET)
    with post_room(receiver) as (http, smtp):
        settings = server_settings(
            data_dir=folder,
            smtp_host="127.0.0.1",
            smtp_port=smtp,
            smtp_tls="none",
            kafka_servers=kafka.servers,
            relay_name="page",
        )
        engine = open_engine(settings.store_url(), synchronous="OFF")
        with (
            running_server(engine, settings, password=started_store.password, token=started_store.token) as server,
            server.administrator() as client,
        ):
            office = Office(server, client, engine, settings, receiver, f"http://127.0.0.1:{http}")
            furnish(office)
            subscribe(office)
            happen(office)
            notify_all(engine)
            with relaying(office), following_index(engine):
                until(lambda: EventLog(engine).lag("relay page") == 0 and bool(tables_found(office, "orders")))
            with working(settings):
                until(lambda: not due_times(engine, SystemClock().now_ms()), within_s=60)
            yield office
        engine.dispose()


def tables_found(office: Office, text: str) -> list[str]:
    """Return the names of the tables that a search finds."""
    hits = office.client.get("/search/query", params={"q": text, "index": "table_search_index"}).json()
    return [hit["_source"]["name"] for hit in hits["hits"]["hits"]]


@contextmanager
def relaying(office: Office) -> Iterator[None]:
    stop = threading.Event()
    with relay_of(office.settings) as relay:
        thread = threading.Thread(target=relay.run, args=(stop,))
        thread.start()
        yield
        stop.set()
        thread.join(60)


def furnish(office: Office) -> None:
    """Make the people and the containers that the examples name."""
    for name in ("john.doe", "jane.smith", "compliance.officer"):
        office.post("/users", name=name, email=f"{name}@example.org")
    office.post("/teams", name="DataEngineering", teamType="Group")
    office.post("/services/databaseServices", name="snowflake_prod", serviceType="Snowflake")
    office.post("/databases", name="sales", service="snowflake_prod")
    office.post("/databaseSchemas", name="public", database="snowflake_prod.sales")
    office.post("/services/dashboardServices", name="bi", serviceType="Superset")
    office.post("/dashboards", name="churn", service="bi")


def subscribe(office: Office) -> None:
    """Make the webhook of the page, and the alert of "Real-time Notifications"."""
    hook = {"endpoint": f"{office.url}/webhook", "secretKey": SECRET, "payloadFormat": "seed"}
    webhook = {"category": "External", "type": "Webhook", "config": hook}
    office.alert({"name": "Hook", "alertType": "Notification", "resources": ["table"], "destinations": [webhook]})
    slack = {"category": "External", "type": "Slack", "config": {"endpoint": f"{office.url}/data-alerts"}}
    deleted = {"effect": "include", "condition": "eventType == 'entityUpdated' && fieldsDeleted.contains('columns')"}
    rules = {"filteringRules": {"resources": ["table"], "rules": [deleted]}}
    office.alert({"name": "Deleted", "alertType": "Notification", **rules, "destinations": [slack]})


def happen(office: Office) -> None:
    """Do what the examples are about, in their order, and drop a column, which "Real-time Notifications" is about."""
    columns = page.read(page.CREATED)["entity"]["columns"]
    columns[1]["dataLength"] = 256  # a VARCHAR needs one
    owner = office.client.get('/users/name/"john.doe"').json()
    owners = [{"id": owner["id"], "type": "user"}]
    table = office.post("/tables", name="customers", databaseSchema=SCHEMA_FQN, columns=columns, owners=owners)
    path = f"/tables/{table['id']}"
    (description_change,) = page.read(page.DESCRIBED)["changeDescription"]["fieldsUpdated"]
    office.patch(path, {"op": "add", "path": "/description", "value": description_change["newValue"]})
    (tag_addition,) = page.read(page.TAGGED)["changeDescription"]["fieldsAdded"]
    office.patch(path, {"op": "add", "path": "/tags", "value": tag_addition["newValue"]})
    (column_addition,) = page.read(page.COLUMN_ADDED)["changeDescription"]["fieldsAdded"]
    office.patch(path, {"op": "add", "path": "/columns/-", "value": column_addition["newValue"]})
    team = office.client.get("/teams/name/DataEngineering").json()
    office.patch(path, {"op": "replace", "path": "/owners", "value": [{"id": team["id"], "type": "team"}]})
    feed(office, table)
    assert office.client.delete(path).status_code == 200
    orders = office.post("/tables", name="orders", databaseSchema=SCHEMA_FQN, columns=columns)
    feed(office, orders)
    office.patch(f"/tables/{orders['id']}", {"op": "remove", "path": "/columns/1"})
    office.patch(f"/tables/{orders['id']}", {"op": "replace", "path": "/columns/0/dataType", "value": "INT"})
    assert office.client.delete(f"/tables/{table['id']}?hardDelete=true").status_code == 200


def feed(office: Office, table: Json) -> None:
    """Let the dashboard be derived from a table."""
    dashboard = office.client.get("/dashboards/name/bi.churn").json()
    ends = (("fromEntity", table, "table"), ("toEntity", dashboard, "dashboard"))
    edge = {side: {"id": entity["id"], "type": kind} for side, entity, kind in ends}
    assert office.client.put("/lineage", json={"edge": edge}).status_code == 200


def events(office: Office, event_format: str = "seed", **query: str) -> list[Json]:
    """Return the events that the API lists."""
    answer = office.client.get("/events", params={"limit": 1000, "format": event_format, **query})
    assert answer.status_code == 200, answer.text
    return list(answer.json()["data"])


def history(office: Office) -> list[Json]:
    """Return the events of the examples' table, without that of its lineage."""
    table_events = [event for event in events(office) if event.get("entityFullyQualifiedName") == CUSTOMERS]
    return [event for event in table_events if "lineage" not in field_names(event)]


def sorted_json(document: Json) -> bytes:
    return orjson.dumps(document, option=orjson.OPT_SORT_KEYS)


def field_names(event: Json) -> set[str]:
    change = event.get("changeDescription", {})
    return {
        field["name"] for kind in ("fieldsAdded", "fieldsUpdated", "fieldsDeleted") for field in change.get(kind, [])
    }


# Overview, Event Types, Change Event Flow


def test_overview(office: Office) -> None:
    kinds = [event["eventType"] for event in history(office)]
    assert kinds == ["entityCreated", *["entityUpdated"] * 4, "entitySoftDeleted", "entityDeleted"]
    names = set().union(*(field_names(event) for event in events(office)))
    assert {"tags", "owners", "columns", "lineage"} <= names, "tags, ownership, fields and relationships"
    assert all(event["userName"] == "admin" and event["timestamp"] for event in history(office)), "who, when"


def test_event_types(office: Office) -> None:
    assert {event["eventType"] for event in events(office)} == set(page.EVENT_TYPES)
    changes = [event["changeDescription"] for event in events(office) if event["eventType"] == "entityUpdated"]
    for kind in ("fieldsAdded", "fieldsUpdated", "fieldsDeleted"):
        assert any(change[kind] for change in changes), kind


def test_change_event_flow(office: Office, kafka: Kafka) -> None:
    audit = events(office)
    stream = [orjson.loads(record.value() or b"") for record in kafka.read(TOPIC)]
    assert sorted(map(sorted_json, stream)) == sorted(map(sorted_json, audit)), "the event stream holds the audit log"
    orders = office.client.get(f"/tables/name/{SCHEMA_FQN}.orders").json()
    versions = office.client.get(f"/tables/{orders['id']}/versions").json()["versions"]
    assert len(versions) == 3, "version history"
    assert tables_found(office, "orders") == ["orders"], "search index"
    assert office.posts("/webhook"), "webhooks"


# Schema Specifications, Change Event Examples


@pytest.mark.skipif(not seedschema.is_here(), reason=seedschema.MISSING)
def test_schema_specifications(office: Office) -> None:
    validator = seedschema.seed_validator()
    for event in events(office):
        validator.validate(event)


@pytest.mark.parametrize("number", range(len(page.EXAMPLES)))
def test_change_event_examples(office: Office, number: int) -> None:
    example, event = page.read(page.EXAMPLES[number]), history(office)[number]
    for key in ("eventType", "entityType", "entityFullyQualifiedName", "previousVersion", "currentVersion"):
        assert event.get(key) == example[key], key
    assert changes_of(example) == changes_of(event)
    if number:
        assert event["changeDescription"]["previousVersion"] == event["previousVersion"]
    if "entity" in example:
        assert event["entity"].items() >= {"name": "customers", "fullyQualifiedName": CUSTOMERS}.items()


def changes_of(event: Json) -> dict[str, set[str | None]]:
    """Return by field what was there before and after: names of what its values are, and texts as they are.

    A field that had no value before is added, whatever the example says: it has no ``oldValue`` but null.
    """
    change = event["changeDescription"]
    fields = [field for kind in ("fieldsAdded", "fieldsUpdated", "fieldsDeleted") for field in change[kind]]
    by_name: dict[str, set[str | None]] = {}
    for field in fields:
        name = EARLIER_NAMES.get(field["name"], field["name"])
        values = [field[key] for key in ("oldValue", "newValue") if field.get(key) is not None]
        by_name.setdefault(name, set()).update(label for value in values for label in labels_in(value))
    if event["eventType"] == "entityCreated":
        return {name: by_name[name] for name in ("name", "columns")}
    return {"entity": {"whole"}} if "entity" in by_name else by_name


def labels_in(value: object) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from labels_in(item)
    elif isinstance(value, dict):
        yield str(value.get("tagFQN") or value["name"])
    else:
        yield str(value)


# Event Generation Process


def test_event_generation_process(office: Office) -> None:
    versions = [event["currentVersion"] for event in history(office) if "currentVersion" in event]
    assert versions == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], "each version is 0.1 above the one before"
    created, *updates, _ = history(office)
    assert "previousVersion" not in created
    assert [event["previousVersion"] for event in updates] == versions[:-1]


# Event Consumption


def test_webhook_integration(office: Office) -> None:
    posts = [post for post in office.posts("/webhook") if post["event"]["entityFullyQualifiedName"] == CUSTOMERS]
    expected = page.read(page.WEBHOOK)
    (tagged,) = [post for post in posts if field_names(post["event"]) == {"tags"}]
    assert tagged["event"].keys() >= expected.keys()
    assert tagged["headers"]["content-type"] == "application/json"
    assert tagged["headers"]["x-openmetadata-signature"].startswith("sha256=")
    assert {post["signature"] for post in posts} == {"ok"}
    assert sorted(sorted_json(post["event"]) for post in posts) == sorted(map(sorted_json, history(office)))


# Use Cases


def test_real_time_notifications(office: Office) -> None:
    (post,) = office.posts("/data-alerts")
    assert "email" in str(post["event"]), "the column"
    assert "orders" in str(post["event"])
    assert "Administrator" in str(post["event"])


def test_impact_analysis(office: Office) -> None:
    orders = office.client.get(f"/tables/name/{SCHEMA_FQN}.orders").json()
    (created,) = events(office, "default", entityId=orders["id"], eventTypes="entityCreated")
    affected = office.client.get(f"/events/{created['id']}/impact").json()["affected"]
    assert [asset["name"] for asset in affected["dashboards"]] == ["churn"]
    assert affected.keys() >= {"dashboards", "pipelines", "mlmodels"}


def test_data_lineage_tracking(office: Office) -> None:
    (event,) = [event for event in events(office) if "lineage" in field_names(event)][:1]
    (field,) = event["changeDescription"]["fieldsAdded"]
    assert (field["name"], event["entityType"]) == ("lineage", "dashboard")
    outcome = office.client.post("/lineage/events", json=[event]).json()
    assert outcome["numberOfRowsProcessed"] == 1


def test_rollback_capability(office: Office) -> None:
    orders = office.client.get(f"/tables/name/{SCHEMA_FQN}.orders").json()
    answer = office.client.post(f"/tables/{orders['id']}/rollback", json={"version": 0.1, "dryRun": True})
    assert answer.status_code == 200, answer.text
    assert "email" in answer.text


# Event Retention


def test_event_retention(office: Office) -> None:
    assert office.client.get("/system/retention").json()["settings"]["rules"] == [], "off by default"
    rules = {rule.event_type: rule for rule in PRESETS["standard"].rules}
    for line in page.RETENTION.strip().splitlines():
        event_type, duration, _ = (cell.strip() for cell in line.strip("|").split("|"))
        days = [int(number) for number in re.findall(r"\d+", duration)]
        audit_days = None if "ndefinite" in duration else days[0]
        assert rules[EventType(event_type)].log_days == (days[0] if days else None), event_type
        assert rules[EventType(event_type)].audit_days == audit_days, event_type
    preview = office.client.post("/system/retention/preview", json={"preset": "standard"})
    assert preview.json()["log"] == 0, "nothing is old enough"


# Best Practices


def test_filter_events_efficiently(office: Office) -> None:
    filters = {
        "eventTypes": "entityUpdated,entityDeleted",
        "entityTypes": "table,dashboard",
        "includeFields": "tags,owner",
    }
    selected = events(office, **filters)
    assert [field_names(event) for event in selected] == [{"tags"}, {"owners"}, {"entity"}]


def test_handle_idempotency(office: Office) -> None:
    listed = events(office, "default")
    keys = [event["idempotencyKey"] for event in listed]
    assert len(set(keys)) == len(keys)
    by_version = [
        (event["entityId"], event["currentVersion"]) for event in history(office) if "currentVersion" in event
    ]
    assert len(set(by_version)) == len(by_version), "the key of the page, where an event makes a version"


def test_monitor_event_lag(office: Office) -> None:
    readers = {reader["reader"]: reader for reader in office.client.get("/events/lag").json()["readers"]}
    assert readers["relay page"]["lagEvents"] == 0
    assert readers["relay page"]["limit"] == 10_000, "the limit of the page"
    alert = office.client.get("/events/subscriptions/name/EventLag").json()
    assert alert["provider"] == "system"


def test_batch_event_processing(office: Office) -> None:
    batches: list[EventBatch] = []
    source = ApiSource(start="start", stop_at_end=True)
    with Client(office.served.url, token=office.served.tokens["admin@tocsin.example.org"]) as client:
        client.consume(batches.append, source, group_by="entityType")
    for batch in batches:
        assert {change.event["entityType"] for change in batch.changes} == {batch.entity_type}
    assert sum(len(batch.changes) for batch in batches) == len(events(office))
