"""Flow of search: tables by name pattern, people and teams by name and address, pages of all types."""

from __future__ import annotations

import time
from typing import Any

from metadata.generated.schema.entity.data.table import Table
from speaking import create_everything

AWAITED = (("user", "olga"), ("team", "crew"), ("table", "orders"), ("table", "customers"))
"""Asked without the client's own look-ups, which remember that something was not found."""


def _is_found(metadata: Any, index: str, name: str) -> bool:
    answer = metadata.client.get(f"/search/query?q={name}&index={index}_search_index&size=1")
    return bool(answer["hits"]["hits"])


def run(metadata: Any) -> object:
    """Return the tables found, once the index has followed."""
    create_everything(metadata)
    until = time.monotonic() + 150
    while not all(_is_found(metadata, *one) for one in AWAITED) and time.monotonic() < until:
        time.sleep(0.05)
    assert metadata.get_reference_by_name.__wrapped__(metadata, "crew").root[0].type == "team"
    assert metadata.get_reference_by_email.__wrapped__(metadata, "olga@example.org").root[0].name == "olga"
    tables = metadata.es_search_from_fqn(Table, "pg.shop.public.orders")
    assert [table.name.root for table in tables] == ["orders"]
    any_service = metadata.es_search_from_fqn(Table, "*.shop.public.*")
    assert {table.name.root for table in any_service} == {"orders", "customers"}
    return sorted(table.name.root for table in metadata.paginate_es(Table, size=1))
