"""Refusal of rules that wait for types of events which no resource of their alert has.

Next: ``server/alerts/request.py``.
"""

from __future__ import annotations

from collections.abc import Collection

from tocsin.conditions.certainty import is_never
from tocsin.conditions.check import parse_and_check
from tocsin.conditions.nodes import Has
from tocsin.errors import InvalidInput
from tocsin.flow.match.producers import possible, produces
from tocsin.flow.match.remarks import can_match
from tocsin.logic import leaves
from tocsin.model.change import EventType
from tocsin.model.entity import Document
from tocsin.model.subscription import Effect, EventSubscription, own_names

_MOST_NAMED = 8


def check_event_types(subscription: EventSubscription, before: Document) -> None:
    """Refuse a rule that asks for nothing but types of events that no resource has, if the alert never matches.

    Rules that the alert ``before`` has for the same resources stay.

    Raises
    ------
    InvalidInput : names the rule, the type, and the types that its resources have
    """
    filtering = subscription.filtering_rules
    if filtering is None or not filtering.resources or can_match(subscription):
        return
    stored = _conditions_for(filtering.resources, before)
    for key in ("rules", "actions"):
        for index, rule in enumerate(getattr(filtering, key)):
            if rule.effect is Effect.INCLUDE and rule.condition not in stored:
                _check_rule(rule.condition, filtering.resources, f"filteringRules.{key}[{index}].condition")


def _check_rule(condition: str, resources: Collection[str], place: str) -> None:
    node = parse_and_check(condition)
    named_types = [leaf.values if isinstance(leaf, Has) and leaf.field == "eventType" else () for leaf in leaves(node)]
    if not (named_types and all(named_types) and is_never(possible(node, resources))):
        return
    produced_types = [kind.value for kind in EventType if any(produces(resource, kind) for resource in resources)]
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
    return {str(rule.get("condition")) for key in ("rules", "actions") for rule in rules.get(key) or ()}
