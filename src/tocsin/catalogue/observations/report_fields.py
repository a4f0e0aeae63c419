"""Validation rules for reports, one table per kind of report, in OpenMetadata 1.13's form.

Source: schemas ``tests/basic.json``, ``entity/data/pipeline.json``,
``entity/services/ingestionPipelines/ingestionPipeline.json``. Next: ``catalogue/observations/reports.py``.
"""

from __future__ import annotations

from tocsin.catalogue.observations.field_checks import (
    anything,
    each,
    mapping,
    moment,
    name,
    number,
    one_of,
    shape,
    text,
    whole,
)
from tocsin.model.status import INGESTION_STATES, RESULT_STATUSES, RUN_STATUSES

_RESULT_VALUE = shape({}, {"name": text, "value": text, "predictedValue": text})
_ROW_COUNTS = {
    "passedRows": whole,
    "failedRows": whole,
    "passedRowsPercentage": number,
    "failedRowsPercentage": number,
}
_DIMENSION = shape(
    {"dimensionValues": each(shape({"name": text, "value": text})), "dimensionKey": text},
    {
        "id": text,
        "testCaseResultId": text,
        "testCase": mapping,
        "timestamp": moment,
        "testCaseStatus": one_of(*RESULT_STATUSES),
        "result": text,
        "testResultValue": each(_RESULT_VALUE),
        **_ROW_COUNTS,
        "impactScore": number,
    },
)
TEST_RESULT = shape(
    {"timestamp": moment, "testCaseStatus": one_of(*RESULT_STATUSES)},
    {
        "id": text,
        "fqn": text,
        "testCaseFQN": text,
        "result": text,
        "sampleData": text,
        "testResultValue": each(_RESULT_VALUE),
        **_ROW_COUNTS,
        "incidentId": text,
        "maxBound": number,
        "minBound": number,
        "testCase": mapping,
        "dimensionResults": each(_DIMENSION),
    },
)
"""The result of one run of a test case."""

_USED = shape(
    {"datasetFQN": text},
    {"columns": each(text), "rowCount": whole, "sizeBytes": whole, "filter": text, "version": text},
)
_MADE = shape(
    {"datasetFQN": text},
    {
        "columns": each(text),
        "rowCount": whole,
        "sizeBytes": whole,
        "mode": one_of("overwrite", "append", "merge", "upsert"),
        "partitions": each(text),
        "version": text,
    },
)
_TASK_METRICS = shape({}, dict.fromkeys(("rowsRead", "rowsWritten", "rowsFiltered", "executionTimeMs"), whole))
_RUN_METRICS = shape(
    {},
    {"totalRowsProcessed": whole, "totalBytesProcessed": whole, "cpuTime": number, "memoryUsed": whole, "cost": number},
)
_TASK = shape(
    {"name": name, "executionStatus": one_of(*RUN_STATUSES)},
    {
        "startTime": moment,
        "endTime": moment,
        "logLink": text,
        "taskId": text,
        "transformationType": one_of("filter", "aggregate", "join", "pivot", "custom", "extract", "load"),
        "transformationLogic": text,
        "inputs": each(_USED),
        "outputs": each(_MADE),
        "metrics": _TASK_METRICS,
    },
)
PIPELINE_RUN = shape(
    {"timestamp": moment, "executionStatus": one_of(*RUN_STATUSES)},
    {
        "taskStatus": each(_TASK),
        "executionId": text,
        "endTime": moment,
        "version": text,
        "parameters": mapping,
        "executedBy": mapping,
        "inputs": each(_USED),
        "outputs": each(_MADE),
        "metrics": _RUN_METRICS,
        "error": shape({}, dict.fromkeys(("errorType", "errorMessage", "stackTrace", "failedTask"), text)),
    },
)
"""The state of one run of a pipeline."""

_STEP = shape(
    {"name": text},
    {
        **dict.fromkeys(("records", "updated_records", "warnings", "errors", "filtered"), whole),
        "failures": each(shape({"name": text, "error": text}, {"stackTrace": text})),
        "progress": mapping,
        "operationMetrics": mapping,
        "sourceTimeMs": number,
        "sinkTimeMs": number,
    },
)
INGESTION_RUN = shape(
    {"runId": name, "pipelineState": one_of(*INGESTION_STATES)},
    {
        "timestamp": moment,
        "startDate": moment,
        "endDate": moment,
        "status": each(_STEP),
        "config": mapping,
        "metadata": mapping,
    },
)
"""The state of one run of an ingestion pipeline."""

SAMPLED_ROWS = shape({"columns": each(text), "rows": each(each(anything))})
"""Rows of a table."""
