"""An OpenMetadata server for tests: lists, entities and change events as upstream answers them, with faults on demand.

Shapes: OpenMetadata's ``ResultList`` (``data``, ``paging`` with ``total`` and ``after``), errors as ``{"code",
"message"}``, and ``type/changeEvent.json``, whose ``entity`` is a JSON string. ``GET /events`` has the cursor of pull
request 29958, or with ``has_cursor=False`` the older form: everything since ``timestamp``, at once.
"""

from __future__ import annotations

import base64
import json
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Document = dict[str, Any]
TOKEN = "upstream-token"

SERVICE, DATABASE, SCHEMA = (f"00000000-0000-4000-8000-00000000000{number}" for number in (1, 2, 3))


def table_id(number: int) -> str:
    """Return the id of the table of this number."""
    return f"00000000-0000-4000-8000-1{number:011d}"


def reference(entity_type: str, document: Document) -> Document:
    """Return the reference to an entity."""
    keys = ("id", "name", "fullyQualifiedName")
    return {"type": entity_type, **{key: document[key] for key in keys}, "deleted": False, "href": "http://x/y"}


@dataclass
class Fault:
    """One answer that goes wrong; ``match`` is a part of the request's address."""

    match: str
    status: int = 500
    body: bytes = b'{"code":500,"message":"An exception with message [Java heap space] was thrown"}'
    headers: dict[str, str] = field(default_factory=dict)
    is_cut: bool = False
    times: int = 1


@dataclass
class FakeOpenMetadata:
    """What the server has; ``lists`` by collection and id, ``events`` in the order of their offsets.

    ``edges`` are the lineage edges, by the id to which they lead and the one from which.
    """

    has_cursor: bool = True
    lists: dict[str, dict[str, Document]] = field(default_factory=dict)
    absent: set[str] = field(default_factory=set)
    unknown_fields: set[str] = field(default_factory=set)
    events: list[Document] = field(default_factory=list)
    edges: dict[str, dict[str, Document]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    addresses: list[str] = field(default_factory=list)
    address: str = ""
    page: int = 2

    def put(self, collection: str, document: Document) -> Document:
        """Keep an entity."""
        self.lists.setdefault(collection, {})[document["id"]] = document
        return document

    def connect(self, from_id: str, to_id: str, **details: Any) -> None:
        """Keep a lineage edge between two entities, as ``entityLineage.json`` has it."""
        edge = {"fromEntity": from_id, "toEntity": to_id, "lineageDetails": {"source": "Manual", **details}}
        self.edges.setdefault(to_id, {})[from_id] = edge

    def follow(self, collection: str, entity_id: str, *people: Document) -> None:
        """Let these, and no others, follow an entity."""
        self.lists[collection][entity_id]["followers"] = [reference("user", person) for person in people]

    def tell(
        self,
        event_type: str,
        entity_type: str,
        document: Document,
        at_ms: int,
        *,
        event_id: str | None = None,
        **keys: Any,
    ) -> Document:
        """Add a change event with its entity, as ``ChangeEventHandler`` writes it."""
        event = {
            "id": event_id or str(uuid.uuid4()),
            "eventType": event_type,
            "entityType": entity_type,
            "entityId": document["id"],
            "entityFullyQualifiedName": document.get("fullyQualifiedName"),
            "userName": document.get("updatedBy", "admin"),
            "timestamp": at_ms,
            "currentVersion": document.get("version"),
            "entity": json.dumps(document),
        } | keys
        self.events.append(event)
        return event

    def get(self, path: str, query: dict[str, str]) -> tuple[int, Document]:
        """Return the status and the body of an answer."""
        if path == "events":
            return 200, self._events(query)
        parent, _, last = path.rpartition("/")
        if parent.startswith("lineage/"):
            return self._lineage(last)
        if parent in self.lists and last in self.lists[parent]:
            return self._one(self.lists[parent][last], query)
        if path in self.absent or path.rpartition("/")[0] in self.absent or "-4000-" in last or len(last) == 36:
            return 404, {"code": 404, "message": f"{path} not found"}
        return self._list(path, query)

    def _one(self, document: Document, query: dict[str, str]) -> tuple[int, Document]:
        return self._refusal(query) or (200, document)

    def _lineage(self, entity_id: str) -> tuple[int, Document]:
        entities = {one["id"]: one for documents in self.lists.values() for one in documents.values()}
        if entity_id not in entities:
            return 404, {"code": 404, "message": f"instance for {entity_id} not found"}
        edges = self.edges.get(entity_id, {})
        nodes = [reference("table", entities[one]) for one in edges if one in entities]
        graph = {"entity": reference("table", entities[entity_id]), "nodes": nodes}
        return 200, {**graph, "upstreamEdges": list(edges.values()), "downstreamEdges": []}

    def _refusal(self, query: dict[str, str]) -> tuple[int, Document] | None:
        for name in query.get("fields", "").split(","):
            if name in self.unknown_fields:
                return 400, {"code": 400, "message": f"Invalid field name {name}"}
        return None

    def _list(self, path: str, query: dict[str, str]) -> tuple[int, Document]:
        if refusal := self._refusal(query):
            return refusal
        documents = sorted(self.lists.get(path, {}).values(), key=_place_of)
        after = base64.b64decode(query["after"]).decode() if "after" in query else ""
        later = [one for one in documents if _place_of(one) > after]
        size = min(int(query.get("limit", 10)), self.page)
        paging: Document = {"total": len(documents)}
        if len(later) > size:
            paging["after"] = base64.b64encode(_place_of(later[size - 1]).encode()).decode()
        return 200, {"data": later[:size], "paging": paging}

    def _events(self, query: dict[str, str]) -> Document:
        since = int(query["timestamp"])
        if not self.has_cursor:
            events = [one for one in self.events if one["timestamp"] >= since]
            return {"data": sorted(events, key=lambda one: -one["timestamp"]), "paging": {"total": len(events)}}
        until, start = int(query.get("endTs", 2**62)), int(query.get("after", 0))
        entries = [
            (offset, event)
            for offset, event in enumerate(self.events, start=1)
            if offset > start and since <= event["timestamp"] <= until
        ]
        size = min(int(query.get("limit", 100)), self.page)
        paging: Document = {"total": len(entries[:size])}
        if len(entries) > size:
            paging["after"] = str(entries[size - 1][0])
        return {"data": [one for _, one in entries[:size]], "paging": paging}

    def fault_of(self, address: str) -> Fault | None:
        """Return the fault of this request, one time less."""
        for fault in self.faults:
            if fault.match in address and fault.times:
                fault.times -= 1
                return fault
        return None


def _place_of(document: Document) -> str:
    """Return where a document is in a list: a name may be there twice."""
    return f"{document['name']} {document['id']}"


@contextmanager
def running(fake: FakeOpenMetadata) -> Iterator[FakeOpenMetadata]:
    """Serve it on this machine."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = -1

        def do_GET(self) -> None:
            fake.addresses.append(self.path)
            if self.headers.get("Authorization") != f"Bearer {TOKEN}":
                return self.answer(401, b'{"code":401,"message":"Not Authorized! Token not present"}', {})
            if (fault := fake.fault_of(self.path)) is not None:
                return self.answer(fault.status, fault.body, fault.headers, is_cut=fault.is_cut)
            url = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(url.query).items()}
            status, body = fake.get(url.path.removeprefix("/api/v1/"), query)
            return self.answer(status, json.dumps(body).encode(), {})

        def answer(self, status: int, body: bytes, headers: dict[str, str], *, is_cut: bool = False) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body) + 100 * is_cut))
            self.end_headers()
            self.wfile.write(body)
            self.wfile.flush()
            if is_cut:
                self.close_connection = True

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    fake.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def now_ms() -> int:
    """Return the present time."""
    return int(time.time() * 1000)


def a_warehouse(fake: FakeOpenMetadata, *, tables: int = 3, at_ms: int = 1_700_000_000_000) -> Document:
    """Fill the server with a service, a database, a schema, tables and people; return the first table."""
    stamps = {"version": 0.3, "updatedAt": at_ms, "updatedBy": "upstream.admin", "deleted": False}
    service = fake.put(
        "services/databaseServices",
        {
            "id": SERVICE,
            "name": "snow",
            "fullyQualifiedName": "snow",
            "serviceType": "Snowflake",
            "connection": {"config": {"type": "Snowflake", "password": "*********"}},
            **stamps,
        },
    )
    database = fake.put(
        "databases",
        {
            "id": DATABASE,
            "name": "dwh",
            "fullyQualifiedName": "snow.dwh",
            "service": reference("databaseService", service),
            "serviceType": "Snowflake",
            **stamps,
        },
    )
    schema = fake.put(
        "databaseSchemas",
        {
            "id": SCHEMA,
            "name": "marts",
            "fullyQualifiedName": "snow.dwh.marts",
            "database": reference("database", database),
            "service": reference("databaseService", service),
            "serviceType": "Snowflake",
            **stamps,
        },
    )
    for number in range(tables):
        fake.put("tables", a_table(number, schema, stamps))
    return fake.lists["tables"][table_id(0)]


def a_table(number: int, schema: Document, stamps: Document) -> Document:
    """Return a table as upstream's list has it."""
    name = f"orders_{number}"
    return {
        "id": table_id(number),
        "name": name,
        "fullyQualifiedName": f"snow.dwh.marts.{name}",
        "description": f"Orders {number}.",
        "tableType": "Regular",
        "columns": [
            {
                "name": "id",
                "dataType": "INT",
                "dataTypeDisplay": "int",
                "fullyQualifiedName": f"snow.dwh.marts.{name}.id",
                "tags": [a_label("PII.Sensitive")],
                "constraint": "PRIMARY_KEY",
            },
            {"name": "note", "dataType": "VARCHAR", "dataLength": 30, "tags": []},
        ],
        "databaseSchema": reference("databaseSchema", schema),
        "database": schema["database"],
        "service": schema["service"],
        "serviceType": "Snowflake",
        "owners": [],
        "followers": [],
        "tags": [a_label("Tier.Tier1"), a_label("Unknown.There")],
        "domains": [],
        "href": "http://upstream/table",
        **stamps,
    }


def a_label(name: str) -> Document:
    """Return a label as upstream has it."""
    return {
        "tagFQN": name,
        "name": name.rpartition(".")[2],
        "source": "Classification",
        "labelType": "Manual",
        "state": "Confirmed",
    }
