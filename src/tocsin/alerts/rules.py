"""Checks of an alert's rules: their number, their arguments, and what an alert of its type can be about.

Source: seeds/001 "Alert Types". Next: ``alerts/request.py``.
"""

from __future__ import annotations

from collections.abc import Collection

from tocsin.alerts.named_filters import MOST_RULES, too_many
from tocsin.alerts.offers import RESOURCES, RESOURCES_OF
from tocsin.conditions.certainty import is_never
from tocsin.conditions.check import parse_and_check
from tocsin.conditions.nodes import Has
from tocsin.errors import InvalidInput
from tocsin.flow.match.plan import Plan
from tocsin.flow.match.producers import can_produce, simplify_for
from tocsin.flow.match.remarks import can_match
from tocsin.logic import leaves
from tocsin.model.change import EventType
from tocsin.model.entity import Document
from tocsin.model.phrases import suggestion_for
from tocsin.model.subscription import AlertType, Channel, Effect, EventSubscription, own_names

_LISTS = ("rules", "actions")
_MOST_CONDITION_BYTES = 65_536
_MOST_NAMED = 16


def check_amount(rules: object) -> None:
    """Refuse more rules and conditions than can be planned in a moment; ``rules`` may be anything that was sent.

    Raises
    ------
    InvalidInput : there are too many, or they are too long
    """
    size = 0
    for key in _LISTS:
        entries = rules.get(key) if isinstance(rules, dict) else None
        if isinstance(entries, list):
            if len(entries) > MOST_RULES:
                raise too_many(entries, f"filteringRules.{key}")
            size += sum(len(str(one.get("condition"))) for one in entries if isinstance(one, dict))
    if size > _MOST_CONDITION_BYTES:
        raise InvalidInput(
            f"the conditions have {size} characters; an alert may have at most {_MOST_CONDITION_BYTES}",
            field="filteringRules",
        )


def check_alert_type(subscription: EventSubscription) -> None:
    """Refuse resources that an alert of this type cannot be about, and destinations that it cannot notify with.

    Raises
    ------
    InvalidInput : with the place and the way out
    """
    resources = subscription.filtering_rules.resources if subscription.filtering_rules else ()
    for index, resource in enumerate(resources):
        if resource not in RESOURCES:
            place = f"filteringRules.resources[{index}]"
            raise InvalidInput(f"unknown resource {resource!r}; {suggestion_for(resource, RESOURCES)}", field=place)
    valid_resources = RESOURCES_OF.get(subscription.alert_type, RESOURCES)
    for index, resource in enumerate(resources):
        if resource not in valid_resources:
            raise InvalidInput(
                f"{subscription.alert_type} alerts cannot be about {resource}; valid resources:"
                f" {', '.join(valid_resources)}; for others choose alertType Notification",
                field=f"filteringRules.resources[{index}]",
            )
    kind, queue = subscription.alert_type, Channel.GOVERNANCE_WORKFLOW_CHANGE_EVENT
    governance = AlertType.GOVERNANCE_WORKFLOW_CHANGE_EVENT
    places = [index for index, one in enumerate(subscription.destinations) if one.type is queue]
    if places and kind is not governance:
        raise InvalidInput(f"is for alerts of alertType {governance}", field=f"destinations[{places[0]}].type")
    if len(places) > 1:
        raise InvalidInput("an alert has one queue; omit the others", field=f"destinations[{places[1]}].type")
    for index, destination in enumerate(subscription.destinations if kind is AlertType.ACTIVITY_FEED else ()):
        if destination.type is not Channel.ACTIVITY_FEED:
            raise InvalidInput(
                f"{kind} alerts notify in the app; choose type ActivityFeed, or alertType Notification",
                field=f"destinations[{index}].type",
            )


def check_rules(subscription: EventSubscription) -> None:
    """Refuse arguments of rules, which conditions contain already, and names that rules do not have.

    Raises
    ------
    InvalidInput : with the place and the way out
    """
    rules = subscription.filtering_rules
    for key in _LISTS if rules else ():
        for index, rule in enumerate(getattr(rules, key)):
            place = f"filteringRules.{key}[{index}]"
            if rule.arguments:
                message = "write them into the condition, or send a named filter as input"
                raise InvalidInput(message, field=f"{place}.arguments")
            if rule.input_type == "runtime":
                raise InvalidInput("must be static or none: a rule's condition is whole", field=f"{place}.inputType")
            if rule.fully_qualified_name not in (None, f"eventSubscription.{rule.name}"):
                raise InvalidInput(
                    f"must be eventSubscription.{rule.name}, or omitted", field=f"{place}.fullyQualifiedName"
                )


def check_event_types(subscription: EventSubscription, plan: Plan, before: Document) -> None:
    """Refuse a rule that asks for nothing but types of events that no resource has, if the alert never matches.

    Rules that the alert ``before`` has for the same resources stay.

    Raises
    ------
    InvalidInput : names the rule, the type, and the types that its resources have
    """
    filtering = subscription.filtering_rules
    if filtering is None or not filtering.resources or can_match(plan):
        return
    stored = _conditions_for(filtering.resources, before)
    for key in _LISTS:
        for index, rule in enumerate(getattr(filtering, key)):
            if rule.effect is Effect.INCLUDE and rule.condition not in stored:
                _check_types_of(rule.condition, filtering.resources, f"filteringRules.{key}[{index}].condition")


def _check_types_of(condition: str, resources: Collection[str], place: str) -> None:
    node = parse_and_check(condition)
    named_types = [leaf.values if isinstance(leaf, Has) and leaf.field == "eventType" else () for leaf in leaves(node)]
    if not (named_types and all(named_types) and is_never(simplify_for(node, resources))):
        return
    produced_types = [kind.value for kind in EventType if any(can_produce(resource, kind) for resource in resources)]
    missing_types = dict.fromkeys(kind for kinds in named_types for kind in kinds if kind not in produced_types)
    choice = (
        f"choose from {', '.join(produced_types)}"
        if len(produced_types) <= _MOST_NAMED
        else "POST /events/subscriptions/capabilities lists the types that it can have"
    )
    says = f"no event about {', '.join(resources)} has the type {' or '.join(missing_types)}"
    raise InvalidInput(f"{says}, so the alert would never match; {choice}", field=place)


def _conditions_for(resources: Collection[str], before: Document) -> set[str]:
    """Return the conditions of an alert, if it is about these resources."""
    rules = before.get("filteringRules") or {}
    if set(own_names(rules.get("resources") or ())) != set(resources):
        return set()
    return {str(rule.get("condition")) for key in _LISTS for rule in rules.get(key) or ()}
