"""Validation of new labels, and derived labels.

Each new label must name an existing tag or term. A glossary term adds its own tags, as labels of type ``Derived``.
Source: OpenMetadata's ``TagLabelUtil`` and ``EntityRepository.validateTags``. Next: ``model/labels.py``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tocsin.errors import InvalidInput
from tocsin.flow.capture.authorization import EVERYTHING, Permit, check_view
from tocsin.flow.capture.ports import Hold, Transaction
from tocsin.model import fqn as names
from tocsin.model.entity import Document
from tocsin.model.labels import (
    CERTIFICATION,
    SOURCES,
    carries_labels,
    certification_of,
    label_lists,
    labels_of,
    replace_labels,
)
from tocsin.model.stored import Key, Stored, not_found

Name = tuple[str, str]
"""What a label says: its source and its tag."""

TYPES = {source: entity_type for entity_type, source in SOURCES.items()}
"""Per source of a label, the type of what it names."""

_ABOVE = {"Classification": ("tag", "classification"), "Glossary": ("glossaryTerm", "glossary")}
_CERTIFYING = "Certification"
"""The classification whose tags certify, as upstream's setting ``assetCertificationSettings`` has it by default."""
_CERTIFIED_FOR_MS = 30 * 24 * 3600 * 1000
OF_THE_TAG = ("name", "displayName", "description", "style")
"""Keys of a label that say what its tag says; answers add them to a label."""


def with_checked_labels(
    transaction: Transaction, document: Document, old: Document, permit: Permit = EVERYTHING
) -> Document:
    """Return the document with its labels as they are kept: known ones, and those that follow from them.

    Raises
    ------
    NotFound : a label that was not there before names a tag or a term that there is not.
    Forbidden : ``permit`` does not let the writer see what it names.
    InvalidInput : it names a disabled one, two of which only one may be given, or certifies and is not made for that.
    """
    if not carries_labels(document):
        return document
    relabelled_document: Document = replace_labels(document, _plain)
    old_names = {name_of(label) for label in labels_of(old)}
    _check_certifying(relabelled_document, old)
    catalogue = _Tags(transaction)
    for name in dict.fromkeys(name_of(label) for label in labels_of(relabelled_document)):
        if name not in old_names:
            catalogue.check_usable(name, permit)
    for labels in label_lists(relabelled_document):
        catalogue.check_alone([name_of(label) for label in labels], old_names)
        labels += catalogue.derived_labels(labels)
    return relabelled_document


def with_shown_labels(transaction: Transaction, document: Document, paths: Iterable[str]) -> Document:
    """Return the document with its labels as readers see them, if a patch of ``paths`` is about labels.

    They say what their tags say, and the derived ones are those of today.
    """
    if not any(map(_is_about_labels, paths)) or not carries_labels(document):
        return document
    relabelled_document: Document = replace_labels(document, _plain)
    catalogue = _Tags(transaction)
    for labels in label_lists(relabelled_document):
        labels[:] = [catalogue.label_with_tag(label) for label in (*labels, *catalogue.derived_labels(labels))]
    return relabelled_document


def _is_about_labels(path: str) -> bool:
    return path == "" or "tags" in path.split("/")


def _check_certifying(document: Document, old: Document) -> None:
    label, before = certification_of(document), certification_of(old)
    if label is None or (before is not None and name_of(label) == name_of(before)):
        return
    if names.split(str(label["tagFQN"]))[0] == _CERTIFYING:
        return
    problem = f"{CERTIFICATION} must be a tag of the classification {_CERTIFYING}; {label['tagFQN']} is not"
    raise InvalidInput(problem, field=CERTIFICATION)


def with_certificate_dates(document: Document, old: Document, at_ms: int) -> Document:
    """Return the document with the server's dates in its certificate: from now on, for thirty days.

    A certificate that is sent again with its dates, or without any, keeps those that it has; other dates renew it.
    """
    certificate, before = document.get(CERTIFICATION), old.get(CERTIFICATION)
    if not isinstance(certificate, dict):
        return document
    dates: Document = {"appliedDate": at_ms, "expiryDate": at_ms + _CERTIFIED_FOR_MS}
    if isinstance(before, dict) and _tag_of(before) == _tag_of(certificate):
        old_dates = {key: before[key] for key in dates if key in before}
        if old_dates.items() >= {key: certificate[key] for key in dates if key in certificate}.items():
            dates = old_dates
    return document | {CERTIFICATION: certificate | dates}


def _tag_of(certificate: Document) -> object:
    label = certificate.get("tagLabel")
    return label.get("tagFQN") if isinstance(label, dict) else None


def name_of(label: Document) -> Name:
    """Return what a label says."""
    return str(label.get("source")), str(label["tagFQN"])


def derived_labels(label: Document, term: Document, label_names: set[str]) -> Iterator[Document]:
    """Yield the labels derived from a label of this glossary term, except those that are ``label_names`` already."""
    for term_label in term.get("tags") or ():
        if term_label["tagFQN"] not in label_names and term_label["tagFQN"] != label["tagFQN"]:
            yield {**term_label, "labelType": "Derived"}


def _plain(label: Document) -> Document | None:
    if label.get("labelType") == "Derived":
        return None
    return {key: value for key, value in label.items() if key not in OF_THE_TAG and key != "href"}


@dataclass
class _Tags:
    """What is known of the tags and terms that one document names."""

    transaction: Transaction
    tags_by_name: dict[Name, Stored | None] = field(default_factory=dict)

    def check_usable(self, name: Name, permit: Permit) -> None:
        source, tag = name
        if source not in TYPES:
            problem = "a label needs its source" if source == "None" else f"unknown source of labels {source!r}"
            raise InvalidInput(f"tags: {problem}; valid sources: {', '.join(TYPES)}", field="tags")
        stored = self._get(name)
        if stored is None or stored.is_deleted:
            raise not_found(TYPES[source], Key.by_name(tag))
        check_view(permit, stored)
        if stored.document.get("disabled") or self._above(stored).get("disabled"):
            raise InvalidInput(f"{TYPES[source]} {tag} is disabled and cannot be assigned", field="tags")

    def check_alone(self, label_names: list[Name], old_names: set[Name]) -> None:
        siblings: dict[Name, list[Name]] = defaultdict(list)
        for source, tag in label_names:
            if (above := names.parent(tag)) is not None:
                siblings[source, above].append((source, tag))
        for (source, above), together in siblings.items():
            if len(together) > 1 and not old_names.issuperset(together) and self._is_exclusive(source, above):
                first, second = (tag for _, tag in together[:2])
                raise InvalidInput(f"{first} and {second} are mutually exclusive; assign only one", field="tags")

    def derived_labels(self, labels: list[Document]) -> list[Document]:
        derived_by_name: dict[str, Document] = {}
        label_names = {label["tagFQN"] for label in labels}
        for label in labels:
            term = self._get(name_of(label)) if label.get("source") == "Glossary" else None
            if term is not None:
                derived_by_name |= {one["tagFQN"]: one for one in derived_labels(label, term.document, label_names)}
        return list(derived_by_name.values())

    def label_with_tag(self, label: Document) -> Document:
        tag = self._get(name_of(label)) if label.get("source") in TYPES else None
        return label if tag is None else label | {key: tag.document[key] for key in OF_THE_TAG if key in tag.document}

    def _get(self, name: Name) -> Stored | None:
        if name not in self.tags_by_name:
            self.tags_by_name[name] = self.transaction.find(TYPES[name[0]], Key.by_name(name[1]), Hold.SHARED)
        return self.tags_by_name[name]

    def _above(self, tag: Stored) -> Document:
        key = "classification" if tag.entity_type == "tag" else "glossary"
        return self._document(key, tag.document[key]["fullyQualifiedName"])

    def _is_exclusive(self, source: str, above: str) -> bool:
        return any(self._document(kind, above).get("mutuallyExclusive") for kind in _ABOVE.get(source, ()))

    def _document(self, entity_type: str, name: str) -> Document:
        entity = self.transaction.find(entity_type, Key.by_name(name), Hold.SHARED)
        return {} if entity is None else entity.document
