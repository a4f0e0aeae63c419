"""Entity types of data assets: dashboards, pipelines, topics, models, containers, indexes, APIs, metrics.

Source: OpenMetadata 1.13 schemas; a row's ``keys`` are those of its schema and of ``added``.
Next: ``model/entity_types.py``.
"""

from __future__ import annotations

from tocsin.model.entity_type import COMMON, DATA, FOLLOWERS, EntityType, Parentage, words

_SEMANTIC_LAYER = {
    "dimensions": {
        "list": {
            "fields": {
                **dict.fromkeys(("name", "description", "expression"), "text"),
                "fullyQualifiedName": {"use": "fullyQualifiedEntityName"},
                "type": {"enum": ["CATEGORICAL", "TIME"]},
            },
            "required": ["name"],
        }
    },
    "measures": {
        "list": {
            "fields": {
                **dict.fromkeys(("name", "aggregation", "description", "expression"), "text"),
                "fullyQualifiedName": {"use": "fullyQualifiedEntityName"},
            },
            "required": ["name"],
        }
    },
    "filters": {"list": {"fields": {"where": "text"}, "required": ["where"]}},
}
"""What 2.0 adds to metrics."""

ROWS = (
    EntityType(
        "dashboard",
        "dashboards",
        keys=COMMON | DATA | words("charts dashboardType dataModels project usageSummary"),
        required=("name", "service"),
        places=(Parentage("service", ("dashboardService",)),),
    ),
    EntityType(
        "chart",
        "charts",
        keys=COMMON | DATA | words("chartType dashboards usageSummary"),
        required=("name", "service"),
        places=(Parentage("service", ("dashboardService",)),),
    ),
    EntityType(
        "report",
        "reports",
        keys=COMMON | words("entityStatus followers service usageSummary votes"),
        required=("name", "service"),
        places=(Parentage("service", ("dashboardService",)),),
        added=FOLLOWERS,
    ),
    EntityType(
        "dashboardDataModel",
        "dashboard/datamodels",
        keys=COMMON | DATA | words("columns dataModelType project sql"),
        required=("name", "service", "dataModelType", "columns"),
        places=(Parentage("service", ("dashboardService",)),),
        infix="model",
        members=("columns",),
        breaking=("columns",),
    ),
    EntityType(
        "topic",
        "topics",
        keys=COMMON
        | DATA
        | words(
            "cleanupPolicies maximumMessageSize messageSchema minimumInSyncReplicas partitions replicationFactor "
            "retentionSize retentionTime sampleData topicConfig"
        ),
        required=("name", "service", "partitions"),
        places=(Parentage("service", ("messagingService",)),),
        members=("messageSchema.schemaFields",),
        breaking=("messageSchema.schemaFields", "partitions"),
        separate_keys=words("sampleData"),
    ),
    EntityType(
        "pipeline",
        "pipelines",
        keys=COMMON
        | DATA
        | words(
            "concurrency endDate pipelineLocation pipelineStatus scheduleInterval startDate state tasks usageSummary"
        ),
        required=("name", "service"),
        places=(Parentage("service", ("pipelineService",)),),
        members=("tasks",),
    ),
    EntityType(
        "mlmodel",
        "mlmodels",
        keys=COMMON
        | DATA
        | words("algorithm dashboard mlFeatures mlHyperParameters mlStore server target usageSummary"),
        required=("name", "service"),
        places=(Parentage("service", ("mlmodelService",)),),
        members=("mlFeatures",),
        breaking=("algorithm", "server", "target"),
        defaults={"algorithm": "mlmodel"},
    ),
    EntityType(
        "container",
        "containers",
        keys=COMMON
        | DATA
        | words("children dataModel fileFormats fullPath numberOfObjects parent prefix retentionPeriod size"),
        required=("name", "service"),
        places=(
            Parentage("parent", ("container",)),
            Parentage("service", ("storageService",)),
        ),
        ancestors=("service",),
        members=("dataModel.columns",),
        breaking=("dataModel.columns",),
    ),
    EntityType(
        "searchIndex",
        "searchIndexes",
        keys=((COMMON | DATA) - words("sourceUrl")) | words("fields indexType sampleData searchIndexSettings"),
        required=("name", "service", "fields"),
        places=(Parentage("service", ("searchService",)),),
        members=("fields",),
        breaking=("fields",),
        separate_keys=words("sampleData"),
    ),
    EntityType(
        "apiCollection",
        "apiCollections",
        keys=((COMMON | DATA) - words("sourceUrl")) | words("apiEndpoints endpointURL"),
        required=("name", "service"),
        added=FOLLOWERS,
        places=(Parentage("service", ("apiService",)),),
    ),
    EntityType(
        "apiEndpoint",
        "apiEndpoints",
        keys=((COMMON | DATA) - words("sourceUrl"))
        | words("apiCollection endpointURL requestMethod requestSchema responseSchema"),
        required=("name", "apiCollection"),
        places=(Parentage("apiCollection", ("apiCollection",)),),
        ancestors=("service",),
        members=("requestSchema.schemaFields", "responseSchema.schemaFields"),
        breaking=("requestSchema.schemaFields", "responseSchema.schemaFields"),
        ignored=("sourceUrl",),
    ),
    EntityType(
        "metric",
        "metrics",
        keys=COMMON
        | words(
            "certification customUnitOfMeasurement dataContract dataProducts entityStatus extension followers "
            "granularity metricExpression metricType relatedMetrics reviewers tags unitOfMeasurement votes"
        )
        | frozenset(_SEMANTIC_LAYER),
        required=("name",),
        added=_SEMANTIC_LAYER,
    ),
)
