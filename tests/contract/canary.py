"""Catalogue with canary texts: every text of a hidden entity holds one word, which tests search for."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime

import httpx
from sqlalchemy import Engine, select
from tests.contract.test_access import create_entity, restrict, send_patch
from tests.contract.test_search import index_all
from tests.notifying import notify_all
from tests.serving import Json, Served, table, warehouse

from tocsin.store.database.engine import writing
from tocsin.store.database.tables import attempt, message
from tocsin.store.recipients.recommendations import Recommendations

CANARY = "kanarienvogel"
"""Occurs in every text of hidden entities, and nowhere else."""

SCHEMA = "warehouse.shop.public"
SECRET = [{"tagFQN": "PII.Sensitive"}]
_LINK = f"<#E::table::{SCHEMA}.{{}}>"
_COLUMNS = [
    {"name": f"{CANARY}_id", "dataType": "BIGINT", "description": CANARY},
    {"name": "email", "dataType": "VARCHAR", "dataLength": 200, "description": CANARY},
]


@dataclass
class Canaries:
    """The catalogue: what was made per collection, its events, and who may not see the hidden part."""

    hidden: dict[str, list[Json]] = field(default_factory=lambda: defaultdict(list))
    open: dict[str, list[Json]] = field(default_factory=lambda: defaultdict(list))
    events: list[Json] = field(default_factory=list)
    threads: list[Json] = field(default_factory=list)
    suggestion_ids: list[str] = field(default_factory=list)
    steps: list[Json] = field(default_factory=list)
    message_ids: list[str] = field(default_factory=list)
    incidents: list[Json] = field(default_factory=list)
    change_requests: list[Json] = field(default_factory=list)
    mallory_id: str = ""
    zoe_id: str = ""

    def every(self, collection: str) -> list[Json]:
        """Return what was made in a collection, hidden or not."""
        return [*self.open[collection], *self.hidden[collection]]

    def collections(self) -> list[str]:
        """Return every collection in which something was made."""
        return sorted({*self.open, *self.hidden})

    def names(self) -> list[str]:
        """Return the full names of what is hidden: what a request may hold, and an error may say again."""
        hidden = [one["fullyQualifiedName"] for many in self.hidden.values() for one in many]
        return sorted(hidden, key=len, reverse=True)


def furnish(served: Served, administrator: httpx.Client, engine: Engine) -> tuple[Canaries, httpx.Client]:
    """Make the catalogue; return it with a client of somebody who followed the hidden part before it was hidden."""
    aviary, before = Canaries(), {one["id"] for one in _events(administrator)}
    aviary.mallory_id, mallory = served.person("mallory")
    aviary.zoe_id, zoe = served.person("zoe")
    zoe.close()
    _assets(aviary, administrator)
    _said_of_it(aviary, administrator)
    _announce(aviary, administrator)
    _add_watchers(aviary, administrator, mallory)
    _change_assets(aviary, administrator)
    notify_all(engine)
    _recommend(aviary, engine)
    _hide(aviary, administrator)
    notify_all(engine)
    aviary.message_ids = _fail_messages(engine)
    index_all(engine)
    aviary.events = [one for one in _events(administrator) if one["id"] not in before]
    aviary.incidents = administrator.get("/incidents").json()["data"]
    assert len(aviary.incidents) == len(aviary.every("dataQuality/testCases"))
    return aviary, mallory


def _events(administrator: httpx.Client) -> list[Json]:
    """Return all events of the log."""
    return list(administrator.get("/events", params={"limit": 10_000, "format": "tocsin"}).json()["data"])


def _fail_messages(engine: Engine) -> list[str]:
    """Let every message fail for good; return their ids."""
    with writing(engine) as connection:
        ids = list(connection.execute(select(message.c.id)).scalars())
        connection.execute(message.update().values(status="failed", attempt_count=1))
        tried = {"number": 1, "started_at_ms": 1, "duration_ms": 1, "outcome": "rejected", "reason": "badUrl"}
        connection.execute(attempt.insert(), [{**tried, "message_id": one, "detail": CANARY} for one in ids])
    assert ids, "hooks of somebody who was allowed to see it all"
    return ids


def _assets(aviary: Canaries, client: httpx.Client) -> None:
    orders = warehouse(client)
    report = table(client, "report")
    secret = table(client, CANARY, displayName=CANARY, description=CANARY, columns=_COLUMNS)
    deleted_table = table(client, f"{CANARY}_gone", description=CANARY, columns=_COLUMNS)
    aviary.open["tables"] += [orders, report]
    aviary.hidden["tables"] += [secret, deleted_table]
    for path, name in (
        ("/services/databaseServices", "warehouse"),
        ("/databases", "warehouse.shop"),
        ("/databaseSchemas", SCHEMA),
    ):
        aviary.open[path[1:]].append(client.get(f"{path}/name/{name}").json())
    _dashboards(aviary, client)
    create_entity(client, "/domains", name="Sales", description="Sells.", domainType="Aggregate")
    product = create_entity(client, "/dataProducts", name="Basket", description="Sold.", domains=["Sales"])
    aviary.open["domains"].append(client.get("/domains/name/Sales").json())
    aviary.open["dataProducts"].append(product)
    assets = [{"type": "table", "id": one["id"]} for one in (orders, secret)]
    for group in ("domains/Sales", "dataProducts/Basket"):
        assert client.put(f"/{group}/assets/add", json={"assets": assets}).is_success


def _dashboards(aviary: Canaries, client: httpx.Client) -> None:
    create_entity(client, "/services/dashboardServices", name="superset", serviceType="Superset")
    create_entity(client, "/services/storageServices", name="s3", serviceType="S3")
    chart = create_entity(client, "/charts", name=CANARY, displayName=CANARY, service="superset", tags=SECRET)
    board = create_entity(client, "/dashboards", name="board", service="superset", charts=[chart["fullyQualifiedName"]])
    bucket = create_entity(client, "/containers", name="bucket", service="s3")
    parent = {"id": bucket["id"], "type": "container"}
    drawer = create_entity(client, "/containers", name=CANARY, service="s3", parent=parent, tags=SECRET)
    aviary.hidden["charts"].append(chart)
    aviary.open["dashboards"].append(board)
    aviary.open["containers"].append(bucket)
    aviary.hidden["containers"].append(drawer)


def _said_of_it(aviary: Canaries, client: httpx.Client) -> None:
    orders, report = aviary.open["tables"]
    secret = aviary.hidden["tables"][0]
    _add_tests(aviary, client)
    query = create_entity(
        client, "/queries", name=CANARY, query=f"select {CANARY}_id", service="warehouse", description=CANARY
    )
    usage = [{"id": one["id"], "type": "table"} for one in (secret, orders)]
    assert client.put(f"/queries/{query['id']}/usage", json=usage).is_success
    aviary.hidden["queries"].append(query)
    for at, (from_, to) in enumerate([(secret, orders), (orders, secret), (orders, report), (secret, report)]):
        column = from_["columns"][0]["name"], to["columns"][0]["name"]
        columns = {
            "fromColumns": [f"{from_['fullyQualifiedName']}.{column[0]}"],
            "toColumn": f"{to['fullyQualifiedName']}.{column[1]}",
        }
        text = CANARY if secret in (from_, to) else "open"
        details = {"source": "Manual", "sqlQuery": f"select {text}", "columnsLineage": [columns]}
        ends = {f"{side}Entity": {"id": one["id"], "type": "table"} for side, one in (("from", from_), ("to", to))}
        assert client.put("/lineage", json={"edge": {**ends, "lineageDetails": details}}).is_success, at
    _add_measurements(client, secret, orders)
    for name in (CANARY, "orders"):
        text = CANARY if name == CANARY else "Hello"
        about = _LINK.format(name)
        aviary.threads.append(create_entity(client, "/feed", about=about, message=f"{text} <#E::user::mallory>"))
    suggestion = create_entity(client, "/suggestions", entityLink=_LINK.format(CANARY), description=CANARY)
    aviary.suggestion_ids.append(suggestion["id"])
    thread = aviary.threads[0]
    assert client.post(f"/feed/{thread['id']}/posts", json={"message": f"{CANARY} <#E::user::mallory>"}).is_success
    mallory = {"id": aviary.mallory_id, "type": "user"}
    task = {"type": "UpdateDescription", "assignees": [mallory], "oldValue": CANARY, "suggestion": CANARY}
    about = _LINK.format(f"{CANARY}::description")
    aviary.threads.append(create_entity(client, "/feed", about=about, message=CANARY, type="Task", taskDetails=task))
    period = {"description": CANARY, "startTime": 1, "endTime": 9_000_000_000_000}
    outage = {"about": _LINK.format(CANARY), "message": CANARY, "type": "Announcement", "announcementDetails": period}
    aviary.threads.append(create_entity(client, "/feed", **outage))


def _announce(aviary: Canaries, client: httpx.Client) -> None:
    """Announce changes of what is open, which the hidden part reads and objects to, and of the hidden part."""
    orders, secret = aviary.open["tables"][0], aviary.hidden["tables"][0]
    date = orders["updatedAt"] + 86_400_000
    for asset, text in ((orders, "open"), (secret, CANARY)):
        entity = {"type": "table", "id": asset["id"]}
        request = {"entity": entity, "kind": "deprecation", "date": date, "why": text, "replacement": text}
        aviary.change_requests.append(create_entity(client, "/changes", **request))
    objection = {"answer": "objects", "comment": CANARY, "consumers": [secret["id"]]}
    assert client.put("/changes/CR-1/answer", json=objection).is_success
    assert client.post("/changes/CR-2/comments", json={"comment": CANARY}).is_success


def _add_tests(aviary: Canaries, client: httpx.Client) -> None:
    cases = {}
    for name in (CANARY, "orders"):
        link = f"<#E::table::{SCHEMA}.{name}::columns::email>"
        text = CANARY if name == CANARY else "open"
        case = create_entity(
            client,
            "/dataQuality/testCases",
            name=f"{text}_case",
            entityLink=link,
            testDefinition="columnValuesToBeNotNull",
            description=text,
        )
        cases[name] = case
        result = {"timestamp": 1, "testCaseStatus": "Failed", "result": text}
        path = f"/dataQuality/testCases/testCaseResults/{case['fullyQualifiedName']}"
        assert client.post(path, json=result).is_success
        (aviary.hidden if name == CANARY else aviary.open)["dataQuality/testCases"].append(case)
    aviary.steps = client.get("/dataQuality/testCases/testCaseIncidentStatus").json()["data"]
    mixed_suite = create_entity(client, "/dataQuality/testSuites", name="mixed")
    ids = [case["id"] for case in cases.values()]
    body = {"testSuiteId": mixed_suite["id"], "testCaseIds": ids}
    assert client.put("/dataQuality/testCases/logicalTestCases", json=body).is_success
    aviary.open["dataQuality/testSuites"].append(mixed_suite)
    suites = client.get("/dataQuality/testSuites", params={"limit": 100}).json()["data"]
    aviary.hidden["dataQuality/testSuites"] += [one for one in suites if CANARY in one["fullyQualifiedName"]]


def _add_measurements(client: httpx.Client, secret: Json, orders: Json) -> None:
    sample = {"columns": [f"{CANARY}_id", "email"], "rows": [[1, CANARY]]}
    assert client.put(f"/tables/{secret['id']}/sampleData", json=sample).is_success
    profile = {
        "tableProfile": {"timestamp": 1_700_000_000_000, "rowCount": 1},
        "columnProfile": [{"name": f"{CANARY}_id", "timestamp": 1_700_000_000_000}],
    }
    assert client.put(f"/tables/{secret['id']}/tableProfile", json=profile).is_success
    today = datetime.now(UTC).date().isoformat()
    assert client.post(f"/usage/table/{secret['id']}", json={"date": today, "count": 5}).status_code == 201
    name = secret["fullyQualifiedName"]
    joins = {
        "startDate": today,
        "dayCount": 1,
        "columnJoins": [
            {"columnName": "id", "joinedWith": [{"fullyQualifiedName": f"{name}.{CANARY}_id", "joinCount": 3}]}
        ],
        "directTableJoins": [{"fullyQualifiedName": name, "joinCount": 3}],
    }
    answer = client.put(f"/tables/{orders['id']}/joins", json=joins)
    assert answer.is_success, answer.text
    constraint = {
        "constraintType": "FOREIGN_KEY",
        "columns": ["id"],
        "referredColumns": [f"{name}.{CANARY}_id"],
    }
    answer = send_patch(
        client, f"/tables/{orders['id']}", {"op": "add", "path": "/tableConstraints", "value": [constraint]}
    )
    assert answer.is_success, answer.text


def _add_watchers(aviary: Canaries, client: httpx.Client, mallory: httpx.Client) -> None:
    for collection in ("tables", "charts", "containers", "dataQuality/testCases", "dashboards"):
        for asset in aviary.every(collection):
            for user_id in (aviary.mallory_id, aviary.zoe_id):
                client.put(f"/{collection}/{asset['id']}/followers/{user_id}")
    secret = aviary.hidden["tables"][0]
    assert mallory.put(f"/users/{aviary.mallory_id}/mutes", json={"entity": {"id": secret["id"], "type": "table"}})
    owner = {"op": "add", "path": "/owners", "value": [{"id": aviary.zoe_id, "type": "user"}]}
    assert send_patch(client, f"/tables/{secret['id']}", owner).is_success
    everything = {
        "name": "Everything",
        "alertType": "Notification",
        "filteringRules": {"resources": ["all"], "rules": []},
        "destinations": [
            {"category": "Followers", "type": "ActivityFeed", "notifyDownstream": True},
            {"category": "Users", "type": "ActivityFeed", "config": {"receivers": ["mallory"]}},
        ],
    }
    observed_filter = {"resources": ["table", "container", "testCase"], "rules": []}
    failures = {**everything, "name": "Failures", "alertType": "Observability", "filteringRules": observed_filter}
    for alert in (everything, failures):
        aviary.open["events/subscriptions"].append(create_entity(client, "/events/subscriptions", **alert))
    hook = {"category": "External", "type": "Webhook", "config": {"endpoint": "https://hooks.example.org/hook"}}
    everywhere = {**everything, "name": "Mallorys", "destinations": [hook]}
    aviary.open["events/subscriptions"].append(create_entity(mallory, "/events/subscriptions", **everywhere))


def _change_assets(aviary: Canaries, client: httpx.Client) -> None:
    for collection in ("tables", "charts", "containers", "dataQuality/testCases", "queries"):
        for asset in aviary.hidden[collection]:
            change = {"op": "add", "path": "/description", "value": f"{CANARY} once more"}
            assert send_patch(client, f"/{collection}/{asset['id']}", change).is_success
    for asset in aviary.every("dataQuality/testCases"):
        result = {"timestamp": round(time.time() * 1000), "testCaseStatus": "Failed", "result": CANARY}
        path = f"/dataQuality/testCases/testCaseResults/{asset['fullyQualifiedName']}"
        is_hidden = asset in aviary.hidden["dataQuality/testCases"]
        assert client.post(path, json=result if is_hidden else {**result, "result": "open"}).is_success
    orders, report = aviary.open["tables"]
    change = {"op": "add", "path": "/description", "value": "Orders."}
    assert send_patch(client, f"/tables/{orders['id']}", change).is_success
    secret = aviary.hidden["tables"][0]
    assert client.delete(f"/lineage/table/{secret['id']}/table/{report['id']}").is_success
    board, bucket = aviary.open["dashboards"][0], aviary.open["containers"][0]
    for path in (f"/dashboards/{board['id']}", f"/containers/{bucket['id']}"):
        assert send_patch(client, path, change).is_success


def _recommend(aviary: Canaries, engine: Engine) -> None:
    """Let a run recommend what is hidden, and what is open because of it; and let what is hidden be dismissed."""
    secret, drawer = aviary.hidden["tables"][0]["id"], aviary.hidden["containers"][0]["id"]
    orders, schema = aviary.open["tables"][0]["id"], aviary.open["databaseSchemas"][0]["id"]
    query, chart = aviary.hidden["queries"][0]["id"], aviary.hidden["charts"][0]["id"]
    domain = aviary.open["domains"][0]["id"]
    reasons = (
        (schema, "domain", orders, domain),
        (schema, "feeds", secret, ""),
        (schema, "lineage", orders, drawer),
        (query, "container", orders, schema),
    )
    recommendations = Recommendations(engine)
    run_id = recommendations.begin(1)
    recommendations.add(run_id, [(aviary.mallory_id, *reason, 0, 0, 0.3, 1) for reason in reasons])
    recommendations.complete(run_id, now_ms=1)
    recommendations.dismiss(aviary.mallory_id, chart, now_ms=1)


def _hide(aviary: Canaries, client: httpx.Client) -> None:
    restrict(client, aviary.mallory_id, {"effect": "deny", "condition": "matchAnyTag('PII.Sensitive')"})
    for asset in aviary.hidden["tables"]:
        hide = {"op": "add", "path": "/tags", "value": SECRET}
        assert send_patch(client, f"/tables/{asset['id']}", hide).is_success
    deleted_table = aviary.hidden["tables"][1]
    assert client.delete(f"/tables/{deleted_table['id']}?hardDelete=true").is_success


def sings(text: str, aviary: Canaries, request_text: str) -> bool:
    """Return whether a text says something of what is hidden, beyond the names that the request itself held."""
    for name in aviary.names():
        if name in request_text:
            text = text.replace(name, "")
    for name in set(re.findall(rf"[\w.]*{CANARY}[\w.]*", request_text)):
        text = text.replace(name, "")
    return CANARY in text
