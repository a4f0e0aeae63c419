"""Operations that policy rules allow or deny: OpenMetadata's, then Tocsin's own.

Source: schemas/entity/policies/accessControl/resourceDescriptor.json, ``operation``.
"""

from __future__ import annotations

from enum import StrEnum


class Operation(StrEnum):
    """One operation that rules allow or deny."""

    ALL = "All"
    CREATE = "Create"
    BULK_CREATE = "BulkCreate"
    CREATE_INGESTION_PIPELINE_AUTOMATOR = "CreateIngestionPipelineAutomator"
    CREATE_TESTS = "CreateTests"
    DELETE = "Delete"
    VIEW_ALL = "ViewAll"
    VIEW_BASIC = "ViewBasic"
    VIEW_USAGE = "ViewUsage"
    VIEW_TESTS = "ViewTests"
    VIEW_QUERIES = "ViewQueries"
    VIEW_DATA_PROFILE = "ViewDataProfile"
    VIEW_PROFILER_GLOBAL_CONFIGURATION = "ViewProfilerGlobalConfiguration"
    VIEW_SAMPLE_DATA = "ViewSampleData"
    VIEW_TEST_CASE_FAILED_ROWS_SAMPLE = "ViewTestCaseFailedRowsSample"
    VIEW_CUSTOM_FIELDS = "ViewCustomFields"
    EDIT_ALL = "EditAll"
    BULK_UPDATE = "BulkUpdate"
    EDIT_CUSTOM_FIELDS = "EditCustomFields"
    EDIT_DATA_PROFILE = "EditDataProfile"
    EDIT_DESCRIPTION = "EditDescription"
    EDIT_DISPLAY_NAME = "EditDisplayName"
    EDIT_LINEAGE = "EditLineage"
    EDIT_ENTITY_RELATIONSHIP = "EditEntityRelationship"
    EDIT_POLICY = "EditPolicy"
    EDIT_OWNERS = "EditOwners"
    EDIT_QUERIES = "EditQueries"
    EDIT_REVIEWERS = "EditReviewers"
    EDIT_ROLE = "EditRole"
    EDIT_SAMPLE_DATA = "EditSampleData"
    EDIT_STATUS = "EditStatus"
    EDIT_TAGS = "EditTags"
    EDIT_GLOSSARY_TERMS = "EditGlossaryTerms"
    EDIT_TEAMS = "EditTeams"
    EDIT_TIER = "EditTier"
    EDIT_CERTIFICATION = "EditCertification"
    EDIT_TESTS = "EditTests"
    EDIT_USAGE = "EditUsage"
    EDIT_USERS = "EditUsers"
    EDIT_LIFE_CYCLE = "EditLifeCycle"
    EDIT_KNOWLEDGE_PANEL = "EditKnowledgePanel"
    EDIT_PAGE = "EditPage"
    EDIT_INGESTION_PIPELINE_STATUS = "EditIngestionPipelineStatus"
    EDIT_USER_NOTIFICATION_TEMPLATE = "EditUserNotificationTemplate"
    DELETE_TEST_CASE_FAILED_ROWS_SAMPLE = "DeleteTestCaseFailedRowsSample"
    DEPLOY = "Deploy"
    TRIGGER = "Trigger"
    KILL = "Kill"
    GENERATE_TOKEN = "GenerateToken"  # noqa: S105  an operation, no secret
    EDIT_SCIM = "EditScim"
    CREATE_SCIM = "CreateScim"
    DELETE_SCIM = "DeleteScim"
    VIEW_SCIM = "ViewScim"
    IMPERSONATE = "Impersonate"
    AUDIT_LOGS = "AuditLogs"
    VIEW_TEST_DEFINITION_LIBRARY = "ViewTestDefinitionLibrary"
    EDIT_TEST_DEFINITION_LIBRARY = "EditTestDefinitionLibrary"

    INGEST = "Ingest"
    QUERY_LAKE = "QueryLake"


TOCSINS_OWN = frozenset({Operation.INGEST, Operation.QUERY_LAKE})
"""Operations that OpenMetadata lacks: its clients read no answer that names one."""
