"""Reminder conditions: what an alert asks of the events that remind of its incidents.

Such an event names the alerts that remind (``alerts/reminders.py``). What an alert asks of the failure, or of another
change, was so when it began to watch; what it asks of the asset and of the recipient must be so again. Next:
``flow/match/plan.py``.
"""

from __future__ import annotations

from tocsin.conditions.fields import DEPTHS, FQN, FQN_PATH, PLACE, TESTED_FQN, TESTED_NAMES, has
from tocsin.conditions.nodes import FieldValue, Leaf, Node, PathRoot, PathValue, Value, innermost, values_in
from tocsin.conditions.relaxation import relaxation_of
from tocsin.conditions.streaks import is_of_report
from tocsin.logic import ALWAYS, conjunction_of, disjunction_of, negation_of
from tocsin.model.change import INCIDENT_REMINDER, STATE_AT_SCHEDULE, EventType

REPEAT_INTERVAL = "trigger.repeatInterval"

_IS_REMINDER = has("eventType", (EventType.INCIDENT_REMINDER.value,))
_OF_ASSET = frozenset(
    {"entityType", "entityId", FQN, FQN_PATH, TESTED_FQN, TESTED_NAMES, "testSuites", "service", PLACE, *DEPTHS}
    | {"tags", "owners", "domains", "tier"}
)


def with_reminders(node: Node, alert_key: str) -> Node:
    """Return what ``node`` asks, of reminders that they are of the alert with this key, and of the asset as it asks."""
    is_own = has(STATE_AT_SCHEDULE, (f"{alert_key}|{INCIDENT_REMINDER}",))
    reminders = conjunction_of(_IS_REMINDER, is_own, relaxation_of(node, _remainder))
    return disjunction_of(reminders, conjunction_of(negation_of(_IS_REMINDER), node))


def _remainder(leaf: Leaf) -> Node | None:
    """Return None for a leaf about the asset or the recipient; of any other, nothing is required of a reminder."""
    return None if not is_of_report(leaf) and all(map(_is_of_asset, map(innermost, values_in(leaf)))) else ALWAYS


def _is_of_asset(value: Value) -> bool:
    """Return whether a value is one of the asset, or a literal."""
    match value:
        case FieldValue(name=name):
            return name in _OF_ASSET
        case PathValue(root=root):
            return root is PathRoot.ENTITY
        case _:
            return True
