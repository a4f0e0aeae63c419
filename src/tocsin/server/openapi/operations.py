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
class OpenApiOperation:
    """What an operation reads and answers, by names of schemas.

    Attributes
    ----------
    answer : None: no content
    body : None: it reads none
    also : further statuses of the same answer
    media : of the answer
    or_accepted : what it answers instead with status 202, with ``async``
    or_nothing : when the answer is empty instead (204)
    or_unavailable : when the same answer has status 503
    """

    answer: str | None
    body: str | None = None
    also: tuple[str, ...] = ()
    media: str = "application/json"
    or_accepted: str = ""
    or_nothing: str = ""
    or_unavailable: str = ""


_PATCHED = "JsonPatch"
_READ = OpenApiOperation("{}")
_EVENT = OpenApiOperation("ChangeEvent")
_NEW_OR_NOT = ("200", "201")


def _by_id_or_name(function: str, operation: OpenApiOperation) -> dict[str, OpenApiOperation]:
    return dict.fromkeys((f"progress.{function}", f"progress.{function}_by"), operation)


OPERATIONS: dict[str, OpenApiOperation] = {
    # every collection
    "crud.create": OpenApiOperation("{}", "Create{}"),
    "crud.create_or_update": OpenApiOperation("{}", "Create{}", also=_NEW_OR_NOT),
    "crud.restore": OpenApiOperation("{}", "RestoreRequest", or_accepted="EndedJob"),
    "context.read_context": OpenApiOperation("Markdown", media="text/markdown"),
    **dict.fromkeys(("crud.read", "crud.read_by_name", "crud.read_version"), _READ),
    **dict.fromkeys(("crud.patch", "crud.patch_by_name"), OpenApiOperation("{}", _PATCHED)),
    **dict.fromkeys(("crud.delete", "crud.delete_by_name"), _READ),
    "crud.delete_async": OpenApiOperation("EndedJob"),
    "crud.list_versions": OpenApiOperation("VersionHistory"),
    "listing.list_entities": OpenApiOperation("{}Page"),
    "listing.list_children": OpenApiOperation("EntityReferencePage"),
    "listing.list_ancestors": OpenApiOperation("Ancestors"),
    "history.list_in_window": OpenApiOperation("{}Page"),
    **dict.fromkeys(
        ("history.rollback", "history.rollback_by_name"), OpenApiOperation("RolledBack", "RollbackRequest")
    ),
    **dict.fromkeys(("history.compare", "history.compare_by_name"), OpenApiOperation("ChangeDescription")),
    **dict.fromkeys(("bulk.put_many", "bulk.create_many"), OpenApiOperation("BulkResult", "Create{}List")),
    "bulk.delete_stale": OpenApiOperation("BulkResult", "StaleRequest"),
    "sheets.describe": OpenApiOperation("SheetColumns"),
    "sheets.export": OpenApiOperation("Csv", media="text/plain"),
    "sheets.import_": OpenApiOperation("ImportResult", "Csv"),
    **dict.fromkeys(("assets.list_assets", "assets.list_assets_by_name"), OpenApiOperation("EntityReferencePage")),
    "assets.change_assets": OpenApiOperation("BulkResult", "AssetsRequest"),
    "votes.vote": OpenApiOperation("ChangeEvent", "VoteRequest"),
    "samples.put": OpenApiOperation("{}", "SampleRequest"),
    **dict.fromkeys(("samples.read", "samples.delete"), _READ),
    "followers.list_followers": OpenApiOperation("Followers"),
    "followers.add_follower": OpenApiOperation("ChangeEvent", "FollowerId"),
    **dict.fromkeys(("followers.follow", "followers.unfollow"), _EVENT),
    "followers.list_follows": OpenApiOperation("Follows"),
    "followers.follow_many": OpenApiOperation("BulkResult", "FollowsRequest"),
    # system, people
    "version.version": OpenApiOperation("Version"),
    "health.healthcheck": OpenApiOperation("Health", or_unavailable="With `strict`: `status` is not `ok`."),
    "catalogue_settings.list_settings": OpenApiOperation("SettingPage"),
    **dict.fromkeys(
        ("catalogue_settings.read_setting", "catalogue_settings.reset_setting"), OpenApiOperation("Setting")
    ),
    "catalogue_settings.write_setting": OpenApiOperation("Setting", "SettingRequest"),
    "connectors.read_definition": OpenApiOperation("ConnectionTest"),
    "users.login": OpenApiOperation("LogIn", "LogInRequest"),
    "users.logged_in_user": OpenApiOperation("User"),
    "users.change_password": OpenApiOperation("Said", "PasswordRequest"),
    "openid.begin": OpenApiOperation(None),
    "openid.come_back": OpenApiOperation(None),
    "openid.exchange": OpenApiOperation("LogIn", "LogInCode"),
    "tokens.log_out": OpenApiOperation("Said"),
    "tokens.list_own": OpenApiOperation("PersonalTokenPage"),
    "tokens.make_own": OpenApiOperation("PersonalToken", "PersonalTokenRequest"),
    "tokens.revoke_own": OpenApiOperation("PersonalTokenPage", "TokenIds"),
    "tokens.generate_token": OpenApiOperation("BotToken", "BotTokenRequest"),
    "tokens.read_token": OpenApiOperation("BotToken"),
    "tokens.read_mechanism": OpenApiOperation("BotMechanism"),
    "tokens.revoke_token": OpenApiOperation("BotToken", "BotId"),
    **dict.fromkeys(
        ("permissions.list_permissions", "permissions.list_of_policies"), OpenApiOperation("PermissionsPage")
    ),
    **dict.fromkeys(
        (f"permissions.read_permissions{which}" for which in ("", "_by_name", "_of_entity")),
        OpenApiOperation("Permissions"),
    ),
    "teams.list_hierarchy": OpenApiOperation("TeamBranchPage"),
    "teams.set_users": OpenApiOperation("ChangeEvent", "References"),
    "teams.take_out": _EVENT,
    # events, alerts, inbox
    "events.list_events": OpenApiOperation("EventPage"),
    "events.read_event": OpenApiOperation("Event"),
    "explain.explain_event": OpenApiOperation("Explanation"),
    "activity.list_activity": OpenApiOperation("ActivityPage"),
    "inbox.list_notifications": OpenApiOperation("NotificationPage"),
    "inbox.mark_all_read": OpenApiOperation("Marked"),
    "inbox.mark_read": OpenApiOperation("MarkedOne"),
    "inbox.stream": OpenApiOperation("Stream", media="text/event-stream"),
    "mutes.list_mutes": OpenApiOperation("MutePage"),
    "mutes.put_mute": OpenApiOperation("Mute", "MuteRequest"),
    "mutes.delete_mute": OpenApiOperation("Unmuted"),
    "preferences.read_preferences": OpenApiOperation("Preferences"),
    "preferences.put_preferences": OpenApiOperation("Preferences", "PreferencesRequest"),
    "unsubscribe.ask": OpenApiOperation("Html", media="text/html"),
    "unsubscribe.unsubscribe": OpenApiOperation("Unsubscribed"),
    "mute_links.ask_to_mute": OpenApiOperation("Html", media="text/html"),
    "mute_links.mute": OpenApiOperation("MutedByLink"),
    **dict.fromkeys(
        ("acknowledge_links.ask_to_acknowledge", "acknowledge_links.acknowledge_by_link"),
        OpenApiOperation("Html", media="text/html"),
    ),
    "slack_interactions.take_interaction": OpenApiOperation("Taken", "SlackInteraction"),
    "subscriptions.create": OpenApiOperation("EventSubscription", "CreateEventSubscription"),
    "subscriptions.create_or_update": OpenApiOperation(
        "EventSubscription", "CreateEventSubscription", also=_NEW_OR_NOT
    ),
    **dict.fromkeys(
        ("subscriptions.patch", "subscriptions.patch_by_name"), OpenApiOperation("EventSubscription", _PATCHED)
    ),
    **dict.fromkeys(("subscriptions.delete", "subscriptions.delete_by_name"), OpenApiOperation("EventSubscription")),
    "subscriptions.list_status": OpenApiOperation("DestinationStatusPage"),
    **dict.fromkeys(
        ("subscriptions.read_status", "subscriptions.read_status_by_name"), OpenApiOperation("SubscriptionStatus")
    ),
    "subscriptions.resume": OpenApiOperation("SubscriptionStatus", "Resumption"),
    "subscriptions.try_one": OpenApiOperation("Trial", "TrialRequest"),
    "subscriptions.try_many": OpenApiOperation("TrialList", "TrialsRequest"),
    "backtests.ask": OpenApiOperation("Backtest", "BacktestRequest", also=("200", "202")),
    **dict.fromkeys(("backtests.read", "backtests.cancel"), OpenApiOperation("Backtest")),
    "progress.list_all_failed": OpenApiOperation("FailedEventList"),
    **_by_id_or_name("read_diagnosis", OpenApiOperation("AlertDiagnosis")),
    **_by_id_or_name("read_record", OpenApiOperation("EventsRecord")),
    **_by_id_or_name("list_failed", OpenApiOperation("FailedEventList")),
    **_by_id_or_name("list_sent", OpenApiOperation("ChangeEventList")),
    **_by_id_or_name("list_typed", OpenApiOperation("TypedEventPage")),
    **_by_id_or_name("list_destinations", OpenApiOperation("DestinationStatusList")),
    "progress.has_processed_all": OpenApiOperation("Flag"),
    **dict.fromkeys(("progress.skip_to_end", "progress.skip_to_end_by_name"), OpenApiOperation("AlertOffset")),
    "progress.list_logs": OpenApiOperation("AlertLogEntryPage"),
    "deliveries.list_dead_letters": OpenApiOperation("DeadLetterPage"),
    "deliveries.read_delivery": OpenApiOperation("Delivery"),
    "deliveries.start_replay": OpenApiOperation("Replay", "ReplayRequest"),
    "deliveries.list_replays": OpenApiOperation("ReplayPage"),
    **dict.fromkeys(("deliveries.read_replay", "deliveries.cancel_replay"), OpenApiOperation("Replay")),
    **dict.fromkeys(("editors.list_editors", "editors.take_alert_over"), OpenApiOperation("AlertEditors")),
    "queue.claim": OpenApiOperation("QueueItems", "QueueClaim"),
    **dict.fromkeys(("queue.acknowledge", "queue.release"), OpenApiOperation("QueueOutcomes", "QueueHeld")),
    "queue.extend": OpenApiOperation("QueueOutcomes", "QueueExtension"),
    "noise.list_noise": OpenApiOperation("NoiseOverview"),
    "noise.read_noise": OpenApiOperation("Noise"),
    "alert_history.read_history": OpenApiOperation("AlertHistoryPage"),
    "alert_incidents.list_incidents": OpenApiOperation("AlertIncidentPage"),
    "alert_incidents.read_incident": OpenApiOperation("AlertIncidentWithTimeline"),
    **dict.fromkeys(
        ("alert_incidents.acknowledge", "alert_incidents.resolve"),
        OpenApiOperation("AlertIncidentWithTimeline", "IncidentComment"),
    ),
    "alert_incidents.assign": OpenApiOperation("AlertIncidentWithTimeline", "IncidentAssignment"),
    "conditions.validate": OpenApiOperation("ValidatedCondition", "ConditionRequest"),
    "conditions.validate_in_path": OpenApiOperation(None),
    "conditions.list_functions": OpenApiOperation("AlertFunctionList"),
    "conditions.list_names": OpenApiOperation("AlertResourceNamePage"),
    "conditions.list_resources": OpenApiOperation("AlertResourcePage"),
    "conditions.list_capabilities": OpenApiOperation("AlertCapabilities", "AlertSelection"),
    "templates.list_helpers": OpenApiOperation("TemplateHelperPage"),
    "templates.validate": OpenApiOperation("TemplateValidation", "TemplateTexts"),
    "templates.render": OpenApiOperation("TemplateRendering", "TemplateRenderRequest"),
    "templates.send": OpenApiOperation("TemplateSending", "TemplateSendRequest"),
    **dict.fromkeys(("templates.reset", "templates.reset_by_name"), OpenApiOperation("NotificationTemplate")),
    # feed
    "threads.list_threads": OpenApiOperation("ThreadPage"),
    "threads.create_thread": OpenApiOperation("Thread", "ThreadRequest"),
    "threads.count_threads": OpenApiOperation("ThreadCountsList"),
    **dict.fromkeys(("threads.read_thread", "threads.delete_thread", "tasks.read_task"), OpenApiOperation("Thread")),
    **dict.fromkeys(("threads.patch_thread", "tasks.patch_task"), OpenApiOperation("Thread", _PATCHED)),
    "threads.list_posts": OpenApiOperation("PostPage"),
    "threads.add_post": OpenApiOperation("Thread", "PostRequest"),
    "threads.patch_post": OpenApiOperation("Post", _PATCHED),
    "threads.delete_post": OpenApiOperation("Post"),
    "tasks.resolve_task": OpenApiOperation("Thread", "ResolveRequest"),
    "tasks.close_task": OpenApiOperation("Thread", "CloseRequest"),
    "custom_properties.put_property": OpenApiOperation("Type", "CustomPropertyRequest"),
    # lineage, search
    "edges.put_edge": OpenApiOperation("LineageEdge", "LineageRequest"),
    "edges.put_edge_by_name": OpenApiOperation("LineageEdge", "EdgeDetailsRequest"),
    "edges.receive_events": OpenApiOperation("BulkResult", "LineageEvents"),
    **dict.fromkeys(
        (f"edges.{name}" for name in ("read_edge", "read_edge_by_name", "delete_edge", "delete_edge_by_name")),
        OpenApiOperation("LineageEdge"),
    ),
    **dict.fromkeys(("edges.patch_edge", "edges.patch_edge_by_name"), OpenApiOperation("LineageEdge", _PATCHED)),
    **dict.fromkeys(("edges.delete_by_source", "edges.delete_by_source_by_name"), OpenApiOperation("LineageEdges")),
    **dict.fromkeys(("edges.around", "edges.around_name"), OpenApiOperation("Lineage")),
    "graph.read_map": OpenApiOperation("LineageMap"),
    **dict.fromkeys(("impact.impact", "impact.impact_by_name", "impact.impact_of_event"), OpenApiOperation("Impact")),
    **dict.fromkeys(("search.search_by_query", "search.search_by_field"), OpenApiOperation("SearchAnswer")),
    "search.suggest": OpenApiOperation("Suggestions"),
    "search.count_by_field": OpenApiOperation("SearchCounts"),
    "search.count_by_body": OpenApiOperation("SearchCounts", "CountRequest"),
    # what connectors report
    **dict.fromkeys(("columns.read", "columns.read_by_name"), OpenApiOperation("ColumnPage")),
    "named_columns.read_column": OpenApiOperation("Column"),
    "named_columns.change_column": OpenApiOperation("Column", "ColumnChange"),
    "profiles.put": OpenApiOperation("Table", "ProfileRequest"),
    **dict.fromkeys(("profiles.read_latest", "profiles.delete"), OpenApiOperation("Table")),
    "profiles.list_of_table": OpenApiOperation("TableProfilePage"),
    "profiles.list_of_column": OpenApiOperation("ColumnProfilePage"),
    "profiles.list_of_type": OpenApiOperation("EntityProfilePage"),
    "profiles.list_of_statements": OpenApiOperation("SystemProfilePage"),
    **dict.fromkeys(("queries.add_used_in", "queries.remove_used_in"), OpenApiOperation("ChangeEvent", "References")),
    **dict.fromkeys(("queries.add_users", "queries.add_used_by"), OpenApiOperation("ChangeEvent", "Names")),
    "queries.add_cost": OpenApiOperation("QueryCost", "QueryCostRequest"),
    "queries.list_costs": OpenApiOperation("QueryCostPage"),
    "runs.put_status": OpenApiOperation("Pipeline", "PipelinePipelineStatus"),
    "runs.put_statuses": OpenApiOperation("Pipeline", "PipelineRuns"),
    "runs.list_statuses": OpenApiOperation("PipelinePipelineStatusPage"),
    "runs.delete_status": OpenApiOperation("Pipeline"),
    "runs.put_ingestion_status": OpenApiOperation("IngestionPipeline", "PipelineStatus"),
    "runs.list_ingestion_statuses": OpenApiOperation("PipelineStatusPage"),
    "runs.read_ingestion_status": OpenApiOperation("PipelineStatus", or_nothing="The run has not reported yet."),
    "samples.put_failed": OpenApiOperation("TestCase", "FailedRowsRequest"),
    "samples.read_failed": OpenApiOperation("TableData"),
    "samples.delete_failed": OpenApiOperation("TestCase"),
    "samples.put_inspection": OpenApiOperation("TestCase", "QueryText"),
    "table_details.joins": OpenApiOperation("Table", "TableJoins"),
    "table_details.model": OpenApiOperation("Table", "DataModelRequest"),
    "table_details.config": OpenApiOperation("Table", "TableProfilerConfig"),
    "table_details.metric": OpenApiOperation("Table", "CustomMetricRequest"),
    "table_details.observability": OpenApiOperation("Table", "PipelineObservabilityRequestList"),
    "table_details.observability_of_one": OpenApiOperation("Table", "PipelineObservabilityRequest"),
    "table_details.read_observability": OpenApiOperation("Table"),
    **dict.fromkeys(
        (f"table_details.{name}" for name in ("read_config", "delete_config", "delete_metric", "delete_column_metric")),
        OpenApiOperation("Table"),
    ),
    "usage.rank": OpenApiOperation("Ranked"),
    **dict.fromkeys(
        ("usage.report", "usage.report_by_name", "usage.add", "usage.add_by_name"),
        OpenApiOperation("ChangeEvent", "UsageRequest"),
    ),
    **dict.fromkeys(("usage.read", "usage.read_by_name"), OpenApiOperation("EntityUsage")),
    # data quality
    "incidents.take": OpenApiOperation("IncidentStep", "IncidentRequest"),
    **dict.fromkeys(("incidents.list_steps", "incidents.list_steps_of_incident"), OpenApiOperation("IncidentStepPage")),
    "incidents.read_step": OpenApiOperation("IncidentStep"),
    "incidents.patch_step": OpenApiOperation("IncidentStep", _PATCHED),
    **dict.fromkeys(("results.add_result", "results.put_result"), OpenApiOperation("TestCase", "TestCaseResult")),
    "results.list_results": OpenApiOperation("TestCaseResultPage"),
    "results.read_latest": OpenApiOperation("TestCaseResult"),
    "results.patch": OpenApiOperation("TestCaseResult", _PATCHED),
    "results.delete": OpenApiOperation("TestCase"),
    "suites.create": OpenApiOperation("TestSuite", "CreateTestSuite"),
    "suites.put": OpenApiOperation("TestSuite", "CreateTestSuite", also=_NEW_OR_NOT),
    "suites.delete": OpenApiOperation("TestSuite"),
    "suites.add_logical": OpenApiOperation("TestSuite", "LogicalSuiteRequest"),
    "suites.remove_logical": OpenApiOperation("TestSuite"),
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
    "listing.list_ancestors": lambda row: row.name == "container",
}


def has(row: EntityType, route: str) -> bool:
    """Return whether a collection of entities of this type has a route that is laid out for all of them."""
    applies = _ONLY_SOME.get(route) or _ONLY_SOME.get(route.partition(".")[0])
    return applies is None or applies(row)
