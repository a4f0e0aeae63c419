"""The kinds of event that people get messages about, one event of each, for golden messages and pictures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.unit.delivery.channels.samples import EVENTS, FAILED, OWNERS, PASSED, REASON, TEST, with_incident
from tests.unit.delivery.events import OWNER, addition_of, change_event, deletion_of, dispatch, update_of
from tests.unit.delivery.wording.test_threads import POSTED, task
from tests.unit.delivery.wording.test_threads import event as thread_event

from tocsin.conditions.breaking import DELETED_WHILE_READ, reasons_of_event
from tocsin.delivery.dispatch import Dispatch, FailureContext, FailureIncident, ProbableCause, ToldPeople
from tocsin.delivery.wording.incidents import INCIDENT, tells_of_incident
from tocsin.delivery.wording.reports import RESULT, RUN, belongs_to_incident, is_report
from tocsin.model.announcement import Announcement, ChangeOutcome
from tocsin.model.change import (
    ALERT_INCIDENT,
    BULK_IMPORT,
    CHANGE_REQUEST,
    DESTINATION,
    EDITOR_VIEW,
    EXPIRY,
    FINDING,
    INCIDENT_REMINDER,
    LAG,
    LINEAGE,
    OF_CHANGE_REQUESTS,
    OTHER_INCIDENT,
    RETENTION,
    SILENCE,
    STILL_FAILING,
    STILL_STALE,
    STILL_WITHOUT_OWNER,
    SUITE_SUMMARY,
    ChangeDescription,
    ChangeEvent,
    EventType,
    FieldChange,
    ImportedCount,
)
from tocsin.model.change_request import AskedAsset, AskedFor
from tocsin.model.message import CarriedEvent, Entry
from tocsin.model.notification import ReasonKind
from tocsin.model.severity import Severity
from tocsin.model.subscription import Channel

AT_MS = 1_760_000_000_000
ORDERS = {
    "id": TEST["id"],
    "name": "orders",
    "owners": OWNERS,
    "tags": [{"tagFQN": "Tier.Tier1"}],
    "columns": [
        {"name": "status", "dataType": "INT", "dataTypeDisplay": "int"},
        {"name": "total", "dataType": "DECIMAL", "precision": 12, "scale": 2},
    ],
}
PIPELINE = {"id": TEST["id"], "name": "load_orders", "owners": OWNERS}
RAN = {"executionStatus": "Successful", "timestamp": AT_MS - 86_400_000, "endTime": AT_MS - 86_400_000 + 600_000}
BROKE = {
    "executionStatus": "Failed",
    "timestamp": AT_MS,
    "endTime": AT_MS + 2_400_000,
    "error": {"errorMessage": "could not connect to warehouse", "failedTask": "load", "stackTrace": "at Loader.java:7"},
    "taskStatus": [{"name": "extract", "executionStatus": "Successful"}, {"name": "load", "executionStatus": "Failed"}],
}
INGESTED = {"runId": "r1", "pipelineState": "success", "timestamp": AT_MS - 86_400_000}
NOT_INGESTED = {
    "runId": "r2",
    "pipelineState": "failed",
    "startDate": AT_MS - 900_000,
    "endDate": AT_MS,
    "timestamp": AT_MS,
    "status": [
        {"name": "Source", "errors": 1, "failures": [{"name": "orders", "error": "permission denied"}]},
        {"name": "Sink", "records": 3},
    ],
}
INGESTED_AGAIN = INGESTED | {
    "runId": "r3",
    "startDate": AT_MS + 3_000_000,
    "endDate": AT_MS + 3_600_000,
    "timestamp": AT_MS + 3_600_000,
}
ANA = {"id": "0d9c-ana", "type": "user", "name": "ana", "displayName": "Ana Lopez"}
LINK_OF_ORDERS = "<#E::table::acme.shop.public.orders"
SQL = "CREATE VIEW orders AS SELECT id, total FROM raw.orders WHERE deleted IS NULL"
REMOVAL = {
    "name": "CR-12",
    "kind": "removal",
    "status": "announced",
    "column": "email",
    "date": AT_MS + 86_400_000,
    "why": "nobody needs it",
    "replacement": "customers.email",
}
EMAIL_REMOVED = deletion_of("columns", [{"name": "email", "dataType": "TEXT"}])
EMAIL_RENAMED = ChangeDescription(
    fields_added=addition_of("columns", [{"name": "mail", "dataType": "TEXT"}]).fields_added,
    fields_deleted=EMAIL_REMOVED.fields_deleted,
)
INCIDENT_7 = {"id": "0d9c-raw", "type": "table", "fullyQualifiedName": "acme.raw.orders", "incident": "INC-7"}
INCIDENT_9 = {"name": "INC-9", "status": "open", "severity": "Severity3"}
HOOK = {
    "type": "Webhook",
    "name": "PagerDuty",
    "failingSince": AT_MS,
    "lastFailedReason": "serverError",
    "lastFailedStatusCode": 503,
}
LABEL = {"tagFQN": "PII.Sensitive", "source": "Classification"}


def judge(event: ChangeEvent) -> ChangeEvent:
    """Return an event as the server records it, with the reasons why it breaks readers.

    Reports, imports, and what is done with incidents and change requests make no version.
    """
    is_of_incident_or_request = tells_of_incident(event) or event.event_type in OF_CHANGE_REQUESTS
    makes_none = is_report(event) or event.is_import or is_of_incident_or_request
    versions = {"previous_version": event.current_version} if makes_none else {}
    return event.model_copy(update={"breaking_reasons": reasons_of_event(event) or None, **versions})


def _of_orders(described: ChangeDescription | None, **fields: Any) -> ChangeEvent:
    return change_event(described, entity=ORDERS, **fields)


def _of_test(described: ChangeDescription) -> ChangeEvent:
    fqn = "acme.shop.public.orders.email.email_not_null"
    return change_event(described, entity_type="testCase", entity_fully_qualified_name=fqn, entity=TEST)


def _of_failing_test(described: ChangeDescription) -> ChangeEvent:
    return _of_test(described).model_copy(update={"entity": TEST | {"testCaseResult": FAILED}})


def _of_run(described: ChangeDescription, at_ms: int) -> ChangeEvent:
    return change_event(
        described,
        entity_type="pipeline",
        entity_fully_qualified_name="airflow.load_orders",
        entity=PIPELINE,
        timestamp=at_ms,
    )


def _of_ingestion(described: ChangeDescription, at_ms: int) -> ChangeEvent:
    return change_event(
        described,
        entity_type="ingestionPipeline",
        entity_fully_qualified_name="acme.nightly",
        entity={"id": TEST["id"], "name": "nightly", "owners": OWNERS},
        timestamp=at_ms,
    )


_RENAME = Announcement(
    request="CR-12", outcome=ChangeOutcome.AS_ANNOUNCED, field="columns.email", renamed_to="mail", open_answers=1
)


def _announcement_of(outcome: str) -> Announcement:
    return Announcement(request="CR-12", outcome=ChangeOutcome(outcome), field="columns.email", open_answers=1)


def _event_of_outcome(outcome: str) -> ChangeEvent:
    reasons = reasons_of_event(_of_orders(EMAIL_REMOVED))
    return _of_orders(EMAIL_REMOVED, announcements=(_announcement_of(outcome),), breaking_reasons=reasons)


def _of_alert(described: ChangeDescription, event_type: EventType, **fields: object) -> ChangeEvent:
    return change_event(
        described,
        event_type=event_type,
        entity_type="eventsubscription",
        entity_fully_qualified_name="Orders",
        entity={"id": TEST["id"], "name": "Orders", **fields},
    )


def _updates_of(*changes: tuple[str, object, object]) -> ChangeDescription:
    return ChangeDescription(
        fields_updated=tuple(FieldChange(name=name, old_value=old, new_value=new) for name, old, new in changes)
    )


def _suite_result(name: str, status: str, since_ms: int) -> dict[str, Any]:
    references = {"testCase": {"name": name}, "table": {"name": "orders"}}
    return {"status": status, "timestamp": AT_MS, **references, "failingSince": since_ms}


_PROCEDURE = "\n".join(("CREATE PROCEDURE load(id INT) AS", *(f"  CALL step({at}, INT);" for at in range(9)), "END"))
_COLUMNS_ALERT = {
    "id": TEST["id"],
    "name": "Columns",
    "destinations": [
        {"category": "Owners", "type": "Email"},
        {
            "category": "External",
            "type": "Slack",
            "config": {"endpoint": "https://hooks.slack.com/services/T/B/s3cret"},
        },
    ],
    "filteringRules": {
        "resources": ["table", "topic"],
        "rules": [{"effect": "include", "condition": "fieldChanged == 'columns'"}],
    },
}


_UNJUDGED: dict[str, ChangeEvent] = {
    "failed_test": EVENTS["test_failure"],
    "aborted_test": _of_test(
        update_of(RESULT, PASSED, {"testCaseStatus": "Aborted", "timestamp": AT_MS, "result": "timed out"})
    ),
    "first_result": _of_test(addition_of(RESULT, PASSED)),
    "recovered_test": EVENTS["recovery"],
    "failed_run": _of_run(update_of(RUN, RAN, BROKE), AT_MS + 2_400_000),
    "recovered_run": _of_run(
        update_of(RUN, BROKE, RAN | {"timestamp": AT_MS + 3_600_000, "endTime": AT_MS + 4_200_000}), AT_MS + 4_200_000
    ),
    "failed_ingestion": _of_ingestion(update_of(RUN, INGESTED, NOT_INGESTED), AT_MS),
    "recovered_ingestion": _of_ingestion(update_of(RUN, NOT_INGESTED, INGESTED_AGAIN), AT_MS + 3_600_000),
    "failed_suite": _of_orders(
        update_of(
            SUITE_SUMMARY,
            {"status": "Failed", "timestamp": AT_MS - 86_400_000},
            {
                "status": "Failed",
                "timestamp": AT_MS,
                "failed": 1,
                "aborted": 1,
                "success": 9,
                "testCaseResultSummary": [
                    _suite_result("total_not_negative", "Aborted", AT_MS - 10 * 86_400_000),
                    _suite_result("email_not_null", "Failed", AT_MS),
                ],
            },
        ),
        event_type=EventType.TEST_SUITE_RUN_COMPLETED,
    ),
    "test_incident": _of_failing_test(addition_of(INCIDENT, {"testCaseResolutionStatusType": "Ack"})),
    "incident_of_alerts_and_test": _of_failing_test(
        _updates_of(
            (ALERT_INCIDENT, INCIDENT_9, INCIDENT_9 | {"assignee": ANA}),
            (
                INCIDENT,
                {"testCaseResolutionStatusType": "New"},
                {"testCaseResolutionStatusType": "Assigned", "testCaseResolutionStatusDetails": {"assignee": ANA}},
            ),
        )
    ),
    "alert_incident": _of_orders(
        addition_of(
            ALERT_INCIDENT,
            {
                "name": "INC-7",
                "status": "acknowledged",
                "severity": "Severity2",
                "alert": {"name": "Quality"},
                "comment": "looking",
            },
        ),
        event_type=EventType.ALERT_INCIDENT_UPDATED,
    ),
    "merged_incident": _of_orders(
        update_of(ALERT_INCIDENT, INCIDENT_9, INCIDENT_9 | {"isMerged": True, OTHER_INCIDENT: INCIDENT_7}),
        event_type=EventType.ALERT_INCIDENT_UPDATED,
    ),
    "split_incident": _of_orders(
        update_of(ALERT_INCIDENT, INCIDENT_9 | {"isMerged": True}, INCIDENT_9 | {OTHER_INCIDENT: INCIDENT_7}),
        event_type=EventType.ALERT_INCIDENT_UPDATED,
    ),
    "resolved_incident": _of_orders(
        update_of(
            ALERT_INCIDENT,
            INCIDENT_9,
            INCIDENT_9 | {"status": "resolved", "reason": "MissingData", "comment": "reloaded"},
        ),
        event_type=EventType.ALERT_INCIDENT_UPDATED,
    ),
    "stale": _of_orders(
        addition_of(SILENCE, {"timestamp": AT_MS, "since": AT_MS - 7_200_000, "withoutSuccess": 7_200_000}),
        event_type=EventType.SLA_VIOLATION,
    ),
    "still_failing": _of_failing_test(
        addition_of(STILL_FAILING, {"timestamp": AT_MS, "since": AT_MS - 7_200_000, "failures": 3})
    ).model_copy(update={"event_type": EventType.SCHEDULED_CHECK}),
    "reminder": _of_failing_test(
        addition_of(INCIDENT_REMINDER, {"name": "INC-7", "since": AT_MS - 10_800_000, "timestamp": AT_MS, "number": 2})
    ).model_copy(update={"event_type": EventType.INCIDENT_REMINDER}),
    "still_stale": _of_orders(
        addition_of(STILL_STALE, {"timestamp": AT_MS, "since": AT_MS - 7_200_000, "withoutSuccess": 7_200_000}),
        event_type=EventType.SCHEDULED_CHECK,
    ),
    "still_failing_stale_and_without_owner": change_event(
        ChangeDescription(
            fields_added=(
                FieldChange(name=STILL_FAILING, new_value={"since": AT_MS - 7_200_000, "failures": 3}),
                FieldChange(name=STILL_STALE, new_value={"since": AT_MS - 7_200_000, "withoutSuccess": 7_200_000}),
                FieldChange(name=STILL_WITHOUT_OWNER, new_value={}),
            )
        ),
        entity_type="pipeline",
        entity_fully_qualified_name="airflow.load_orders",
        entity={"id": TEST["id"], "name": "load_orders"},
        event_type=EventType.SCHEDULED_CHECK,
    ),
    "still_without_owner": change_event(
        addition_of(STILL_WITHOUT_OWNER, {"timestamp": AT_MS}),
        entity={key: value for key, value in ORDERS.items() if key != "owners"},
        event_type=EventType.SCHEDULED_CHECK,
    ),
    "deleted": _of_orders(update_of("deleted", False, True), event_type=EventType.ENTITY_SOFT_DELETED),
    "deleted_while_read": _of_orders(
        update_of("deleted", False, True),
        event_type=EventType.ENTITY_SOFT_DELETED,
        breaking_reasons=(DELETED_WHILE_READ,),
    ),
    "deleted_with_all_below": _of_orders(
        update_of("deleted", False, True), event_type=EventType.ENTITY_SOFT_DELETED, below_count=5_000
    ),
    "import": change_event(
        _updates_of((BULK_IMPORT, None, None)),
        entity_type="databaseSchema",
        entity_fully_qualified_name="acme.shop.public",
        entity={"id": TEST["id"], "name": "public", "owners": OWNERS},
        imported=(ImportedCount(entity_type="table", created=312, updated=14),),
    ),
    "permanently_deleted": _of_orders(deletion_of("entity", {"name": "orders"}), event_type=EventType.ENTITY_DELETED),
    "permanently_deleted_with_all_below": _of_orders(
        deletion_of("entity", {"name": "orders"}), event_type=EventType.ENTITY_DELETED, below_count=5_000
    ),
    "restored": _of_orders(update_of("deleted", True, False), event_type=EventType.ENTITY_RESTORED),
    "created": _of_orders(None, event_type=EventType.ENTITY_CREATED),
    "column_removed": _of_orders(deletion_of("columns", [{"name": "cart_id", "dataType": "BIGINT"}])),
    "column_retyped": _of_orders(
        _updates_of(
            ("columns.status.dataType", "VARCHAR", "INT"),
            ("columns.status.dataLength", 16, None),
            ("columns.status.dataTypeDisplay", "varchar(16)", "int"),
        )
    ),
    "precision_raised": _of_orders(update_of("columns.total.precision", 10, 12)),
    "reasoned": _of_orders(
        deletion_of("columns", [{"name": "phone", "dataType": "TEXT"}]),
        reason="nobody may keep it: <b>GDPR</b>, see *DATA-12* @here <!channel>",
    ),
    "column_added": _of_orders(addition_of("columns", [{"name": "gift_note", "dataType": "TEXT"}])),
    "constraint": _of_orders(update_of("columns.status.constraint", "NULL", "NOT_NULL")),
    "many_changes": _of_orders(
        ChangeDescription(
            fields_added=(FieldChange(name="columns", new_value=[{"name": "gift_note", "dataType": "TEXT"}]),),
            fields_updated=(
                FieldChange(name="description", old_value="Orders.", new_value="Every order placed in the shop."),
                FieldChange(name="columns.status.dataType", old_value="VARCHAR", new_value="INT"),
            ),
            fields_deleted=(FieldChange(name="columns", old_value=[{"name": "cart_id", "dataType": "BIGINT"}]),),
        )
    ),
    "renamed": _of_orders(update_of("name", "orders_old", "orders")),
    "display_name": _of_orders(addition_of("displayName", "Orders of the shop")),
    "owner_added": _of_orders(addition_of("owners", [OWNERS[0]])),
    "owner_removed": change_event(deletion_of("owners", [OWNERS[1]]), entity=ORDERS | {"owners": OWNERS[:1]}),
    "tag_added": _of_orders(addition_of("columns.status.tags", [LABEL])),
    "tier": _of_orders(
        ChangeDescription(
            fields_added=(FieldChange(name="tags", new_value=[{"tagFQN": "Tier.Tier1"}]),),
            fields_deleted=(FieldChange(name="tags", old_value=[{"tagFQN": "Tier.Tier3"}]),),
        )
    ),
    "domain": _of_orders(addition_of("domains", [{"type": "domain", "name": "Shop", "fullyQualifiedName": "Shop"}])),
    "description": _of_orders(update_of("description", "Orders.", "Every order placed in the shop.")),
    "column_description": _of_orders(addition_of("columns.status.description", "placed, paid, sent, returned")),
    "custom_property": _of_orders(update_of("extension.costCenter", "A-1", "B-2")),
    "deprecated": _of_orders(addition_of("entityStatus", "Deprecated")),
    "custom_properties": _of_orders(
        addition_of(
            "extension",
            {
                "steward": ANA,
                "validity": {"start": AT_MS, "end": AT_MS + 86_400_000},
                "sla": {"columns": ["tier", "hours"], "rows": [{"tier": "gold", "hours": "4"}]},
            },
        )
    ),
    "custom_reference": _of_orders(update_of("extension.steward", OWNERS[0], ANA)),
    "query_of_view": _of_orders(update_of("schemaDefinition", SQL, f"{SQL} AND total > 0")),
    "data_model": _of_orders(
        addition_of("dataModel", {"modelType": "DBT", "path": "models/orders.sql", "rawSql": SQL, "tags": [LABEL]})
    ),
    "profiler": _of_orders(
        update_of("tableProfilerConfig", {"profileSample": 50, "excludeColumns": []}, {"profileSample": 10})
    ),
    "long_text": _of_orders(
        update_of("description", f"{'Every order. ' * 200}Daily.", f"{'Every order. ' * 200}Hourly.")
    ),
    "nested_column": _of_orders(
        addition_of(
            "columns.address.children",
            [{"name": "zip", "dataType": "STRUCT", "children": [{"name": "code", "dataType": "INT"}]}],
        )
    ),
    "tags_of_a_hierarchy": _of_orders(
        addition_of(
            "tags",
            [LABEL | {"tagFQN": "PII.Sensitive.Email"}, {"tagFQN": "Business.Sales.Order", "source": "Glossary"}],
        )
    ),
    "certification": _of_orders(
        addition_of("certification", {"tagLabel": {"tagFQN": "Certification.Gold"}, "expiryDate": AT_MS})
    ),
    "data_product": _of_orders(
        addition_of("dataProducts", [{"type": "dataProduct", "name": "sales", "displayName": "Sales of the shop"}])
    ),
    "lineage": _of_orders(
        addition_of(
            LINEAGE,
            {
                "fromEntity": {"type": "table", "fullyQualifiedName": "acme.raw.orders"},
                "toEntity": {"type": "table", "fullyQualifiedName": "acme.shop.public.orders"},
                "lineageDetails": {
                    "columnsLineage": [{"fromColumns": ["acme.raw.orders.id"], "toColumn": "acme.shop.orders.id"}],
                    "pipeline": {"type": "pipeline", "fullyQualifiedName": "airflow.load_orders"},
                },
            },
        )
    ),
    "entity_link": _of_test(update_of("entityLink", f"{LINK_OF_ORDERS}::columns::mail>", f"{LINK_OF_ORDERS}>")),
    "parameters": _of_test(
        update_of("parameterValues", [{"name": "minValue", "value": "0"}], [{"name": "minValue", "value": "5"}])
    ),
    "related_terms": change_event(
        addition_of(
            "relatedTerms", [{"relationType": "synonym", "term": {"type": "glossaryTerm", "name": "Purchase"}}]
        ),
        entity_type="glossaryTerm",
        entity_fully_qualified_name="Business.Order",
        entity={"id": TEST["id"], "name": "Order"},
    ),
    "rules_of_a_policy": change_event(
        update_of("rules", [{"name": "Deny", "effect": "allow"}], [{"name": "Deny", "effect": "deny"}]),
        entity_type="policy",
        entity_fully_qualified_name="PiiPolicy",
        entity={"id": TEST["id"], "name": "PiiPolicy"},
    ),
    "retention": _of_orders(update_of("retentionPeriod", "P30D", "P90D")),
    "structured_value": _of_orders(
        update_of("tablePartition", None, {"columns": [{"columnName": "day", "intervalType": "TIME-UNIT"}]})
    ),
    "code_of_a_procedure": change_event(
        update_of("storedProcedureCode", {"code": _PROCEDURE}, {"code": _PROCEDURE.replace("INT", "BIGINT")}),
        entity_type="storedProcedure",
        entity_fully_qualified_name="acme.shop.public.load_orders",
        entity={"id": TEST["id"], "name": "load_orders"},
    ),
    "new_alert": change_event(
        addition_of("description", "Tells of columns."),
        event_type=EventType.ENTITY_CREATED,
        entity_type="eventsubscription",
        entity_fully_qualified_name="Columns",
        entity=_COLUMNS_ALERT,
    ),
    "refused_access": EVENTS["policy_violation"],
    "conversation": thread_event("threadCreated"),
    "reply": thread_event("postCreated", POSTED),
    "task": EVENTS["task"],
    "task_resolved": thread_event("taskResolved", **task("RequestTag", newValue='[{"tagFQN": "PII.None"}]')),
    "announcement": thread_event(
        "threadCreated",
        type="Announcement",
        announcement={"description": "Moves on Friday.", "startTime": AT_MS, "endTime": AT_MS + 60_000},
    ),
    "failing_destination": _of_alert(
        addition_of(DESTINATION, HOOK | {"failureCount": 3, "percent": 50}),
        EventType.DESTINATION_FAILING,
    ),
    "stopped_destination": _of_alert(
        addition_of(DESTINATION, HOOK | {"failureCount": 90, "percent": 100}),
        EventType.DESTINATION_STOPPED,
    ),
    "change_announced": _of_orders(addition_of(CHANGE_REQUEST, REMOVAL), event_type=EventType.CHANGE_REQUEST_UPDATED),
    "change_due": _of_orders(
        update_of(CHANGE_REQUEST, REMOVAL, REMOVAL | {"status": "due"}), event_type=EventType.CHANGE_REQUEST_UPDATED
    ),
    "change_answered": _of_orders(
        addition_of(
            CHANGE_REQUEST,
            REMOVAL | {"answered": {"answer": "objects", "consumers": 1}, "openAnswers": 2, "consumers": 9},
        ),
        event_type=EventType.CHANGE_REQUEST_ANSWERED,
        user_name="system",
    ),
    "change_reminder": _of_orders(
        update_of(CHANGE_REQUEST, REMOVAL, REMOVAL | {"openAnswers": 2}),
        event_type=EventType.CHANGE_REQUEST_REMINDER,
        user_name="system",
    ),
    "as_announced": _of_orders(EMAIL_REMOVED, announcements=(_announcement_of("asAnnounced"),), breaking_reasons=()),
    "renamed_as_announced": _of_orders(EMAIL_RENAMED, announcements=(_RENAME,), breaking_reasons=()),
    "earlier_than_announced": _event_of_outcome("early"),
    "otherwise_than_announced": _event_of_outcome("otherwise"),
    "despite_an_objection": _event_of_outcome("objected"),
    "not_announced": _of_orders(
        EMAIL_REMOVED, announcements=(), breaking_reasons=reasons_of_event(_of_orders(EMAIL_REMOVED))
    ),
    "audit_finding": _of_alert(
        addition_of(FINDING, {"kind": "tooSlow", "expected": 0, "found": 0}), EventType.AUDIT_FINDING
    ),
    "narrowed_alert": _of_alert(
        update_of(EDITOR_VIEW, ANA | {"mayView": "everything"}, ANA | {"mayView": "part"}), EventType.ALERT_NARROWED
    ),
    "expiring_alert": _of_alert(update_of(EXPIRY, None, {"expires": AT_MS}), EventType.ALERT_EXPIRING),
    "expired_alert": _of_alert(
        _updates_of(("enabled", True, False), (EXPIRY, None, {"expires": AT_MS})),
        EventType.ALERT_EXPIRED,
        enabled=False,
    ),
    "lag": change_event(
        addition_of(LAG, {"reader": "queue a", "lagEvents": 12_000, "lagSeconds": 9, "limit": 10_000}),
        event_type=EventType.LAG_EXCEEDED,
        entity_type="eventsubscription",
        entity_fully_qualified_name="EventLag",
        entity={"id": TEST["id"], "name": "EventLag"},
    ),
    "lag_recovered": change_event(
        addition_of(LAG, {"reader": "queue a", "lagEvents": 12, "lagSeconds": 1, "limit": 10_000}),
        event_type=EventType.LAG_RECOVERED,
        entity_type="eventsubscription",
        entity_fully_qualified_name="EventLag",
        entity={"id": TEST["id"], "name": "EventLag"},
    ),
    "retention_applied": change_event(
        addition_of(
            RETENTION,
            {
                "run": "0199c6f2-7c00-7000-8000-000000000002",
                "log": 12_000,
                "logByType": {"entityUpdated": 11_000, "entitySoftDeleted": 1_000},
                "lake": 0,
                "notifications": 40,
                "deadLetters": 3,
                "readersTold": 1,
                "readersPassed": 0,
            },
        ),
        event_type=EventType.RETENTION_APPLIED,
        entity_type="team",
        entity_fully_qualified_name="Organization",
        entity={"id": TEST["id"], "name": "Organization"},
    ),
    "log_in": change_event(
        None,
        event_type=EventType.USER_LOGIN,
        entity_type="user",
        entity_fully_qualified_name="jane.smith",
        entity={"id": TEST["id"], "name": "jane.smith"},
        previous_version="1.9",
    ),
}

KINDS: dict[str, ChangeEvent] = {name: judge(event) for name, event in _UNJUDGED.items()}
"""By a name of each kind."""

_READ_BY = ("acme.marts.revenue", "acme.marts.sales")
_INCIDENT_7 = FailureIncident("INC-7", Severity.SEVERITY_2)
_READ = FailureContext(downstream=_READ_BY)
CONTEXTS: dict[str, FailureContext] = {
    "failed_test": FailureContext(downstream=_READ_BY, incident=_INCIDENT_7),
    "aborted_test": FailureContext(
        AT_MS - 7_200_000,
        3,
        _READ_BY,
        incident=_INCIDENT_7._replace(acknowledged_by="ben"),
        causes=(ProbableCause("INC-3", "acme.raw.orders.late", "acme.raw.orders"),),
        audience=ToldPeople(("ana", "ben"), 4),
    ),
    "failed_run": FailureContext(downstream=_READ_BY, incident=_INCIDENT_7, usual_ms=600_000),
    "recovered_test": FailureContext(
        AT_MS, 1, ended_ms=AT_MS + 3_600_000, incident=_INCIDENT_7._replace(is_resolved=True)
    ),
    "recovered_run": FailureContext(AT_MS - 7_200_000, 3, ended_ms=AT_MS + 3_600_000),
    "recovered_ingestion": FailureContext(AT_MS, 1, ended_ms=AT_MS + 3_600_000),
    "test_incident": FailureContext(incident=_INCIDENT_7),
    "incident_of_alerts_and_test": FailureContext(incident=_INCIDENT_7._replace(name="INC-9")),
    "reminder": FailureContext(AT_MS - 10_800_000, 3, _READ_BY, incident=_INCIDENT_7),
    "still_failing": FailureContext(downstream=_READ_BY, incident=_INCIDENT_7),
    **dict.fromkeys(("deleted", "deleted_while_read", "deleted_with_all_below", "permanently_deleted"), _READ),
    **dict.fromkeys(("column_removed", "column_retyped", "many_changes", "not_announced", "deprecated"), _READ),
    **dict.fromkeys(("stale", "still_stale"), _READ),
}
"""What surrounds the events of some kinds, as messages about them say it."""

_ANSWERABLE = frozenset({"failed_test", "failed_run", "reminder", "still_failing"})
"""Kinds whose messages have a button to acknowledge their incident."""


DIGESTS = {
    "scheduled_check": ("still_failing", "still_stale", "still_without_owner"),
    "of_a_morning": ("created", "many_changes", "recovered_run", "failed_test", "deleted_with_all_below"),
}
"""Kinds that messages hold which tell of several events, by what they are called."""

OF_WHOLES = {"of_a_schema": 1, "of_its_tables": 0}
"""Messages about the tables of a deleted schema: how many notifications are of the schema itself."""

PUBLIC = change_event(
    update_of("deleted", False, True),
    id="0199c6f2-7c00-7000-8000-000000000009",
    event_type=EventType.ENTITY_SOFT_DELETED,
    entity_type="databaseSchema",
    entity_id="123e4567-e89b-12d3-a456-426614174009",
    entity_fully_qualified_name="acme.shop.public",
    entity={"id": "123e4567-e89b-12d3-a456-426614174009", "name": "public"},
    below_count=50,
)
"""The event of a deleted schema."""


def table_deleted(name: str, **fields: Any) -> ChangeEvent:
    """Return the event of a table that was deleted with the schema."""
    event = {"id": f"event of {name}", "event_type": EventType.ENTITY_SOFT_DELETED, "entity_id": name}
    of_table = {"entity_fully_qualified_name": f"acme.shop.public.{name}", "entity": {"id": name, "name": name}}
    return change_event(update_of("deleted", False, True), **event | of_table | fields)


def digest_of(name: str, channel: Channel) -> Dispatch:
    """Return a message that holds several kinds, or parts of a whole."""
    messages = [message_about(kind, channel) for kind in DIGESTS.get(name, ("created",))]
    entries = [one.first for one in messages]
    if name in OF_WHOLES:
        reasons = [entries[0].reasons, (entries[0].reasons[0].model_copy(update={"kind": ReasonKind.FOLLOWER}),)]
        entries = [*(replace(one, carried=CarriedEvent.of(PUBLIC)) for one in entries[: OF_WHOLES[name]])]
        entries += [
            Entry("", 0, CarriedEvent.of(table_deleted(f"table_{at:02}")), reasons[at < 2], whole_id=PUBLIC.id)
            for at in range(14)
        ]
    entries = [replace(one, notification_id=str(at)) for at, one in enumerate(entries)]
    incidents = {
        str(at): message.failure.incident
        for at, message in enumerate(messages)
        if message.failure and message.failure.incident and belongs_to_incident(message.event)
    }
    return replace(messages[0], entries=tuple(entries), failure=None, buttons={}, incidents=incidents)


ASKED = {
    "change_announced": AskedFor((AskedAsset("acme.marts.revenue", "revenue", reads_column=True),)),
    "change_reminder": AskedFor(
        tuple(AskedAsset(f"acme.marts.{name}", name) for name in ("daily", "hourly", "revenue", "sales", "weekly"))
    ),
}
"""For what change requests ask the reader of a mail."""


def message_about(kind: str, channel: Channel) -> Dispatch:
    """Return the message about an event of a kind, as its worker hands it to a channel."""
    to_person = OWNER.model_copy(update={"kind": ReasonKind.ASKED}) if kind in ASKED else OWNER
    to_mail = dispatch(KINDS[kind], reasons=(to_person if channel is Channel.EMAIL else REASON,))
    answerable = {to_mail.first.notification_id: ASKED[kind]} if kind in ASKED else {}
    message = replace(
        to_mail, message=replace(to_mail.message, channel=channel), failure=CONTEXTS.get(kind), answerable=answerable
    )
    if message.failure and message.failure.incident and tells_of_incident(message.event):
        message = replace(message, incidents={message.first.notification_id: message.failure.incident})
    return with_incident(message) if kind in _ANSWERABLE else message
