"""Create requests of every type, ordered by their dependencies, as connectors send them.

Runs in the official client's own environment, never in Tocsin's.
"""

from __future__ import annotations

from typing import Any

from metadata.generated.schema.api.classification.createClassification import CreateClassificationRequest
from metadata.generated.schema.api.classification.createTag import CreateTagRequest
from metadata.generated.schema.api.createBot import CreateBot
from metadata.generated.schema.api.data.createAPICollection import CreateAPICollectionRequest
from metadata.generated.schema.api.data.createAPIEndpoint import CreateAPIEndpointRequest
from metadata.generated.schema.api.data.createChart import CreateChartRequest
from metadata.generated.schema.api.data.createContainer import CreateContainerRequest
from metadata.generated.schema.api.data.createDashboard import CreateDashboardRequest
from metadata.generated.schema.api.data.createDashboardDataModel import CreateDashboardDataModelRequest
from metadata.generated.schema.api.data.createDatabase import CreateDatabaseRequest
from metadata.generated.schema.api.data.createDatabaseSchema import CreateDatabaseSchemaRequest
from metadata.generated.schema.api.data.createGlossary import CreateGlossaryRequest
from metadata.generated.schema.api.data.createGlossaryTerm import CreateGlossaryTermRequest
from metadata.generated.schema.api.data.createMetric import CreateMetricRequest
from metadata.generated.schema.api.data.createMlModel import CreateMlModelRequest
from metadata.generated.schema.api.data.createPipeline import CreatePipelineRequest
from metadata.generated.schema.api.data.createQuery import CreateQueryRequest
from metadata.generated.schema.api.data.createSearchIndex import CreateSearchIndexRequest
from metadata.generated.schema.api.data.createStoredProcedure import CreateStoredProcedureRequest
from metadata.generated.schema.api.data.createTable import CreateTableRequest
from metadata.generated.schema.api.data.createTopic import CreateTopicRequest
from metadata.generated.schema.api.domains.createDataProduct import CreateDataProductRequest
from metadata.generated.schema.api.domains.createDomain import CreateDomainRequest
from metadata.generated.schema.api.policies.createPolicy import CreatePolicyRequest
from metadata.generated.schema.api.services.createApiService import CreateApiServiceRequest
from metadata.generated.schema.api.services.createDashboardService import CreateDashboardServiceRequest
from metadata.generated.schema.api.services.createDatabaseService import CreateDatabaseServiceRequest
from metadata.generated.schema.api.services.createMessagingService import CreateMessagingServiceRequest
from metadata.generated.schema.api.services.createMetadataService import CreateMetadataServiceRequest
from metadata.generated.schema.api.services.createMlModelService import CreateMlModelServiceRequest
from metadata.generated.schema.api.services.createPipelineService import CreatePipelineServiceRequest
from metadata.generated.schema.api.services.createSearchService import CreateSearchServiceRequest
from metadata.generated.schema.api.services.createStorageService import CreateStorageServiceRequest
from metadata.generated.schema.api.services.ingestionPipelines.createIngestionPipeline import (
    CreateIngestionPipelineRequest,
)
from metadata.generated.schema.api.teams.createRole import CreateRoleRequest
from metadata.generated.schema.api.teams.createTeam import CreateTeamRequest
from metadata.generated.schema.api.teams.createUser import CreateUserRequest
from metadata.generated.schema.api.tests.createTestCase import CreateTestCaseRequest
from metadata.generated.schema.api.tests.createTestDefinition import CreateTestDefinitionRequest
from metadata.generated.schema.api.tests.createTestSuite import CreateTestSuiteRequest
from metadata.generated.schema.entity.bot import Bot
from metadata.generated.schema.entity.classification.classification import Classification
from metadata.generated.schema.entity.classification.tag import Tag
from metadata.generated.schema.entity.data.apiCollection import APICollection
from metadata.generated.schema.entity.data.apiEndpoint import APIEndpoint
from metadata.generated.schema.entity.data.chart import Chart
from metadata.generated.schema.entity.data.container import Container
from metadata.generated.schema.entity.data.dashboard import Dashboard
from metadata.generated.schema.entity.data.dashboardDataModel import DashboardDataModel
from metadata.generated.schema.entity.data.database import Database
from metadata.generated.schema.entity.data.databaseSchema import DatabaseSchema
from metadata.generated.schema.entity.data.glossary import Glossary
from metadata.generated.schema.entity.data.glossaryTerm import GlossaryTerm
from metadata.generated.schema.entity.data.metric import Metric
from metadata.generated.schema.entity.data.mlmodel import MlModel
from metadata.generated.schema.entity.data.pipeline import Pipeline
from metadata.generated.schema.entity.data.query import Query
from metadata.generated.schema.entity.data.searchIndex import SearchIndex
from metadata.generated.schema.entity.data.storedProcedure import StoredProcedure
from metadata.generated.schema.entity.data.table import Table
from metadata.generated.schema.entity.data.topic import Topic
from metadata.generated.schema.entity.domains.dataProduct import DataProduct
from metadata.generated.schema.entity.domains.domain import Domain
from metadata.generated.schema.entity.policies.policy import Policy
from metadata.generated.schema.entity.services.apiService import ApiService
from metadata.generated.schema.entity.services.dashboardService import DashboardService
from metadata.generated.schema.entity.services.databaseService import DatabaseService
from metadata.generated.schema.entity.services.ingestionPipelines.ingestionPipeline import IngestionPipeline
from metadata.generated.schema.entity.services.messagingService import MessagingService
from metadata.generated.schema.entity.services.metadataService import MetadataService
from metadata.generated.schema.entity.services.mlmodelService import MlModelService
from metadata.generated.schema.entity.services.pipelineService import PipelineService
from metadata.generated.schema.entity.services.searchService import SearchService
from metadata.generated.schema.entity.services.storageService import StorageService
from metadata.generated.schema.entity.teams.role import Role
from metadata.generated.schema.entity.teams.team import Team
from metadata.generated.schema.entity.teams.user import User
from metadata.generated.schema.events.api.createEventSubscription import CreateEventSubscription
from metadata.generated.schema.events.eventSubscription import EventSubscription
from metadata.generated.schema.tests.testCase import TestCase
from metadata.generated.schema.tests.testDefinition import TestDefinition
from metadata.generated.schema.tests.testSuite import TestSuite

Row = tuple[type, type, str, dict[str, Any]]

_COLUMNS = [
    {"name": "id", "dataType": "BIGINT", "constraint": "PRIMARY_KEY"},
    {"name": "email", "dataType": "VARCHAR", "dataLength": 320, "description": "Where to write."},
    {
        "name": "address",
        "dataType": "STRUCT",
        "children": [{"name": "street", "dataType": "STRING"}, {"name": "zip", "dataType": "STRING"}],
    },
]
_FIELDS = [
    {"name": "Order", "dataType": "RECORD", "children": [{"name": "id", "dataType": "LONG"}]},
]
_POSTGRES = {
    "config": {"type": "Postgres", "username": "reader", "hostPort": "db.example.org:5432", "database": "shop"}
}

EVERYTHING: tuple[Row, ...] = (
    (DatabaseService, CreateDatabaseServiceRequest, "pg", {"serviceType": "Postgres", "connection": _POSTGRES}),
    (DashboardService, CreateDashboardServiceRequest, "superset", {"serviceType": "Superset"}),
    (MessagingService, CreateMessagingServiceRequest, "kafka", {"serviceType": "Kafka"}),
    (PipelineService, CreatePipelineServiceRequest, "airflow", {"serviceType": "Airflow"}),
    (MlModelService, CreateMlModelServiceRequest, "mlflow", {"serviceType": "Mlflow"}),
    (StorageService, CreateStorageServiceRequest, "s3", {"serviceType": "S3"}),
    (ApiService, CreateApiServiceRequest, "rest", {"serviceType": "Rest"}),
    (SearchService, CreateSearchServiceRequest, "elastic", {"serviceType": "ElasticSearch"}),
    (MetadataService, CreateMetadataServiceRequest, "atlas", {"serviceType": "Atlas"}),
    (
        Policy,
        CreatePolicyRequest,
        "readers",
        {"rules": [{"name": "read", "effect": "allow", "operations": ["ViewAll"], "resources": ["All"]}]},
    ),
    (Role, CreateRoleRequest, "Reader", {"policies": ["readers"]}),
    (Team, CreateTeamRequest, "crew", {"teamType": "Group", "email": "crew@example.org"}),
    (User, CreateUserRequest, "olga", {"email": "olga@example.org", "displayName": "Olga"}),
    (User, CreateUserRequest, "robot", {"email": "robot@example.org", "isBot": True}),
    (Bot, CreateBot, "ingester", {"botUser": "robot"}),
    (Classification, CreateClassificationRequest, "Care", {"description": "How to handle it."}),
    (Tag, CreateTagRequest, "Fragile", {"classification": "Care", "description": "Handle with care."}),
    (Glossary, CreateGlossaryRequest, "Words", {"description": "What we call things.", "displayName": "Our words"}),
    (
        GlossaryTerm,
        CreateGlossaryTermRequest,
        "Customer",
        {"glossary": "Words", "description": "Who buys.", "synonyms": ["buyer"]},
    ),
    (
        GlossaryTerm,
        CreateGlossaryTermRequest,
        "Regular",
        {"glossary": "Words", "parent": "Words.Customer", "description": "Who buys again."},
    ),
    (Domain, CreateDomainRequest, "Sales", {"domainType": "Consumer-aligned", "description": "All that sells."}),
    (DataProduct, CreateDataProductRequest, "Orders360", {"description": "All of an order.", "domains": ["Sales"]}),
    (Database, CreateDatabaseRequest, "shop", {"service": "pg"}),
    (DatabaseSchema, CreateDatabaseSchemaRequest, "public", {"database": "pg.shop"}),
    (
        Table,
        CreateTableRequest,
        "orders",
        {
            "databaseSchema": "pg.shop.public",
            "columns": _COLUMNS,
            "tableType": "Regular",
            "domains": ["Sales"],
            "tags": [
                {"tagFQN": "Care.Fragile", "source": "Classification", "labelType": "Manual", "state": "Confirmed"}
            ],
        },
    ),
    (Table, CreateTableRequest, "customers", {"databaseSchema": "pg.shop.public", "columns": _COLUMNS}),
    (
        StoredProcedure,
        CreateStoredProcedureRequest,
        "refill",
        {"databaseSchema": "pg.shop.public", "storedProcedureCode": {"language": "SQL", "code": "SELECT 1"}},
    ),
    (Query, CreateQueryRequest, "daily", {"service": "pg", "query": "SELECT count(*) FROM orders"}),
    (Chart, CreateChartRequest, "turnover", {"service": "superset", "chartType": "Line"}),
    (Dashboard, CreateDashboardRequest, "sales", {"service": "superset", "charts": ["superset.turnover"]}),
    (
        DashboardDataModel,
        CreateDashboardDataModelRequest,
        "orders_model",
        {"service": "superset", "dataModelType": "SupersetDataModel", "columns": _COLUMNS},
    ),
    (
        Topic,
        CreateTopicRequest,
        "placed",
        {"service": "kafka", "partitions": 3, "messageSchema": {"schemaType": "JSON", "schemaFields": _FIELDS}},
    ),
    (
        Pipeline,
        CreatePipelineRequest,
        "nightly",
        {"service": "airflow", "tasks": [{"name": "load"}, {"name": "check", "downstreamTasks": ["load"]}]},
    ),
    (
        MlModel,
        CreateMlModelRequest,
        "churn",
        {"service": "mlflow", "algorithm": "forest", "mlFeatures": [{"name": "age", "dataType": "numerical"}]},
    ),
    (Container, CreateContainerRequest, "lake", {"service": "s3", "fileFormats": ["parquet"]}),
    (
        SearchIndex,
        CreateSearchIndexRequest,
        "orders_ix",
        {"service": "elastic", "fields": [{"name": "id", "dataType": "KEYWORD"}]},
    ),
    (
        APICollection,
        CreateAPICollectionRequest,
        "orders_api",
        {"service": "rest", "endpointURL": "https://example.org"},
    ),
    (
        APIEndpoint,
        CreateAPIEndpointRequest,
        "place",
        {"apiCollection": "rest.orders_api", "requestMethod": "POST", "endpointURL": "https://example.org/place"},
    ),
    (
        Metric,
        CreateMetricRequest,
        "aov",
        {"description": "Average order value.", "metricExpression": {"language": "SQL", "code": "SELECT 1"}},
    ),
    (
        TestDefinition,
        CreateTestDefinitionRequest,
        "enoughRows",
        {"description": "Are there enough?", "entityType": "TABLE", "testPlatforms": ["OpenMetadata"]},
    ),
    (TestSuite, CreateTestSuiteRequest, "nightly_checks", {"description": "Every night."}),
    (
        TestCase,
        CreateTestCaseRequest,
        "enough",
        {"entityLink": "<#E::table::pg.shop.public.orders>", "testDefinition": "enoughRows", "parameterValues": []},
    ),
    (
        EventSubscription,
        CreateEventSubscription,
        "Loud",
        {
            "alertType": "Notification",
            "resources": ["table"],
            "destinations": [{"category": "Owners", "type": "Email", "config": {"sendToOwners": True}}],
        },
    ),
    (
        IngestionPipeline,
        CreateIngestionPipelineRequest,
        "pg_metadata",
        {
            "pipelineType": "metadata",
            "sourceConfig": {"config": {"type": "DatabaseMetadata"}},
            "airflowConfig": {"scheduleInterval": "0 0 * * *"},
        },
    ),
)
"""(entity class, class of its create request, name, the rest of the request)."""
