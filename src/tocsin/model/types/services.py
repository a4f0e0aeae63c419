"""Entity types of services, the sources of metadata, and of their ingestion pipelines.

Source: OpenMetadata 1.13 schemas; a row's ``keys`` are its schema's. Next: ``model/entity_types.py``.
"""

from __future__ import annotations

from tocsin.model.entity_type import COMMON, EntityType, Parentage, words

_SERVICE = COMMON | words(
    "connection dataContract dataProducts entityStatus followers ingestionRunner pipelines serviceType "
    "tags testConnectionResult"
)
_STYLE = {"style": {"use": "style"}}
"""What 2.0 adds to services of most kinds."""

_KINDS = ("database", "dashboard", "messaging", "pipeline", "mlmodel", "storage", "api", "search")

ROWS = (
    *(
        EntityType(
            f"{kind}Service",
            f"services/{kind}Services",
            keys=_SERVICE if kind == "api" else _SERVICE | frozenset(_STYLE),
            required=("name", "serviceType"),
            ignored=("scheduleInterval", "lifeCycle") if kind == "pipeline" else (),
            is_service=True,
            added={} if kind == "api" else _STYLE,
        )
        for kind in _KINDS
    ),
    EntityType(
        "metadataService",
        "services/metadataServices",
        keys=COMMON
        | words(
            "connection entityStatus followers ingestionRunner pipelines provider serviceType tags testConnectionResult"
        ),
        required=("name", "serviceType"),
        is_service=True,
    ),
    EntityType(
        "ingestionPipeline",
        "services/ingestionPipelines",
        keys=COMMON
        | words(
            "airflowConfig applicationType deployed enableStreamableLogs enabled followers ingestionRunner "
            "loggerLevel openMetadataServerConnection pipelineStatuses pipelineType processingEngine provider "
            "raiseOnError service sourceConfig"
        ),
        required=("name", "service", "pipelineType", "sourceConfig", "airflowConfig"),
        places=(Parentage("service", (*(f"{kind}Service" for kind in _KINDS), "metadataService")),),
    ),
)
