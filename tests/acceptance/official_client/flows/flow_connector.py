"""Flow of a real connector, end to end: the metadata workflow ingests a SQLite database."""

from __future__ import annotations

import os
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

from metadata.generated.schema.entity.data.table import Table
from metadata.workflow.metadata import MetadataWorkflow

_SHOP = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, email TEXT NOT NULL);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers (id), total NUMERIC(10, 2));
CREATE VIEW turnover AS SELECT customer_id, sum(total) AS total FROM orders GROUP BY customer_id;
"""


def run(metadata: Any) -> object:
    """Return the tables found, and the versions before and after a second run and a dropped table."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "shop.db"
        _execute(path, _SHOP)
        _ingest(path)
        first = _versions(metadata)
        _ingest(path)
        second = _versions(metadata)
        _execute(path, "DROP VIEW turnover; ALTER TABLE customers ADD COLUMN phone TEXT;")
        _ingest(path)
        third = _versions(metadata)
    return [first, second, third]


def _execute(path: Path, script: str) -> None:
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.close()


def _ingest(path: Path) -> None:
    workflow = MetadataWorkflow.create(
        {
            "source": {
                "type": "sqlite",
                "serviceName": "till",
                "serviceConnection": {"config": {"type": "SQLite", "database": "default", "databaseMode": str(path)}},
                "sourceConfig": {"config": {"type": "DatabaseMetadata", "markDeletedTables": True}},
            },
            "sink": {"type": "metadata-rest", "config": {}},
            "workflowConfig": {
                "loggerLevel": "WARN",
                "openMetadataServerConfig": {
                    "hostPort": f"{os.environ['TOCSIN_SERVER']}/api",
                    "authProvider": "openmetadata",
                    "securityConfig": {"jwtToken": os.environ["TOCSIN_TOKEN"]},
                },
            },
        }
    )
    workflow.execute()
    workflow.raise_from_status()
    workflow.stop()


def _versions(metadata: Any) -> dict[str, float]:
    tables = metadata.list_all_entities(Table, params={"database": "till.default"})
    return {table.fullyQualifiedName.root: table.version.root for table in tables}
