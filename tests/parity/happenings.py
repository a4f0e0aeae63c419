"""Named events of the parity table."""

from __future__ import annotations

from tests.parity.logged import event_at_offset

from tocsin.model.change import VIOLATION, LoggedEvent

_DAY_MS = 86_400_000

_ORDERS = {
    "id": "7e1c",
    "name": "Orders",
    "fullyQualifiedName": "shop.sales.public.orders",
    "description": "One row per order; see shop.wiki",
    "tableType": "Regular",
    "deleted": False,
    "service": {"id": "s", "type": "databaseService", "name": "shop"},
    "database": {"id": "d", "type": "database", "name": "sales", "fullyQualifiedName": "shop.sales"},
    "databaseSchema": {
        "id": "c",
        "type": "databaseSchema",
        "name": "public",
        "fullyQualifiedName": "shop.sales.public",
    },
    "owners": [{"id": "1", "type": "user", "name": "ann"}, {"id": "2", "type": "team", "name": "Finance"}],
    "domains": [{"id": "3", "type": "domain", "name": "Retail", "fullyQualifiedName": "Business.Retail"}],
    "tags": [{"tagFQN": "Tier.Tier1", "source": "Classification"}],
    "columns": [
        {"name": "id", "dataType": "BIGINT", "description": ""},
        {"name": "email", "dataType": "VARCHAR", "dataLength": 20, "tags": [{"tagFQN": "PII.Sensitive"}]},
        {"name": "total", "dataType": "NUMERIC", "precision": 12},
    ],
    "extension": {
        "costCenter": "C-17",
        "score": 2.5,
        "runs": 7,
        "critical": True,
        "labels": ["gold", "Silver", None],
        "nothing": None,
        "blank": "",
        "empty": [],
        "odd key": "odd",
        "number as text": "7",
        "nested": {"deep": [{"x": 1}, {"x": "two"}, [3]]},
    },
}

_CASE = {
    "name": "total_is_positive",
    "fullyQualifiedName": "shop.sales.public.orders.total.total_is_positive",
    "entityLink": "<#E::table::shop.sales.public.orders::columns::total>",
    "testSuites": [{"id": "9", "type": "testSuite", "name": "nightly", "fullyQualifiedName": "suites.nightly"}],
    "testCaseResult": {"testCaseStatus": "Failed", "timestamp": 5, "failedRows": 12},
    "owners": [{"id": "1", "type": "user", "name": "ann"}],
}

HAPPENINGS: dict[str, LoggedEvent] = {
    "column": event_at_offset(
        1,
        reason="the auditors asked",
        unchanged_for=8 * _DAY_MS,
        eventType="entityUpdated",
        entityType="table",
        entityFullyQualifiedName="shop.sales.public.orders",
        userName="ann",
        userId="u-1",
        previousVersion=0.4,
        currentVersion=0.5,
        changeDescription={
            "fieldsUpdated": [
                {"name": "columns.email.description", "oldValue": "the mail", "newValue": "The mail address"},
                {"name": "extension.score", "oldValue": 1.5, "newValue": 2.5},
            ],
            "fieldsAdded": [{"name": "tags", "newValue": [{"tagFQN": "Tier.Tier1"}]}],
            "fieldsDeleted": [
                {"name": "displayName", "oldValue": "Orders!"},
                {"name": "columns.total.scale", "oldValue": 2},
            ],
            "previousVersion": 0.4,
        },
        entity=_ORDERS,
    ),
    "dropped": event_at_offset(
        2,
        is_bot=True,
        reason="dbt run 4c1f",
        eventType="entityUpdated",
        entityType="table",
        entityFullyQualifiedName='shop.sales."odd.schema".orders_archive',
        userName="ingestion-bot",
        previousVersion=1.9,
        currentVersion=2.9,
        changeDescription={
            "fieldsDeleted": [{"name": "columns", "oldValue": [{"name": "a.b", "dataType": "INT"}]}],
            "fieldsUpdated": [{"name": "owners", "oldValue": '[{"name": "bob"}]', "newValue": None}],
        },
        entity={"name": "orders_archive", "columns": [], "owners": [], "tags": []},
        breakingReasons=[{"kind": "fieldRemoved", "field": 'columns."a.b"', "before": "INT"}],
        announcements=[{"request": "CR-12", "outcome": "early", "field": 'columns."a.b"', "openAnswers": 3}],
    ),
    "failed": event_at_offset(
        3,
        facts={
            **{"previousStatus": "success", "streak": 1, "failures": 1},
            **{"withoutSuccess": _DAY_MS, "withoutSuccessBefore": 0},
        },
        eventType="entityUpdated",
        entityType="testCase",
        entityFullyQualifiedName="shop.sales.public.orders.total.total_is_positive",
        userName="ingestion-bot",
        currentVersion=0.1,
        changeDescription={
            "fieldsUpdated": [
                {
                    "name": "testCaseResult",
                    "oldValue": {"testCaseStatus": "Success"},
                    "newValue": {"testCaseStatus": "Failed", "failedRows": 12},
                }
            ]
        },
        entity=_CASE,
    ),
    "reworded": event_at_offset(
        4,
        eventType="entityUpdated",
        entityType="testCase",
        entityFullyQualifiedName="shop.sales.public.orders.total.total_is_positive",
        userName="ann",
        changeDescription={"fieldsUpdated": [{"name": "description", "oldValue": "a", "newValue": "b"}]},
        entity=_CASE,
    ),
    "revenue": event_at_offset(
        5,
        eventType="testCaseFailure",
        entityType="testCase",
        entityFullyQualifiedName="shop.sales.public.revenue.revenue_threshold_check",
        entity={"name": "revenue_threshold_check", "testCaseResult": {"testCaseStatus": "failed"}},
    ),
    "run": event_at_offset(
        6,
        facts={
            **{"previousStatus": "failed", "streak": 3, "failures": 5},
            **{"withoutSuccess": 3 * _DAY_MS, "withoutSuccessBefore": 2 * _DAY_MS},
        },
        eventType="entityUpdated",
        entityType="pipeline",
        entityFullyQualifiedName="airflow.daily_etl",
        userName="airflow",
        changeDescription={"fieldsUpdated": [{"name": "pipelineStatus", "newValue": {"executionStatus": "Failed"}}]},
        entity={"name": "daily_etl", "service": {"name": "airflow"}, "pipelineStatus": {"executionStatus": "Failed"}},
    ),
    "recovered": event_at_offset(
        12,
        facts={
            **{"previousStatus": "failed", "streak": 1, "failuresBefore": 3},
        },
        eventType="entityUpdated",
        entityType="ingestionPipeline",
        entityFullyQualifiedName="airflow.nightly_load",
        userName="airflow",
        changeDescription={
            "fieldsUpdated": [{"name": "pipelineStatus", "newValue": {"pipelineState": "success", "runId": "r-7"}}]
        },
        entity={"name": "nightly_load", "service": {"name": "airflow"}},
    ),
    "violation": event_at_offset(
        7,
        eventType="policyViolation",
        entityType="policy",
        userName="eve",
        changeDescription={"fieldsAdded": [{"name": VIOLATION, "newValue": {"tags": ["PII.Sensitive"]}}]},
        entity={"name": "no-export", "tags": [{"tagFQN": "PII.Sensitive"}], "owners": [{"name": "Compliance"}]},
    ),
    "bare": event_at_offset(8, eventType="entityDeleted", entityType="dashboard"),
    "tagged": event_at_offset(
        9,
        unchanged_for=3_600_000,
        eventType="entityUpdated",
        entityType="table",
        entityFullyQualifiedName="snowflake_prod.sales.public.customers",
        userName="Éva Ångström",
        userId="system",
        changeDescription={"fieldsAdded": [{"name": "tags", "newValue": [{"tagFQN": "PII.Sensitive"}]}]},
    ),
    "asked": event_at_offset(
        10,
        about={"name": "books", "owners": [{"id": "4", "type": "user", "name": "dora"}]},
        eventType="threadCreated",
        entityType="thread",
        entityFullyQualifiedName="ledger.books",
        userName="bob",
        entity={
            "type": "Task",
            "message": "Is this so, <#E::user::ann>?",
            "entityRef": {"id": "b", "type": "glossaryTerm", "name": "books"},
            "task": {"id": 3, "type": "RequestTag", "suggestion": "Ask [@Finance](http://x/settings/teams/Finance)."},
            "posts": [],
        },
    ),
    "answered": event_at_offset(
        11,
        eventType="postCreated",
        entityType="thread",
        entityFullyQualifiedName="ledger.pages",
        userName="cem",
        changeDescription={
            "fieldsAdded": [{"name": "posts", "newValue": [{"message": "Yes, <#E::user::bob|[@b](u)>"}]}]
        },
        entity={
            "type": "Conversation",
            "message": "Is this so, <#E::user::ann>?",
            "entityRef": {"id": "p", "type": "glossaryTerm", "name": "pages"},
        },
    ),
}
"""Every event of the table by its name."""
