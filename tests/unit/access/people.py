"""Sample people, policies and documents for the tests of access rules."""

from __future__ import annotations

from typing import Any

from tocsin.access.decide import Permissions
from tocsin.access.resources import RESOURCES
from tocsin.access.rules import Policy, checked_rules, policy_of
from tocsin.access.subject import Grant, Subject
from tocsin.model.entity import Document

ALICE = "00000000-0000-4000-8000-00000000a11c"
TEAM = "00000000-0000-4000-8000-0000000000ea"
OTHER = "00000000-0000-4000-8000-0000000000ff"


def rule(effect: str, operations: str, *, on: str = "all", when: str | None = None) -> Document:
    """A rule with a name of its own."""
    request = {"name": f"{effect} {operations} {on} {when}", "effect": effect, "operations": operations.split()}
    return {**request, "resources": on.split(), **({"condition": when} if when else {})}


def policy(*rules: Document, name: str = "P") -> Policy:
    """A checked policy of these rules."""
    document = {"id": name, "name": name, "rules": list(rules)}
    return policy_of({**document, "rules": checked_rules(document, RESOURCES)})


def permissions(*rules: Document, **fields: Any) -> Permissions:
    """What Alice may do when one role of hers brings these rules."""
    return Permissions(
        Subject(**{"id": ALICE, "name": "alice", "grants": (Grant(policy(*rules), role="R"),), **fields})
    )


def table(**fields: Any) -> Document:
    """A table's document."""
    return {"id": OTHER, "name": "orders", **fields}


def table_owned_by(*owners: str, kind: str = "user") -> Document:
    """A table that these own."""
    return table(owners=[{"id": owner, "type": kind} for owner in owners])
