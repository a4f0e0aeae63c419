"""Which of the mirrored entities Tocsin's own policies decide about, and the mark of all others.

Policies, roles and masks of the source cannot be mirrored. So what it brings is for administrators only, until an
administrator maps it: names it in the setting ``openmetadata_mapped``. What is not mapped carries a label that a policy
denies to everybody but administrators and the mirror's bot; what cannot carry a label is not mirrored before.
Next: ``access/unmapped.py``, which has that policy.
"""

from __future__ import annotations

from dataclasses import dataclass

from tocsin.access.unmapped import UNMAPPED
from tocsin.model.entity import Document

EVERYTHING = "*"

MARK: Document = {"tagFQN": UNMAPPED, "source": "Classification", "labelType": "Automated", "state": "Confirmed"}


def is_marked(document: Document) -> bool:
    """Return whether an entity carries the mark of what is not mapped."""
    return any(label.get("tagFQN") == UNMAPPED for label in document.get("tags") or ())


@dataclass(frozen=True)
class Mapping:
    """What is mapped: FQNs, each with all below it, or ``*``; and whether people are mirrored."""

    mapped: tuple[str, ...] = ()
    has_people: bool = False

    def as_document(self) -> Document:
        """Return it as JSON, in which it is kept."""
        return {"mapped": sorted(self.mapped), "people": self.has_people}

    def covers(self, fqn: str) -> bool:
        """Return whether Tocsin's own policies decide about an entity."""
        return any(root == EVERYTHING or fqn == root or fqn.startswith(f"{root}.") for root in self.mapped)
