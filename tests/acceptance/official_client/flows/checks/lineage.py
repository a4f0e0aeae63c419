"""Checks of lineage: edges, columns, SQL, deletion, and lineage made from a query."""

from __future__ import annotations

import itertools
from typing import Any

from checks.checking import CheckSetup, check, id_of, reference, text
from metadata.generated.schema.api.data.createMlModel import CreateMlModelRequest
from metadata.generated.schema.api.lineage.addLineage import AddLineageRequest
from metadata.generated.schema.entity.data.table import Table
from metadata.generated.schema.type.entityLineage import ColumnLineage, EntitiesEdge, LineageDetails, Source
from speaking import put


def edge(from_: Any, to: Any, **details: Any) -> AddLineageRequest:
    """Return the request for an edge."""
    ends = EntitiesEdge(fromEntity=reference(from_), toEntity=reference(to), lineageDetails=LineageDetails(**details))
    return AddLineageRequest(edge=ends)


def _columns(from_: Any, to: Any, name: str) -> list[ColumnLineage]:
    columns = (f"{text(one.fullyQualifiedName)}.{name}" for one in (from_, to))
    return [ColumnLineage(fromColumns=[next(columns)], toColumn=next(columns))]


@check("add_lineage get_lineage_edge", "an edge with SQL and columns, and the edge by its two ids")
def _add(setup: CheckSetup) -> None:
    source, target = setup.table(), setup.table()
    request = edge(
        source, target, sqlQuery="INSERT INTO b SELECT * FROM a", columnsLineage=_columns(source, target, "id")
    )
    answered = setup.metadata.add_lineage(request)
    assert [at["toEntity"] for at in answered["downstreamEdges"]] == [id_of(target)]
    stored_edge = setup.metadata.get_lineage_edge(id_of(source), id_of(target))["edge"]
    assert stored_edge["sqlQuery"] == "INSERT INTO b SELECT * FROM a"
    assert len(stored_edge["columnsLineage"]) == 1


@check("add_lineage", "with check_patch: columns and SQL join those that are there")
def _patch(setup: CheckSetup) -> None:
    source, target = setup.table(), setup.table()
    setup.metadata.add_lineage(edge(source, target, columnsLineage=_columns(source, target, "id")))
    changed_edge = edge(source, target, columnsLineage=_columns(source, target, "email"), sqlQuery="SELECT 2")
    setup.metadata.add_lineage(changed_edge, check_patch=True)
    stored_edge = setup.metadata.client.get(f"/lineage/getLineageEdge/{id_of(source)}/{id_of(target)}")["edge"]
    assert {column["toColumn"].rpartition(".")[2] for column in stored_edge["columnsLineage"]} == {"id", "email"}
    assert stored_edge["sqlQuery"] == "SELECT 2"


@check("patch_lineage_edge", "the pipeline that moves the data is added to an edge")
def _pipeline(setup: CheckSetup) -> None:
    source, target = setup.table(), setup.table()
    setup.metadata.add_lineage(edge(source, target, sqlQuery="SELECT 1"))
    updated = edge(source, target, sqlQuery="SELECT 1", pipeline=setup.ref("Pipeline nightly"))
    assert setup.metadata.patch_lineage_edge(edge(source, target, sqlQuery="SELECT 1"), updated) is True
    stored_edge = setup.metadata.client.get(f"/lineage/getLineageEdge/{id_of(source)}/{id_of(target)}")["edge"]
    assert stored_edge["pipeline"]["id"] == id_of(setup.entities["Pipeline nightly"])


@check("get_lineage_by_name", "three levels down, and no further than it is asked")
def _depth(setup: CheckSetup) -> None:
    chain = [setup.table() for _ in range(4)]
    for source, target in itertools.pairwise(chain):
        setup.metadata.add_lineage(edge(source, target))
    fqn = text(chain[0].fullyQualifiedName)
    nodes = [
        {node["id"] for node in setup.metadata.get_lineage_by_name(Table, fqn, 0, depth)["nodes"]}
        for depth in (1, 2, 3)
    ]
    assert nodes == [{id_of(one) for one in chain[1:end]} for end in (2, 3, 4)]


@check("get_lineage_by_id", "what is upstream of a dashboard, as the client's model")
def _upstream(setup: CheckSetup) -> None:
    from metadata.generated.schema.type.entityLineage import EntityLineage

    table, dashboard = setup.table(), setup.entities["Dashboard sales"]
    setup.metadata.add_lineage(edge(table, dashboard, source=Source.DashboardLineage))
    read = EntityLineage(**setup.metadata.get_lineage_by_id("dashboard", id_of(dashboard), 1, 0))
    assert read.entity.id == dashboard.id
    assert id_of(table) in {str(node.id.root) for node in read.nodes}
    assert id_of(table) in {str(one.fromEntity.root) for one in read.upstreamEdges}


@check("get_lineage_by_name", "None for what is not there")
def _no_lineage(setup: CheckSetup) -> None:
    assert setup.metadata.get_lineage_by_name(Table, "pg.shop.public.nowhere") is None


@check("delete_lineage_edge", "an edge goes")
def _delete(setup: CheckSetup) -> None:
    source, target = setup.table(), setup.table()
    request = edge(source, target)
    setup.metadata.add_lineage(request)
    setup.metadata.delete_lineage_edge(request.edge)
    assert setup.metadata.get_lineage_by_id(Table, id_of(source))["downstreamEdges"] == []


@check("delete_lineage_by_source", "only the edges of that source go")
def _deleted_by_source(setup: CheckSetup) -> None:
    query_source, manual_source, target = setup.table(), setup.table(), setup.table()
    setup.metadata.add_lineage(edge(query_source, target, source=Source.QueryLineage))
    setup.metadata.add_lineage(edge(manual_source, target, source=Source.Manual))
    setup.metadata.delete_lineage_by_source("table", id_of(target), Source.QueryLineage.value)
    remaining = setup.metadata.get_lineage_by_id(Table, id_of(target))["upstreamEdges"]
    assert [at["fromEntity"] for at in remaining] == [id_of(manual_source)]


@check("add_mlmodel_lineage", "the tables that a model's features come from are upstream of it")
def _model(setup: CheckSetup) -> None:
    table = setup.table()
    source = {"name": "email", "dataType": "string", "dataSource": reference(table)}
    feature = {"name": "email", "dataType": "categorical", "featureSources": [source]}
    fields = {"service": "mlflow", "algorithm": "forest", "mlFeatures": [feature]}
    model = put(setup.metadata, CreateMlModelRequest, setup.name("model"), fields)
    lineage = setup.metadata.add_mlmodel_lineage(model)
    assert [at["fromEntity"] for at in lineage["upstreamEdges"]] == [id_of(table)]


@check("patch_lineage_processed_flag", "a table is marked as processed")
def _mark_processed(setup: CheckSetup) -> None:
    table = setup.table()
    setup.metadata.patch_lineage_processed_flag(Table, text(table.fullyQualifiedName))
    assert setup.metadata.get_by_id(Table, table.id).processedLineage is True
