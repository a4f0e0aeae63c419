"""Routes of a table's details: data model, joins, profiler configuration, custom metrics, observability."""

from __future__ import annotations

from functools import partial
from uuid import UUID

from fastapi import Response

from tocsin.catalogue.observations.joins import put_joins
from tocsin.catalogue.observations.pipeline_observability import OBSERVABILITY, put_entries, put_entry
from tocsin.catalogue.observations.table_details import (
    CONFIG,
    attach,
    put_config,
    put_metric,
    put_model,
    remove_metric,
)
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.stored import Key
from tocsin.server.access.permissions import permitted_document
from tocsin.server.entities.included_fields import included_values, pipeline_observability
from tocsin.server.entities.reports import Work, write_permitted
from tocsin.server.entities.serialize import past
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, JsonBody, PathId, PathText, answer

_TABLE = ENTITY_TYPES["table"]

router = DeclaredRoutes(prefix="/tables/{table_id}", tags=["tables"])


@router.put("/joins", openapi_extra=answers("Table", reads="TableJoins"))
def joins(table_id: PathId, body: DocumentBody, caller: Asked) -> Response:
    """Add joins of a table's columns on a day (``startDate``) within the last 30."""
    return _change(table_id, caller, Operation.EDIT_ALL, partial(put_joins, request=body), "joins")


@router.put("/dataModel", openapi_extra=answers("Table", reads="DataModelRequest"))
def model(table_id: PathId, body: DocumentBody, caller: Asked) -> Response:
    """Set the data model of a table; its owners, tags and columns fill missing ones."""
    return _change(table_id, caller, Operation.EDIT_ALL, partial(put_model, model=body))


@router.put("/tableProfilerConfig", openapi_extra=answers("Table", reads="TableProfilerConfig"))
def config(table_id: PathId, body: DocumentBody, caller: Asked) -> Response:
    """Set the profiler configuration of a table."""
    work = partial(put_config, config=body)
    return _change(table_id, caller, Operation.EDIT_DATA_PROFILE, work, "tableProfilerConfig")


@router.get("/tableProfilerConfig", openapi_extra=answers("Table"))
def read_config(table_id: PathId, caller: Asked) -> Response:
    """Return a table with its profiler configuration."""
    document = permitted_document("table", Key.by_id(str(table_id)), caller, Operation.VIEW_DATA_PROFILE)
    (details,) = included_values(_TABLE, [document], caller.parts, frozenset({"tableProfilerConfig"}))
    return answer(past(_TABLE, document, caller) | details)


@router.delete("/tableProfilerConfig", openapi_extra=answers("Table"))
def delete_config(table_id: PathId, caller: Asked) -> Response:
    """Delete the profiler configuration of a table."""
    work = partial(attach, kind=CONFIG, attachment=None)
    return _change(table_id, caller, Operation.EDIT_DATA_PROFILE, work)


@router.put("/customMetric", openapi_extra=answers("Table", reads="CustomMetricRequest"))
def metric(table_id: PathId, body: DocumentBody, caller: Asked) -> Response:
    """Add or replace a custom metric (``name``, ``expression``) of a table or its column ``columnName``."""
    return _change(table_id, caller, Operation.EDIT_DATA_PROFILE, partial(put_metric, metric=body), "customMetrics")


@router.delete("/customMetric/{name}", openapi_extra=answers("Table"))
def delete_metric(table_id: PathId, name: PathText, caller: Asked) -> Response:
    """Delete a custom metric of a table."""
    return _change(table_id, caller, Operation.EDIT_DATA_PROFILE, partial(remove_metric, name=name), "customMetrics")


@router.delete("/customMetric/{column}/{name}", openapi_extra=answers("Table"))
def delete_column_metric(table_id: PathId, column: PathText, name: PathText, caller: Asked) -> Response:
    """Delete a custom metric of a column."""
    work = partial(remove_metric, name=name, column=column)
    return _change(table_id, caller, Operation.EDIT_DATA_PROFILE, work, "customMetrics")


@router.put("/pipelineObservability", openapi_extra=answers("Table", reads="PipelineObservabilityRequestList"))
def observability(table_id: PathId, body: JsonBody, caller: Asked) -> Response:
    """Set facts about the pipelines of a table (a list): schedule, last run, average run time; others stay."""
    return _put_observability(table_id, caller, partial(put_entries, request=body))


@router.put("/pipelineObservability/{pipeline}", openapi_extra=answers("Table", reads="PipelineObservabilityRequest"))
def observability_of_one(table_id: PathId, pipeline: PathText, body: DocumentBody, caller: Asked) -> Response:
    """Set facts about one pipeline of a table, by the pipeline's FQN."""
    return _put_observability(table_id, caller, partial(put_entry, pipeline=pipeline, request=body))


@router.get("/pipelineObservability", openapi_extra=answers("Table"))
def read_observability(table_id: PathId, caller: Asked) -> Response:
    """Return a table with the facts about its pipelines."""
    return _with_pipelines(permitted_document("table", Key.by_id(str(table_id)), caller, Operation.VIEW_BASIC), caller)


def _put_observability(table_id: UUID, caller: Caller, work: Work) -> Response:
    written = write_permitted("table", Key.by_id(str(table_id)), caller, Operation.EDIT_ALL, work)
    return _with_pipelines(written.document, caller)


def _with_pipelines(table: Document, caller: Caller) -> Response:
    runs = pipeline_observability(caller.parts, [table], caller.visibility).get(table["id"], [])
    return answer(past(_TABLE, table, caller) | {OBSERVABILITY: runs})


def _change(table_id: UUID, caller: Caller, operation: Operation, work: Work, field: str = "") -> Response:
    """Do the work on a table and return it with the field that the work is about."""
    written = write_permitted("table", Key.by_id(str(table_id)), caller, operation, work)
    (details,) = included_values(_TABLE, [written.document], caller.parts, frozenset({field}))
    return answer(past(_TABLE, written.document, caller) | caller.visibility.visible_documents([details])[0])
