"""Construction of the document that a request asks for: parent, references, and the values a PUT keeps.

Next: ``flow/capture/write.py``.
"""

from __future__ import annotations

from tocsin.flow.capture.normalize import check_required, clean, with_checked_lists, without_server_keys
from tocsin.flow.capture.references import Resolver, reference_to
from tocsin.flow.capture.write import Record
from tocsin.model import fqn
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType, value_at
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.inheritance import INHERITED_KEYS
from tocsin.model.own_address import stored_addresses, with_addresses
from tocsin.model.secret import PROFILE
from tocsin.model.shapes import check_changed
from tocsin.model.stored import Draft, Stored

_OWN_REQUESTS = {"table": ("dataModel",)}
"""Keys that a request of their own sets; connectors that know nothing of them patch them away."""

_CURATED = ("displayName", "description", "tags")


def draft_of(resolver: Resolver, kind: EntityType, request: Document) -> Draft:
    """Return the document of a create or put request: validated, under its parent, not yet merged."""
    document = checked_request(kind, request)
    above = resolver.parent(kind, document)
    if above is None:
        return Draft(fqn.quote(document["name"]), document)
    field, parent = above
    under = f"{parent.fqn}.{kind.infix}" if kind.infix else parent.fqn
    return Draft(fqn.child(under, document["name"]), document | inherited_fields(kind, field, parent))


def checked_request(kind: EntityType, request: Document) -> Document:
    """Return a request's own copy: well formed, complete, without what only the server writes."""
    sent = {key: value for key, value in request.items() if key not in kind.ignored} if kind.ignored else request
    document = without_server_keys(clean(kind, sent))
    check_required(kind, document)
    return document


def inherited_fields(kind: EntityType, field: str, parent: Stored) -> Document:
    """Return what a document takes over from its parent: the references upwards and the service's type."""
    fields = {key: parent.document[key] for key in kind.ancestors if key in parent.document}
    fields[field] = reference_to(parent)
    if "serviceType" in kind.keys and "serviceType" in parent.document:
        fields["serviceType"] = parent.document["serviceType"]
    return fields


def complete(record: Record, kind: EntityType, resolver: Resolver, fields: Document, old: Document) -> Document:
    """Return the document with full references and whatever the rules of its type fill in.

    Raises
    ------
    InvalidInput : a rule or its schema does not allow a value; a history's values are not checked.
    NotFound : a reference or a label leads to nothing.
    """
    fields = fields | resolver.lists(fields, old) | resolver.singles(fields, old)
    completed = record.rules.complete(record, resolver, kind, fields, old)
    if resolver.strict:
        check_changed(kind.name, completed, old)
    return completed


def merge_put(kind: EntityType, old: Document, new: Document) -> Document:
    """Return the result of a PUT: its values, and the rest unchanged.

    Source: OpenMetadata's ``EntityUpdater``: a PUT never removes a key, a tag, or a text of
    a member that still exists; a PATCH does. Nor does a PUT remove an own address of a person or team.
    """
    document = without_server_keys(old) | new
    if addresses := stored_addresses(old):
        document[PROFILE] = with_addresses(document.get(PROFILE), addresses)
    if "tags" in new and "tags" in old:
        document["tags"] = merged_tags(old["tags"], new["tags"])
    for path in kind.member_paths:
        before, after = value_at(old, path), value_at(new, path)
        if isinstance(before, list) and isinstance(after, list):
            members = _merge_members(before, after)
            document |= {path[0]: members if len(path) == 1 else new[path[0]] | {path[1]: members}}
    return document


def merged_tags(old: list[Document], new: list[Document]) -> list[Document]:
    """Return the labels that are there and those given, which replace those of the same tag."""
    return list({label["tagFQN"]: label for label in (*old, *new)}.values())


def patched_fields(kind: EntityType, old: Stored, document: Document) -> Document:
    """Return a patched document, checked, with its server-kept keys as they were; its place is as the patch has it."""
    fixed = {"deleted": old.document["deleted"]} if "deleted" in old.document else {}
    fields = without_server_keys(clean(kind, document)) | fixed
    own_requests = (key for key in _OWN_REQUESTS.get(kind.name, ()) if not fields.get(key))
    fields |= {key: old.document[key] for key in own_requests if old.document.get(key)}
    empty = {key for key in INHERITED_KEYS if not fields.get(key) and key not in old.document}  # it only inherits
    return {key: value for key, value in fields.items() if key not in empty}


def whole_state(old: Stored | None, state: Document) -> Document:
    """Return the document of a whole state, at the entity's existing place."""
    document = with_checked_lists(
        {key: value for key, value in without_server_keys(state).items() if value is not None}
    )
    if old is None:
        return document
    kind = ENTITY_TYPES[old.entity_type]
    return {key: old.document[key] for key in ("serviceType", *kind.upward) if key in old.document} | document


def _merge_members(old: list[Document], new: list[Document]) -> list[Document]:
    before = {member["name"]: member for member in old}
    return [_kept_member(before.get(member["name"], {}), member) for member in new]


def _kept_member(old: Document, new: Document) -> Document:
    member = {key: old[key] for key in _CURATED if old.get(key) and not new.get(key)} | new
    if old.get("tags") and new.get("tags"):
        member["tags"] = merged_tags(old["tags"], new["tags"])
    if old.get("children") and new.get("children"):
        member["children"] = _merge_members(old["children"], new["children"])
    return member
