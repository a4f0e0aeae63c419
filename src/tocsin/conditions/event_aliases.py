"""Event types of OpenMetadata 2.0 that have no events of their own here, as the conditions that they stand for.

An edge of lineage and a task make events of the types that 1.13 knows. Conditions and queries of the log name either.
Next: ``conditions/check.py``, ``server/routes/events.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tocsin.conditions.evaluate import holds
from tocsin.conditions.fields import canonical, derive
from tocsin.conditions.nodes import Has, Leaf, Node
from tocsin.logic import conjunction_of, disjunction_of, leaves
from tocsin.model.change import EventType, LoggedEvent


def _all_facts(*facts: tuple[str, str]) -> Node:
    return conjunction_of(*(Has(field, (canonical(field, value),)) for field, value in facts))


ALIASES: dict[str, Node] = {
    **{
        f"entityLineage{change}": _all_facts(("eventType", "entityUpdated"), (f"fields{change}", "lineage"))
        for change in ("Added", "Updated", "Deleted")
    },
    "taskCreated": _all_facts(("eventType", "threadCreated"), ("threadType", "Task")),
    "taskUpdated": _all_facts(("eventType", "threadUpdated"), ("threadType", "Task")),
}


def with_meaning(leaf: Leaf) -> Node:
    """Return what a leaf of a condition asks for, without aliases of types of events."""
    if not isinstance(leaf, Has) or leaf.field != "eventType" or ALIASES.keys().isdisjoint(leaf.values):
        return leaf
    plain_values = tuple(value for value in leaf.values if value not in ALIASES)
    meanings = [ALIASES[value] for value in leaf.values if value in ALIASES]
    return disjunction_of(*([Has(leaf.field, plain_values)] if plain_values else []), *meanings)


NAMES = (*EventType, *ALIASES)
"""Everything that a query may name."""

_FIELD = "eventType"


@dataclass(frozen=True)
class NamedTypes:
    """What a query names: the types that events in the log have, and the condition on such an event.

    ``condition`` is None where the type alone decides.
    """

    types: frozenset[EventType]
    condition: Node | None = None

    def admit(self, logged: LoggedEvent) -> bool:
        """Return whether an event of one of these types is meant, by what is shown of it."""
        if self.condition is None:
            return True
        return holds(self.condition, replace(logged, derived=derive(logged.event, actor_is_bot=False)))


def named_types_of(names: Iterable[str]) -> NamedTypes:
    """Return what ``names``, each of ``NAMES``, mean together."""
    sorted_names = tuple(sorted(set(names)))
    condition = with_meaning(Has(_FIELD, sorted_names))
    type_tests = (leaf for leaf in leaves(condition) if isinstance(leaf, Has) and leaf.field == _FIELD)
    types = frozenset(EventType(name) for leaf in type_tests for name in leaf.values)
    return NamedTypes(types, None if ALIASES.keys().isdisjoint(sorted_names) else condition)
