"""Types of events as queries of the log name them, those of OpenMetadata 2.0 included.

Next: ``server/routes/events.py``, ``server/routes/notifications/activity.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tocsin.conditions.evaluate import holds
from tocsin.conditions.event_aliases import ALIASES, with_meaning
from tocsin.conditions.fields import derive
from tocsin.conditions.nodes import Has, Node
from tocsin.logic import leaves
from tocsin.model.change import EventType, LoggedEvent

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
