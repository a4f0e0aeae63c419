"""Matching of one event against one plan in Python, for explanations, previews and tests of Spark's result.

Next: ``flow/resolve``.
"""

from __future__ import annotations

from functools import reduce
from operator import or_

from tocsin.conditions.evaluate import holds
from tocsin.flow.match.plan import Plan
from tocsin.model.change import LoggedEvent


def matches(plan: Plan, logged: LoggedEvent) -> bool:
    """Return whether ``logged`` matches ``plan``.

    Events before the creation of the subscription never do, nor do reports of what was before it.

    A condition on the recipient counts as true if it could hold for anybody.
    """
    return accepted_answers(plan, logged) != 0


def accepted_answers(plan: Plan, logged: LoggedEvent) -> int:
    """Return the sets of answers with which a person is a recipient of ``logged``; 0 when it does not match."""
    if not (plan.enabled and plan.stood_before(logged) and plan.is_news(logged) and holds(plan.covers, logged)):
        return 0
    return reduce(
        or_, (case.accepted_answers for case in plan.cases() if case.node is None or holds(case.node, logged)), 0
    )
