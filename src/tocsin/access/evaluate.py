"""Evaluation of a policy condition for one document in Python.

``store/catalogue/access/visibility.py`` does the same in SQL.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from tocsin.access.nodes import (
    About,
    Asks,
    Certified,
    Condition,
    HasDomain,
    InDomain,
    Leaf,
    Owned,
    OwnedBy,
    OwnedWithin,
    Tagged,
)
from tocsin.access.visibility_parents import FOUND, GONE, subject_references
from tocsin.logic import is_true
from tocsin.model.entity import Document
from tocsin.model.labels import labels_of


class Facts:
    """The facts of a document that rules read, each computed once and on demand."""

    def __init__(self, resource: str, document: Document) -> None:
        self._resource, self._document = resource, document

    @cached_property
    def owners(self) -> frozenset[str]:
        """The ids of its owners; a user belongs to themselves."""
        if self._resource == "user":
            return frozenset({str(self._document.get("id"))})
        return frozenset(_ids(self._document.get("owners")))

    @cached_property
    def owner_teams(self) -> frozenset[str]:
        """The ids of those of its owners that are teams."""
        return frozenset(_ids(self._document.get("owners"), only="team"))

    @cached_property
    def domains(self) -> frozenset[str]:
        """The ids of its domains."""
        return frozenset(_ids(self._document.get("domains")))

    @cached_property
    def tags(self) -> frozenset[str]:
        """The FQNs of its labels and of its members' labels, as in ``store/catalogue/relations/projections.py``."""
        return frozenset(str(label["tagFQN"]) for label in labels_of(self._document))

    @cached_property
    def certification(self) -> str | None:
        """The FQN of its certification."""
        certificate = self._document.get("certification")
        label = certificate.get("tagLabel") if isinstance(certificate, dict) else None
        return label.get("tagFQN") if isinstance(label, dict) else None

    @property
    def is_gone(self) -> bool:
        """Whether it describes a hard-deleted entity."""
        return self._document is GONE

    @cached_property
    def about(self) -> tuple[tuple[str, Facts], ...] | None:
        """Its subjects, by type; None where they were not looked up."""
        subjects = self._document.get(FOUND)
        if subjects is None:
            return None if subject_references(self._resource, self._document) else ()
        return tuple((resource, Facts(resource, document)) for resource, document in subjects)


def holds(condition: Condition, facts: Facts) -> bool:
    """Return whether a bound condition holds; a question about a person that nobody has answered does not."""
    return is_true(condition, _leaf_holds, facts)


def _leaf_holds(leaf: Leaf, facts: Facts) -> bool:
    match leaf:
        case OwnedBy(owners=owners):
            return not owners.isdisjoint(facts.owners)
        case OwnedWithin(members=members, teams_only=teams_only):
            return not members.isdisjoint(facts.owner_teams if teams_only else facts.owners)
        case Owned():
            return bool(facts.owners)
        case InDomain(domains=domains):
            return not domains.isdisjoint(facts.domains)
        case HasDomain():
            return bool(facts.domains)
        case Tagged(tag=tag, carriers=carriers):
            return tag in facts.tags or not carriers.isdisjoint(facts.tags)
        case Certified(certifications=certifications):
            return facts.certification in certifications
        case About(scopes=scopes):
            return _about_holds(dict(scopes), facts)
        case Asks() | _:
            return False


def _about_holds(scopes: dict[str, Condition], facts: Facts) -> bool:
    """Return whether all that it is about meets the condition of its type; what is not known does not."""
    if facts.about is None:
        return False
    return all(
        resource not in scopes or (not subject.is_gone and holds(scopes[resource], subject))
        for resource, subject in facts.about
    )


def _ids(references: object, only: str | None = None) -> Iterator[str]:
    for reference in references if isinstance(references, list) else ():
        if (
            isinstance(reference, dict)
            and isinstance(reference.get("id"), str)
            and only in (None, reference.get("type"))
        ):
            yield reference["id"]
