"""Resources that an alert can be about, each with its filters and actions.

Source: OpenMetadata 1.13 EventSubResourceDescriptor.json and EntityObservabilityFilterDescriptor.json, and in addition
every other type of the catalogue. Next: ``server/routes/alerts/conditions.py`` returns them.
"""

from __future__ import annotations

from collections.abc import Iterator

from tocsin.flow.match.actions import ACTIONS, ANY_ACTIONS
from tocsin.flow.match.remarks import Remark, RemarkKind, of_alert
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.subscription import ALL_RESOURCES, AlertType, EventSubscription
from tocsin.model.thread import RESOURCES as THREADS
from tocsin.model.thread import THREAD
from tocsin.server.alerts.alert_types import OBSERVED, RESOURCES_OF
from tocsin.server.alerts.filters import FILTERS

RESOURCES = (ALL_RESOURCES, *ENTITY_TYPES, THREAD, *THREADS)
"""Everything an alert can be about."""

_GENERAL = (
    *("filterByOwnerName", "filterByFqn", "filterByEventType", "filterByUpdaterName", "filterByDomain"),
    *("filterByGeneralMetadataEvents", "filterByUpdaterIsBot"),
)
_OURS = ("filterByTag", "filterByTier", "filterByService", "filterByFieldChange")
_OF_PEOPLE = ("filterByFqn", "filterByEventType", "filterByUpdaterName", "filterByUpdaterIsBot")
_NOTIFIED: dict[str, tuple[str, ...]] = {
    ALL_RESOURCES: (*_GENERAL, "filterByEntityId", "filterBySource", *_OURS),
    "domain": (*(name for name in _GENERAL if name != "filterByDomain"), *_OURS),
    "user": (*_OF_PEOPLE, "filterByDomain"),
    "team": (*_OF_PEOPLE, "filterByDomain"),
    "announcement": (),
    **dict.fromkeys((THREAD, "conversation", "task", "chatbot"), ("filterByMentionedName",)),
}

_OBSERVED = ("filterByFqn", "filterByDomain", "filterByOwner", "filterByUpdaterIsBot", "filterByTag", "filterByTier")


def offers(alert_type: AlertType) -> list[Document]:
    """Return upstream's ``events/filterResourceDescriptor.json`` for each resource an alert of this type can have."""
    if alert_type is AlertType.OBSERVABILITY:
        return [_offer(name, _observability_filters(name), (*ACTIONS[name], *ANY_ACTIONS)) for name in OBSERVED]
    resources = RESOURCES_OF.get(alert_type, RESOURCES)
    return [_offer(name, _NOTIFIED.get(name, (*_GENERAL, *_OURS)), ()) for name in resources]


def remarks_on(subscription: EventSubscription) -> tuple[Remark, ...]:
    """Return what is worth knowing about an alert that can be saved, its named filters included.

    Raises
    ------
    InvalidInput : it cannot be saved, as ``plan_of`` says
    """
    return (*of_alert(subscription), *_not_offered(subscription))


def _not_offered(subscription: EventSubscription) -> Iterator[Remark]:
    """Yield each filter and action that is asked for by name and that no resource of the alert offers."""
    filtering, alert_input = subscription.filtering_rules, subscription.input or {}
    resources = filtering.resources if filtering else ()
    offered = [offer for offer in offers(subscription.alert_type) if offer["name"] in resources]
    for key, supported in (("filters", "supportedFilters"), ("actions", "supportedActions")):
        offered_names = {row["name"] for offer in offered for row in offer[supported]}
        entries = alert_input.get(key)
        for index, entry in enumerate(entries if isinstance(entries, list) else ()):
            name = entry.get("name") if isinstance(entry, dict) else None
            if name in FILTERS and name not in offered_names and resources:
                says = (
                    f"{key[:-1]} {name} is not available for {', '.join(resources)}, so the condition may never be true"
                )
                yield Remark(RemarkKind.NOT_OFFERED, says, f"input.{key}[{index}].name")


def functions() -> list[Document]:
    """Return every filter and action there is."""
    return [row.rule_json(name) for name, row in FILTERS.items()]


def _observability_filters(name: str) -> tuple[str, ...]:
    return (*_OBSERVED, "filterByTableNameTestCaseBelongsTo") if name == "testCase" else _OBSERVED


def _offer(name: str, filters: tuple[str, ...], actions: tuple[str, ...]) -> Document:
    described = {key: FILTERS[key].rule_json(key) for key in (*filters, *actions)}
    return {
        "name": name,
        "supportedFilters": [described[key] for key in filters],
        "supportedActions": [described[key] for key in actions],
    }
