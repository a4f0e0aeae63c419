"""Alerts that watch an asset: those that some later event about it may match, for all that the asset decides.

Next: ``server/alerts/watching.py``.
"""

from __future__ import annotations

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


def watches(plan: Plan, asset: LoggedEvent) -> bool:
    """Return whether an alert may match an event about an asset, as it is now; False only if that is certain.

    ``asset`` is an event about it: only what every event about it has in common counts.
    """
    if not plan.enabled:
        return False
    is_for_tests = asset.event.entity_type == "table" and about_results(plan.node or ALWAYS) is not NEVER
    fields = _OF_ASSET if is_for_tests else _OF_ASSET | {_SUITES}

    def decide(leaf: Leaf) -> Node:
        if isinstance(leaf, Personal) or not all(_is_of_asset(value, fields) for value in values_in(leaf)):
            return leaf
        return ALWAYS if holds(leaf, asset) else NEVER

    node = simplify_for(
        conjunction_of(plan.covers, plan.node or ALWAYS), (asset.event.entity_type,), unnamed=plan.unnamed
    )
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
