"""Checks of ``metadata.sdk``, the client's newer API: entities, custom properties, products, lineage, search, runs."""

from __future__ import annotations

import asyncio
import os
import time
from typing import Any

from checks.checking import CheckSetup, check, id_of, text
from checks.every_type import new
from metadata import sdk
from metadata.generated.schema.api.data.createCustomProperty import CreateCustomPropertyRequest
from metadata.generated.schema.api.data.createMetric import CreateMetricRequest
from metadata.generated.schema.api.tests.createCustomMetric import CreateCustomMetricRequest
from metadata.generated.schema.entity.data.pipeline import PipelineStatus
from metadata.generated.schema.entity.data.table import Table, TableData
from metadata.generated.schema.type.entityReference import EntityReference
from metadata.ingestion.models.custom_properties import CustomPropertyDataTypes, OMetaCustomProperties
from metadata.sdk.api.lineage import Lineage
from metadata.sdk.api.search import Search

_LISTED = (
    "APICollections APIEndpoints Charts Classifications Containers DashboardDataModels Dashboards DashboardServices "
    "Databases DatabaseSchemas DatabaseServices DataProducts Domains Glossaries GlossaryTerms Metrics MLModels "
    "Pipelines Queries SearchIndexes StorageServices StoredProcedures Tables Tags Teams TestCases TestDefinitions "
    "TestSuites Users"
).split()


def _connect() -> None:
    sdk.configure(server_url=os.environ["TOCSIN_SERVER"] + "/api", jwt_token=os.environ["TOCSIN_TOKEN"])


@check("", "the newer API: every class of what Tocsin serves lists its entities")
def _lists(setup: CheckSetup) -> None:
    _connect()
    assert setup.entities
    empty = [name for name in _LISTED if hasattr(sdk, name) and not getattr(sdk, name).list(limit=2).entities]
    assert empty == []


@check("", "the newer API: an entity is read, changed, listed, found, deleted and restored")
def _entity(setup: CheckSetup) -> None:
    _connect()
    table = setup.table()
    changed_table = sdk.Tables.retrieve(id_of(table)).model_copy(deep=True)
    changed_table.description = "New."
    assert text(sdk.Tables.update(changed_table).description) == "New."
    first = sdk.Tables.list(limit=1)
    assert sdk.Tables.list(limit=1, after=first.after).entities[0].id != first.entities[0].id
    assert table.id in [one.id for one in sdk.Tables.list_all(batch_size=50)]
    assert sdk.Tables.to_entity_reference(table)["id"] == id_of(table)
    sdk.Tables.delete(id_of(table))
    assert sdk.Tables.restore(id_of(table)).deleted is False
    sdk.Tables.delete(id_of(table), recursive=True, hard_delete=True)
    assert table.id not in [one.id for one in sdk.Tables.list_all(batch_size=50)]


@check("", "the newer API: a custom metric and sample data of a table")
def _details(setup: CheckSetup) -> None:
    _connect()
    table = setup.table()
    metric = CreateCustomMetricRequest(name="rows", expression="SELECT count(*) FROM t", description="x")
    assert [text(one.name) for one in sdk.Tables.add_custom_metric(id_of(table), metric).customMetrics] == ["rows"]
    sdk.Tables.add_sample_data(id_of(table), TableData(columns=["id", "email"], rows=[[1, "a@example.org"]]))
    assert sdk.Tables.get_sample_data(id_of(table)).sampleData.rows == [[1, "a@example.org"]]


@check(
    "create_or_update_custom_property",
    "the newer API: a custom property that refers to a person is set, kept and cleared",
)
def _property(setup: CheckSetup) -> None:
    _connect()
    name, table, person = setup.name("steward"), setup.table(), new(setup, "User", "steward")
    kind = setup.metadata.get_property_type_ref(CustomPropertyDataTypes.ENTITY_REFERENCE)
    request = CreateCustomPropertyRequest(
        name=name, description="x", propertyType=kind, customPropertyConfig={"config": ["user"]}
    )
    setup.metadata.create_or_update_custom_property(
        OMetaCustomProperties(entity_type=Table, createCustomPropertyRequest=request)
    )
    reference = {"id": id_of(person), "type": "user"}
    answer = sdk.Tables.update_custom_properties(id_of(table)).with_property(name, reference).execute()
    value = answer.extension.root[name]
    assert reference.items() <= value.items()
    assert (value["href"].rpartition("/")[2], value["deleted"]) == (id_of(person), False)
    read = sdk.Tables.retrieve(id_of(table), fields=["extension"]).model_copy(deep=True)
    read.description = "Changed."
    change = sdk.Tables.update(read).changeDescription
    assert [text(one.name) for one in change.fieldsAdded + change.fieldsUpdated] == ["description"]
    by_name = sdk.Tables.update_custom_properties_by_name(text(table.fullyQualifiedName))
    cleared_table = by_name.clear_all().execute()
    assert not getattr(cleared_table.extension, "root", None)


@check("", "the newer API: a data product gets an asset, and loses it")
def _product(setup: CheckSetup) -> None:
    _connect()
    product, table = new(setup, "DataProduct", "product"), setup.table()
    assets = [EntityReference(id=table.id, type="table")]
    for change in (sdk.DataProducts.add_assets, sdk.DataProducts.remove_assets):
        assert change(text(product.fullyQualifiedName), assets)["status"] == "success"


@check("", "the newer API: lineage by its builder, exported, read asynchronously, deleted")
def _lineage(setup: CheckSetup) -> None:
    _connect()
    source, target = setup.table(), setup.table()
    Lineage.builder().from_entity(id_of(source), "table").to_entity(id_of(target), "table").description("x").execute()
    lineage = Lineage.builder().entity_type(Table).entity_id(id_of(target)).upstream_depth(2).execute()
    assert [edge.fromEntity for edge in lineage.upstreamEdges] == [source.id]
    assert Lineage.export_lineage(Table, id_of(target))["entity"]["id"] == id_of(target)
    name = text(target.fullyQualifiedName)
    assert asyncio.run(Lineage.get_lineage_async(name, entity_type=Table)).entity.id == target.id
    ends = {"from_entity": id_of(source), "from_entity_type": "table"}
    Lineage.delete_lineage(**ends, to_entity=id_of(target), to_entity_type="table")
    assert Lineage.get_lineage(name, entity_type=Table).upstreamEdges == []


@check("", "the newer API: search with filters, by its builder, as an aggregation, asynchronously")
def _search(setup: CheckSetup) -> None:
    _connect()
    assert setup.entities
    index = "table_search_index"
    answers = [
        Search.search("*", index=index, filters={"service.name": "pg", "deleted": False}),
        Search.search_advanced({"query": {"match_all": {}}, "index": index}),
        Search.builder().query("*").index(index).size(1).sort_field("name.keyword").sort_order("asc").execute(),
        asyncio.run(Search.search_async("*", index=index)),
    ]
    assert all(_total(answer) > 0 for answer in answers), answers
    assert Search.aggregate("*", index=index, field="service.name.keyword")["aggregations"]
    assert isinstance(Search.suggest("ord"), list)


def _total(answer: dict[str, Any]) -> int:
    return int(answer["hits"]["total"]["value"])


@check("", "the newer API: related metrics, and runs of a pipeline, in bulk as well")
def _reports(setup: CheckSetup) -> None:
    _connect()
    metric, second_metric = (sdk.Metrics.create(CreateMetricRequest(name=setup.name("metric"))) for _ in range(2))
    related = sdk.Metrics.add_related_metrics(id_of(metric), [id_of(second_metric)])
    assert [reference.id for reference in related.relatedMetrics.root] == [second_metric.id]
    name, now_ms = text(new(setup, "Pipeline", "pipeline").fullyQualifiedName), int(time.time() * 1000)
    runs = [PipelineStatus(timestamp=now_ms - ago_ms, executionStatus="Successful") for ago_ms in (0, 5000, 9000)]
    sdk.Pipelines.add_pipeline_status(name, runs[0])
    sdk.Pipelines.add_bulk_pipeline_status(name, runs[1:])
    assert len(sdk.Pipelines.list_pipeline_statuses(name, now_ms - 20_000, now_ms + 1)) == len(runs)
