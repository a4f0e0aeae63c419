"""Which types of entity are there, and in what do they differ? One row per type, no code per type.

Source: OpenMetadata 1.13 schemas under ``entity/`` and ``tests/``.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class EntityType:
    """One row of the catalogue's table of types.

    Attributes
    ----------
    name : the type as it stands in references and change events, e.g. ``table``
    collection : the path under ``/api/v1/``, e.g. ``tables`` or ``services/databaseServices``
    parent : the type whose FQN this one's begins with; None for a root
    parent_field : the key of the reference to that parent, e.g. ``databaseSchema``
    ancestors : (key, type) pairs of the further ancestors a document names, nearest first
    children : key of the list of nested members, compared by name (``columns``, ``tasks``)
    fields : keys beyond the common ones that a document of this type may hold
    required : keys a create request must hold
    absent : common keys that this type's schema lacks
    breaking : what of a nested member breaks consumers when it changes: a dropped member, another
        data type, or a smaller number under one of these keys
    is_asset : people may own, tag and follow it
    """

    name: str
    collection: str
    parent: str | None = None
    parent_field: str | None = None
    ancestors: tuple[tuple[str, str], ...] = ()
    children: str | None = None
    fields: frozenset[str] = frozenset()
    required: tuple[str, ...] = ("name",)
    absent: frozenset[str] = frozenset()
    breaking: tuple[str, ...] = ()
    is_asset: bool = True


COMMON_FIELDS = frozenset(
    "id name displayName fullyQualifiedName description version updatedAt updatedBy href owners tags followers "
    "domains extension deleted changeDescription incrementalChangeDescription".split()
)
_SERVICE_FIELDS = frozenset({"serviceType", "connection"})
_DATA_FIELDS = frozenset({"serviceType", "sourceUrl", "lifeCycle", "sourceHash", "retentionPeriod"})
_NO_EXTENSION = frozenset({"extension"})
_TABLE_FIELDS = _DATA_FIELDS | set(
    "tableType columns tableConstraints tablePartition schemaDefinition dataModel joins profile fileFormat".split()
)
_PROCEDURE_FIELDS = (_DATA_FIELDS - {"retentionPeriod"}) | {"storedProcedureCode", "storedProcedureType"}
_PIPELINE_FIELDS = (_DATA_FIELDS - {"retentionPeriod"}) | set(
    "tasks startDate endDate concurrency pipelineLocation scheduleInterval pipelineStatus state".split()
)
_DASHBOARD_FIELDS = (_DATA_FIELDS - {"retentionPeriod"}) | {"charts", "dashboardType", "project"}
_CHART_FIELDS = (_DATA_FIELDS - {"retentionPeriod"}) | {"chartType", "dashboards"}
_USER_FIELDS = frozenset("email isAdmin isBot teams timezone profile isEmailVerified".split())
_TEAM_FIELDS = frozenset("teamType email parents users isJoinable profile".split())
_SUITE_FIELDS = frozenset("basic basicEntityReference tests serviceType".split())
_CASE_FIELDS = frozenset(
    "testDefinition entityLink entityFQN testSuite testSuites parameterValues testCaseResult testCaseStatus "
    "createdBy computePassedFailedRowCount".split()
)
_SUBSCRIPTION_FIELDS = frozenset(
    "alertType trigger filteringRules destinations enabled batchSize provider retries pollInterval input config "
    "className notificationTemplate".split()
)
_UNDER_SCHEMA = (("database", "database"), ("service", "databaseService"))

_ROWS = (
    EntityType(
        "databaseService",
        "services/databaseServices",
        fields=_SERVICE_FIELDS,
        required=("name", "serviceType"),
        absent=_NO_EXTENSION,
    ),
    EntityType(
        "database",
        "databases",
        parent="databaseService",
        parent_field="service",
        fields=_DATA_FIELDS | {"default"},
        required=("name", "service"),
    ),
    EntityType(
        "databaseSchema",
        "databaseSchemas",
        parent="database",
        parent_field="database",
        ancestors=(("service", "databaseService"),),
        fields=_DATA_FIELDS,
        required=("name", "database"),
    ),
    EntityType(
        "table",
        "tables",
        parent="databaseSchema",
        parent_field="databaseSchema",
        ancestors=_UNDER_SCHEMA,
        children="columns",
        fields=_TABLE_FIELDS,
        required=("name", "columns", "databaseSchema"),
        breaking=("dataLength", "precision", "scale"),
    ),
    EntityType(
        "storedProcedure",
        "storedProcedures",
        parent="databaseSchema",
        parent_field="databaseSchema",
        ancestors=_UNDER_SCHEMA,
        fields=_PROCEDURE_FIELDS,
        required=("name", "storedProcedureCode", "databaseSchema"),
    ),
    EntityType(
        "dashboardService",
        "services/dashboardServices",
        fields=_SERVICE_FIELDS,
        required=("name", "serviceType"),
        absent=_NO_EXTENSION,
    ),
    EntityType(
        "dashboard",
        "dashboards",
        parent="dashboardService",
        parent_field="service",
        fields=_DASHBOARD_FIELDS,
        required=("name", "service"),
    ),
    EntityType(
        "chart",
        "charts",
        parent="dashboardService",
        parent_field="service",
        fields=_CHART_FIELDS,
        required=("name", "service"),
    ),
    EntityType(
        "pipelineService",
        "services/pipelineServices",
        fields=_SERVICE_FIELDS,
        required=("name", "serviceType"),
        absent=_NO_EXTENSION,
    ),
    EntityType(
        "pipeline",
        "pipelines",
        parent="pipelineService",
        parent_field="service",
        children="tasks",
        fields=_PIPELINE_FIELDS,
        required=("name", "service"),
    ),
    EntityType(
        "user",
        "users",
        fields=_USER_FIELDS,
        required=("name", "email"),
        absent=frozenset({"tags", "owners", "followers", "extension"}),
        is_asset=False,
    ),
    EntityType(
        "team",
        "teams",
        fields=_TEAM_FIELDS,
        required=("name",),
        absent=frozenset({"tags", "followers", "extension"}),
        is_asset=False,
    ),
    EntityType(
        "domain",
        "domains",
        fields=frozenset({"domainType"}),
        required=("name", "domainType", "description"),
        absent=frozenset({"deleted", "domains"}),
        is_asset=False,
    ),
    EntityType(
        "testSuite",
        "dataQuality/testSuites",
        fields=_SUITE_FIELDS,
        required=("name",),
        absent=frozenset({"followers", "extension"}),
    ),
    EntityType(
        "testCase",
        "dataQuality/testCases",
        fields=_CASE_FIELDS,
        required=("name", "entityLink", "testDefinition"),
        absent=_NO_EXTENSION,
    ),
    EntityType(
        "eventsubscription",
        "events/subscriptions",
        fields=_SUBSCRIPTION_FIELDS,
        required=("name", "alertType", "destinations"),
        absent=frozenset({"deleted", "tags", "followers", "extension"}),
        is_asset=False,
    ),
)

ENTITY_TYPES: dict[str, EntityType] = {row.name: row for row in _ROWS}
"""Every type by its name."""

BY_COLLECTION: dict[str, EntityType] = {row.collection: row for row in _ROWS}
"""Every type by its collection path."""


def keys_of(entity_type: EntityType) -> frozenset[str]:
    """Return every key that a document of this type may hold."""
    lineage = {key for key, _ in entity_type.ancestors} | {entity_type.parent_field or "name"}
    return (COMMON_FIELDS - entity_type.absent) | entity_type.fields | lineage
