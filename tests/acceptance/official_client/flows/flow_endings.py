"""Flow of deletes (soft, hard, recursive), restores, versions and followers."""

from __future__ import annotations

from typing import Any

from everything import EVERYTHING
from metadata.generated.schema.entity.data.database import Database
from metadata.generated.schema.entity.data.table import Table
from metadata.ingestion.ometa.client import APIError
from speaking import create_everything, fqn_of


def run(metadata: Any) -> object:
    """Return which types were gone after a hard delete."""
    entities = create_everything(metadata)
    table, database = entities["Table customers"], entities["Database shop"]
    metadata.delete(Table, table.id)
    assert metadata.get_by_name(Table, fqn_of(table)) is None
    assert metadata.get_by_name(Table, fqn_of(table), include="deleted", fields=["owners"]).deleted
    assert metadata.get_by_name(Table, fqn_of(table), include="all") is not None, "the client asks without a '?'"
    assert metadata.restore(Table, table.id).deleted is False
    assert [str(v) for v in _versions(metadata, Table, table)] == ["0.3", "0.2", "0.1"]
    try:
        metadata.delete(Database, database.id)
    except APIError as refused:
        assert refused.code == 400, refused.code
    else:
        raise AssertionError("a database that holds schemas went without being asked to")
    metadata.delete(Database, database.id, recursive=True)
    assert metadata.get_by_name(Table, fqn_of(table)) is None
    metadata.restore(Database, database.id)
    assert metadata.get_by_name(Table, fqn_of(table)) is not None
    deleted_types = []
    for kind, _request, name, _rest in reversed(EVERYTHING):
        entity = entities[f"{kind.__name__} {name}"]
        metadata.delete(kind, entity.id, recursive=True, hard_delete=True)
        assert metadata.get_by_name(kind, fqn_of(entity), include="all", fields=["*"]) is None, kind
        deleted_types.append(kind.__name__)
    return deleted_types


def _versions(metadata: Any, kind: type, entity: Any) -> list[float]:
    import json

    return [json.loads(text)["version"] for text in metadata.get_list_entity_versions(entity.id, kind).versions]
