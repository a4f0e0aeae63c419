"""Flow of bulk requests: one creates a hundred tables, an identical second one changes nothing."""

from __future__ import annotations

from typing import Any

from metadata.generated.schema.api.data.createTable import CreateTableRequest
from metadata.generated.schema.entity.data.table import Table
from speaking import create_everything


def run(metadata: Any) -> object:
    """Return what passed and failed in each request."""
    create_everything(metadata)
    requests = [_table(number) for number in range(100)]
    results = [metadata.bulk_create_or_update(requests, use_async=False) for _ in range(2)]
    rejected = CreateTableRequest(name="lost", databaseSchema="pg.nowhere.public", columns=[])
    results.append(metadata.bulk_create_or_update([rejected, _table(100)], use_async=False))
    assert metadata.get_by_name(Table, "pg.shop.public.bulk_100") is not None
    return [[len(result.successRequest), len(result.failedRequest)] for result in results]


def _table(number: int) -> CreateTableRequest:
    columns = [{"name": "id", "dataType": "BIGINT"}]
    return CreateTableRequest(name=f"bulk_{number}", databaseSchema="pg.shop.public", columns=columns)
