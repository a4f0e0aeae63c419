"""Conditions on what is still so of an asset at the times of a scheduled alert: ``stillFailing()`` and others.

At each time Spark looks for the assets (``jobs/scheduled_checks.py``) and writes an event for each one, which says for
which schedule. An alert matches the events of its own schedule, because of such a condition. Next:
``flow/match/plan.py``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tocsin.conditions.causes import because_of
from tocsin.conditions.fields import has
from tocsin.conditions.nodes import Has, Leaf, Node
from tocsin.conditions.streaks import duration_ms
from tocsin.logic import NEVER, conjunction_of, disjunction_of, leaves, negation_of, replace_leaves
from tocsin.model.change import (
    STATE_AT_SCHEDULE,
    STILL_FAILING,
    STILL_STALE,
    STILL_WITHOUT_OWNER,
    ChangeEvent,
    EventType,
    FieldChange,
)
from tocsin.model.notification import Reason

_OF_SCHEDULE = "|"
IS_CHECK = has("eventType", (EventType.SCHEDULED_CHECK.value,))
"""The event says what is still so of an asset."""


def still_failing() -> Node:
    """Return "the newest verdict of the test or run is a failure"."""
    return has(STATE_AT_SCHEDULE, (STILL_FAILING,))


def still_stale(durations: tuple[str, ...]) -> Node:
    """Return "it has been without success for at least one of ``durations``"."""
    return has(STATE_AT_SCHEDULE, tuple(f"{STILL_STALE}:{duration_ms(one)}" for one in durations))


def still_without_owner() -> Node:
    """Return "the asset has no owner, not even an inherited one"."""
    return has(STATE_AT_SCHEDULE, (STILL_WITHOUT_OWNER,))


def states_asked(node: Node) -> frozenset[str]:
    """Return the states that ``node`` asks for: ``stillFailing``, ``stillStale:86400000`` (milliseconds)."""
    asked_states = (leaf.values for leaf in leaves(node) if isinstance(leaf, Has) and leaf.field == STATE_AT_SCHEDULE)
    return frozenset(state.rpartition(_OF_SCHEDULE)[2] for states in asked_states for state in states)


def at_times_of(node: Node, schedule_id: str) -> Node:
    """Return what ``node`` asks of the events of checks for this schedule, and of all others.

    Of the former, those match that meet the condition because of what was found: other parts ask for changes.
    """
    on_schedule = replace_leaves(node, lambda leaf: _on_schedule(leaf, schedule_id))
    states = conjunction_of(IS_CHECK, because_of(on_schedule, lambda leaf: leaf if _is_state(leaf) else NEVER))
    changes = replace_leaves(node, lambda leaf: NEVER if _is_state(leaf) else leaf)
    return disjunction_of(states, conjunction_of(negation_of(IS_CHECK), changes))


def states_for(schedule_id: str, states: Iterable[str]) -> list[str]:
    """Return those of the ``states`` of an event that were found for a schedule, as conditions name them."""
    prefix = f"{schedule_id}{_OF_SCHEDULE}"
    return [state.removeprefix(prefix) for state in states if state.startswith(prefix)]


def with_own_states(event: ChangeEvent, reasons: Iterable[Reason]) -> ChangeEvent:
    """Return the event of a check with what the alerts of these reasons ask for: a check finds it for many alerts."""
    described, states = event.change_description, [reason.states for reason in reasons]
    if event.event_type is not EventType.SCHEDULED_CHECK or described is None or not states or not all(states):
        return event
    asked_states = {state for alert_states in states for state in alert_states or ()}
    own_changes = [_own_part(change, asked_states) for change in described.fields_added]
    kept_changes = tuple(change for change in own_changes if change is not None)
    if kept_changes == described.fields_added:
        return event
    return event.model_copy(update={"change_description": described.model_copy(update={"fields_added": kept_changes})})


def _own_part(change: FieldChange, asked_states: Collection[str]) -> FieldChange | None:
    """Return a finding as far as alerts ask for it; None if none does."""
    if change.name != STILL_STALE:
        return change if change.name in asked_states else None
    durations = [one for one in change.new_value["asked"] if f"{STILL_STALE}:{one}" in asked_states]
    return change.model_copy(update={"new_value": change.new_value | {"asked": durations}}) if durations else None


def _is_state(leaf: Leaf) -> bool:
    return isinstance(leaf, Has) and leaf.field == STATE_AT_SCHEDULE


def _on_schedule(leaf: Leaf, schedule_id: str) -> Node:
    if not (isinstance(leaf, Has) and leaf.field == STATE_AT_SCHEDULE):
        return leaf
    return has(STATE_AT_SCHEDULE, tuple(f"{schedule_id}{_OF_SCHEDULE}{state}" for state in leaf.values))
