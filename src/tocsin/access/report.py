"""Effective permissions of a person with the rules that grant them, in OpenMetadata's response format.

Source: schemas/entity/policies/accessControl/resourcePermission.json, and ``CompiledRule.evaluatePermission``.
Next: ``server/routes/people/permissions.py``.
"""

from __future__ import annotations

from tocsin.access.decide import Permissions, Reach, Ruling
from tocsin.access.evaluate import Facts, holds
from tocsin.access.rules import RuleEffect
from tocsin.logic import ALWAYS
from tocsin.model.access import TOCSINS_OWN, Operation
from tocsin.model.entity import Document

_ORDER = ("deny", "allow", "conditionalDeny", "conditionalAllow", "notAllow")
"""Which answer wins over which."""

_REPORTED = tuple(one for one in Operation if one not in (Operation.ALL, *TOCSINS_OWN))


def resource_permission(permissions: Permissions, resource: str, document: Document | None = None) -> Document:
    """Return upstream's ``ResourcePermission``: for each operation, whether it is allowed and by which rule.

    Without a document, what depends on one is ``conditionalAllow`` or ``conditionalDeny``.
    """
    facts = None if document is None else Facts(resource, document)
    granted = [
        _permission(permissions, operation, permissions.reach(resource, operation), facts) for operation in _REPORTED
    ]
    return {"resource": resource, "permissions": granted}


def _permission(permissions: Permissions, operation: Operation, reach: Reach, facts: Facts | None) -> Document:
    if permissions.subject.is_admin:
        return {"operation": operation.value, "access": "allow"}
    rulings = (*reach.denials, *reach.allowances)
    rulings_by_access = [(access, one) for one in rulings if (access := _access(one, facts)) is not None]
    if not rulings_by_access:
        return {"operation": operation.value, "access": "notAllow"}
    access, ruling = min(rulings_by_access, key=lambda one: _ORDER.index(one[0]))
    all_details = {"policy": ruling.grant.policy.name, "role": ruling.grant.role, "rule": ruling.rule.document}
    details = {key: value for key, value in all_details.items() if value is not None}
    return {"operation": operation.value, "access": access, **details}


def _access(ruling: Ruling, facts: Facts | None) -> str | None:
    is_denial = ruling.rule.effect is RuleEffect.DENY
    if facts is not None:
        return ("deny" if is_denial else "allow") if holds(ruling.condition, facts) else None
    if ruling.condition == ALWAYS:
        return "deny" if is_denial else "allow"
    return "conditionalDeny" if is_denial else "conditionalAllow"
