"""Flow of a real connector, end to end: the metadata workflow ingests a SQLite database."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from metadata.generated.schema.entity.data.table import Table
from metadata.workflow.metadata import MetadataWorkflow
from till import SHOP, SINK, execute, run_workflow, source


def run(metadata: Any) -> object:
    """Return the tables found, and the versions before and after a second run and a dropped table."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "shop.db"
        execute(path, SHOP)
        _ingest(path)
        first = _versions(metadata)
        _ingest(path)
        second = _versions(metadata)
        execute(path, "DROP VIEW turnover; ALTER TABLE customers ADD COLUMN phone TEXT;")
        _ingest(path)
        third = _versions(metadata)
    return [first, second, third]


def _ingest(path: Path) -> None:
    config = {"type": "DatabaseMetadata", "markDeletedTables": True}
    run_workflow(MetadataWorkflow, source=source("sqlite", path, config), sink=SINK)


def _versions(metadata: Any) -> dict[str, float]:
    tables = metadata.list_all_entities(Table, params={"database": "till.default"})
    return {table.fullyQualifiedName.root: table.version.root for table in tables}
