"""Checks that the server takes every value of the client's enumerations: kinds of services, tables, columns, charts."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Any

from checks.checking import CheckSetup, check
from everything import EVERYTHING
from metadata.generated.schema.api.data.createChart import CreateChartRequest
from metadata.generated.schema.api.data.createDashboardDataModel import CreateDashboardDataModelRequest
from metadata.generated.schema.api.data.createMetric import CreateMetricRequest
from metadata.generated.schema.api.data.createSearchIndex import CreateSearchIndexRequest
from metadata.generated.schema.api.data.createTable import CreateTableRequest
from metadata.generated.schema.entity.data.chart import ChartType
from metadata.generated.schema.entity.data.dashboardDataModel import DataModelType
from metadata.generated.schema.entity.data.metric import MetricGranularity, MetricType, UnitOfMeasurement
from metadata.generated.schema.entity.data.searchIndex import DataType as FieldType
from metadata.generated.schema.entity.data.table import Constraint, DataType, Table, TableType

_COLUMNS = [{"name": "id", "dataType": "INT"}]


def _assert_all_created(setup: CheckSetup, requests: Iterable[Any]) -> None:
    result = setup.metadata.bulk_create_or_update(list(requests))
    failed = [one.message for one in result.failedRequest or ()]
    assert not failed, failed
    assert result.numberOfRowsProcessed.root == len(result.successRequest) > 0


def _column(data_type: DataType) -> dict[str, Any]:
    lengths = {"dataLength": 10} if data_type.value in ("CHAR", "VARCHAR", "BINARY", "VARBINARY") else {}
    items = {"arrayDataType": "INT"} if data_type is DataType.ARRAY else {}
    return {"name": f"a_{data_type.value.lower()}", "dataType": data_type.value, **lengths, **items}


@check("bulk_create_or_update", "services of every kind that the client has a connector for")
def _services(setup: CheckSetup) -> None:
    for kind, request, *_ in EVERYTHING:
        if kind.__name__.endswith("Service"):
            values = _values(request, "serviceType")
            _assert_all_created(setup, (request(name=setup.name("service"), serviceType=one) for one in values))


def _values(request: type, field: str) -> list[Any]:
    """Return the values of the enumeration that a field of a request takes."""
    annotation = request.model_fields[field].annotation  # type: ignore[attr-defined]  # a pydantic model
    assert issubclass(annotation, Enum), annotation
    return [one.value for one in annotation]


@check("create_or_update get_by_id", "a table with a column of every data type")
def _data_types(setup: CheckSetup) -> None:
    table = setup.table(columns=[_column(one) for one in DataType])
    read = setup.metadata.get_by_id(Table, table.id)
    assert [one.dataType for one in read.columns] == list(DataType)


@check("create_or_update", "a table with a column of every constraint")
def _constraints(setup: CheckSetup) -> None:
    columns = [{"name": one.value, "dataType": "INT", "constraint": one.value} for one in Constraint]
    assert [one.constraint for one in setup.table(columns=columns).columns] == list(Constraint)


@check("bulk_create_or_update", "tables of every type")
def _tables(setup: CheckSetup) -> None:
    common = {"databaseSchema": "pg.shop.public", "columns": _COLUMNS}
    _assert_all_created(
        setup, (CreateTableRequest(name=setup.name("table"), tableType=one, **common) for one in TableType)
    )


@check("bulk_create_or_update", "charts of every type")
def _charts(setup: CheckSetup) -> None:
    _assert_all_created(
        setup, (CreateChartRequest(name=setup.name("chart"), service="superset", chartType=one) for one in ChartType)
    )


@check("bulk_create_or_update", "data models of every type")
def _models(setup: CheckSetup) -> None:
    common = {"service": "superset", "columns": _COLUMNS}
    request = CreateDashboardDataModelRequest
    _assert_all_created(
        setup, (request(name=setup.name("model"), dataModelType=one, **common) for one in DataModelType)
    )


@check("bulk_create_or_update", "metrics of every type, granularity and unit")
def _metrics(setup: CheckSetup) -> None:
    fields = {"metricType": MetricType, "granularity": MetricGranularity, "unitOfMeasurement": UnitOfMeasurement}
    _assert_all_created(
        setup,
        (
            CreateMetricRequest(name=setup.name("metric"), **{field: value})
            for field, values in fields.items()
            for value in values
            if value.value != "OTHER"  # which needs a unit of one's own beside it
        ),
    )


@check("create_or_update", "a search index with a field of every data type")
def _fields(setup: CheckSetup) -> None:
    fields = [{"name": f"a_{one.value.lower()}", "dataType": one.value} for one in FieldType]
    request = CreateSearchIndexRequest(name=setup.name("index"), service="elastic", fields=fields)
    assert [one.dataType for one in setup.metadata.create_or_update(request).fields] == list(FieldType)
