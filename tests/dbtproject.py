"""Files of a dbt project as dbt writes them, with the keys that are read, for tests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from sqlalchemy import Engine
from tests.prefilled import fill

from tocsin.model.entity import Document
from tocsin.server.bootstrap import ADMINISTRATOR, first_start
from tocsin.settings import Settings
from tocsin.sources.process.dbt import ProjectOptions, run_project
from tocsin.store.catalogue.people.identities import People

SERVICE = "warehouse"
ORDERS = f"{SERVICE}.shop.main.orders"
RAW = "source.shop.raw.raw_orders"
NOT_NULL = "test.shop.not_null_orders_id.1"
RUN_AT = "2026-11-30T10:00:00Z"


def a_node(kind: str, name: str, **fields: Any) -> Document:
    """Return a node; ``fields`` take the place of what every node has."""
    package = "shop.raw" if kind == "source" else "shop"
    unique_id = f"{kind}.{package}.{name}"
    place = {"database": "shop", "schema": "main", "alias": name, "description": "", "columns": {}, "tags": []}
    config = {"materialized": "table", "enabled": True}
    return {
        "unique_id": unique_id,
        "resource_type": kind,
        "name": name,
        **place,
        "meta": {},
        "config": config,
        **fields,
    }


def depends_on(*unique_ids: str) -> Document:
    """Return the dependencies on these nodes."""
    return {"nodes": list(unique_ids), "macros": []}


@dataclass
class DbtProject:
    """A project in a folder: a report reads ``orders``, made from ``raw_orders`` through an ephemeral model."""

    folder: Path
    name: str = "shop"
    nodes: dict[str, Document] = field(default_factory=dict)
    sources: dict[str, Document] = field(default_factory=dict)
    exposures: dict[str, Document] = field(default_factory=dict)
    types: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    results: list[Document] = field(default_factory=list)
    freshness: list[Document] = field(default_factory=list)
    manifest_version: int = 12
    command: str = "build"

    def __post_init__(self) -> None:
        columns = {"id": {"name": "id", "description": "Number of the order.", "tags": ["key"]}}
        orders = a_node("model", "orders", description="One row per order.", tags=["daily"], meta={"owner": "ana"})
        orders |= {"columns": columns, "depends_on": depends_on("model.shop.recent"), "raw_code": "select 1"}
        recent = a_node("model", "recent", config={"materialized": "ephemeral"}, depends_on=depends_on(RAW))
        test = a_node("test", "not_null_orders_id", attached_node="model.shop.orders", column_name="id")
        test |= {"unique_id": NOT_NULL, "test_metadata": {"name": "not_null", "kwargs": {"column_name": "id"}}}
        self.nodes = {node["unique_id"]: node for node in (orders | {"compiled_code": "select 1"}, recent, test)}
        limits = {"warn_after": {"count": None}, "error_after": {"count": 24, "period": "hour"}}
        self.sources = {RAW: a_node("source", "raw_orders", identifier="raw_orders", freshness=limits)}
        report: Document = {
            "unique_id": "exposure.shop.weekly",
            "name": "weekly",
            "type": "dashboard",
            "label": "Weekly",
        }
        report |= {"owner": {"email": "ben@example.com", "name": "Ben"}, "depends_on": depends_on("model.shop.orders")}
        self.exposures = {"exposure.shop.weekly": report}
        self.types = {"model.shop.orders": [("id", "INTEGER"), ("total", "DECIMAL(10,2)")], RAW: [("id", "INTEGER")]}

    def test_result(self, status: str, *, at: str = RUN_AT, **fields: Any) -> None:
        """Let the newest run end with this result of the test of ``orders``."""
        timing = [{"name": "execute", "started_at": at, "completed_at": at}]
        result = {"unique_id": NOT_NULL, "status": status, "timing": timing, "message": None, "failures": 0, **fields}
        self.results = [result]

    def write(self) -> None:
        """Write the files."""
        self.folder.mkdir(exist_ok=True)
        manifest = {"nodes": self.nodes, "sources": self.sources, "exposures": self.exposures}
        self._write_file("manifest.json", "manifest", self.manifest_version, manifest)
        tables = {key: _catalog_table(columns) for key, columns in self.types.items()}
        by_kind = {
            kind: {key: one for key, one in tables.items() if (key == RAW) is is_source} for kind, is_source in _KINDS
        }
        self._write_file("catalog.json", "catalog", 1, by_kind)
        self._write_file(
            "run_results.json", "run-results", 6, {"results": self.results, "args": {"which": self.command}}
        )
        self._write_file("sources.json", "sources", 3, {"results": self.freshness})

    def _write_file(self, name: str, kind: str, version: int, content: Document) -> None:
        schema = f"https://schemas.getdbt.com/dbt/{kind}/v{version}.json"
        metadata = {"dbt_schema_version": schema, "project_name": self.name, "adapter_type": "postgres"}
        metadata["generated_at"] = RUN_AT
        (self.folder / name).write_text(json.dumps({"metadata": metadata, **content}))

    def run(self, engine: Engine, *, is_dry: bool = False, may_delete: bool = False) -> Document:
        """Write the files, and make one run over them."""
        self.write()
        options = ProjectOptions(str(self.folder), SERVICE, is_dry=is_dry, may_delete=may_delete)
        return run_project(engine, Settings(), options)


_KINDS = (("nodes", False), ("sources", True))


def _catalog_table(columns: list[tuple[str, str]]) -> Document:
    return {"columns": {name: {"name": name, "type": kind, "index": n} for n, (name, kind) in enumerate(columns)}}


@contextmanager
def served_folder(folder: Path, *, authorization: str) -> Iterator[str]:
    """Serve a folder below its name to who sends this header; yield the address above it."""

    class Files(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.headers["Authorization"] != authorization:
                self.send_error(401)
            else:
                super().do_GET()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  as the library calls it
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=str(folder.parent)))
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def start_store(engine: Engine) -> None:
    """Do the first start of a store, unless it was done."""

    def start() -> dict[str, str]:
        if People(engine).by_name(ADMINISTRATOR["name"]) is None:
            first_start(engine, Settings())
        return {}

    fill(engine, "first start for dbt", start)
