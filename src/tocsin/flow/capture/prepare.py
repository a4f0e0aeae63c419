"""What document does a request ask for? Its place in the catalogue, its references, what a PUT keeps.

Next: ``flow/capture/write.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

from tocsin.errors import InvalidInput
from tocsin.flow.capture.members import target_of
from tocsin.flow.capture.ports import Stored
from tocsin.flow.capture.references import Resolver, reference_to
from tocsin.flow.capture.request import check_required, clean, shaped, without_server_keys
from tocsin.model import fqn
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES, EntityType

_CURATED = ("displayName", "description", "tags")


@dataclass(frozen=True)
class Draft:
    """A document asked for, and the FQN it will have."""

    fqn: str
    document: Document


def draft_of(resolver: Resolver, kind: EntityType, request: Document) -> Draft:
    """Return what a request to create or to put asks for: checked, under its parent, not yet merged."""
    document = checked(kind, request)
    if kind.parent is None:
        return Draft(fqn.quote(document["name"]), document)
    parent = resolver.parent(kind, document.get(kind.parent_field or ""))
    return Draft(fqn.child(parent.fqn, document["name"]), document | inherited(kind, parent))


def checked(kind: EntityType, request: Document) -> Document:
    """Return a request's own copy: well formed, complete, without what only the server writes."""
    document = without_server_keys(clean(kind, request))
    check_required(kind, document)
    return document


def inherited(kind: EntityType, parent: Stored) -> Document:
    """Return what a document takes over from its parent: the references upwards and the service's type."""
    taken = {str(kind.parent_field): reference_to(parent)}
    for key, _ in kind.ancestors:
        if key in parent.document:
            taken[key] = parent.document[key]
    if "serviceType" in kind.fields and "serviceType" in parent.document:
        taken["serviceType"] = parent.document["serviceType"]
    return taken


def complete(resolver: Resolver, document: Document, old: Document) -> Document:
    """Return the document with full references and texts in their one spelling."""
    whole = document | resolver.lists(document, old)
    if isinstance(whole.get("email"), str):
        whole["email"] = whole["email"].strip().lower()
    return whole


def merged(kind: EntityType, old: Document, given: Document) -> Document:
    """Return what a PUT leads to: what it gives, and the rest as it was.

    Source: OpenMetadata's ``EntityUpdater``: a PUT never takes away a key, a tag, or what people wrote about
    a member that is still there; a PATCH does.
    """
    document = without_server_keys(old) | given
    for key in ("tags", kind.children or "tags"):
        if key in given and key in old:
            document[key] = _merged_tags(old[key], given[key]) if key == "tags" else _kept(old[key], given[key])
    return document


def patched(kind: EntityType, old: Stored, document: Document) -> Document:
    """Return a patched document, checked, with its place and its server-kept keys as they were."""
    if document.get("name") != old.document["name"]:
        raise InvalidInput("the name of an entity cannot be changed", field="name")
    upwards = [key for key in (kind.parent_field, *(key for key, _ in kind.ancestors)) if key]
    for key in upwards:
        if key in old.document and not _same_target(old.document[key], document.get(key)):
            raise InvalidInput(f"an entity cannot be moved: {key} is fixed", field=key)
    fixed = {key: old.document[key] for key in (*upwards, "deleted") if key in old.document}
    return without_server_keys(clean(kind, document)) | fixed


def whole_state(old: Stored | None, state: Document) -> Document:
    """Return the document a whole state stands for: all of it, and the place the entity already has."""
    document = shaped({key: value for key, value in without_server_keys(state).items() if value is not None})
    if old is None:
        return document
    kind = ENTITY_TYPES[old.entity_type]
    place = (kind.parent_field or "serviceType", "serviceType", *(key for key, _ in kind.ancestors))
    return {key: old.document[key] for key in place if key in old.document} | document


def _same_target(old: Document, new: object) -> bool:
    return isinstance(new, dict) and target_of(old) == target_of(new)


def _merged_tags(old: list[Document], given: list[Document]) -> list[Document]:
    return list({label["tagFQN"]: label for label in (*old, *given)}.values())


def _kept(old: list[Document], given: list[Document]) -> list[Document]:
    before = {member["name"]: member for member in old}
    return [_kept_member(before.get(member["name"], {}), member) for member in given]


def _kept_member(old: Document, given: Document) -> Document:
    member = {key: old[key] for key in _CURATED if old.get(key) and not given.get(key)} | given
    if old.get("tags") and given.get("tags"):
        member["tags"] = _merged_tags(old["tags"], given["tags"])
    if old.get("children") and given.get("children"):
        member["children"] = _kept(old["children"], given["children"])
    return member
