"""Resources that an alert of each type can be about, each with its filters and actions.

Source: OpenMetadata 1.13 EventSubResourceDescriptor.json and EntityObservabilityFilterDescriptor.json, and in addition
every other type of the catalogue; for types of alerts seeds/001 "Alert Types".
Next: ``server/routes/alerts/conditions.py`` returns them.
"""

from __future__ import annotations

from collections.abc import Collection

from tocsin.alerts.filters import FILTERS
from tocsin.flow.match.actions import ACTIONS, ANY_ACTIONS
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.subscription import ALL_RESOURCES, AlertType
from tocsin.model.thread import RESOURCES as THREADS
from tocsin.model.thread import THREAD

OBSERVED = (
    *("table", "topic", "container", "pipeline", "ingestionPipeline", "testCase", "testSuite", "storedProcedure"),
    *("dashboardDataModel", "searchIndex", "apiEndpoint", "dashboard", "mlmodel"),
)
"""What has reports or a schema, and so can be observed."""

GOVERNED = ("policy", "role", "classification", "tag", "glossary", "glossaryTerm", "domain", "dataProduct", "task")
"""What governance is made of: rules, words, places, and tasks, by which people ask for approval."""

RESOURCES_OF: dict[AlertType, tuple[str, ...]] = {
    AlertType.OBSERVABILITY: OBSERVED,
    AlertType.GOVERNANCE_WORKFLOW_CHANGE_EVENT: GOVERNED,
}
"""The resources of the types that have only some."""

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
    return [_offer(name, *_names_offered(alert_type, name)) for name in _resources_of(alert_type)]


def offered_names(alert_type: AlertType, resources: Collection[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of the filters, and of the actions, that one of these resources offers."""
    by_resource = [_names_offered(alert_type, name) for name in resources if name in _resources_of(alert_type)]
    filters, actions = frozenset[str](), frozenset[str]()
    return filters.union(*(one for one, _ in by_resource)), actions.union(*(one for _, one in by_resource))


def functions() -> list[Document]:
    """Return every filter and action there is."""
    return [row.rule_json(name) for name, row in FILTERS.items()]


def _resources_of(alert_type: AlertType) -> tuple[str, ...]:
    return RESOURCES_OF.get(alert_type, RESOURCES)


def _names_offered(alert_type: AlertType, resource: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the filters and of the actions of a resource, in their order."""
    if alert_type is not AlertType.OBSERVABILITY:
        return _NOTIFIED.get(resource, (*_GENERAL, *_OURS)), ()
    of_tests = ("filterByTableNameTestCaseBelongsTo",) if resource == "testCase" else ()
    return (*_OBSERVED, *of_tests), (*ACTIONS[resource], *ANY_ACTIONS)


def _offer(name: str, filters: tuple[str, ...], actions: tuple[str, ...]) -> Document:
    described = {key: FILTERS[key].rule_json(key) for key in (*filters, *actions)}
    return {
        "name": name,
        "supportedFilters": [described[key] for key in filters],
        "supportedActions": [described[key] for key in actions],
    }
