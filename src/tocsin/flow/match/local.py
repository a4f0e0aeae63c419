"""Does one event match one plan? The plain Python engine: explain, previews, and the tests' oracle for Spark.

Next: ``flow/resolve``.
"""

from __future__ import annotations

from tocsin.conditions.evaluate import holds
from tocsin.flow.match.plan import Plan
from tocsin.model.change import LoggedEvent


def matches(plan: Plan, logged: LoggedEvent) -> bool:
    """Say whether ``logged`` matches ``plan``; nothing that happened before the subscription was created does."""
    event = logged.event
    if not plan.enabled or event.timestamp < plan.created_at_ms or not plan.is_about(event.entity_type):
        return False
    return plan.node is None or holds(plan.node, logged)
