"""Which lists are compared member by member, and by what are members told apart: name, tag or target.

The one table of it; everything that is not in it is compared as a whole. Next: ``flow/capture/diff.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tocsin.model.entity import Document

Identity = Callable[[Document], str]

REFERENCE_FIELDS = frozenset(
    {"service", "database", "databaseSchema", "testSuite", "testDefinition", "basicEntityReference"}
)
"""Keys that hold one reference; it is the same as long as it points to the same entity."""

SERVER_KEPT = frozenset(
    {
        "id",
        "href",
        "version",
        "updatedAt",
        "updatedBy",
        "fullyQualifiedName",
        "changeDescription",
        "incrementalChangeDescription",
        "followers",
        "votes",
        "usageSummary",
        "testCaseResult",
        "testCaseStatus",
        "pipelineStatus",
        "entityFQN",
        "basic",
    }
)
"""Keys the server writes by itself; a difference in them is no change made by anyone."""


@dataclass(frozen=True)
class MemberList:
    """How one list is compared.

    Attributes
    ----------
    identity : what tells its members apart
    label : what a member is called in paths and reorderings
    ordered : whether the members' order means anything
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
    """Return what tells one reference from another: the id, or type and FQN (or name) where there is no id."""
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
    "columns": _NAMED_DEEP,
    "children": _NAMED_DEEP,
    "tasks": _NAMED_DEEP,
    "parameterValues": _NAMED,
    "tags": _TAGS,
    "owners": _OWNERS,
    "charts": _CHARTS,
    "domains": _REFERENCES,
    "dashboards": _REFERENCES,
    "teams": _REFERENCES,
    "users": _REFERENCES,
    "parents": _REFERENCES,
    "tests": _REFERENCES,
    "testSuites": _REFERENCES,
}
"""Every list with identity, by its key, at whatever depth it stands."""
