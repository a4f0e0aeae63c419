"""Alerts that watch an asset: those that some later event about it may match, for all that the asset decides.

Next: ``server/alerts/watching.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

from tocsin.conditions.certainty import is_never
from tocsin.conditions.evaluate import holds
from tocsin.conditions.fields import CLOSURES, FQN
from tocsin.conditions.nodes import (
    FieldValue,
    Leaf,
    Literals,
    Node,
    PathRoot,
    PathValue,
    Personal,
    Value,
    innermost,
    values_in,
)
from tocsin.conditions.test_results import about_results
from tocsin.flow.match.plan import Plan
from tocsin.flow.match.producers import simplify_for
from tocsin.logic import ALWAYS, NEVER, conjunction_of, replace_leaves
from tocsin.model.change import LoggedEvent

_OF_ASSET = frozenset({"entityType", "entityId", FQN, "tags", "owners", "domains", "tier", "service"})
"""Fields that every event about an asset has from it; the others depend on what happens."""

_SUITES = "testSuites"
"""Field of tests. A table has none, but alerts on the results of its tests ask for theirs."""


def select_watched(plan: Plan, assets: Sequence[LoggedEvent]) -> list[LoggedEvent]:
    """Return those of these assets, as they are now, an event about which an alert may match; in doubt all.

    ``assets`` are events about them: only what every event about one has in common counts.
    """
    nodes: dict[str, Node] = {}
    watched_events: list[LoggedEvent] = []
    for asset in assets if plan.enabled else ():
        kind = asset.event.entity_type
        if kind not in nodes:
            whole_node = conjunction_of(plan.covers, plan.node or ALWAYS)
            nodes[kind] = simplify_for(whole_node, (kind,), unnamed=plan.unnamed)
        watched_events += [asset] if _may_match(nodes[kind], asset, plan) else []
    return watched_events


def _may_match(node: Node, asset: LoggedEvent, plan: Plan) -> bool:
    """Return whether a condition, simplified for the type of an asset, may hold for an event about it."""
    if is_never(node):
        return False
    is_for_tests = asset.event.entity_type == "table" and about_results(plan.node or ALWAYS) is not NEVER
    fields = _OF_ASSET if is_for_tests else _OF_ASSET | {_SUITES}

    def decide(leaf: Leaf) -> Node:
        if isinstance(leaf, Personal) or not all(_is_of_asset(value, fields) for value in values_in(leaf)):
            return leaf
        return ALWAYS if holds(leaf, asset) else NEVER

    return not is_never(replace_leaves(node, decide))


def _is_of_asset(value: Value, fields: frozenset[str]) -> bool:
    match innermost(value):
        case Literals():
            return True
        case FieldValue(name=name):
            return CLOSURES.get(name, name) in fields
        case PathValue(root=root):
            return root is PathRoot.ENTITY
        case _:
            return False
