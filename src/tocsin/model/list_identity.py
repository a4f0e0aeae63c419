"""Identity of list members (name, tag or target), keys of references, and keys that only the server writes.

Lists without an identity of members are compared as a whole. Next: ``flow/capture/diff.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES

Identity = Callable[[Document], str]

REFERENCE_LISTS: dict[str, tuple[str, ...]] = {
    "owners": ("user", "team"),
    "reviewers": ("user", "team"),
    "experts": ("user",),
    "domains": ("domain",),
    "dataProducts": ("dataProduct",),
    "consumesFrom": ("dataProduct",),
    "providesTo": ("dataProduct",),
    "teams": ("team",),
    "users": ("user",),
    "parents": ("team",),
    "roles": ("role",),
    "defaultRoles": ("role",),
    "policies": ("policy",),
    "charts": ("chart",),
    "dashboards": ("dashboard",),
    "dataModels": ("dashboardDataModel",),
    "relatedMetrics": ("metric",),
    "queryUsedIn": ("table", "dashboard", "pipeline", "storedProcedure"),
    "testSuites": ("testSuite",),
    "tests": ("testCase",),
    "triggers": ("eventsubscription",),
    "dependsOn": ("eventsubscription",),
}
"""Every key that holds a list of references, and the types its members may have; the first is taken for granted."""

REFERENCES: dict[str, tuple[str, ...]] = {
    "botUser": ("user",),
    "dashboard": ("dashboard",),
    "notificationTemplate": ("notificationTemplate",),
    "triggeredBy": ("storedProcedure", "pipeline", "table", "dashboard"),
}
"""Every key that holds one reference to something that is no ancestor, and the types it may have."""

REFERENCE_FIELDS = frozenset(
    (
        *REFERENCES,
        *(place.field for row in ENTITY_TYPES.values() for place in row.places),
        *(key for row in ENTITY_TYPES.values() for key in row.ancestors),
        "testSuite",
        "testDefinition",
        "basicEntityReference",
    )
)
"""Keys that hold one reference; it is the same as long as it points to the same entity."""

SERVER_KEPT = frozenset(
    {
        "id",
        "href",
        "version",
        "updatedAt",
        "updatedBy",
        "impersonatedBy",
        "fullyQualifiedName",
        "changeDescription",
        "incrementalChangeDescription",
        "followers",
        "votes",
        "usageSummary",
        "testCaseResult",
        "testCaseStatus",
        "pipelineStatus",
        "pipelineStatuses",
        "incidentId",
        "testSuites",
        "entityFQN",
        "basic",
        "authenticationMechanism",
    }
)
"""Keys the server writes by itself; a difference in them is no change made by anyone."""


BOOKKEEPING = frozenset({"lifeCycle", "sourceHash", "lastLoginTime", "lastActivityTime", "votes", "usageSummary"})
"""Keys by which connectors and the server keep books of an entity: changed alone, they make no version and no event.

Votes and usage are reported on routes of their own, whose events have no version.
"""

MEMBERSHIPS: dict[str, tuple[str, ...]] = {
    "user": ("teams",),
    "team": ("users", "parents"),
    "testCase": ("testSuites",),
}
"""Per type, the keys computed from memberships: they are in no document, and so in no version."""


@dataclass(frozen=True)
class MemberList:
    """How one list is compared.

    Attributes
    ----------
    identity : what identifies its members
    label : name of a member in paths and reorderings
    ordered : whether the members' order is kept: a new one is stored, but is no change
    deep : whether members are compared field by field
    reference : whether members are references, equal when they point to the same entity
    """

    identity: Identity
    label: Identity
    ordered: bool = False
    deep: bool = False
    reference: bool = False


def name_of(member: Document) -> str:
    """Return the member's name."""
    return str(member.get("name"))


def tag_of(member: Document) -> str:
    """Return the FQN of the tag that a label carries."""
    return str(member.get("tagFQN"))


def target_of(reference: Document) -> str:
    """Return the identity of a reference: the id, or type and FQN (or name) where there is no id."""
    fqn = reference.get("fullyQualifiedName") or reference.get("name")
    return str(reference.get("id") or f"{reference.get('type')}:{fqn}")


def label_of(reference: Document) -> str:
    """Return a reference as people read it: ``user:jane``."""
    return f"{reference.get('type')}:{reference.get('name') or target_of(reference)}"


def fqn_of(reference: Document) -> str:
    """Return the FQN a reference points to; the charts of one service are called by it."""
    return str(reference.get("fullyQualifiedName") or label_of(reference))


_NAMED = MemberList(name_of, name_of, ordered=True)
_NAMED_DEEP = MemberList(name_of, name_of, ordered=True, deep=True)
_TAGS = MemberList(tag_of, tag_of)
_REFERENCES = MemberList(target_of, label_of, reference=True)
_OWNERS = MemberList(target_of, label_of, ordered=True, reference=True)
_CHARTS = MemberList(target_of, fqn_of, ordered=True, reference=True)

MEMBER_LISTS: dict[str, MemberList] = {
    **{path[-1]: _NAMED_DEEP for row in ENTITY_TYPES.values() for path in row.member_paths},
    "children": _NAMED_DEEP,
    "mlHyperParameters": _NAMED,
    "customProperties": _NAMED,
    "parameterDefinition": _NAMED,
    "parameterValues": _NAMED,
    "rules": _NAMED,
    "tags": _TAGS,
    **dict.fromkeys(REFERENCE_LISTS, _REFERENCES),
    "owners": _OWNERS,
    "charts": _CHARTS,
}
"""Every list with identity, by its key, at any depth."""
