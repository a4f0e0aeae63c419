"""Tests of writes on hidden entities: the response is the same whatever is sent.

Every writing route is in one of the tables below; a route in none fails the first test.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import httpx
import pytest
from fastapi.routing import APIRoute
from sqlalchemy import Engine
from tests.contract.test_access import create_entity, restrict
from tests.notifying import notify_all
from tests.serving import Json, Served, table

from tocsin.server.http.paths import API

SECRET = "the description that nobody may read"
HIDDEN = [{"tagFQN": "PII.Sensitive"}]
_SOME_ID = "6f0b1d52-3a86-5d0c-9c1e-0d7f3c1a0001"
_SCHEMA = "warehouse.shop.public"
_SALARIES = f"{_SCHEMA}.salaries"
_CASE = f"{_SALARIES}.pay.no_nulls"

_LEAK = [
    {"op": "add", "path": "/domains", "value": [{"type": "domain", "fullyQualifiedName": "x"}]},
    {"op": "copy", "from": "/description", "path": "/domains/0/fullyQualifiedName"},
]
PATCHES: tuple[Json, ...] = (
    [],
    [{}],
    [{"op": "test", "path": "/description", "value": SECRET}],
    [{"op": "test", "path": "/description", "value": "wrong"}],
    [{"op": "test", "path": "/name", "value": "wrong"}],
    [{"op": "add", "path": "/description", "value": "x"}],
    [{"op": "add", "path": "/nothing/of/this", "value": "x"}],
    [{"op": "remove", "path": "/description"}],
    [{"op": "remove", "path": "/columns/7"}],
    [{"op": "replace", "path": "/name", "value": "orders"}],
    [{"op": "copy", "from": "/description", "path": "/nothing"}],
    _LEAK,
)
DOCUMENTS: tuple[Json, ...] = ({}, {"description": 7}, {"x": SECRET}, {"name": "salaries", "timestamp": 1})
LISTS: tuple[Json, ...] = ([], [7], ["nobody"], [{"type": "table", "fullyQualifiedName": _SALARIES}])
NONE: tuple[Json, ...] = (None,)

ON_ASSET: dict[str, tuple[str, tuple[Json, ...]]] = {
    "PATCH /{collection:collection}/{entity_id}": ("/tables/{table}", PATCHES),
    "PATCH /{collection:collection}/name/{fqn}": ("/tables/name/{fqn}", PATCHES),
    "DELETE /{collection:collection}/{entity_id}": ("/tables/{table}?hardDelete=true", NONE),
    "DELETE /{collection:collection}/name/{fqn}": ("/tables/name/{fqn}", NONE),
    "DELETE /{collection:collection}/async/{entity_id}": ("/tables/async/{table}?hardDelete=true", NONE),
    "PUT /columns/name/{fqn}": ("/columns/name/{fqn}.pay", DOCUMENTS),
    "PUT /{collection:collection}/restore": (
        "/tables/restore",
        ({"id": "{table}"}, {"fullyQualifiedName": "{fqn}"}, {"id": "{table}", "x": 7}),
    ),
    "PUT /{collection:collection}": (
        "/tables",
        (
            {"name": "salaries", "databaseSchema": _SCHEMA, "columns": []},
            {"name": "salaries", "databaseSchema": _SCHEMA, "columns": [], "tags": [{"tagFQN": "No.Such"}]},
            {"name": "salaries", "databaseSchema": _SCHEMA, "columns": [], "owners": [{"type": "user", "name": "x"}]},
        ),
    ),
    "POST /{collection:collection}/{entity_id}/rollback": (
        "/tables/{table}/rollback",
        ({}, {"version": 0.1}, {"x": 1}),
    ),
    "POST /{collection:collection}/name/{fqn}/rollback": (
        "/tables/name/{fqn}/rollback",
        ({"version": 0.1}, {"version": 9.9, "dryRun": True}),
    ),
    "PUT /{collection:collection}/name/{fqn}/import": (
        "/tables/name/{fqn}/import?dryRun=true",
        ("", "column.name,column.description\nsalaries.pay,x", "column.name\nnone"),
    ),
    "PUT /{collection:collection}/{entity_id}/followers": (
        "/tables/{table}/followers",
        ("{user}", "nobody", "00000000-0000-4000-8000-00000000abcd"),
    ),
    "PUT /{collection:collection}/{entity_id}/followers/{user_id}": ("/tables/{table}/followers/{user}", NONE),
    "DELETE /{collection:collection}/{entity_id}/followers/{user_id}": ("/tables/{table}/followers/{user}", NONE),
    "PUT /{collection:collection}/{entity_id}/vote": (
        "/tables/{table}/vote",
        (*DOCUMENTS, {"updatedVoteType": "votedUp"}, {"updatedVoteType": "x"}),
    ),
    "PUT /{collection:collection}/{entity_id}/sampleData": (
        "/tables/{table}/sampleData",
        ({}, {"columns": ["pay"], "rows": [["1"]]}, {"columns": ["wrong"], "rows": []}),
    ),
    "DELETE /{collection:collection}/{entity_id}/sampleData": ("/tables/{table}/sampleData", NONE),
    "PUT /dataQuality/testCases/logicalTestCases": (
        "/dataQuality/testCases/logicalTestCases",
        ({"testSuiteId": "{suite}"}, {"testSuiteId": "{suite}", "testCaseIds": ["{case}"]}),
    ),
    "DELETE /dataQuality/testCases/logicalTestCases/{suite_id}/{case_id}": (
        "/dataQuality/testCases/logicalTestCases/{suite}/{case}",
        NONE,
    ),
    "POST /dataQuality/testCases/testCaseIncidentStatus": (
        "/dataQuality/testCases/testCaseIncidentStatus",
        (
            {"testCaseReference": _CASE},
            {"testCaseReference": _CASE, "testCaseResolutionStatusType": "Ack"},
            {"testCaseReference": _CASE, "testCaseResolutionStatusType": "x"},
        ),
    ),
    "POST /changes": (
        "/changes",
        (
            {"entity": {"type": "table", "id": "{table}"}},
            {"entity": {"type": "table", "fullyQualifiedName": "{fqn}"}, "kind": "removal", "date": 1, "why": "x"},
            {"entity": {"type": "table", "id": "{table}"}, "kind": "x", "column": "nothing"},
        ),
    ),
    "POST /changes/{request}/comments": ("/changes/CR-1/comments", (*DOCUMENTS, {"comment": "x"})),
    "POST /changes/{request}/reminders": ("/changes/CR-1/reminders", (*DOCUMENTS, {"consumer": "{table}"})),
    "PUT /changes/{request}/answer": (
        "/changes/CR-1/answer",
        (*DOCUMENTS, {"answer": "ready"}, {"answer": "ready", "consumers": ["{table}"]}),
    ),
    "PUT /changes/{request}/move": ("/changes/CR-1/move", (*DOCUMENTS, {"date": 1}, {"date": 9_000_000_000_000})),
    "PUT /changes/{request}/withdraw": ("/changes/CR-1/withdraw", (*NONE, *DOCUMENTS, {"comment": "x"})),
    "PUT /incidents/{incident}/acknowledge": ("/incidents/INC-1/acknowledge", (*NONE, *DOCUMENTS)),
    "PUT /incidents/{incident}/assign": (
        "/incidents/INC-1/assign",
        (*DOCUMENTS, {"assignee": {"type": "user", "id": "{user}"}}),
    ),
    "PUT /incidents/{incident}/comment": (
        "/incidents/INC-1/comment",
        ({}, {"comment": "x"}, {"comment": ""}, {"comment": 7}),
    ),
    "PUT /incidents/{incident}/dismiss-cause": (
        "/incidents/INC-1/dismiss-cause",
        ({}, {"cause": "INC-1"}, {"cause": 7}),
    ),
    "PUT /incidents/{incident}/restore-cause": (
        "/incidents/INC-1/restore-cause",
        ({}, {"cause": "INC-1"}, {"cause": 7}),
    ),
    "PUT /incidents/{incident}/merge": ("/incidents/INC-1/merge", ({}, {"into": "INC-1"}, {"into": 7})),
    "PUT /incidents/{incident}/split": ("/incidents/INC-1/split", (*NONE, *DOCUMENTS)),
    "PUT /incidents/{incident}/resolve": ("/incidents/INC-1/resolve", (*NONE, {"comment": "x"}, {"comment": 7})),
    "POST /tasks": (
        "/tasks",
        (
            {"about": f"<#E::table::{_SALARIES}>"},
            {
                "about": f"<#E::table::{_SALARIES}>",
                "category": "Custom",
                "type": "CustomTask",
                "assignees": ["mallory"],
            },
            {"about": f"<#E::table::{_SALARIES}::columns::wrong>", "type": 7},
        ),
    ),
    "POST /suggestions": (
        "/suggestions",
        (
            {"entityLink": f"<#E::table::{_SALARIES}>"},
            {"entityLink": f"<#E::table::{_SALARIES}>", "description": "x"},
            {"entityLink": f"<#E::table::{_SALARIES}::columns::wrong>", "description": 7},
        ),
    ),
    "PUT /suggestions/{suggestion_id}": ("/suggestions/{suggestion}", (*DOCUMENTS, {"description": "x"})),
    "PUT /suggestions/{suggestion_id}/accept": ("/suggestions/{suggestion}/accept", NONE),
    "PUT /suggestions/{suggestion_id}/reject": ("/suggestions/{suggestion}/reject", NONE),
    "DELETE /suggestions/{suggestion_id}": ("/suggestions/{suggestion}", NONE),
    "POST /announcements": (
        "/announcements",
        (
            {"entityLink": f"<#E::table::{_SALARIES}>"},
            {"entityLink": f"<#E::table::{_SALARIES}>", "description": "x", "startTime": 1, "endTime": 2},
            {"entityLink": f"<#E::table::{_SALARIES}::columns::wrong>", "description": 7},
        ),
    ),
    "PUT /announcements": (
        "/announcements",
        (
            {"entityLink": f"<#E::table::{_SALARIES}>"},
            {"entityLink": f"<#E::table::{_SALARIES}>", "name": "outage", "description": "x"},
            {"entityLink": f"<#E::table::{_SALARIES}>", "name": 7},
        ),
    ),
    "PATCH /announcements/{announcement_id}": ("/announcements/{announcement}", PATCHES),
    "DELETE /announcements/{announcement_id}": ("/announcements/{announcement}", NONE),
    "POST /conversations": (
        "/conversations",
        (
            {"about": f"<#E::table::{_SALARIES}>"},
            {"about": f"<#E::table::{_SALARIES}>", "message": "x"},
            {"about": f"<#E::table::{_SALARIES}::columns::wrong>", "message": 7},
        ),
    ),
    "PATCH /conversations/{conversation_id}": ("/conversations/{thread}", PATCHES),
    "DELETE /conversations/{conversation_id}": ("/conversations/{thread}", NONE),
    "PUT /conversations/{conversation_id}/reaction/{reaction}": ("/conversations/{thread}/reaction/heart", NONE),
    "DELETE /conversations/{conversation_id}/reaction/{reaction}": ("/conversations/{thread}/reaction/heart", NONE),
    "POST /conversations/{conversation_id}/replies": (
        "/conversations/{thread}/replies",
        (*DOCUMENTS, {"message": "x"}),
    ),
    "PATCH /conversations/{conversation_id}/replies/{reply_id}": ("/conversations/{thread}/replies/{post}", PATCHES),
    "DELETE /conversations/{conversation_id}/replies/{reply_id}": ("/conversations/{thread}/replies/{post}", NONE),
    "PUT /conversations/{conversation_id}/replies/{reply_id}/reaction/{reaction}": (
        "/conversations/{thread}/replies/{post}/reaction/heart",
        NONE,
    ),
    "DELETE /conversations/{conversation_id}/replies/{reply_id}/reaction/{reaction}": (
        "/conversations/{thread}/replies/{post}/reaction/heart",
        NONE,
    ),
    "PATCH /tasks/{task_id}": ("/tasks/{task_thread}", PATCHES),
    "DELETE /tasks/{task_id}": ("/tasks/{task_thread}", NONE),
    "POST /tasks/{task_id}/resolve": (
        "/tasks/{task_thread}/resolve",
        (*DOCUMENTS, {"transitionId": "approve"}, {"transitionId": "reject", "comment": "x"}, {"transitionId": 7}),
    ),
    "POST /tasks/{task_id}/close": ("/tasks/{task_thread}/close", NONE),
    "PUT /tasks/{task_id}/suggestion/apply": ("/tasks/{task_thread}/suggestion/apply", NONE),
    "POST /tasks/{task_id}/comments": ("/tasks/{task_thread}/comments", (*DOCUMENTS, {"message": "x"})),
    "PATCH /dataQuality/testCases/testCaseIncidentStatus/{step_id}": (
        "/dataQuality/testCases/testCaseIncidentStatus/{step}",
        (*PATCHES, [{"op": "test", "path": "/testCaseResolutionStatusType", "value": "New"}]),
    ),
    "POST /dataQuality/testCases/testCaseResults/{fqn}": (
        f"/dataQuality/testCases/testCaseResults/{_CASE}",
        (*DOCUMENTS, {"timestamp": 1, "testCaseStatus": "Failed"}),
    ),
    "PUT /dataQuality/testCases/{fqn}/testCaseResult": (
        f"/dataQuality/testCases/{_CASE}/testCaseResult",
        (*DOCUMENTS, {"timestamp": 1, "testCaseStatus": "Failed"}),
    ),
    "PATCH /dataQuality/testCases/testCaseResults/{fqn}/{timestamp}": (
        f"/dataQuality/testCases/testCaseResults/{_CASE}/1",
        (*PATCHES, [{"op": "test", "path": "/testCaseStatus", "value": "Failed"}]),
    ),
    "DELETE /dataQuality/testCases/testCaseResults/{fqn}/{timestamp}": (
        f"/dataQuality/testCases/testCaseResults/{_CASE}/1",
        NONE,
    ),
    "PUT /dataQuality/testCases/{case_id}/failedRowsSample": (
        "/dataQuality/testCases/{case}/failedRowsSample",
        ({}, {"columns": ["pay"], "rows": [["1"]]}, {"columns": ["wrong"], "rows": []}),
    ),
    "DELETE /dataQuality/testCases/{case_id}/failedRowsSample": (
        "/dataQuality/testCases/{case}/failedRowsSample",
        NONE,
    ),
    "PUT /dataQuality/testCases/{case_id}/inspectionQuery": (
        "/dataQuality/testCases/{case}/inspectionQuery",
        ("", "SELECT 1"),
    ),
    "DELETE /dataQuality/testSuites/basic/{suite_id}": ("/dataQuality/testSuites/basic/{suite}", NONE),
    "DELETE /dataQuality/testSuites/executable/{suite_id}": ("/dataQuality/testSuites/executable/{suite}", NONE),
    "POST /feed": (
        "/feed",
        (
            {"about": f"<#E::table::{_SALARIES}>"},
            {"about": f"<#E::table::{_SALARIES}>", "message": "x"},
            {"about": f"<#E::table::{_SALARIES}::columns::wrong>", "message": "x"},
        ),
    ),
    "PATCH /feed/tasks/{number}": ("/feed/tasks/{task}", PATCHES),
    "PUT /feed/tasks/{number}/close": ("/feed/tasks/{task}/close", (*DOCUMENTS, {"comment": "x"})),
    "PUT /feed/tasks/{number}/resolve": ("/feed/tasks/{task}/resolve", (*DOCUMENTS, {"newValue": "x"})),
    "PATCH /feed/{thread_id}": ("/feed/{thread}", PATCHES),
    "DELETE /feed/{thread_id}": ("/feed/{thread}", NONE),
    "POST /feed/{thread_id}/posts": ("/feed/{thread}/posts", (*DOCUMENTS, {"message": "x"})),
    "PATCH /feed/{thread_id}/posts/{post_id}": ("/feed/{thread}/posts/{post}", PATCHES),
    "DELETE /feed/{thread_id}/posts/{post_id}": ("/feed/{thread}/posts/{post}", NONE),
    "PUT /lineage": (
        "/lineage",
        (
            {"edge": {"fromEntity": {"type": "table", "id": "{table}"}, "toEntity": {"type": "table", "id": "{seen}"}}},
            {
                "edge": {
                    "fromEntity": {"type": "table", "id": "{table}"},
                    "toEntity": {"type": "table", "id": "{seen}"},
                    "lineageDetails": {"columnsLineage": [{"fromColumns": ["wrong"], "toColumn": "wrong"}]},
                }
            },
            {"edge": {"fromEntity": {"type": "table", "id": "{table}"}, "toEntity": {"type": "user", "id": "{user}"}}},
        ),
    ),
    "DELETE /lineage/source/name/{entity_type}/{fqn}/type/{source}": (
        "/lineage/source/name/table/{fqn}/type/Manual",
        NONE,
    ),
    "DELETE /lineage/{entity_type}/{entity_id}/type/{source}": ("/lineage/table/{table}/type/Manual", NONE),
    "PUT /lineage/{from_type}/name/{from_fqn}/{to_type}/name/{to_fqn}": (
        "/lineage/table/name/{fqn}/table/name/{seen_fqn}",
        (*DOCUMENTS, {"columnsLineage": [{"fromColumns": ["wrong"], "toColumn": "wrong"}]}),
    ),
    "PATCH /lineage/{from_type}/name/{from_fqn}/{to_type}/name/{to_fqn}": (
        "/lineage/table/name/{fqn}/table/name/{seen_fqn}",
        PATCHES,
    ),
    "DELETE /lineage/{from_type}/name/{from_fqn}/{to_type}/name/{to_fqn}": (
        "/lineage/table/name/{fqn}/table/name/{seen_fqn}",
        NONE,
    ),
    "PATCH /lineage/{from_type}/{from_id}/{to_type}/{to_id}": ("/lineage/table/{table}/table/{seen}", PATCHES),
    "DELETE /lineage/{from_type}/{from_id}/{to_type}/{to_id}": ("/lineage/table/{table}/table/{seen}", NONE),
    "PUT /metadata/types/{type_id}": ("/metadata/types/{type}", DOCUMENTS),
    "PUT /pipelines/{fqn}/status": ("/pipelines/airflow.load/status", DOCUMENTS),
    "PUT /pipelines/{fqn}/status/bulk": ("/pipelines/airflow.load/status/bulk", (*DOCUMENTS, *LISTS)),
    "DELETE /pipelines/{fqn}/status/{timestamp}": ("/pipelines/airflow.load/status/1", NONE),
    "PUT /queries/{query_id}/usage": ("/queries/{query}/usage", LISTS),
    "DELETE /queries/{query_id}/usage": ("/queries/{query}/usage", LISTS),
    "PUT /queries/{query_id}/usedBy": ("/queries/{query}/usedBy", LISTS),
    "PUT /queries/{query_id}/users": ("/queries/{query}/users", LISTS),
    "PUT /services/ingestionPipelines/{fqn}/pipelineStatus": (
        "/services/ingestionPipelines/warehouse.nightly/pipelineStatus",
        DOCUMENTS,
    ),
    "DELETE /tables/{fqn}/{of}/{timestamp}/profile": ("/tables/{fqn}/table/1/profile", NONE),
    "PUT /tables/{table_id}/customMetric": ("/tables/{table}/customMetric", DOCUMENTS),
    "DELETE /tables/{table_id}/customMetric/{column}/{name}": ("/tables/{table}/customMetric/pay/x", NONE),
    "DELETE /tables/{table_id}/customMetric/{name}": ("/tables/{table}/customMetric/x", NONE),
    "PUT /tables/{table_id}/dataModel": ("/tables/{table}/dataModel", DOCUMENTS),
    "PUT /tables/{table_id}/joins": ("/tables/{table}/joins", DOCUMENTS),
    "PUT /tables/{table_id}/pipelineObservability": ("/tables/{table}/pipelineObservability", LISTS),
    "PUT /tables/{table_id}/pipelineObservability/{pipeline}": (
        "/tables/{table}/pipelineObservability/x.y",
        DOCUMENTS,
    ),
    "PUT /tables/{table_id}/tableProfile": ("/tables/{table}/tableProfile", DOCUMENTS),
    "PUT /tables/{table_id}/tableProfilerConfig": ("/tables/{table}/tableProfilerConfig", DOCUMENTS),
    "DELETE /tables/{table_id}/tableProfilerConfig": ("/tables/{table}/tableProfilerConfig", NONE),
    "PUT /addresses/{holder_id}/{channel}": ("/addresses/{team}/Slack", DOCUMENTS),
    "DELETE /addresses/{holder_id}/{channel}": ("/addresses/{team}/Slack", NONE),
    "POST /addresses/{holder_id}/{channel}/code": ("/addresses/{team}/Slack/code", NONE),
    "POST /addresses/{holder_id}/{channel}/verify": ("/addresses/{team}/Slack/verify", DOCUMENTS),
    "PUT /teams/{team_id}/preferences": ("/teams/{team}/preferences", DOCUMENTS),
    "PUT /teams/{team_id}/users": ("/teams/{team}/users", LISTS),
    "DELETE /teams/{team_id}/users/{user_id}": ("/teams/{team}/users/{user}", NONE),
    "POST /usage/{entity_type}/name/{fqn}": (
        "/usage/table/name/{fqn}",
        (*DOCUMENTS, {"date": "2026-01-01", "count": 1}),
    ),
    "PUT /usage/{entity_type}/name/{fqn}": ("/usage/table/name/{fqn}", DOCUMENTS),
    "POST /usage/{entity_type}/{entity_id}": ("/usage/table/{table}", DOCUMENTS),
    "PUT /usage/{entity_type}/{entity_id}": ("/usage/table/{table}", DOCUMENTS),
    "POST /users/{user_id}/feeds": ("/users/{user}/feeds", ({"type": "table", "id": "{table}"},)),
    "PUT /users/{user_id}/following/{followed_id}/preferences": (
        "/users/{user}/following/{table}/preferences",
        ({}, {"channels": {"Email": "daily"}}),
    ),
    "PUT /users/{user_id}/recommendations/{asset_id}/dismissal": (
        "/users/{user}/recommendations/{table}/dismissal",
        NONE,
    ),
    "PUT /users/{user_id}/mutes": (
        "/users/{user}/mutes",
        (
            {"kind": "asset", "id": "{table}"},
            {"kind": "asset", "id": "{table}", "type": "table", "until": 9_000_000_000_000},
        ),
    ),
    "PATCH /events/subscriptions/name/{name}": ("/events/subscriptions/name/hidden", PATCHES),
    "DELETE /events/subscriptions/name/{name}": ("/events/subscriptions/name/hidden", NONE),
    "PATCH /events/subscriptions/{subscription_id}": ("/events/subscriptions/{alert}", PATCHES),
    "DELETE /events/subscriptions/{subscription_id}": ("/events/subscriptions/{alert}", NONE),
    "PUT /events/subscriptions/name/{name}/syncOffset": ("/events/subscriptions/name/hidden/syncOffset", NONE),
    "PUT /events/subscriptions/{subscription_id}/syncOffset": ("/events/subscriptions/{alert}/syncOffset", NONE),
    "PUT /events/subscriptions/{subscription_id}/status/{destination_id}": (
        "/events/subscriptions/{alert}/status/6f0b1d52-3a86-5d0c-9c1e-0d7f3c1a0001",
        ({"status": "active"}, {"status": 1}),
    ),
    "POST /events/subscriptions/{subscription_id}/queue/claim": (
        "/events/subscriptions/{alert}/queue/claim",
        ({"limit": 1}, {"limit": 0}),
    ),
    **{
        f"POST /events/subscriptions/{{subscription_id}}/queue/{action}": (
            f"/events/subscriptions/{{alert}}/queue/{action}",
            ({"items": [{"id": _SOME_ID, "lease": _SOME_ID}]}, {"items": 1}),
        )
        for action in ("acknowledge", "release", "extend")
    },
}
"""Routes that write what their path or their body names: the path with the hidden asset, and what is sent there."""

BY_ROW: dict[str, tuple[str, tuple[Json, ...]]] = {
    "PUT /{collection:collection}/bulk": (
        "/tables/bulk",
        (
            [{"name": "salaries", "databaseSchema": _SCHEMA, "columns": []}],
            [{"name": "salaries", "databaseSchema": _SCHEMA, "columns": [], "tags": [{"tagFQN": "No.Such"}]}],
        ),
    ),
    "PUT /{collection:collection}/{group}/assets/{change}": (
        "/domains/Sales/assets/add",
        (
            {"assets": [{"type": "table", "id": "{table}"}]},
            {"assets": [{"type": "table", "id": "{table}"}], "dryRun": True},
        ),
    ),
    "PUT /users/{user_id}/follows/bulk": (
        "/users/{user}/follows/bulk",
        ({"entities": [{"type": "table", "id": "{table}"}]},),
    ),
    "POST /lineage/events": (
        "/lineage/events",
        tuple(
            [
                {
                    "eventType": "entityUpdated",
                    "entityType": "table",
                    "changeDescription": {
                        changed: [
                            {
                                "name": "lineage",
                                value: {
                                    "fromEntity": {"type": "table", "id": "{table}"},
                                    "toEntity": {"type": "table", "id": "{seen}"},
                                },
                            }
                        ]
                    },
                }
            ]
            for changed, value in (("fieldsAdded", "newValue"), ("fieldsDeleted", "oldValue"))
        ),
    ),
}
"""Routes that answer for each row of what is sent."""

MAKES: dict[str, str] = {
    "DELETE /{collection:collection}/deleteStale": "deletes and names what the caller sees",
    "POST /changes/check": "keeps nothing; what is hidden is as what is not there (``test_change_checks.py``)",
    "POST /lineage": "what is hidden is as unknown as what is not there (``test_openlineage.py``)",
    "POST /openlineage/lineage": "as above",
    "POST /openlineage/lineage/batch": "as above",
    "POST /events/ingest": "for bots; what is hidden is refused (``test_ingest.py``)",
    "PUT /suggestions/accept-all": "of a hidden asset as of one that is not there: none (``test_suggestions.py``)",
    "PUT /suggestions/reject-all": "of a hidden asset as of one that is not there: none",
    "POST /tasks/bulk": "says of each task that it is not found (``test_tasks.py``)",
    "POST /queryCostRecord": "a malformed body is refused first; then the query is asked for as everywhere",
    "POST /{collection:collection}": "says only that the name is taken, as reading it does",
    "POST /{collection:collection}/bulk": "as above, row by row",
    "POST /dataQuality/testSuites/basic": "the table it names must be visible",
    "PUT /dataQuality/testSuites/basic": "the table it names must be visible",
    "POST /dataQuality/testSuites/executable": "the same by another name",
    "PUT /dataQuality/testSuites/executable": "the same by another name",
    "POST /users/{user_id}/follows": "what is hidden is not found, as what is not there (``test_follows.py``)",
    "POST /users/{user_id}/unfollow": "likewise",
    "POST /teams/{team_id}/follows": "likewise (``test_team_follows.py``)",
    "POST /teams/{team_id}/unfollow": "likewise",
    "POST /users/{user_id}/searches": "it names no asset; what its query finds is counted with one's rights",
    "PUT /searches/{search_id}/follow": "it is an alert of one's own",
    "DELETE /searches/{search_id}": "it is an alert of one's own",
    "POST /users/{user_id}/notifications/marks": "likewise (``test_inbox_marks.py``)",
    "POST /users/{user_id}/notifications/opened": "likewise (``test_page_links.py``)",
    "POST /events/subscriptions": "an alert of one's own; what it tells of is asked for every event",
    "PUT /events/subscriptions": "an alert of one's own, or Forbidden",
    "PUT /events/subscriptions/{subscription_id}/takeOver": "then the alert covers what the caller may view",
}
"""Routes that create something, and why they reveal nothing hidden."""

NO_ASSET: frozenset[str] = frozenset(
    {
        "POST /conditions/validate",
        "POST /events/subscriptions/capabilities",
        "POST /events/subscriptions/preview",
        "POST /events/subscriptions/validation/trigger",
        "POST /notificationTemplates/render",
        "POST /notificationTemplates/send",
        "POST /notificationTemplates/validate",
        "POST /events/deliveries/forget",
        "POST /events/deliveries/replays",
        "DELETE /events/deliveries/replays/{replay_id}",
        "PUT /notificationTemplates/name/{fqn}/reset",
        "PUT /notificationTemplates/{template_id}/reset",
        "POST /events/subscriptions/backtest",
        "DELETE /events/subscriptions/backtest/{backtest_id}",
        "POST /events/subscriptions/testDestination",
        "POST /events/subscriptions/validation/destination",
        "POST /search/aggregate",
        "POST /acknowledge/{token}",
        "POST /answer/{token}",
        "POST /auth/token",
        "POST /auth/session",
        "DELETE /auth/session",
        "PUT /auth/session/pushBrowser",
        "POST /auth/session/pushBrowser/test",
        "DELETE /auth/session/pushBrowser",
        "DELETE /auth/sessions/{session_id}",
        "POST /embed/tokens",
        "PUT /embed/inbox/seen",
        "PUT /embed/follows/{entity_type}/{fqn}",
        "DELETE /embed/follows/{entity_type}/{fqn}",
        "POST /follow/{token}",
        "POST /mute/{token}",
        "POST /slack/interactions",
        "POST /unsubscribe/{token}",
        "POST /usage/compute.percentile/{entity_type}/{date}",
        "PUT /users/changePassword",
        "PUT /users/generateToken/{user_id}",
        "POST /users/login",
        "POST /users/logout",
        "POST /lake/query",
        "DELETE /lake/queries/{query_id}",
        "PUT /events/consumers/{name}",
        "PUT /events/consumers/{name}/position",
        "DELETE /events/consumers/{name}",
        "PUT /system/preferences",
        "PUT /system/retention",
        "POST /system/retention/preview",
        "POST /system/retention/holds",
        "DELETE /system/retention/holds/{hold_id}",
        "POST /users/{user_id}/erase",
        "PUT /system/settings",
        "PUT /system/settings/reset/{name}",
        "PUT /users/revokeToken",
        "PUT /users/security/token",
        "PUT /users/security/token/revoke",
        "DELETE /users/{user_id}/feeds/{feed_id}",
        "DELETE /users/{user_id}/mutes/{about_id}",
        "DELETE /users/{user_id}/recommendations/{asset_id}/dismissal",
        "DELETE /users/{user_id}/standsInFor/{person_id}",
        "DELETE /users/{user_id}/substitute",
        "PUT /users/{user_id}/standsInFor/{person_id}",
        "PUT /users/{user_id}/substitute",
        "PUT /users/{user_id}/notifications/read",
        "PUT /users/{user_id}/notifications/seen",
        "PUT /users/{user_id}/preferences",
        "PUT /users/{user_id}/notifications/{notification_id}/read",
    }
)
"""Routes that write no asset: log-ins, tokens, what is one's own, questions that need a body."""


@dataclass
class HiddenTableSetup:
    """A hidden table with all that hangs on it, and somebody who may do everything but see what is hidden."""

    client: httpx.Client
    names: Mapping[str, str]

    def ask(self, method: str, path: str, body: Json) -> httpx.Response:
        url = _fill(path, self.names)
        if path.endswith(("/import?dryRun=true", "/inspectionQuery")):
            return self.client.request(method, url, content=body, headers={"Content-Type": "text/plain"})
        if body is None:
            return self.client.request(method, url)
        return self.client.request(method, url, json=_fill(body, self.names))


@pytest.fixture
def world(
    served: Served, administrator: httpx.Client, orders: Json, sqlite_engine: Engine
) -> Iterator[HiddenTableSetup]:
    user_id, client = served.person("mallory")
    domain = create_entity(administrator, "/domains", name="Sales", domainType="Aggregate", description="x")
    columns = [{"name": "pay", "dataType": "INT"}]
    hidden_table = table(administrator, "salaries", description=SECRET, tags=HIDDEN, columns=columns)
    quality = "/dataQuality"
    link = f"<#E::table::{_SALARIES}::columns::pay>"
    case = create_entity(
        administrator,
        f"{quality}/testCases",
        name="no_nulls",
        entityLink=link,
        testDefinition="columnValuesToBeNotNull",
        tags=HIDDEN,
    )
    failed_result = {"timestamp": 1, "testCaseStatus": "Failed"}
    assert administrator.post(f"{quality}/testCases/testCaseResults/{_CASE}", json=failed_result).is_success
    steps = administrator.get(f"{quality}/testCases/testCaseIncidentStatus").json()["data"]
    suite = create_entity(administrator, f"{quality}/testSuites", name="logical", tags=HIDDEN)
    create_entity(administrator, "/services/pipelineServices", name="airflow", serviceType="Airflow")
    create_entity(administrator, "/pipelines", name="load", service="airflow", tags=HIDDEN)
    create_entity(
        administrator,
        "/services/ingestionPipelines",
        name="nightly",
        service={"type": "databaseService", "fullyQualifiedName": "warehouse"},
        pipelineType="metadata",
        sourceConfig={},
        airflowConfig={},
    )
    query = create_entity(administrator, "/queries", query="SELECT 1", service="warehouse", tags=HIDDEN)
    team = create_entity(administrator, "/teams", name="hidden", teamType="Group")
    alert = create_entity(administrator, "/events/subscriptions", **_alert())
    _open_incident(administrator, sqlite_engine)
    thread = create_entity(administrator, "/feed", about=f"<#E::table::{_SALARIES}>", message=SECRET)
    posted_thread = administrator.post(f"/feed/{thread['id']}/posts", json={"message": SECRET}).json()
    task_details = {"type": "RequestDescription", "assignees": [{"type": "user", "id": user_id}]}
    about = f"<#E::table::{_SALARIES}::description>"
    task = create_entity(administrator, "/feed", about=about, message=SECRET, type="Task", taskDetails=task_details)
    link_of_table = f"<#E::table::{_SALARIES}>"
    suggestion = create_entity(administrator, "/suggestions", entityLink=link_of_table, description=SECRET)
    outage = create_entity(
        administrator,
        "/announcements",
        name="outage",
        description=SECRET,
        entityLink=f"<#E::table::{_SALARIES}>",
        startTime=1,
        endTime=2,
    )
    edge = {
        "fromEntity": {"type": "table", "id": hidden_table["id"]},
        "toEntity": {"type": "table", "id": orders["id"]},
    }
    assert administrator.put("/lineage", json={"edge": edge}).is_success
    announcement = {"kind": "removal", "date": hidden_table["updatedAt"] + 86_400_000, "why": SECRET}
    create_entity(administrator, "/changes", entity={"type": "table", "id": hidden_table["id"]}, **announcement)
    types = administrator.get("/metadata/types/name/table").json()
    restrict(
        administrator,
        user_id,
        {"effect": "allow"},
        {"effect": "deny", "condition": "matchAnyTag('PII.Sensitive')"},
        {"effect": "deny", "resources": ["team", "type", "eventsubscription", "ingestionPipeline"]},
    )
    names = {
        "table": hidden_table["id"],
        "fqn": _SALARIES,
        "seen": orders["id"],
        "seen_fqn": orders["fullyQualifiedName"],
        "user": user_id,
        "domain": domain["id"],
        "case": case["id"],
        "step": steps[0]["id"],
        "state": steps[0]["stateId"],
        "suite": suite["id"],
        "query": query["id"],
        "team": team["id"],
        "alert": alert["id"],
        "thread": thread["id"],
        "post": posted_thread["posts"][0]["id"],
        "task": str(task["task"]["id"]),
        "task_thread": task["id"],
        "announcement": outage["id"],
        "suggestion": suggestion["id"],
        "type": types["id"],
    }
    with client:
        yield HiddenTableSetup(client, names)


def test_every_route_that_writes_is_sorted(served: Served) -> None:
    routes = [route for route in served.app.router.routes if isinstance(route, APIRoute)]
    methods = [(route.path.removeprefix(API), method) for route in routes for method in route.methods or ()]
    writes = {f"{method} {path}" for path, method in methods if method not in ("GET", "HEAD")}
    assert writes == {*ON_ASSET, *BY_ROW, *MAKES, *NO_ASSET}


def test_a_write_on_what_is_hidden_is_refused_alike_whatever_is_sent(world: HiddenTableSetup) -> None:
    wrong: list[str] = []
    for route, (path, bodies) in ON_ASSET.items():
        method, _, _ = route.partition(" ")
        answers = {_outcome(world.ask(method, path, body)) for body in bodies}
        if len(answers) != 1 or not all(status in (403, 404) for status, _ in answers):
            wrong.append(f"{route}: {answers}")
        wrong += [f"{route} shows it: {notified}" for _, notified in answers if SECRET in notified]
    assert "\n".join(wrong) == ""


def test_each_row_about_what_is_hidden_is_refused_alike(world: HiddenTableSetup) -> None:
    for route, (path, bodies) in BY_ROW.items():
        method, _, _ = route.partition(" ")
        for body in bodies:
            answer = world.ask(method, path, body)
            (failed,) = answer.json()["failedRequest"]
            assert (failed["status"], "denies ViewBasic" in failed["message"]) == (403, True), (route, answer.text)


def test_a_precondition_does_not_tell_of_the_state(world: HiddenTableSetup) -> None:
    path = _fill("/tables/{table}", world.names)
    patch = [{"op": "add", "path": "/description", "value": "x"}]
    tags = ('"wrong"', "*", 'W/"wrong"')
    assert {_outcome(world.client.patch(path, json=patch, headers={"If-Match": tag})) for tag in tags} == {
        _outcome(world.client.patch(path, json=patch))
    }


def test_what_is_hidden_cannot_be_named_to_learn_its_name(world: HiddenTableSetup) -> None:
    hidden = {"type": "table", "id": world.names["table"]}
    request = {"name": "q", "query": "SELECT 2", "service": "warehouse", "queryUsedIn": [hidden]}
    answer = world.client.post("/queries", json=request)
    assert (answer.status_code, _SALARIES in answer.text) == (403, False)
    seen_path = _fill("/tables/{seen}", world.names)
    for owner in (hidden | {"type": "team", "id": world.names["team"]}, {"type": "team", "name": "hidden"}):
        answer = world.client.patch(seen_path, json=[{"op": "add", "path": "/owners", "value": [owner]}])
        assert (answer.status_code, "denies ViewBasic on this team" in answer.text) == (403, True)


def _alert() -> Json:
    return {
        "name": "hidden",
        "alertType": "Notification",
        "trigger": {"triggerType": "RealTime"},
        "filteringRules": {"resources": ["table"], "rules": []},
        "destinations": [{"category": "Owners", "type": "ActivityFeed"}],
    }


def _open_incident(administrator: httpx.Client, engine: Engine) -> None:
    """Let an alert match a failure of the hidden test: INC-1."""
    rules = {
        "resources": ["testCase"],
        "rules": [{"effect": "include", "condition": "testStatus == 'Failed'"}],
    }
    alert = create_entity(
        administrator,
        "/events/subscriptions",
        **{**_alert(), "name": "failures", "alertType": "Observability", "filteringRules": rules},
    )
    failed_result = {"timestamp": alert["updatedAt"] + 1, "testCaseStatus": "Failed"}
    assert administrator.post(f"/dataQuality/testCases/testCaseResults/{_CASE}", json=failed_result).is_success
    notify_all(engine)
    assert administrator.get("/incidents/INC-1").json()["entity"]["fullyQualifiedName"] == _CASE


def _outcome(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, str(answer.json().get("message"))


def _fill(template: Json, names: Mapping[str, str]) -> Json:
    """Return a path or a body with ids in place of ``{name}``."""
    if isinstance(template, str):
        for name, value in names.items():
            template = template.replace(f"{{{name}}}", value)
        return template
    if isinstance(template, dict):
        return {key: _fill(value, names) for key, value in template.items()}
    return [_fill(one, names) for one in template] if isinstance(template, list) else template
