"""Conditions without what they say of some things, such as the report that an event brings.

Next: ``conditions/recovery.py``, ``conditions/reminders.py``.
"""

from __future__ import annotations

from collections.abc import Callable

from tocsin.conditions.nodes import Leaf, Node
from tocsin.logic import ALWAYS, And, Constant, Not, Or, conjunction_of, disjunction_of, negation_of


def relaxation_of(node: Node, remainder_of: Callable[[Leaf], Node | None], *, holds: bool = True) -> Node:
    """Return a node, or its negation if not ``holds``, without what some of its leaves say.

    ``remainder_of`` returns what is still required in place of a leaf that must hold, and None for a leaf that stays.
    In place of such a leaf that must not hold nothing is required.
    """
    match node:
        case Constant():
            return node if holds else negation_of(node)
        case Not(operand=operand):
            return relaxation_of(operand, remainder_of, holds=not holds)
        case And(operands=operands) | Or(operands=operands):
            parts = [relaxation_of(one, remainder_of, holds=holds) for one in operands]
            return conjunction_of(*parts) if isinstance(node, And) is holds else disjunction_of(*parts)
        case leaf:
            remainder = remainder_of(leaf)  # type: ignore[arg-type]  # whatever is none of the above
            if remainder is None:
                return leaf if holds else negation_of(leaf)
            return remainder if holds else ALWAYS
