"""Test of the page about the mirror, step by step: one Tocsin mirrors another, which speaks OpenMetadata's API."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import ANY

import httpx
import pytest
from tests.acceptance.cli.conftest import WITHIN_S, Shell, shell_in
from tests.acceptance.cli.test_against_a_server import wait_for
from tests.prestarted import Prestarted
from tests.waiting import until

Json = Any  # Any: JSON of a server
EMAIL = "ada@example.com"
SCHEMA = "snow.dwh.marts"
KINDS = ("services/databaseServices", "databases", "databaseSchemas", "tables", "glossaries", "glossaryTerms")
TABLES = 40
DETAILS = {"sqlQuery": "SELECT id FROM t0", "source": "QueryLineage", "description": "Copied."}


@contextmanager
def server_of(shell: Shell) -> Iterator[httpx.Client]:
    """Run ``tocsin serve``; yield a client of its administrator."""
    created = shell.json("admin", "create-user", "ada", "--email", EMAIL, "--admin")
    with shell.start("serve") as server:
        try:
            wait_for(shell)
            token = shell.run("login", EMAIL, "--password-stdin", input_text=f"{created['password']}\n").stdout.strip()
            headers = {"Authorization": f"Bearer {token}"}
            with httpx.Client(base_url=f"{shell.environment['TOCSIN_SERVER']}/api/v1", headers=headers) as client:
                yield client
        finally:
            server.terminate()
            printed = server.communicate(timeout=WITHIN_S)[0]
    assert "Traceback" not in printed


@pytest.fixture
def upstream(tmp_path_factory: pytest.TempPathFactory, prestarted_process: Prestarted) -> Iterator[httpx.Client]:
    """The server that is mirrored, with a warehouse and a glossary."""
    with server_of(shell_in(tmp_path_factory.mktemp("upstream"), prestarted_process)) as client:
        create(client, "services/databaseServices", name="snow", serviceType="Snowflake", description="The warehouse.")
        create(client, "databases", name="dwh", service="snow")
        create(client, "databaseSchemas", name="marts", database="snow.dwh")
        owner = create(client, "users", name="olga", email="olga@example.com")
        tables = [a_table(number) for number in range(TABLES)]
        tables[0] |= {"owners": [{"id": owner["id"], "type": "user"}], "tags": [{"tagFQN": "PII.Sensitive"}]}
        assert client.put("/tables/bulk", json=tables).json()["numberOfRowsPassed"] == TABLES
        ids = [client.get(f"/tables/name/{SCHEMA}.t{number}").json()["id"] for number in (0, 5)]
        assert client.put(f"/tables/{ids[0]}/followers", json=owner["id"]).is_success
        ends = [{"id": one, "type": "table"} for one in ids]
        edge = {"fromEntity": ends[0], "toEntity": ends[1], "lineageDetails": DETAILS}
        assert client.put("/lineage", json={"edge": edge}).is_success
        create(client, "glossaries", name="biz", description="Words.")
        create(client, "glossaryTerms", name="sale", glossary="biz", description="What is sold.")
        parent = "biz.sale"
        create(client, "glossaryTerms", name="return", glossary="biz", parent=parent, description="What comes back.")
        yield client


def a_table(number: int) -> Json:
    columns = [{"name": "id", "dataType": "BIGINT"}, {"name": "note", "dataType": "VARCHAR", "dataLength": 30}]
    return {"name": f"t{number}", "databaseSchema": SCHEMA, "columns": columns, "description": f"Table {number}."}


def create(client: httpx.Client, collection: str, **fields: Json) -> Json:
    answer = client.post(f"/{collection}", json=fields)
    assert answer.status_code == 201, answer.text
    return answer.json()


def patch(client: httpx.Client, path: str, **fields: Json) -> None:
    operations = [{"op": "add", "path": f"/{key}", "value": value} for key, value in fields.items()]
    answer = client.patch(path, content=json.dumps(operations), headers={"Content-Type": "application/json-patch+json"})
    assert answer.is_success, answer.text


def entities_of(client: httpx.Client) -> Json:
    """Return what both servers are to have alike, by id."""
    entities = {}
    for collection in KINDS:
        page = client.get(f"/{collection}?fields=*&include=all&limit=1000").json()
        for entity in page["data"]:
            labels = sorted(label["tagFQN"] for label in entity.get("tags") or () if label["labelType"] != "Derived")
            above = {
                key: entity[key]["id"] for key in ("service", "databaseSchema", "glossary", "parent") if key in entity
            }
            owners = [owner["name"] for owner in entity.get("owners") or () if not owner.get("inherited")]
            keys = ("name", "fullyQualifiedName", "description", "displayName", "columns", "updatedBy", "deleted")
            same = {key: entity.get(key) for key in keys}
            entities[entity["id"]] = same | {"tags": labels, "above": above, "owners": owners}
    return entities


def links_of(client: httpx.Client) -> Json:
    """Return followers and lineage that both servers are to have alike."""
    followed = client.get(f"/tables/name/{SCHEMA}.t0?fields=followers").json()["followers"]
    lineage = client.get(f"/lineage/table/name/{SCHEMA}.t5").json()
    edges = [
        (edge["fromEntity"], {key: edge["lineageDetails"].get(key) for key in DETAILS})
        for edge in lineage["upstreamEdges"]
    ]
    return [person["name"] for person in followed], edges


def table_count(client: httpx.Client) -> int:
    return int(client.get("/tables?limit=0").json()["paging"]["total"])


def test_a_tocsin_mirrors_another_as_the_page_says(
    upstream: httpx.Client, tmp_path: Any, prestarted_process: Prestarted
) -> None:
    bot = create(upstream, "users", name="mirror-reader", email="mirror@example.com", isBot=True, isAdmin=True)
    token = upstream.put(f"/users/generateToken/{bot['id']}", json={"JWTTokenExpiry": "Unlimited"}).json()["JWTToken"]
    address = str(upstream.base_url).removesuffix("/api/v1/")
    shell = shell_in(tmp_path, prestarted_process).beside(
        TOCSIN_OPENMETADATA_URL=address, TOCSIN_OPENMETADATA_MAPPED=json.dumps(["snow", "biz"])
    )
    with server_of(shell) as mirror:
        create(mirror, "users", name="olga", email="olga@example.com")
        refusal = shell.run("source", "openmetadata")
        assert (refusal.returncode, "admin secret openmetadata_token" in refusal.stderr) == (2, True)
        assert shell.json("admin", "secret", "openmetadata_token", input_text=f"{token}\n")["stored"] is True
        refusal = shell.run("source", "openmetadata")
        assert (refusal.returncode, "egress" in refusal.stderr) == (1, True), refusal.stderr
        shell = shell.beside(TOCSIN_EGRESS_ALLOW='["127.0.0.0/8"]')
        rehearsal = shell.json("source", "openmetadata", "--dry-run")
        assert rehearsal["counts"]["created"] == TABLES + 6
        assert (rehearsal["counts"]["edgesAdded"], rehearsal["counts"]["followersAdded"]) == (1, 1)
        assert rehearsal["wouldTell"] == {"events": 0, "people": [], "addresses": []}
        assert "Would be told: nobody" in shell.run("source", "openmetadata", "--dry-run").stdout
        assert table_count(mirror) == 0
        with shell.start("source", "openmetadata") as process:
            until(lambda: table_count(mirror) >= 5, within_s=WITHIN_S, every_s=0.01)
            process.kill()
        assert shell.json("source", "status")["loaded"] is False
        assert shell.json("source", "openmetadata")["errors"] == []
        status = shell.json("source", "status")
        assert (status["loaded"], status["brought"], status["lastRun"]["errorCount"]) == (True, TABLES + 6, 0)
        assert entities_of(mirror) == entities_of(upstream)
        assert links_of(mirror) == links_of(upstream) == (["olga"], [(ANY, DETAILS)])
        events = mirror.get("/events?limit=10000&entityCreated=*").json()["data"]
        created_ids = [event["entityId"] for event in events]
        assert len(created_ids) == len(set(created_ids))
        deleted_id = change_everything(upstream)
        assert entities_of(upstream).keys() == entities_of(mirror).keys() - {deleted_id} | {created_last(upstream)}
        audience = shell.json("source", "openmetadata", "--dry-run")["wouldTell"]
        (olga,) = audience["people"]
        assert (olga["name"], olga["events"], olga["reasons"]) == ("olga", 1, ["follower", "owner"])
        assert "olga" in shell.run("source", "openmetadata", "--dry-run").stdout
        report = shell.json("source", "openmetadata")
        counts = {"created": 1, "changed": 3, "deleted": 3, "restored": 1}
        assert {key: report["counts"].get(key) for key in counts} == counts, report
        mirrored_entities = entities_of(mirror)
        assert mirrored_entities.pop(deleted_id)["deleted"] is True, "what is gone there is soft-deleted here"
        assert mirrored_entities == entities_of(upstream)
        assert links_of(mirror) == links_of(upstream) == (["olga"], [])
        again = shell.json("source", "openmetadata", "--full")
        assert (again["errors"], again["counts"].keys() & counts.keys()) == ([], set())
        status = shell.json("source", "status")
        assert status["watermark"] == again["startedAt"]


def change_everything(upstream: httpx.Client) -> str:
    """Create, update, unlink, delete for good and not, restore and rename; return the id of what is gone for good."""
    ids = [upstream.get(f"/tables/name/{SCHEMA}.t{number}").json()["id"] for number in (0, 5)]
    assert upstream.delete(f"/lineage/table/{ids[0]}/table/{ids[1]}").is_success
    patch(upstream, f"/tables/name/{SCHEMA}.t0", description="Followed.")
    create(upstream, "tables", **a_table(TABLES))
    patch(upstream, f"/tables/name/{SCHEMA}.t1", description="New words.", displayName="Orders")
    t2_id = upstream.get(f"/tables/name/{SCHEMA}.t2").json()["id"]
    assert upstream.delete(f"/tables/{t2_id}").is_success
    for number in (3, 4):
        table_id = str(upstream.get(f"/tables/name/{SCHEMA}.t{number}").json()["id"])
        assert upstream.delete(f"/tables/{table_id}" + ("?hardDelete=true" if number == 4 else "")).is_success
        if number == 3:
            assert upstream.put("/tables/restore", json={"id": table_id}).is_success
    patch(upstream, "/glossaryTerms/name/biz.sale", name="order")
    return table_id


def created_last(upstream: httpx.Client) -> str:
    """Return the id of the table that ``change_everything`` creates."""
    return str(upstream.get(f"/tables/name/{SCHEMA}.t{TABLES}").json()["id"])
