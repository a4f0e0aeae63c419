"""A SQLite database as the source of workflows, and how the client's own workflow classes are run over it.

Runs in the official client's own environment, never in Tocsin's.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

SHOP = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, email TEXT NOT NULL);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers (id), total NUMERIC(10, 2));
CREATE VIEW turnover AS SELECT customer_id, sum(total) AS total FROM orders GROUP BY customer_id;
"""
SINK = {"type": "metadata-rest", "config": {}}


def execute(path: Path, script: str) -> None:
    """Run SQL statements on the database."""
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.close()


def connection(path: Path) -> dict[str, Any]:
    """Return the service connection of the database."""
    return {"config": {"type": "SQLite", "database": "default", "databaseMode": str(path)}}


def source(kind: str, path: Path | None, config: dict[str, Any]) -> dict[str, Any]:
    """Return the source of a workflow over the service ``till``."""
    reached = {} if path is None else {"serviceConnection": connection(path)}
    return {"type": kind, "serviceName": "till", **reached, "sourceConfig": {"config": config}}


def run_workflow(workflow_class: Any, *, reporting_to: str | None = None, **steps: Any) -> None:
    """Run a workflow to its end, its run reported to an ingestion pipeline of that FQN; raises if a step failed."""
    workflow = workflow_class.create(
        {
            **steps,
            "ingestionPipelineFQN": reporting_to,
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
