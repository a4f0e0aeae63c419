"""Validation of a policy's rules before the policy is written.

Next: ``access/rules.py``.
"""

from __future__ import annotations

from tocsin.access.resources import RESOURCES
from tocsin.access.rules import checked_rules
from tocsin.flow.capture.ports import Transaction
from tocsin.model import fqn
from tocsin.model.entity import Document
from tocsin.model.stored import Key

_LOOKED_UP = frozenset({"team", "role"})  # a rule may speak of a tag before anything carries it


def with_checked_rules(transaction: Transaction, document: Document) -> Document:
    """Return a policy with its rules checked, in one spelling and each with its FQN; other documents as they are.

    Raises
    ------
    InvalidInput : a rule cannot be understood; says which one, and where in its condition.
    """
    if "rules" not in document:
        return document

    def known(kind: str, name: str) -> tuple[str, ...] | None:
        if kind not in _LOOKED_UP:
            return None
        found = transaction.reference(kind, Key.by_name(fqn.quote(name)))
        return () if found is None or found.get("deleted") else None

    return document | {"rules": checked_rules(document, RESOURCES, known)}
