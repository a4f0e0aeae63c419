"""Alert types and what an alert of each may be about, and how it may notify.

Source: seeds/001 "Alert Types". Next: ``server/alerts/request.py`` refuses the rest, ``server/alerts/offers.py`` offers
what is left.
"""

from __future__ import annotations

from tocsin.errors import InvalidInput
from tocsin.model.subscription import AlertType, Channel, EventSubscription

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


def check_alert_type(subscription: EventSubscription) -> None:
    """Refuse what an alert of this type cannot be about, or cannot notify with.

    Raises
    ------
    InvalidInput : with the place and the way out
    """
    kind, rules = subscription.alert_type, subscription.filtering_rules
    valid_resources = RESOURCES_OF.get(kind)
    for index, resource in enumerate(rules.resources if rules and valid_resources is not None else ()):
        if resource not in (valid_resources or ()):
            raise InvalidInput(
                f"{kind} alerts cannot be about {resource}; valid resources: {', '.join(valid_resources or ())};"
                " for others choose alertType Notification",
                field=f"filteringRules.resources[{index}]",
            )
    _check_queues(subscription)
    for index, destination in enumerate(subscription.destinations if kind is AlertType.ACTIVITY_FEED else ()):
        if destination.type is not Channel.ACTIVITY_FEED:
            raise InvalidInput(
                f"{kind} alerts notify in the app; choose type ActivityFeed, or alertType Notification",
                field=f"destinations[{index}].type",
            )


def _check_queues(subscription: EventSubscription) -> None:
    kind, queue = AlertType.GOVERNANCE_WORKFLOW_CHANGE_EVENT, Channel.GOVERNANCE_WORKFLOW_CHANGE_EVENT
    places = [index for index, one in enumerate(subscription.destinations) if one.type is queue]
    if places and subscription.alert_type is not kind:
        raise InvalidInput(f"is for alerts of alertType {kind}", field=f"destinations[{places[0]}].type")
    if len(places) > 1:
        raise InvalidInput("an alert has one queue; omit the others", field=f"destinations[{places[1]}].type")
