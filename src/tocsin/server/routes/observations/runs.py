"""Routes of pipeline and ingestion pipeline runs: report and read, newest first."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import Response

from tocsin.catalogue.observations.reports import REPORTS
from tocsin.catalogue.observations.runs import add_run, add_runs, remove_run
from tocsin.errors import InvalidInput
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.stored import Key
from tocsin.server.access.permissions import permitted_document
from tocsin.server.entities.reports import Moment, WindowAsked, Work, dated_ahead, page_answer, write_permitted
from tocsin.server.entities.serialize import past
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, DocumentBody, JsonBody, PathText, answer
from tocsin.store.database.cursors import ReportWindow

_WRITING = {"pipeline": Operation.EDIT_STATUS, "ingestionPipeline": Operation.EDIT_INGESTION_PIPELINE_STATUS}
"""What who reports a run must be permitted to do."""

router = DeclaredRoutes(tags=["runs"])


@router.put("/pipelines/{fqn}/status", openapi_extra=answers("Pipeline", reads="PipelinePipelineStatus"))
def put_status(fqn: PathText, body: DocumentBody, caller: Asked) -> Response:
    """Report a run of a pipeline: at least ``timestamp`` (ms) and ``executionStatus``."""
    permitted_document("pipeline", Key.by_name(fqn), caller, Operation.EDIT_STATUS)
    written = caller.parts.writes.add_pipeline_status(fqn, body, actor=caller.actor)
    return answer(past(ENTITY_TYPES["pipeline"], written.document, caller), headers=_remarks_on([body], caller))


@router.put("/pipelines/{fqn}/status/bulk", openapi_extra=answers("Pipeline", reads="PipelineRuns"))
def put_statuses(fqn: PathText, body: JsonBody, caller: Asked) -> Response:
    """Report many runs (list or ``{"pipelineStatus": […]}``); one event per new or changed run."""
    statuses = body.get("pipelineStatus", body.get("statuses")) if isinstance(body, dict) else body
    response = _write("pipeline", fqn, caller, lambda record, pipeline: add_runs(record, pipeline, statuses))
    response.headers.update(_remarks_on(statuses or (), caller))
    return response


@router.get("/pipelines/{fqn}/status", openapi_extra=answers("PipelinePipelineStatusPage"))
def list_statuses(fqn: PathText, caller: Asked, window: WindowAsked) -> Response:
    """Return the runs of a pipeline in a time range, newest first."""
    return _runs("pipeline", fqn, caller, window)


@router.delete("/pipelines/{fqn}/status/{timestamp}", openapi_extra=answers("Pipeline"))
def delete_status(fqn: PathText, timestamp: Moment, caller: Asked) -> Response:
    """Delete the run of a time."""
    return _write("pipeline", fqn, caller, lambda record, pipeline: remove_run(record, pipeline, timestamp))


@router.put(
    "/services/ingestionPipelines/{fqn}/pipelineStatus",
    openapi_extra=answers("IngestionPipeline", reads="PipelineStatus"),
)
def put_ingestion_status(fqn: PathText, body: DocumentBody, caller: Asked) -> Response:
    """Report a run of an ingestion pipeline: at least ``runId`` and ``pipelineState``."""
    response = _write("ingestionPipeline", fqn, caller, lambda record, pipeline: add_run(record, pipeline, body))
    response.headers.update(_remarks_on([body], caller))
    return response


@router.get("/services/ingestionPipelines/{fqn}/pipelineStatus", openapi_extra=answers("PipelineStatusPage"))
def list_ingestion_statuses(fqn: PathText, caller: Asked, window: WindowAsked) -> Response:
    """Return the runs of an ingestion pipeline in a time range, newest first."""
    return _runs("ingestionPipeline", fqn, caller, window)


@router.get(
    "/services/ingestionPipelines/{fqn}/pipelineStatus/{run_id}",
    openapi_extra=answers("PipelineStatus", or_nothing="The run has not reported yet."),
)
def read_ingestion_status(fqn: PathText, run_id: PathText, caller: Asked) -> Response:
    """Return one run of an ingestion pipeline; 204 for one that has not reported yet, which clients ask first."""
    pipeline = permitted_document("ingestionPipeline", Key.by_name(fqn), caller, Operation.VIEW_BASIC, include="all")
    if "\0" in run_id:
        raise InvalidInput("a run id cannot contain a NUL character", field="run_id")
    page = caller.parts.reports.observations.page(
        pipeline["id"], REPORTS["ingestionPipeline"].name, ReportWindow(limit=1), part=run_id
    )
    if not page.documents:
        return Response(status_code=204)
    return answer(page.documents[0])


def _write(entity_type: str, fqn: str, caller: Caller, work: Work) -> Response:
    written = write_permitted(entity_type, Key.by_name(fqn), caller, _WRITING[entity_type], work)
    return answer(past(ENTITY_TYPES[entity_type], written.document, caller))


def _remarks_on(runs: Sequence[Document], caller: Caller) -> dict[str, str]:
    """Return the header about runs that are dated ahead."""
    return dated_ahead((run.get("timestamp", run.get("startDate")) for run in runs), caller)


def _runs(entity_type: str, fqn: str, caller: Caller, window: ReportWindow) -> Response:
    pipeline = permitted_document(entity_type, Key.by_name(fqn), caller, Operation.VIEW_BASIC, include="all")
    return page_answer(caller.parts.reports.observations.page(pipeline["id"], REPORTS[entity_type].name, window))
