"""Description of an operation beside its route: the body that it reads, and its response.

``{}`` stands for the type of the collection. Next: ``document.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fastapi.routing import APIRoute

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
    refuses, never : statuses of errors that it has besides those of its kind of route, or has not, apart by spaces
    """

    answer: str | None
    body: str | None = None
    also: tuple[str, ...] = ()
    media: str = "application/json"
    or_accepted: str = ""
    or_nothing: str = ""
    or_unavailable: str = ""
    refuses: str = ""
    never: str = ""


def answers(
    schema: str | None, *, reads: str | None = None, **options: Any
) -> dict[str, Any]:  # Any: FastAPI's own type; further fields of the operation
    """Return what a route's ``openapi_extra`` says of it: what it answers and reads, by names of schemas."""
    return {"x-operation": OpenApiOperation(schema, reads, **options)}


def operation_of(route: APIRoute) -> OpenApiOperation:
    """Return what a route says of itself with ``answers``, or else the table."""
    described: OpenApiOperation | None = (route.openapi_extra or {}).get("x-operation")
    return described or OPERATIONS[name_of(route)]


def name_of(route: APIRoute) -> str:
    """Return what the table calls a route: its module and its function."""
    return f"{route.endpoint.__module__.rpartition('.')[2]}.{route.endpoint.__name__}"


_PATCHED = "JsonPatch"
_NEW_OR_NOT = ("200", "201")


def _by_id_or_name(function: str, operation: OpenApiOperation) -> dict[str, OpenApiOperation]:
    return dict.fromkeys((f"progress.{function}", f"progress.{function}_by"), operation)


OPERATIONS: dict[str, OpenApiOperation] = {
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
    "backtests.ask": OpenApiOperation("Backtest", "BacktestRequest", also=("200", "202"), never="409"),
    "backtests.read": OpenApiOperation("Backtest"),
    "backtests.cancel": OpenApiOperation("Backtest", never="409"),
    "progress.list_all_failed": OpenApiOperation("FailedEventResponseList"),
    **_by_id_or_name("read_diagnosis", OpenApiOperation("EventSubscriptionDiagnosticInfo")),
    **_by_id_or_name("read_record", OpenApiOperation("EventsRecord")),
    **_by_id_or_name("list_failed", OpenApiOperation("FailedEventResponseList")),
    **_by_id_or_name("list_sent", OpenApiOperation("ChangeEventList")),
    **_by_id_or_name("list_typed", OpenApiOperation("TypedEventPage")),
    **_by_id_or_name("list_destinations", OpenApiOperation("DestinationStatusList")),
    "progress.has_processed_all": OpenApiOperation("Flag"),
    **dict.fromkeys(
        ("progress.skip_to_end", "progress.skip_to_end_by_name"), OpenApiOperation("EventSubscriptionOffset")
    ),
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
    "conditions.validate": OpenApiOperation("ValidatedCondition", "ConditionRequest", never="409"),
    "conditions.validate_in_path": OpenApiOperation(None),
    "conditions.list_functions": OpenApiOperation("EventFilterRuleList"),
    "conditions.list_names": OpenApiOperation("AlertResourceNamePage"),
    "conditions.list_resources": OpenApiOperation("FilterResourceDescriptorPage"),
    "conditions.list_capabilities": OpenApiOperation("AlertCapabilities", "AlertSelection", never="409"),
    "templates.list_helpers": OpenApiOperation("TemplateHelperPage"),
    "templates.validate": OpenApiOperation(
        "NotificationTemplateValidationResponse", "NotificationTemplateValidationRequest", never="409"
    ),
    "templates.render": OpenApiOperation("TemplateRendering", "NotificationTemplateRenderRequest", never="409"),
    "templates.send": OpenApiOperation("TemplateSending", "TemplateSendRequest", never="409"),
    **dict.fromkeys(
        ("templates.reset", "templates.reset_by_name"), OpenApiOperation("NotificationTemplate", never="409")
    ),
}
"""Operations on alerts whose routes do not say it themselves."""

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
