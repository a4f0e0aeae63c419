"""Entity types of observability: tests, test suites, alerts and notification templates.

Source: OpenMetadata 1.13 schemas; a row's ``keys`` are those of its schema and of ``added``.
Next: ``model/entity_types.py``.
"""

from __future__ import annotations

from tocsin.model.entity_type import COMMON, FOLLOWERS, EntityType, words
from tocsin.model.runbook import RUNBOOK_SHAPE

_SINCE_2 = {"autoCloseIncident": "boolean", "incidentStatus": "object"}
"""What 2.0 adds to test cases."""

_RUNBOOK: dict[str, object] = {"runbook": RUNBOOK_SHAPE}

ROWS = (
    EntityType(
        "testDefinition",
        "dataQuality/testDefinitions",
        keys=(COMMON - words("impersonatedBy"))
        | words(
            "dataQualityDimension enabled entityType parameterDefinition provider sqlExpression "
            "supportedDataTypes supportedServices supportsDynamicAssertion supportsRowLevelPassedFailed "
            "testPlatforms validatorClass"
        )
        | frozenset(_RUNBOOK),
        required=("name", "entityType", "testPlatforms"),
        added=_RUNBOOK,
    ),
    EntityType(
        "testSuite",
        "dataQuality/testSuites",
        keys=(COMMON - words("impersonatedBy"))
        | words(
            "basic basicEntityReference connection dataContract executable executableEntityReference followers "
            "ingestionRunner inherited pipelines reviewers serviceType summary tags testCaseResultSummary "
            "testConnectionResult tests"
        ),
        required=("name",),
        added=FOLLOWERS,
        separate_keys=words("summary testCaseResultSummary tests"),
    ),
    EntityType(
        "testCase",
        "dataQuality/testCases",
        keys=(COMMON - words("impersonatedBy"))
        | words(
            "computePassedFailedRowCount createdBy dataProducts dimensionColumns entityFQN entityLink "
            "entityStatus failedRowsSample followers incidentId inspectionQuery parameterValues reviewers tags "
            "testCaseResult testCaseStatus testDefinition testSuite testSuites topDimensions useDynamicAssertion"
        )
        | frozenset(_SINCE_2)
        | frozenset(_RUNBOOK),
        required=("name", "entityLink", "testDefinition"),
        fixed=("entityLink",),
        separate_keys=words("failedRowsSample incidentStatus inspectionQuery testSuites"),
        added={**_SINCE_2, **_RUNBOOK},
    ),
    EntityType(
        "eventsubscription",
        "events/subscriptions",
        keys=(COMMON - words("deleted impersonatedBy"))
        | words(
            "alertType batchSize className config destinations enabled extension filteringRules input "
            "notificationTemplate pollInterval provider retries tags trigger "
            "triggers dependsOn severity runbook expires toMeOnly search"
        ),
        required=("name", "alertType", "destinations"),
        added={
            "extension": "object",
            "tags": {"list": {"use": "tagLabel"}},
            "triggers": {"use": "entityReferenceList"},
            "dependsOn": {"use": "entityReferenceList"},
            "severity": {"use": "severities"},
            **_RUNBOOK,
            "expires": "integer",
            "toMeOnly": "boolean",
            "search": "object",
        },
    ),
    EntityType(
        "notificationTemplate",
        "notificationTemplates",
        keys=(COMMON - words("domains owners")) | words("isModifiedFromDefault provider templateBody templateSubject"),
        required=("name", "templateSubject", "templateBody"),
        ignored=("owners", "domains"),
    ),
)
