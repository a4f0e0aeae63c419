"""Flow of a connector that reports two tables, one alone and one in bulk, whoever has described them meanwhile."""

from __future__ import annotations

from typing import Any

from everything import EVERYTHING
from metadata.generated.schema.api.data.createTable import CreateTableRequest
from metadata.generated.schema.entity.data.database import Database
from metadata.generated.schema.entity.data.databaseSchema import DatabaseSchema
from metadata.generated.schema.entity.data.table import Table
from metadata.generated.schema.entity.services.databaseService import DatabaseService
from speaking import put

ABOVE = (DatabaseService, Database, DatabaseSchema)
SCHEMA = "pg.shop.public"


def run(metadata: Any) -> object:
    """Return the texts of both tables and of their columns after the report."""
    if metadata.get_by_name(Table, f"{SCHEMA}.alone") is None:
        for request, name, fields in (row[1:] for row in EVERYTHING if row[0] in ABOVE):
            put(metadata, request, name, fields)
    metadata.create_or_update(_table("alone"))
    result = metadata.bulk_create_or_update([_table("many")], use_async=False)
    assert not result.failedRequest, result.failedRequest
    return [_texts(metadata.get_by_name(Table, f"{SCHEMA}.{name}", fields=["columns"])) for name in ("alone", "many")]


def _table(name: str) -> CreateTableRequest:
    columns = [{"name": name, "dataType": "BIGINT", "description": "Source."} for name in ("id", "total")]
    return CreateTableRequest(
        name=name, displayName="Source", description="Source.", databaseSchema=SCHEMA, columns=columns
    )


def _texts(table: Any) -> list[str]:
    return [table.displayName, table.description.root, *(column.description.root for column in table.columns)]
