"""Event types of OpenMetadata 2.0 that have no events of their own here, as the conditions that they stand for.

An edge of lineage and a task make events of the types that 1.13 knows. Next: ``conditions/check.py``.
"""

from __future__ import annotations

from tocsin.conditions.fields import canonical
from tocsin.conditions.nodes import Has, Leaf, Node
from tocsin.logic import conjunction_of, disjunction_of


def _both(*facts: tuple[str, str]) -> Node:
    return conjunction_of(*(Has(field, (canonical(field, value),)) for field, value in facts))


ALIASES: dict[str, Node] = {
    **{
        f"entityLineage{change}": _both(("eventType", "entityUpdated"), (f"fields{change}", "lineage"))
        for change in ("Added", "Updated", "Deleted")
    },
    "taskCreated": _both(("eventType", "threadCreated"), ("threadType", "Task")),
    "taskUpdated": _both(("eventType", "threadUpdated"), ("threadType", "Task")),
}


def with_meaning(leaf: Leaf) -> Node:
    """Return what a leaf of a condition asks for, without aliases of types of events."""
    if not isinstance(leaf, Has) or leaf.field != "eventType" or ALIASES.keys().isdisjoint(leaf.values):
        return leaf
    plain_values = tuple(value for value in leaf.values if value not in ALIASES)
    meanings = [ALIASES[value] for value in leaf.values if value in ALIASES]
    return disjunction_of(*([Has(leaf.field, plain_values)] if plain_values else []), *meanings)
