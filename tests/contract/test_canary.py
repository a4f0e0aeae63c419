"""Tests of every route and stream that can show an asset: nothing of a hidden one is shown.

A route that is not classified here fails, so that new routes cannot be forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from urllib.parse import quote

import httpx
import pytest
from sqlalchemy import Engine
from tests.contract.canary import CANARY, Canaries, furnish, sings
from tests.serving import Json, Served, running_server, server_settings
from tests.soak import SOAK
from tests.startedstore import StartedStore

from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.server.http.paths import API
from tocsin.store.database.engine import open_engine
from tocsin.store.database.vault import use_vault

pytestmark = pytest.mark.xdist_group("canary")  # one worker has the catalogue that all of them look at

Probe = Callable[[Canaries], Iterable[str]]
_ALL = "fields=*&include=all&limit=1000"
_DETAILS = "severity,runbooks,failingRows"
_LATER = "asOf=253402300799999"

NO_ASSET = {
    "GET /auth/callback": "nobody is known yet",
    "GET /auth/login": "nobody is known yet",
    "GET /healthcheck": "says whether the server lives",
    "GET /events/lag": "numbers of readers of the log",
    "GET /events/lag/history": "numbers of all notifications",
    "GET /system/server/settings": "for administrators",
    "GET /system/server/quotas": "for administrators",
    "GET /events/consumers": "one's own consumers",
    "GET /events/consumers/{name}": "one's own consumers",
    "GET /system/version": "says which version answers",
    "GET /system/config/auth": "says how people log in",
    "GET /lake/queries": "one's own questions",
    "GET /lake/queries/{query_id}": "one's own; the pipeline answers it, which is not here (``test_lake_queries.py``)",
    "GET /rdf/context": "the same for everybody",
    "GET /rdf/ontology": "the same for everybody",
    "GET /rdf/shapes": "the same for everybody",
    "GET /system/retention": "for administrators",
    "GET /system/retention/holds": "for administrators",
    "GET /system/settings": "the same for everybody",
    "GET /system/settings/{name}": "the same for everybody",
    "GET /queries/{query_id}/costs": "numbers of a query, which every answer asks for first",
    "GET /services/testConnectionDefinitions/name/{connector}.testConnectionDefinition": "the same for everybody",
    "GET /acknowledge/{token}": "the token in a message says whose message it was; it names the incident alone",
    "GET /answer/{token}": "the token in a mail says whose mail it was; its page hides (``test_answer_links.py``)",
    "GET /follow/{token}": "the token in a mail says whose mail it was; it names an asset only to who may view it",
    "GET /mute/{token}": "the token in a message says whose message it was; it names no asset",
    "GET /atom/{token}": "the feed of who has its address: tests/contract/test_atom_feeds.py",
    "GET /embed/inbox": "by a token of an embed alone: tests/contract/test_embeds.py",
    "GET /embed/follows/{entity_type}/{fqn}": "by a token of an embed alone: tests/contract/test_embeds.py",
    "GET /unsubscribe/{token}": "the token in a mail says whose mail it was; it names the alert alone",
    "GET /users/loggedInUser": "one's own name",
    "GET /users/{user_id}/erase": "for administrators",
    "GET /openlineage/unresolved": "for administrators",
    "GET /users/security/token": "one's own tokens",
    "GET /auth/session": "one's own session",
    "GET /auth/session/pushBrowser": "one's own session",
    "GET /auth/sessions": "one's own sessions",
    "GET /users/auth-mechanism/{user_id}": "a bot's token",
    "GET /users/token/{user_id}": "a bot's token",
    "GET /permissions": "what one may do, by type",
    "GET /permissions/{resource}": "what one may do, by type",
    "GET /permissions/policies": "policies, and what is in them",
    "GET /teams/hierarchy": "teams and their names",
    "GET /changeKinds": "the words of preferences",
    "GET /system/preferences": "the words of preferences",
    "GET /events/subscriptions/functions": "the language of rules",
    "GET /events/subscriptions/resources": "the language of rules",
    "GET /events/subscriptions/{alert_type}/resources": "the language of rules",
    "GET /events/subscriptions/validation/condition/{expression}": "says whether a text is a rule",
    "GET /events/subscriptions/name/{name}/status/{destination_id}": "how a destination fares",
    "GET /events/subscriptions/{subscription_id}/status": "how destinations fare",
    "GET /events/subscriptions/{subscription_id}/status/{destination_id}": "how a destination fares",
    "GET /events/subscriptions/backtest/{backtest_id}": "one's own; the pipeline makes it, which is not here",
    "GET /events/deliveries/replays": "numbers of one's own replays",
    "GET /events/deliveries/replays/{replay_id}": "numbers of a replay of one's own",
    "GET /events/subscriptions/{subscription_id}/editors": "people, numbers for administrators",
    "GET /events/subscriptions/{subscription_id}/eventsRecord": "numbers of an alert",
    "GET /events/subscriptions/{by}/{key}/eventsRecord": "numbers of an alert",
    "GET /events/subscriptions/{subscription_id}/destinations": "how destinations fare",
    "GET /events/subscriptions/{by}/{key}/destinations": "how destinations fare",
    "GET /events/subscriptions/{subscription_id}/processedEvents": "yes or no",
    "GET /{collection}/documentation/csv": "the same for everybody",
    "POST /changes/check": "what is hidden is not found, and only counted where it reads (``test_change_checks.py``)",
    "POST /conditions/validate": "says whether a text is a rule",
    "POST /events/subscriptions/capabilities": "the language of rules",
    "POST /events/subscriptions/validation/trigger": "times of a schedule",
    "POST /events/subscriptions/preview": "an event as the caller may read it (``test_alert_drafts.py``)",
    "GET /notificationTemplates/helpers": "the language of templates",
    "POST /notificationTemplates/render": "an event as the caller may read it (``test_templates.py``)",
    "POST /notificationTemplates/send": "the same, to where the caller may send a test",
    "POST /notificationTemplates/validate": "says whether texts are templates",
}
"""Routes that read and show no asset, each with its reason."""

WRITES = frozenset(
    """
    DELETE /dataQuality/testCases/logicalTestCases/{suite_id}/{case_id}
    DELETE /dataQuality/testCases/testCaseResults/{fqn}/{timestamp}
    DELETE /dataQuality/testCases/{case_id}/failedRowsSample
    DELETE /dataQuality/testSuites/basic/{suite_id}
    DELETE /embed/follows/{entity_type}/{fqn}
    DELETE /events/deliveries/replays/{replay_id}
    DELETE /events/subscriptions/backtest/{backtest_id}
    DELETE /events/subscriptions/name/{name}
    DELETE /events/subscriptions/{subscription_id}
    DELETE /feed/{thread_id}
    DELETE /feed/{thread_id}/posts/{post_id}
    DELETE /lake/queries/{query_id}
    DELETE /lineage/source/name/{entity_type}/{fqn}/type/{source}
    DELETE /lineage/{entity_type}/{entity_id}/type/{source}
    DELETE /lineage/{from_type}/name/{from_fqn}/{to_type}/name/{to_fqn}
    DELETE /lineage/{from_type}/{from_id}/{to_type}/{to_id}
    DELETE /pipelines/{fqn}/status/{timestamp}
    DELETE /queries/{query_id}/usage
    DELETE /tables/{fqn}/{of}/{timestamp}/profile
    DELETE /tables/{table_id}/customMetric/{column}/{name}
    DELETE /tables/{table_id}/customMetric/{name}
    DELETE /tables/{table_id}/tableProfilerConfig
    DELETE /teams/{team_id}/users/{user_id}
    DELETE /users/{user_id}/mutes/{about_id}
    DELETE /users/{user_id}/recommendations/{asset_id}/dismissal
    DELETE /users/{user_id}/standsInFor/{person_id}
    DELETE /users/{user_id}/substitute
    DELETE /{collection}/name/{fqn}
    DELETE /{collection}/{entity_id}
    DELETE /{collection}/{entity_id}/followers/{user_id}
    DELETE /{collection}/{entity_id}/sampleData
    PATCH /dataQuality/testCases/testCaseIncidentStatus/{step_id}
    PATCH /dataQuality/testCases/testCaseResults/{fqn}/{timestamp}
    PATCH /events/subscriptions/name/{name}
    PATCH /events/subscriptions/{subscription_id}
    PATCH /feed/tasks/{number}
    PATCH /feed/{thread_id}
    PATCH /feed/{thread_id}/posts/{post_id}
    PATCH /lineage/{from_type}/name/{from_fqn}/{to_type}/name/{to_fqn}
    PATCH /lineage/{from_type}/{from_id}/{to_type}/{to_id}
    PATCH /{collection}/name/{fqn}
    PATCH /{collection}/{entity_id}
    POST /changes
    POST /changes/{request}/comments
    POST /changes/{request}/reminders
    PUT /changes/{request}/answer
    PUT /changes/{request}/move
    PUT /changes/{request}/withdraw
    POST /dataQuality/testCases/testCaseIncidentStatus
    POST /announcements
    PUT /announcements
    PATCH /announcements/{announcement_id}
    DELETE /announcements/{announcement_id}
    POST /conversations
    PATCH /conversations/{conversation_id}
    DELETE /conversations/{conversation_id}
    PUT /conversations/{conversation_id}/reaction/{reaction}
    DELETE /conversations/{conversation_id}/reaction/{reaction}
    POST /conversations/{conversation_id}/replies
    PATCH /conversations/{conversation_id}/replies/{reply_id}
    DELETE /conversations/{conversation_id}/replies/{reply_id}
    PUT /conversations/{conversation_id}/replies/{reply_id}/reaction/{reaction}
    DELETE /conversations/{conversation_id}/replies/{reply_id}/reaction/{reaction}
    POST /suggestions
    PUT /suggestions/accept-all
    PUT /suggestions/reject-all
    PUT /suggestions/{suggestion_id}
    PUT /suggestions/{suggestion_id}/accept
    PUT /suggestions/{suggestion_id}/reject
    DELETE /suggestions/{suggestion_id}
    POST /tasks
    POST /tasks/bulk
    PATCH /tasks/{task_id}
    DELETE /tasks/{task_id}
    POST /tasks/{task_id}/resolve
    POST /tasks/{task_id}/close
    POST /tasks/{task_id}/comments
    PUT /tasks/{task_id}/suggestion/apply
    POST /dataQuality/testCases/testCaseResults/{fqn}
    POST /dataQuality/testSuites/basic
    POST /events/deliveries/forget
    POST /events/deliveries/replays
    POST /events/subscriptions
    POST /events/subscriptions/backtest
    POST /events/subscriptions/{subscription_id}/queue/acknowledge
    POST /events/subscriptions/{subscription_id}/queue/claim
    POST /events/subscriptions/{subscription_id}/queue/extend
    POST /events/subscriptions/{subscription_id}/queue/release
    POST /events/ingest
    POST /events/subscriptions/testDestination
    POST /events/subscriptions/validation/destination
    POST /feed
    POST /feed/{thread_id}/posts
    POST /lake/query
    POST /lineage
    POST /lineage/events
    POST /openlineage/lineage
    POST /openlineage/lineage/batch
    POST /acknowledge/{token}
    POST /answer/{token}
    POST /follow/{token}
    POST /mute/{token}
    POST /slack/interactions
    POST /unsubscribe/{token}
    POST /queryCostRecord
    POST /usage/compute.percentile/{entity_type}/{date}
    DELETE /{collection}/deleteStale
    DELETE /{collection}/async/{entity_id}
    POST /usage/{entity_type}/name/{fqn}
    POST /usage/{entity_type}/{entity_id}
    POST /auth/token
    POST /auth/session
    DELETE /auth/session
    PUT /auth/session/pushBrowser
    POST /auth/session/pushBrowser/test
    DELETE /auth/session/pushBrowser
    DELETE /auth/sessions/{session_id}
    POST /users/login
    POST /users/{user_id}/erase
    POST /users/{user_id}/follows
    POST /users/{user_id}/unfollow
    POST /teams/{team_id}/follows
    POST /teams/{team_id}/unfollow
    POST /users/{user_id}/searches
    POST /users/{user_id}/feeds
    DELETE /users/{user_id}/feeds/{feed_id}
    PUT /searches/{search_id}/follow
    DELETE /searches/{search_id}
    POST /users/logout
    POST /{collection}
    POST /{collection}/bulk
    POST /{collection}/name/{fqn}/rollback
    POST /{collection}/{entity_id}/rollback
    PUT /columns/name/{fqn}
    PUT /events/consumers/{name}
    PUT /events/consumers/{name}/position
    DELETE /events/consumers/{name}
    POST /addresses/{holder_id}/{channel}/code
    POST /addresses/{holder_id}/{channel}/verify
    PUT /addresses/{holder_id}/{channel}
    DELETE /addresses/{holder_id}/{channel}
    PUT /system/preferences
    PUT /system/retention
    POST /system/retention/preview
    POST /system/retention/holds
    DELETE /system/retention/holds/{hold_id}
    PUT /system/settings
    PUT /system/settings/reset/{name}
    PUT /dataQuality/testCases/logicalTestCases
    PUT /dataQuality/testCases/{case_id}/failedRowsSample
    PUT /dataQuality/testCases/{case_id}/inspectionQuery
    PUT /dataQuality/testCases/{fqn}/testCaseResult
    PUT /dataQuality/testSuites/basic
    PUT /events/subscriptions
    PUT /events/subscriptions/name/{name}/syncOffset
    PUT /events/subscriptions/{subscription_id}/status/{destination_id}
    PUT /events/subscriptions/{subscription_id}/syncOffset
    PUT /events/subscriptions/{subscription_id}/takeOver
    PUT /feed/tasks/{number}/close
    PUT /feed/tasks/{number}/resolve
    PUT /incidents/{incident}/acknowledge
    PUT /incidents/{incident}/assign
    PUT /incidents/{incident}/comment
    PUT /incidents/{incident}/dismiss-cause
    PUT /incidents/{incident}/restore-cause
    PUT /incidents/{incident}/merge
    PUT /incidents/{incident}/resolve
    PUT /incidents/{incident}/split
    PUT /lineage
    POST /embed/tokens
    PUT /embed/follows/{entity_type}/{fqn}
    PUT /embed/inbox/seen
    PUT /lineage/{from_type}/name/{from_fqn}/{to_type}/name/{to_fqn}
    PUT /metadata/types/{type_id}
    PUT /notificationTemplates/name/{fqn}/reset
    PUT /notificationTemplates/{template_id}/reset
    PUT /pipelines/{fqn}/status
    PUT /pipelines/{fqn}/status/bulk
    PUT /queries/{query_id}/usage
    PUT /queries/{query_id}/usedBy
    PUT /queries/{query_id}/users
    PUT /services/ingestionPipelines/{fqn}/pipelineStatus
    PUT /tables/{table_id}/customMetric
    PUT /tables/{table_id}/dataModel
    PUT /tables/{table_id}/joins
    PUT /tables/{table_id}/pipelineObservability
    PUT /tables/{table_id}/pipelineObservability/{pipeline}
    PUT /tables/{table_id}/tableProfile
    PUT /tables/{table_id}/tableProfilerConfig
    PUT /teams/{team_id}/preferences
    PUT /teams/{team_id}/users
    PUT /usage/{entity_type}/name/{fqn}
    PUT /usage/{entity_type}/{entity_id}
    PUT /users/changePassword
    PUT /users/generateToken/{user_id}
    PUT /users/revokeToken
    PUT /users/security/token
    PUT /users/security/token/revoke
    PUT /users/{user_id}/follows/bulk
    PUT /users/{user_id}/following/{followed_id}/preferences
    PUT /users/{user_id}/mutes
    PUT /users/{user_id}/notifications/read
    PUT /users/{user_id}/recommendations/{asset_id}/dismissal
    PUT /users/{user_id}/notifications/seen
    PUT /users/{user_id}/standsInFor/{person_id}
    PUT /users/{user_id}/substitute
    POST /users/{user_id}/notifications/marks
    POST /users/{user_id}/notifications/opened
    PUT /users/{user_id}/notifications/{notification_id}/read
    PUT /users/{user_id}/preferences
    PUT /{collection}
    PUT /{collection}/bulk
    PUT /{collection}/name/{fqn}/import
    PUT /{collection}/restore
    PUT /{collection}/{entity_id}/followers
    PUT /{collection}/{entity_id}/followers/{user_id}
    PUT /{collection}/{entity_id}/sampleData
    PUT /{collection}/{entity_id}/vote
    PUT /{collection}/{group}/assets/{change}
    """.strip().splitlines()
)
"""Routes that write. They ask for the right first (``test_every_route_asks.py``) and answer with what was written."""


def _probe_each(template: str, *, query: str = "") -> Probe:
    """Ask a route of a collection for each thing in it, by id and by name."""

    def probe(aviary: Canaries) -> Iterator[str]:
        for collection in aviary.collections():
            for entity in aviary.every(collection):
                name = quote(entity["fullyQualifiedName"], safe="")
                values = {"collection": collection, "id": entity["id"], "name": name}
                yield template.format(**values, type=_type_of(collection)) + (f"?{query}" if query else "")

    return probe


def _probe_of(collection: str, template: str, *, query: str = "") -> Probe:
    """Ask a route for each thing in one collection."""

    def probe(aviary: Canaries) -> Iterator[str]:
        for entity in aviary.every(collection):
            name = quote(entity["fullyQualifiedName"], safe="")
            yield template.format(id=entity["id"], name=name) + (f"?{query}" if query else "")

    return probe


def _events(template: str) -> Probe:
    return lambda aviary: (template.format(id=one["id"]) for one in aviary.events)


def _events_of_each_kind(template: str) -> Probe:
    """Ask a route for one event of each kind about what is hidden and one about what is not.

    To explain an event takes as long as to read fifty; ``make soak`` asks for all.
    """

    def probe(aviary: Canaries) -> Iterator[str]:
        hidden_ids = {one["id"] for many in aviary.hidden.values() for one in many}
        events = {
            (event["eventType"], event["entityType"], event["entityId"] in hidden_ids): event for event in aviary.events
        }
        yield from (template.format(id=event["id"]) for event in (aviary.events if SOAK else events.values()))

    return probe


def _alerts(template: str) -> Probe:
    return lambda aviary: (template.format(id=one["id"]) for one in aviary.open["events/subscriptions"])


def _threads(template: str) -> Probe:
    return lambda aviary: (template.format(id=one["id"]) for one in aviary.threads)


def _always(*paths: str) -> Probe:
    return lambda _: paths


def _probe_all(*probes: Probe) -> Probe:
    return lambda aviary: (path for probe in probes for path in probe(aviary))


def _collections(template: str) -> Probe:
    return lambda _: (template.format(collection=row.collection) for row in ENTITY_TYPES.values())


def _me(template: str) -> Probe:
    return lambda aviary: (template.format(id=aviary.mallory_id),)


def _people(template: str) -> Probe:
    return lambda aviary: (template.format(id=one) for one in (aviary.mallory_id, aviary.zoe_id))


def _edges(aviary: Canaries) -> Iterator[str]:
    tables = aviary.every("tables")
    yield from (f"/lineage/getLineageEdge/{one['id']}/{other['id']}" for one in tables for other in tables)


def _named_edges(aviary: Canaries) -> Iterator[str]:
    names = [f"table/name/{quote(one['fullyQualifiedName'], safe='')}" for one in aviary.every("tables")]
    yield from (f"/lineage/getLineageEdge/{one}/{other}" for one in names for other in names)


def _filters(aviary: Canaries) -> Iterator[str]:
    yield "/events?limit=10000"
    yield from (f"/events?limit=10000&format={shape}" for shape in ("default", "seed", "tocsin", "cloudEvents", "csv"))
    yield from (f"/events?limit=1000&format={shape}" for shape in ("jsonld", "turtle", "ntriples"))
    for table in aviary.every("tables"):
        yield f"/events?limit=10000&entityId={table['id']}"
    for query in ("entityCreated=*", "entityUpdated=table", "entityDeleted=*", "eventType=policyViolation"):
        yield f"/events?limit=10000&{query}"
    yield "/events?limit=1&userName=admin"


def _search_probe(template: str) -> Probe:
    return lambda _: (template.format(word) for word in (CANARY, f"{CANARY}_case", "%2A", "email", "mixed"))


def _type_of(collection: str) -> str:
    return next(name for name, row in ENTITY_TYPES.items() if row.collection == collection)


_CASES = "/dataQuality/testCases"
_SHOWS: dict[str, Probe] = {
    f"GET {_CASES}/testCaseIncidentStatus": _probe_all(
        _always(f"{_CASES}/testCaseIncidentStatus", f"{_CASES}/testCaseIncidentStatus?latest=true"),
    ),
    f"GET {_CASES}/testCaseIncidentStatus/stateId/{{state_id}}": lambda aviary: (
        f"{_CASES}/testCaseIncidentStatus/stateId/{one['stateId']}" for one in aviary.steps
    ),
    f"GET {_CASES}/testCaseIncidentStatus/{{step_id}}": lambda aviary: (
        f"{_CASES}/testCaseIncidentStatus/{one['id']}" for one in aviary.steps
    ),
    f"GET {_CASES}/testCaseResults/{{fqn}}": _probe_of("dataQuality/testCases", f"{_CASES}/testCaseResults/{{name}}"),
    f"GET {_CASES}/testCaseResults/{{fqn}}/latest": _probe_of(
        "dataQuality/testCases", f"{_CASES}/testCaseResults/{{name}}/latest"
    ),
    f"GET {_CASES}/{{case_id}}/failedRowsSample": _probe_of(
        "dataQuality/testCases", f"{_CASES}/{{id}}/failedRowsSample"
    ),
    "GET /events": _filters,
    "GET /events/deliveries": _always("/events/deliveries?limit=100", "/events/deliveries?limit=100&reason=badUrl"),
    "GET /events/deliveries/{message_id}": lambda aviary: (
        f"/events/deliveries/{message_id}" for message_id in aviary.message_ids
    ),
    "GET /events/subscriptions/{subscription_id}/diagnosticInfo": _alerts(
        "/events/subscriptions/{id}/diagnosticInfo?limit=100"
    ),
    "GET /events/subscriptions/{by}/{key}/diagnosticInfo": _alerts(
        "/events/subscriptions/id/{id}/diagnosticInfo?limit=100"
    ),
    "GET /events/subscriptions/{subscription_id}/failedEvents": _alerts(
        "/events/subscriptions/{id}/failedEvents?limit=100"
    ),
    "GET /events/subscriptions/{by}/{key}/failedEvents": _alerts(
        "/events/subscriptions/id/{id}/failedEvents?limit=100"
    ),
    "GET /events/subscriptions/{subscription_id}/listEvents": _alerts(
        "/events/subscriptions/{id}/listEvents?limit=100"
    ),
    "GET /events/subscriptions/{by}/{key}/listEvents": _alerts("/events/subscriptions/id/{id}/listEvents?limit=100"),
    "GET /events/subscriptions/{subscription_id}/listSuccessfullySentChangeEvents": _alerts(
        "/events/subscriptions/{id}/listSuccessfullySentChangeEvents?limit=100"
    ),
    "GET /events/subscriptions/{by}/{key}/listSuccessfullySentChangeEvents": _alerts(
        "/events/subscriptions/id/{id}/listSuccessfullySentChangeEvents?limit=100"
    ),
    "GET /events/subscriptions/{subscription_id}/logs": _alerts("/events/subscriptions/{id}/logs?limit=500"),
    "GET /events/subscriptions/listAllFailedEvents": _always("/events/subscriptions/listAllFailedEvents?limit=100"),
    "GET /events/subscriptions/noise": _always("/events/subscriptions/noise?limit=1000"),
    "GET /events/subscriptions/{subscription_id}/destinationFigures": lambda aviary: (
        f"/events/subscriptions/{one['id']}/destinationFigures" for one in aviary.open["events/subscriptions"]
    ),
    "GET /events/subscriptions/{subscription_id}/noise": lambda aviary: (
        f"/events/subscriptions/{one['id']}/noise" for one in aviary.open["events/subscriptions"]
    ),
    "GET /events/subscriptions/{subscription_id}/history": lambda aviary: (
        f"/events/subscriptions/{one['id']}/history?limit=500" for one in aviary.open["events/subscriptions"]
    ),
    "GET /suggestions": _always("/suggestions?limit=100", "/suggestions?limit=1"),
    "GET /suggestions/{suggestion_id}": lambda aviary: (f"/suggestions/{one}" for one in aviary.suggestion_ids),
    "GET /activity": _always("/activity?limit=200", "/activity?limit=1", "/activity?limit=200&entityType=table"),
    "GET /activity/my-feed": _always("/activity/my-feed?limit=200"),
    "GET /activity/following": _always("/activity/following?limit=200"),
    "GET /activity/count": _always("/activity/count"),
    "GET /activity/user/{user_id}": lambda aviary: (f"/activity/user/{aviary.mallory_id}?limit=200",),
    "GET /activity/entity/{entity_type}/{entity_id}": _probe_each("/activity/entity/{type}/{id}"),
    "GET /activity/entity/{entity_type}/name/{fqn}": lambda aviary: (
        f"/activity/entity/table/name/{one['fullyQualifiedName']}" for one in aviary.every("tables")
    ),
    "GET /activity/about": lambda aviary: (
        f"/activity/about?entityLink=<%23E::table::{one['fullyQualifiedName']}>" for one in aviary.every("tables")
    ),
    "GET /tasks": _always("/tasks?limit=100&fields=comments", "/tasks?limit=1"),
    "GET /announcements": _always("/announcements?limit=100", "/announcements?limit=1"),
    "GET /announcements/{announcement_id}": _threads("/announcements/{id}"),
    "GET /announcements/name/{fqn}": _threads("/announcements/name/{id}"),
    "GET /conversations": _always("/conversations?limit=100", "/conversations?limit=1"),
    "GET /conversations/{conversation_id}": _threads("/conversations/{id}"),
    "GET /conversations/{conversation_id}/replies": _threads("/conversations/{id}/replies"),
    "GET /tasks/count": _always("/tasks/count", "/tasks/count?view=visible"),
    "GET /tasks/assigned": _always("/tasks/assigned?limit=100"),
    "GET /tasks/owned": _always("/tasks/owned?limit=100"),
    "GET /tasks/created": _always("/tasks/created?limit=100"),
    "GET /tasks/visible": _always("/tasks/visible?limit=100"),
    "GET /tasks/{task_id}": lambda aviary: (
        f"/tasks/{one}" for one in (*(one["stateId"] for one in aviary.steps), *(one["id"] for one in aviary.threads))
    ),
    "GET /tasks/name/{name}": lambda aviary: (
        f"/tasks/name/TASK-{one['task']['id']:05d}" for one in aviary.threads if "task" in one
    ),
    "GET /incidents": _always("/incidents?limit=500", "/incidents?limit=1"),
    "GET /incidents/figures": _always("/incidents/figures"),
    "GET /incidents/{incident}": lambda aviary: (
        f"/incidents/{one[key]}" for one in aviary.incidents for key in ("id", "name")
    ),
    "GET /changes": _always("/changes?limit=500", "/changes?limit=1"),
    "GET /changes/{request}": lambda aviary: (
        f"/changes/{one[key]}" for one in aviary.change_requests for key in ("id", "name")
    ),
    "GET /changes/{request}/consumers": lambda aviary: (
        f"/changes/{one['name']}/consumers?limit={limit}" for one in aviary.change_requests for limit in (1, 500)
    ),
    "GET /changes/{request}/timeline": lambda aviary: (
        f"/changes/{one['name']}/timeline" for one in aviary.change_requests
    ),
    "GET /events/{event_id}": _probe_all(
        _events("/events/{id}?format=tocsin"), _events("/events/{id}?format=ntriples")
    ),
    "GET /events/{event_id}/origin": _events("/events/{id}/origin"),
    "GET /rdf/entity/{entity_type}/{entity_id}": _probe_each("/rdf/entity/{type}/{id}", query="format=turtle"),
    "GET /events/{event_id}/explain": _probe_all(
        _events_of_each_kind("/events/{id}/explain"),
        _events_of_each_kind("/events/{id}/explain?user=mallory&limit=100"),
    ),
    "GET /events/{event_id}/audience": _events("/events/{id}/audience"),
    "GET /events/{event_id}/impact": _events("/events/{id}/impact"),
    "GET /entity/profiles/{entity_type}": _always(
        "/entity/profiles/table", *(f"/entity/profiles/table?profileType={of}" for of in ("table", "column", "system"))
    ),
    "GET /feed": _always("/feed?limit=100", "/feed?type=Task", "/feed?limitPosts=100"),
    "GET /feed/count": lambda aviary: (
        f"/feed/count?entityLink=%3C%23E::table::{one['fullyQualifiedName']}%3E" for one in aviary.every("tables")
    ),
    "GET /feed/tasks/{number}": lambda aviary: (
        f"/feed/tasks/{one['task']['id']}" for one in aviary.threads if "task" in one
    ),
    "GET /feed/{thread_id}": _threads("/feed/{id}"),
    "GET /feed/{thread_id}/posts": _threads("/feed/{id}/posts"),
    "GET /lineage/counts": _probe_of("tables", "/lineage/counts?assets={id}"),
    "GET /lineage/getLineage": _probe_of("tables", "/lineage/getLineage?type=table&fqn={name}"),
    "GET /lineage/getLineageEdge/{from_id}/{to_id}": _edges,
    "GET /lineage/getLineageEdge/{from_type}/name/{from_fqn}/{to_type}/name/{to_fqn}": _named_edges,
    "GET /lineage/{entity_type}/name/{fqn}": _probe_of("tables", "/lineage/table/name/{name}", query="upstreamDepth=5"),
    "GET /lineage/{entity_type}/name/{fqn}/impact": _probe_of("tables", "/lineage/table/name/{name}/impact"),
    "GET /lineage/{entity_type}/name/{fqn}/impact/columns": _probe_of(
        "tables", "/lineage/table/name/{name}/impact/columns"
    ),
    "GET /lineage/{entity_type}/{entity_id}": _probe_of("tables", "/lineage/table/{id}", query="downstreamDepth=5"),
    "GET /lineage/{entity_type}/{entity_id}/impact": _probe_of("tables", "/lineage/table/{id}/impact"),
    "GET /lineage/{entity_type}/{entity_id}/impact/columns": _probe_of("tables", "/lineage/table/{id}/impact/columns"),
    "GET /permissions/{resource}/name/{fqn}": _probe_each("/permissions/{type}/name/{name}"),
    "GET /permissions/{resource}/{entity_id}": _probe_each("/permissions/{type}/{id}"),
    "GET /pipelines/{fqn}/status": _probe_of("tables", "/pipelines/{name}/status"),
    "GET /search/aggregate": _probe_all(
        _always(*(f"/search/aggregate?index=all&field={one}" for one in ("name.keyword", "tags.tagFQN", "entityType"))),
        _always("/search/aggregate?index=all&field=fullyQualifiedName"),
    ),
    "POST /search/aggregate": _always(),
    "GET /search/fieldQuery": _search_probe("/search/fieldQuery?fieldName=name&fieldValue={}&index=all"),
    "GET /search/query": _search_probe("/search/query?q={}&index=all&size=100"),
    "GET /search/suggest": _search_probe("/search/suggest?q={}&index=all"),
    "GET /services/ingestionPipelines/{fqn}/pipelineStatus": _probe_of(
        "tables", "/services/ingestionPipelines/{name}/pipelineStatus"
    ),
    "GET /services/ingestionPipelines/{fqn}/pipelineStatus/{run_id}": _probe_of(
        "tables", "/services/ingestionPipelines/{name}/pipelineStatus/x"
    ),
    "GET /columns/name/{fqn}": _probe_of("tables", "/columns/name/{name}.email"),
    "GET /tables/{table_id}/columns": _probe_of("tables", "/tables/{id}/columns?include=all"),
    "GET /tables/name/{fqn}/columns": _probe_of("tables", "/tables/name/{name}/columns?include=all"),
    "GET /tables/{fqn}/columnProfile": _probe_of("tables", "/tables/{name}.email/columnProfile"),
    "GET /tables/{fqn}/systemProfile": _probe_of("tables", "/tables/{name}/systemProfile"),
    "GET /tables/{fqn}/tableProfile": _probe_of("tables", "/tables/{name}/tableProfile"),
    "GET /tables/{fqn}/tableProfile/latest": _probe_of("tables", "/tables/{name}/tableProfile/latest"),
    "GET /tables/{table_id}/pipelineObservability": _probe_of("tables", "/tables/{id}/pipelineObservability"),
    "GET /tables/{table_id}/tableProfilerConfig": _probe_of("tables", "/tables/{id}/tableProfilerConfig"),
    "GET /usage/{entity_type}/name/{fqn}": _probe_each("/usage/{type}/name/{name}"),
    "GET /usage/{entity_type}/{entity_id}": _probe_each("/usage/{type}/{id}"),
    "GET /users/{user_id}/activity": _me("/users/{id}/activity?limit=1000"),
    "GET /users/{user_id}/feeds": _me("/users/{id}/feeds"),
    "GET /users/{user_id}/follows": _people("/users/{id}/follows"),
    "GET /users/{user_id}/following/summary": _me("/users/{id}/following/summary"),
    "GET /users/{user_id}/following": _probe_all(
        _me("/users/{id}/following?limit=1000&sortField=told"), _me("/users/{id}/following?q=kanarien")
    ),
    "GET /users/{user_id}/mutes": _me("/users/{id}/mutes"),
    "GET /users/{user_id}/recommendations": _probe_all(
        _me("/users/{id}/recommendations?limit=30"), _me("/users/{id}/recommendations?dismissed=true")
    ),
    "GET /users/{user_id}/substitute": _me("/users/{id}/substitute"),
    "GET /users/{user_id}/searches": _me("/users/{id}/searches"),
    "GET /searches/{search_id}": _alerts("/searches/{id}"),
    "GET /addresses/{holder_id}": _probe_of("teams", "/addresses/{id}"),
    "GET /users/{user_id}/preferences": _me("/users/{id}/preferences"),
    "GET /users/{user_id}/preferences/effective": _me("/users/{id}/preferences/effective"),
    "GET /users/{user_id}/preferences/month": _me("/users/{id}/preferences/month"),
    "GET /teams/{team_id}/follows": _probe_of("teams", "/teams/{id}/follows"),
    "GET /teams/{team_id}/preferences": _probe_of("teams", "/teams/{id}/preferences"),
    "GET /users/{user_id}/digest": _me("/users/{id}/digest"),
    "GET /users/{user_id}/healthSummary": _me("/users/{id}/healthSummary"),
    "GET /users/{user_id}/notifications/assets": _me("/users/{id}/notifications/assets?limit=100"),
    "GET /users/{user_id}/notifications/counts": _me("/users/{id}/notifications/counts?tab=all"),
    "GET /users/{user_id}/notifications/causes": _me("/users/{id}/notifications/causes?limit=100"),
    "GET /users/{user_id}/notifications/causes/{cause_id}/audience": _me(
        "/users/{id}/notifications/causes/0123456789abcdef.1.999999/audience"
    ),
    "GET /users/{user_id}/notifications": _me(f"/users/{{id}}/notifications?limit=1000&fields={_DETAILS}"),
    "GET /{collection}": _collections(f"/{{collection}}?{_ALL}"),
    "GET /{collection}/history": _collections("/{collection}/history?startTs=0&endTs=9000000000000&limit=500"),
    "GET /{collection}/name/{fqn}": _probe_all(
        _probe_each("/{collection}/name/{name}", query=_ALL),
        _probe_each("/{collection}/name/{name}", query=f"{_LATER}&include=all"),
    ),
    "GET /{collection}/name/{fqn}/ancestors": _probe_each("/{collection}/name/{name}/ancestors"),
    "GET /{collection}/name/{fqn}/assets": _probe_each("/{collection}/name/{name}/assets"),
    "GET /{collection}/name/{fqn}/context": _probe_each("/{collection}/name/{name}/context"),
    "GET /{collection}/name/{fqn}/children": _probe_each("/{collection}/name/{name}/children"),
    "GET /{collection}/name/{fqn}/diff": _probe_each("/{collection}/name/{name}/diff"),
    "GET /{collection}/name/{fqn}/export": _probe_each("/{collection}/name/{name}/export"),
    "GET /{collection}/{entity_id}": _probe_all(
        _probe_each("/{collection}/{id}", query=_ALL),
        _probe_each("/{collection}/{id}", query=f"{_LATER}&include=all"),
        _probe_each("/{collection}/{id}", query="fields=*&include=all&format=jsonld"),
        _people("/users/{id}?fields=*"),
    ),
    "GET /{collection}/{entity_id}/alerts": _probe_each("/{collection}/{id}/alerts"),
    "GET /{collection}/{entity_id}/activity": _probe_each("/{collection}/{id}/activity?limit=1000"),
    "GET /{collection}/{entity_id}/assets": _probe_each("/{collection}/{id}/assets"),
    "GET /{collection}/{entity_id}/diff": _probe_all(
        _probe_each("/{collection}/{id}/diff"), _probe_each("/{collection}/{id}/diff?from=0.1&to=0.2")
    ),
    "GET /{collection}/{entity_id}/followers": _probe_each("/{collection}/{id}/followers"),
    "GET /{collection}/{entity_id}/sampleData": _probe_each("/{collection}/{id}/sampleData"),
    "GET /{collection}/{entity_id}/versions": _probe_all(
        _probe_each("/{collection}/{id}/versions?words=true"), _probe_each("/glossaries/{id}/versions")
    ),
    "GET /{collection}/{entity_id}/versions/{version}": _probe_all(
        _probe_each("/{collection}/{id}/versions/0.1"),
        _probe_each("/{collection}/{id}/versions/0.2"),
        _probe_each("/glossaries/{id}/versions/0.1"),
    ),
}
"""What is asked of each route that shows assets, or parts of them."""

_STREAMS = {"GET /users/{user_id}/notifications/stream": "test_the_stream_says_nothing_of_what_is_hidden"}
"""Streams, each with the test that listens to it."""


@pytest.fixture(scope="module")
def store(started_store: StartedStore, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    path = tmp_path_factory.mktemp("canaries") / "tocsin.db"
    path.write_bytes(started_store.path.read_bytes())
    engine = open_engine(f"sqlite:///{path}", synchronous="OFF", most_connections=40)
    use_vault(engine, server_settings())
    yield engine
    engine.dispose()


@pytest.fixture(scope="module")
def administrator(store: Engine, started_store: StartedStore) -> Iterator[tuple[Served, httpx.Client]]:
    """The server that all tests read from, and a client of its administrator."""
    with (
        running_server(store, password=started_store.password, token=started_store.token) as served,
        served.administrator() as client,
    ):
        yield served, client


@pytest.fixture(scope="module")
def aviary_and_mallory(
    store: Engine, administrator: tuple[Served, httpx.Client]
) -> Iterator[tuple[Canaries, httpx.Client]]:
    aviary, mallory = furnish(*administrator, store)
    with closing(mallory):
        yield aviary, mallory


def leaks_of(person: httpx.Client, aviary: Canaries, *, last: int | None = None) -> str:
    """Return what each route says to somebody of what is hidden; empty if nothing.

    Each route is asked for all, or for the ``last`` few: what is hidden comes last.
    """
    leaks: dict[str, str] = {}
    for route, probe in _SHOWS.items():
        for path in list(probe(aviary))[-(last or 0) :]:
            answer = person.get(path)
            assert answer.status_code < 500, (path, answer.text)
            if sings(f"{answer.headers}{answer.text}", aviary, path):
                at = answer.text.find(CANARY)
                leaks.setdefault(route, f"{path}: {answer.text[max(0, at - 200) : at + 60]}")
    return "\n\n".join(f"{route}\n   {said}" for route, said in leaks.items())


def test_no_route_shows_what_one_may_not_see(aviary_and_mallory: tuple[Canaries, httpx.Client]) -> None:
    aviary, mallory = aviary_and_mallory
    assert leaks_of(mallory, aviary) == ""


def test_what_is_recommended_is_open_and_for_open_reasons(aviary_and_mallory: tuple[Canaries, httpx.Client]) -> None:
    aviary, mallory = aviary_and_mallory
    entries = mallory.get(f"/users/{aviary.mallory_id}/recommendations").json()["data"]
    reasons = [(one["asset"]["name"], [reason["kind"] for reason in one["reasons"]]) for one in entries]
    assert reasons == [("public", ["domain"])]


def test_no_event_of_what_is_hidden_is_there(aviary_and_mallory: tuple[Canaries, httpx.Client]) -> None:
    aviary, mallory = aviary_and_mallory
    page = mallory.get("/events", params={"limit": 10_000, "format": "tocsin"}).json()
    assert len(page["data"]) > 5, "what is open is still notified"
    hidden = {one["id"] for many in aviary.hidden.values() for one in many}
    assert not {one["entityId"] for one in page["data"]} & hidden


def test_the_administrator_is_shown_everything(
    aviary_and_mallory: tuple[Canaries, httpx.Client], administrator: tuple[Served, httpx.Client]
) -> None:
    (aviary, _), (_served, client) = aviary_and_mallory, administrator
    silent = [
        path
        for route in ("GET /events", "GET /feed", "GET /search/query", "GET /lineage/getLineage")
        for path in list(_SHOWS[route](aviary))[:1]
        if CANARY not in client.get(path).text
    ]
    assert silent == []


def test_the_stream_says_nothing_of_what_is_hidden(aviary_and_mallory: tuple[Canaries, httpx.Client]) -> None:
    aviary, mallory = aviary_and_mallory
    listed = mallory.get(f"/users/{aviary.mallory_id}/notifications?limit=1000").json()["data"]
    assert len(listed) > 5, "what is open is still notified"
    lines: list[str] = []
    path = f"/users/{aviary.mallory_id}/notifications/stream"
    with mallory.stream("GET", path, headers={"Last-Event-ID": "0"}) as stream:
        for line in stream.iter_lines():
            lines.append(line)
            if sum(one.startswith("data:") for one in lines) == len(listed):
                break
    assert not sings("\n".join(lines), aviary, path)


def test_every_route_is_classified(served: Served) -> None:
    paths: Json = served.app.openapi()["paths"]
    routes = {f"{method.upper()} {path.removeprefix(API)}" for path, methods in paths.items() for method in methods}
    classes = [set(_SHOWS), set(NO_ASSET), set(_STREAMS), {route.strip() for route in WRITES}]
    assert routes - set().union(*classes) == set(), "say what these show, or why they show no asset"
    assert set().union(*classes) - routes == set(), "these are there no more"
    assert sum(len(some) for some in classes) == len(set().union(*classes)), "each belongs to one"
