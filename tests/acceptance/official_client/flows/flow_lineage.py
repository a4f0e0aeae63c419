"""Flow of lineage: edges with columns, added, read, extended, deleted one by one and by source."""

from __future__ import annotations

from typing import Any

from metadata.generated.schema.api.lineage.addLineage import AddLineageRequest
from metadata.generated.schema.entity.data.table import Table
from metadata.generated.schema.type.entityLineage import ColumnLineage, EntitiesEdge, LineageDetails, Source
from metadata.generated.schema.type.entityReference import EntityReference
from speaking import create_everything

ORDERS, CUSTOMERS = "pg.shop.public.orders", "pg.shop.public.customers"


def run(metadata: Any) -> object:
    """Return the columns of the edge as they are at last."""
    entities = create_everything(metadata)
    orders, customers = entities["Table orders"], entities["Table customers"]
    nightly, sales = entities["Pipeline nightly"], entities["Dashboard sales"]
    answer = metadata.add_lineage(_request(customers, orders, "email", pipeline=nightly))
    assert answer["downstreamEdges"], answer
    metadata.add_lineage(_request(customers, orders, "id", pipeline=nightly), check_patch=True)
    edge = metadata.get_lineage_edge(str(customers.id.root), str(orders.id.root))["edge"]
    assert edge["pipeline"]["id"] == str(nightly.id.root), edge
    metadata.add_lineage(_request(orders, sales, None))
    graph = metadata.get_lineage_by_name(Table, CUSTOMERS, up_depth=1, down_depth=3)
    assert {node["name"] for node in graph["nodes"]} == {"orders", "sales"}, graph
    upstream = metadata.get_lineage_by_id("dashboard", str(sales.id.root), up_depth=3, down_depth=1)
    assert {node["name"] for node in upstream["nodes"]} == {"orders", "customers"}, upstream
    metadata.delete_lineage_by_source("dashboard", str(sales.id.root), Source.ViewLineage.value)
    assert metadata.get_lineage_by_id("dashboard", str(sales.id.root))["upstreamEdges"] == []
    columns = sorted(one["toColumn"] for one in edge["columnsLineage"])
    both = EntitiesEdge(fromEntity=_reference(customers), toEntity=_reference(orders))
    metadata.delete_lineage_edge(both)
    assert metadata.get_lineage_by_name(Table, CUSTOMERS)["downstreamEdges"] == []
    return columns


def _request(from_: Any, to: Any, column: str | None, pipeline: Any = None) -> AddLineageRequest:
    columns = [ColumnLineage(fromColumns=[f"{CUSTOMERS}.{column}"], toColumn=f"{ORDERS}.{column}")] if column else []
    details = LineageDetails(
        sqlQuery="INSERT INTO orders SELECT * FROM customers",
        columnsLineage=columns,
        pipeline=EntityReference(id=pipeline.id, type="pipeline") if pipeline else None,
        source=Source.PipelineLineage if pipeline else Source.ViewLineage,
    )
    edge = EntitiesEdge(fromEntity=_reference(from_), toEntity=_reference(to), lineageDetails=details)
    return AddLineageRequest(edge=edge)


def _reference(entity: Any) -> EntityReference:
    return EntityReference(id=entity.id, type=type(entity).__name__[0].lower() + type(entity).__name__[1:])
