"""Which of the mirrored entities Tocsin's own policies decide about, and the mark of all others.

Policies, roles and masks of the source cannot be mirrored. So what it brings is for administrators only, until an
administrator maps it: names it in the setting ``openmetadata_mapped``. What is not mapped carries a label that a policy
denies to everybody but administrators and the mirror's bot; what cannot carry a label is not mirrored before.
Next: ``access/unmapped.py``, which has that policy.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from tocsin.access.unmapped import UNMAPPED
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES, types_below

EVERYTHING = "*"

MARK: Document = {"tagFQN": UNMAPPED, "source": "Classification", "labelType": "Automated", "state": "Confirmed"}


def is_marked(document: Document) -> bool:
    """Return whether an entity carries the mark of what is not mapped."""
    return any(label.get("tagFQN") == UNMAPPED for label in document.get("tags") or ())


@dataclass(frozen=True)
class Mapping:
    """What is mapped: FQNs, each with all below it, or ``*``; and whether people are mirrored.

    Before an FQN may be a type and a colon; without one, it names all that is called so, whatever their types.
    """

    mapped: tuple[str, ...] = ()
    has_people: bool = False

    def as_document(self) -> Document:
        """Return it as JSON, in which it is kept."""
        return {"mapped": sorted(self.mapped), "people": self.has_people}

    def covers(self, entity_type: str, fqn: str) -> bool:
        """Return whether Tocsin's own policies decide about an entity."""
        return any(root == EVERYTHING or _lies_in(entity_type, fqn, root) for root in self.mapped)


def _lies_in(entity_type: str, fqn: str, root: str) -> bool:
    """Return whether an entity is what a name means, or lies below it."""
    if fqn == root or fqn.startswith(f"{root}."):
        return True
    root_type, has_type, name = root.partition(":")
    if not has_type or root_type not in ENTITY_TYPES:
        return False
    is_root = entity_type == root_type and fqn == name
    return is_root or (entity_type in _types_below(root_type) and fqn.startswith(f"{name}."))


@cache
def _types_below(entity_type: str) -> frozenset[str]:
    """Return the types that may lie below one; tests lie below their tables, though these are not their parents."""
    types = frozenset(types_below(entity_type))
    return types | {"testCase", "testSuite"} if "table" in {entity_type, *types} else types
