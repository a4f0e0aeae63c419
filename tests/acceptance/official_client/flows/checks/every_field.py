"""Checks that the server keeps the optional fields of the client's create requests, for every type."""

from __future__ import annotations

from typing import Any

from checks.checking import CHECKS, Check, CheckSetup, reference
from checks.every_type import request_of
from checks.patches import FRAGILE
from everything import EVERYTHING, Row
from speaking import put

_NOW = 1_760_000_000_000
_URL = "https://docs.example.org/x"
_VALUES: dict[str, Any] = {
    "displayName": "Shown so",
    "description": "Said so.",
    "tags": [FRAGILE],
    "sourceUrl": _URL,
    "sourceHash": "0123456789abcdef",
    "lifeCycle": {"created": {"timestamp": _NOW}},
    "retentionPeriod": "P30D",
    "style": {"color": "#336699", "iconURL": _URL},
    "concurrency": 2,
    "startDate": "2026-01-01T00:00:00Z",
    "scheduleInterval": "0 0 * * *",
    "pipelineLocation": _URL,
    "dashboardType": "Dashboard",
    "project": "shop",
    "maximumMessageSize": 1000,
    "minimumInSyncReplicas": 1,
    "retentionTime": 1000.0,
    "retentionSize": 1000.0,
    "replicationFactor": 2,
    "cleanupPolicies": ["compact"],
    "topicConfig": {"compression": "zstd"},
    "prefix": "/orders",
    "numberOfObjects": 3,
    "size": 1024,
    "target": "bought",
    "server": _URL,
    "searchIndexSettings": {"shards": 1},
    "processedLineage": True,
    "queryDate": _NOW,
    "duration": 1.5,
    "query_type": "SELECT",
    "schemaDefinition": "CREATE TABLE x",
    "locationPath": "/warehouse/x",
    "fileFormat": "parquet",
    "tableConstraints": [{"constraintType": "UNIQUE", "columns": ["id"]}],
    "tablePartition": {"columns": [{"columnName": "id", "intervalType": "COLUMN-VALUE"}]},
    "mutuallyExclusive": True,
    "references": [{"name": "more", "endpoint": _URL}],
    "timezone": "UTC",
    "granularity": "DAY",
    "metricType": "SUM",
    "unitOfMeasurement": "COUNT",
    "lifecycleStage": "DESIGN",
    "supportedDataTypes": ["INT"],
    "dataQualityDimension": "Accuracy",
    "supportsRowLevelPassedFailed": True,
    "computePassedFailedRowCount": True,
    "batchSize": 10,
    "mlStore": {"storage": "s3://models/x"},
    "mlHyperParameters": [{"name": "depth", "value": "3"}],
    "autoClassificationEnabled": True,
    "supportedServices": ["Postgres"],
    "externalId": "x-1",
    "iri": f"{_URL}#term",
    "dimensions": [{"name": "country", "type": "CATEGORICAL"}],
    "measures": [{"name": "paid", "aggregation": "sum"}],
    "filters": [{"where": "status = 'paid'"}],
}
"""Values of fields, whichever type they are of."""


def _check_fields_are_kept(row: Row) -> None:
    kind, name = row[0], row[0].__name__

    def work(setup: CheckSetup) -> None:
        request, entity_name, fields = request_of(setup, name, setup.name("whole"))
        sent = {key: value for key, value in _VALUES.items() if key in request.model_fields and key not in fields}
        people = {"owners": [reference(setup.entities["User olga"])]} if "owners" in request.model_fields else {}
        entity = put(setup.metadata, request, entity_name, fields | sent | people)
        read = setup.metadata.get_by_id(kind, entity.id, fields=["*"])
        lost_fields = [key for key in (*sent, *people) if key in kind.model_fields and not getattr(read, key)]
        assert not lost_fields, lost_fields

    claim = f"{name}: create_or_update, get_by_id: every optional field is kept"
    CHECKS.append(Check(claim, frozenset({"get_by_id"}), work))


for _row in {one[0].__name__: one for one in EVERYTHING}.values():
    _check_fields_are_kept(_row)
