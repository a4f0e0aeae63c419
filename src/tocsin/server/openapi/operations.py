"""Table of operations: the body that each one reads, and its response.

``{}`` stands for the type of the collection; a route is named by its module and function. Next: ``document.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tocsin.catalogue.governance.memberships import GROUPS
from tocsin.catalogue.observations.samples import FORMS
from tocsin.catalogue.sheets.import_sheet import SHEETS
from tocsin.model.entity_type import EntityType


@dataclass(frozen=True)
class Operation:
    """What an operation reads and answers, by names of schemas.

    Attributes
    ----------
    answer : None: no content
    body : None: it reads none
    also : further statuses of the same answer
    media : of the answer
    or_nothing : when the answer is empty instead (204)
    """

    answer: str | None
    body: str | None = None
    also: tuple[str, ...] = ()
    media: str = "application/json"
    or_nothing: str = ""


_PATCHED = "JsonPatch"
_READ = Operation("{}")
_EVENT = Operation("Event")
_NEW_OR_NOT = ("200", "201")


def _by_id_or_name(function: str, operation: Operation) -> dict[str, Operation]:
    return dict.fromkeys((f"progress.{function}", f"progress.{function}_by"), operation)


OPERATIONS: dict[str, Operation] = {
    # every collection
    "crud.create": Operation("{}", "Create{}"),
    "crud.create_or_update": Operation("{}", "Create{}", also=_NEW_OR_NOT),
    "crud.restore": Operation("{}", "RestoreRequest"),
    **dict.fromkeys(("crud.read", "crud.read_by_name", "crud.read_version"), _READ),
    **dict.fromkeys(("crud.patch", "crud.patch_by_name"), Operation("{}", _PATCHED)),
    **dict.fromkeys(("crud.delete", "crud.delete_by_name"), _READ),
    "crud.delete_async": Operation("DeletionJob"),
    "crud.list_versions": Operation("VersionHistory"),
    "listing.list_entities": Operation("{}Page"),
    "listing.list_children": Operation("EntityReferencePage"),
    "history.list_in_window": Operation("{}Page"),
    **dict.fromkeys(("history.rollback", "history.rollback_by_name"), Operation("RolledBack", "RollbackRequest")),
    **dict.fromkeys(("history.compare", "history.compare_by_name"), Operation("ChangeDescription")),
    **dict.fromkeys(("bulk.put_many", "bulk.create_many"), Operation("BulkResult", "Create{}List")),
    "bulk.delete_stale": Operation("BulkResult", "StaleRequest"),
    "sheets.describe": Operation("SheetColumns"),
    "sheets.export": Operation("Csv", media="text/plain"),
    "sheets.import_": Operation("ImportResult", "Csv"),
    **dict.fromkeys(("assets.list_assets", "assets.list_assets_by_name"), Operation("EntityReferencePage")),
    "assets.change_assets": Operation("BulkResult", "AssetsRequest"),
    "votes.vote": Operation("Event", "VoteRequest"),
    "samples.put": Operation("{}", "SampleRequest"),
    **dict.fromkeys(("samples.read", "samples.delete"), _READ),
    "followers.list_followers": Operation("Followers"),
    "followers.add_follower": Operation("Event", "FollowerId"),
    **dict.fromkeys(("followers.follow", "followers.unfollow"), _EVENT),
    "followers.list_follows": Operation("Follows"),
    "followers.follow_many": Operation("BulkResult", "FollowsRequest"),
    # system, people
    "version.version": Operation("Version"),
    "version.healthcheck": Operation("Health"),
    "defaults.read_setting": Operation("Setting"),
    "connectors.read_definition": Operation("ConnectionTest"),
    "users.login": Operation("LogIn", "LogInRequest"),
    "users.logged_in_user": Operation("User"),
    "users.change_password": Operation("Said", "PasswordRequest"),
    "openid.begin": Operation(None),
    "openid.come_back": Operation(None),
    "tokens.log_out": Operation("Said"),
    "tokens.list_own": Operation("PersonalTokenPage"),
    "tokens.make_own": Operation("PersonalToken", "PersonalTokenRequest"),
    "tokens.revoke_own": Operation("PersonalTokenPage", "TokenIds"),
    "tokens.generate_token": Operation("BotToken", "BotTokenRequest"),
    "tokens.read_token": Operation("BotToken"),
    "tokens.revoke_token": Operation("BotToken", "BotId"),
    **dict.fromkeys(("permissions.list_permissions", "permissions.list_of_policies"), Operation("PermissionsPage")),
    **dict.fromkeys(
        (f"permissions.read_permissions{which}" for which in ("", "_by_name", "_of_entity")), Operation("Permissions")
    ),
    "teams.list_hierarchy": Operation("TeamBranchPage"),
    "teams.set_users": Operation("Event", "References"),
    "teams.take_out": _EVENT,
    # events, alerts, inbox
    "events.list_events": Operation("EventPage"),
    "events.read_event": _EVENT,
    "explain.explain_event": Operation("Explanation"),
    "activity.list_activity": Operation("ActivityPage"),
    "inbox.list_notifications": Operation("NotificationPage"),
    "inbox.mark_all_read": Operation("Marked"),
    "inbox.mark_read": Operation("MarkedOne"),
    "inbox.stream": Operation("Stream", media="text/event-stream"),
    "mutes.list_mutes": Operation("MutePage"),
    "mutes.put_mute": Operation("Mute", "MuteRequest"),
    "mutes.delete_mute": Operation("Unmuted"),
    "unsubscribe.ask": Operation("Html", media="text/html"),
    "unsubscribe.unsubscribe": Operation("Unsubscribed"),
    "mute_links.ask_to_mute": Operation("Html", media="text/html"),
    "mute_links.mute": Operation("MutedByLink"),
    **dict.fromkeys(
        ("acknowledge_links.ask_to_acknowledge", "acknowledge_links.acknowledge_by_link"),
        Operation("Html", media="text/html"),
    ),
    "slack_interactions.take_interaction": Operation("Taken", "SlackInteraction"),
    "subscriptions.create": Operation("EventSubscription", "CreateEventSubscription"),
    "subscriptions.create_or_update": Operation("EventSubscription", "CreateEventSubscription", also=_NEW_OR_NOT),
    **dict.fromkeys(("subscriptions.patch", "subscriptions.patch_by_name"), Operation("EventSubscription", _PATCHED)),
    **dict.fromkeys(("subscriptions.delete", "subscriptions.delete_by_name"), Operation("EventSubscription")),
    "subscriptions.list_status": Operation("DestinationStatusPage"),
    **dict.fromkeys(
        ("subscriptions.read_status", "subscriptions.read_status_by_name"), Operation("SubscriptionStatus")
    ),
    "subscriptions.resume": Operation("SubscriptionStatus", "Resumption"),
    "subscriptions.try_one": Operation("Trial", "TrialRequest"),
    "subscriptions.try_many": Operation("TrialList", "TrialsRequest"),
    "backtests.ask": Operation("Backtest", "BacktestRequest", also=("200", "202")),
    **dict.fromkeys(("backtests.read", "backtests.cancel"), Operation("Backtest")),
    "progress.list_all_failed": Operation("FailedEventList"),
    **_by_id_or_name("read_diagnosis", Operation("AlertDiagnosis")),
    **_by_id_or_name("read_record", Operation("EventsRecord")),
    **_by_id_or_name("list_failed", Operation("FailedEventList")),
    **_by_id_or_name("list_sent", Operation("ChangeEventList")),
    **_by_id_or_name("list_typed", Operation("TypedEventPage")),
    **_by_id_or_name("list_destinations", Operation("DestinationStatusList")),
    "progress.has_processed_all": Operation("Flag"),
    **dict.fromkeys(("progress.skip_to_end", "progress.skip_to_end_by_name"), Operation("AlertOffset")),
    "progress.list_logs": Operation("AlertLogEntryPage"),
    "deliveries.list_dead_letters": Operation("DeadLetterPage"),
    "deliveries.read_delivery": Operation("Delivery"),
    "deliveries.start_replay": Operation("Replay", "ReplayRequest"),
    "deliveries.list_replays": Operation("ReplayPage"),
    **dict.fromkeys(("deliveries.read_replay", "deliveries.cancel_replay"), Operation("Replay")),
    "queue.claim": Operation("QueueItems", "QueueClaim"),
    **dict.fromkeys(("queue.acknowledge", "queue.release"), Operation("QueueOutcomes", "QueueHeld")),
    "queue.extend": Operation("QueueOutcomes", "QueueExtension"),
    "noise.list_noise": Operation("NoiseOverview"),
    "noise.read_noise": Operation("Noise"),
    "alert_history.read_history": Operation("AlertHistoryPage"),
    "alert_incidents.list_incidents": Operation("AlertIncidentPage"),
    "alert_incidents.read_incident": Operation("AlertIncidentWithTimeline"),
    **dict.fromkeys(
        ("alert_incidents.acknowledge", "alert_incidents.resolve"),
        Operation("AlertIncidentWithTimeline", "IncidentComment"),
    ),
    "alert_incidents.assign": Operation("AlertIncidentWithTimeline", "IncidentAssignment"),
    "conditions.validate": Operation("ValidatedCondition", "ConditionRequest"),
    "conditions.validate_in_path": Operation(None),
    "conditions.list_functions": Operation("AlertFunctionList"),
    "conditions.list_names": Operation("AlertResourceNamePage"),
    "conditions.list_resources": Operation("AlertResourcePage"),
    "templates.list_helpers": Operation("TemplateHelperPage"),
    "templates.validate": Operation("TemplateValidation", "TemplateTexts"),
    "templates.render": Operation("TemplateRendering", "TemplateRenderRequest"),
    "templates.send": Operation("TemplateSending", "TemplateSendRequest"),
    **dict.fromkeys(("templates.reset", "templates.reset_by_name"), Operation("NotificationTemplate")),
    # feed
    "threads.list_threads": Operation("ThreadPage"),
    "threads.create_thread": Operation("Thread", "ThreadRequest"),
    "threads.count_threads": Operation("ThreadCountsList"),
    **dict.fromkeys(("threads.read_thread", "threads.delete_thread", "tasks.read_task"), Operation("Thread")),
    **dict.fromkeys(("threads.patch_thread", "tasks.patch_task"), Operation("Thread", _PATCHED)),
    "threads.list_posts": Operation("PostPage"),
    "threads.add_post": Operation("Thread", "PostRequest"),
    "threads.patch_post": Operation("Post", _PATCHED),
    "threads.delete_post": Operation("Post"),
    "tasks.resolve_task": Operation("Thread", "ResolveRequest"),
    "tasks.close_task": Operation("Thread", "CloseRequest"),
    "custom_properties.put_property": Operation("Type", "CustomPropertyRequest"),
    # lineage, search
    "edges.put_edge": Operation("LineageEdge", "LineageRequest"),
    "edges.put_edge_by_name": Operation("LineageEdge", "EdgeDetailsRequest"),
    "edges.receive_events": Operation("BulkResult", "LineageEvents"),
    **dict.fromkeys(
        (f"edges.{name}" for name in ("read_edge", "read_edge_by_name", "delete_edge", "delete_edge_by_name")),
        Operation("LineageEdge"),
    ),
    **dict.fromkeys(("edges.patch_edge", "edges.patch_edge_by_name"), Operation("LineageEdge", _PATCHED)),
    **dict.fromkeys(("edges.delete_by_source", "edges.delete_by_source_by_name"), Operation("LineageEdges")),
    **dict.fromkeys(("edges.around", "edges.around_name"), Operation("Lineage")),
    "graph.read_map": Operation("LineageMap"),
    **dict.fromkeys(("impact.impact", "impact.impact_by_name", "impact.impact_of_event"), Operation("Impact")),
    **dict.fromkeys(("search.search_by_query", "search.search_by_field"), Operation("SearchAnswer")),
    "search.suggest": Operation("Suggestions"),
    "search.count_by_field": Operation("SearchCounts"),
    "search.count_by_body": Operation("SearchCounts", "CountRequest"),
    # what connectors report
    **dict.fromkeys(("columns.read", "columns.read_by_name"), Operation("ColumnPage")),
    "profiles.put": Operation("Table", "ProfileRequest"),
    **dict.fromkeys(("profiles.read_latest", "profiles.delete"), Operation("Table")),
    "profiles.list_of_table": Operation("TableProfilePage"),
    "profiles.list_of_column": Operation("ColumnProfilePage"),
    "profiles.list_of_type": Operation("EntityProfilePage"),
    "profiles.list_of_statements": Operation("SystemProfilePage"),
    **dict.fromkeys(("queries.add_used_in", "queries.remove_used_in"), Operation("Event", "References")),
    **dict.fromkeys(("queries.add_users", "queries.add_used_by"), Operation("Event", "Names")),
    "queries.add_cost": Operation("QueryCost", "QueryCostRequest"),
    "queries.list_costs": Operation("QueryCostPage"),
    "runs.put_status": Operation("Pipeline", "PipelinePipelineStatus"),
    "runs.put_statuses": Operation("Pipeline", "PipelineRuns"),
    "runs.list_statuses": Operation("PipelinePipelineStatusPage"),
    "runs.delete_status": Operation("Pipeline"),
    "runs.put_ingestion_status": Operation("IngestionPipeline", "PipelineStatus"),
    "runs.list_ingestion_statuses": Operation("PipelineStatusPage"),
    "runs.read_ingestion_status": Operation("PipelineStatus", or_nothing="The run has not reported yet."),
    "samples.put_failed": Operation("TestCase", "FailedRowsRequest"),
    "samples.read_failed": Operation("TableData"),
    "samples.delete_failed": Operation("TestCase"),
    "samples.put_inspection": Operation("TestCase", "QueryText"),
    "table_details.joins": Operation("Table", "TableJoins"),
    "table_details.model": Operation("Table", "DataModelRequest"),
    "table_details.config": Operation("Table", "TableProfilerConfig"),
    "table_details.metric": Operation("Table", "CustomMetricRequest"),
    "table_details.observability": Operation("Table", "PipelineObservabilityRequestList"),
    "table_details.observability_of_one": Operation("Table", "PipelineObservabilityRequest"),
    "table_details.read_observability": Operation("Table"),
    **dict.fromkeys(
        (f"table_details.{name}" for name in ("read_config", "delete_config", "delete_metric", "delete_column_metric")),
        Operation("Table"),
    ),
    "usage.rank": Operation("Ranked"),
    **dict.fromkeys(
        ("usage.report", "usage.report_by_name", "usage.add", "usage.add_by_name"), Operation("Event", "UsageRequest")
    ),
    **dict.fromkeys(("usage.read", "usage.read_by_name"), Operation("EntityUsage")),
    # data quality
    "incidents.take": Operation("IncidentStep", "IncidentRequest"),
    **dict.fromkeys(("incidents.list_steps", "incidents.list_steps_of_incident"), Operation("IncidentStepPage")),
    "incidents.read_step": Operation("IncidentStep"),
    "incidents.patch_step": Operation("IncidentStep", _PATCHED),
    **dict.fromkeys(("results.add_result", "results.put_result"), Operation("TestCase", "TestCaseResult")),
    "results.list_results": Operation("TestCaseResultPage"),
    "results.read_latest": Operation("TestCaseResult"),
    "results.patch": Operation("TestCaseResult", _PATCHED),
    "results.delete": Operation("TestCase"),
    "suites.create": Operation("TestSuite", "CreateTestSuite"),
    "suites.put": Operation("TestSuite", "CreateTestSuite", also=_NEW_OR_NOT),
    "suites.delete": Operation("TestSuite"),
    "suites.add_logical": Operation("TestSuite", "LogicalSuiteRequest"),
    "suites.remove_logical": Operation("TestSuite"),
}
"""Every operation; a test compares it with the routes."""

_ONLY_SOME: dict[str, Callable[[EntityType], bool]] = {
    "bulk": lambda row: row.name != "eventsubscription",
    "sheets": lambda row: row.name in SHEETS,
    "assets": lambda row: row.name in GROUPS,
    "votes": lambda row: "votes" in row.keys,
    "samples": lambda row: row.name in FORMS,
    "followers": lambda row: row.is_followable,
    "listing.list_children": lambda row: row.name == "container",
}


def has(row: EntityType, route: str) -> bool:
    """Return whether a collection of entities of this type has a route that is laid out for all of them."""
    asked = _ONLY_SOME.get(route) or _ONLY_SOME.get(route.partition(".")[0])
    return asked is None or asked(row)
