"""What exactly does a subscription ask for? Its rules as one checked condition, ready for either engine.

Next: ``flow/match/local.py`` (one event), ``spark/match.py`` (many).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tocsin.conditions.check import checked
from tocsin.conditions.nodes import Constant, Node, conjoined, disjoined, negated
from tocsin.errors import InvalidCondition, InvalidInput
from tocsin.model.subscription import (
    Effect,
    EventSubscription,
    FilteringRule,
    FilteringRules,
    PrefixCondition,
    TriggerType,
)

ALL_RESOURCES = "all"


@dataclass(frozen=True)
class Plan:
    """A subscription as the engines see it.

    Attributes
    ----------
    subscription_id : whose plan it is
    resources : types of entity it is about; ``all`` among them means every type, none at all matches nothing
    node : the condition that rules and actions add up to; None when there is none
    created_at_ms : epoch milliseconds; what happened before matches nothing
    enabled : a disabled subscription matches nothing
    """

    subscription_id: str
    resources: tuple[str, ...]
    node: Node | None
    created_at_ms: int
    enabled: bool = True

    def is_about(self, entity_type: str) -> bool:
        """Say whether entities of this type are among its resources."""
        return ALL_RESOURCES in self.resources or entity_type in self.resources


def plan_of(subscription: EventSubscription) -> Plan:
    """Return what ``subscription`` asks for. Without filtering rules it matches nothing, as upstream's newer versions.

    Raises
    ------
    InvalidCondition : a rule's condition is wrong; the message names the rule, ``field`` its place.
    InvalidInput : the trigger is ``Scheduled``.
    """
    if subscription.trigger.trigger_type is TriggerType.SCHEDULED:
        raise InvalidInput("Scheduled triggers come later", field="trigger.triggerType")
    filtering = subscription.filtering_rules or FilteringRules(resources=())
    node = conjoined(_chain("rules", filtering.rules), _chain("actions", filtering.actions))
    return Plan(
        subscription_id=subscription.id,
        resources=filtering.resources,
        node=None if node == Constant(True) else node,
        created_at_ms=subscription.created_at_ms,
        enabled=subscription.enabled,
    )


def _chain(key: str, rules: Sequence[FilteringRule]) -> Node:
    """Return ``rules`` joined left to right, AND binding tighter than OR; always, when there are none."""
    alternatives: list[list[Node]] = [[]]
    for index, rule in enumerate(rules):
        if index and rule.prefix_condition is PrefixCondition.OR:
            alternatives.append([])
        alternatives[-1].append(_ruled(f"filteringRules.{key}[{index}].condition", rule))
    return disjoined(*(conjoined(*together) for together in alternatives))


def _ruled(field: str, rule: FilteringRule) -> Node:
    try:
        node = checked(rule.condition)
    except InvalidCondition as error:
        raise _naming(field, rule, error) from error
    return negated(node) if rule.effect is Effect.EXCLUDE else node


def _naming(field: str, rule: FilteringRule, error: InvalidCondition) -> InvalidCondition:
    """Return ``error`` with the rule's name in its message and its place in ``field``."""
    named = InvalidCondition(
        f"Rule {rule.name or field!r}: {error.message}",
        line=error.line,
        column=error.column,
        expected=error.expected,
        suggestion=error.suggestion,
    )
    named.field = field
    return named
