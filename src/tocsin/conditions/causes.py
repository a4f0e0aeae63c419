"""Conditions narrowed to one cause: they hold, and a test of a given kind makes them so.

Next: ``conditions/test_results.py`` (because of a result), ``conditions/asset_states.py`` (of a state).
"""

from __future__ import annotations

from collections.abc import Callable

from tocsin.conditions.nodes import Leaf, Node
from tocsin.logic import NEVER, And, Constant, Not, Or, conjunction_of, disjunction_of, negation_of


def because_of(node: Node, cause_in: Callable[[Leaf], Node], *, holds: bool = True) -> Node:
    """Return "the node, or its negation if not ``holds``, is true, and a true cause makes it so".

    ``cause_in`` returns the part of a leaf that is a cause, or ``NEVER``. That a cause is another or missing makes
    nothing so: it is true of events without any.
    """
    match node:
        case Constant():
            return NEVER
        case Not(operand=operand):
            return because_of(operand, cause_in, holds=not holds)
        case And(operands=operands) | Or(operands=operands):
            parts = [because_of(one, cause_in, holds=holds) for one in operands]
            if isinstance(node, Or) is holds:
                return disjunction_of(*parts)
            condition = node if holds else negation_of(node)
            return (
                condition if not set(parts).isdisjoint(operands) else conjunction_of(condition, disjunction_of(*parts))
            )
        case leaf:
            return cause_in(leaf) if holds else NEVER  # type: ignore[arg-type]  # whatever is none of the above
