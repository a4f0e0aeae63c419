"""Validation of a policy's rules before the policy is written.

Next: ``access/rules.py``.
"""

from __future__ import annotations

from tocsin.access.language import LOOKED_UP
from tocsin.access.resources import RESOURCES
from tocsin.access.rules import checked_rules
from tocsin.conditions.entity_names import CALLED_BY_NAME, EntityName, entity_names, with_renamed
from tocsin.flow.capture.ports import Transaction
from tocsin.model import fqn
from tocsin.model.entity import Document
from tocsin.model.people import is_removed_name
from tocsin.model.stored import Key


def with_checked_rules(transaction: Transaction, document: Document, old: Document) -> Document:
    """Return a policy with its rules checked, in one spelling and each with its FQN; other documents as they are.

    Raises
    ------
    InvalidInput : a rule cannot be understood; says which one, and where in its condition.
    """
    if "rules" not in document:
        return document

    old_names = {name.text for rule in old.get("rules") or () for name in entity_names(rule.get("condition") or "")}

    def find_names(kind: str, name: str) -> tuple[str, ...] | None:
        if kind not in LOOKED_UP or name in old_names or is_removed_name(name):
            return None
        reference = transaction.reference(kind, Key.by_name(fqn.quote(name)))
        return () if reference is None or reference.get("deleted") else None

    current_document = document | {"rules": _with_current_names(transaction, document["rules"])}
    return current_document | {"rules": checked_rules(current_document, RESOURCES, find_names)}


def _with_current_names(transaction: Transaction, rules: object) -> object:
    """Return rules that say what renamed labels and teams are called now; what is malformed stays as it is.

    A request from before a rename, or a version that is rolled back to, must not lose what it denies.
    """

    def rename(name: EntityName) -> str | None:
        reference = transaction.formerly(name.types, name.text)
        if reference is None:
            return None
        return str(reference["name"] if reference["type"] in CALLED_BY_NAME else reference["fullyQualifiedName"])

    def with_current(rule: object) -> object:
        if not isinstance(rule, dict) or not isinstance(rule.get("condition"), str):
            return rule
        return rule | {"condition": with_renamed(rule["condition"], rename)}

    return [with_current(rule) for rule in rules] if isinstance(rules, list) else rules
