"""Rollback of an entity to an earlier version, as a new version and event.

References of that version that no longer exist are omitted and reported. Memberships, followers and reports are not
part of a version and stay as they are. Next: ``flow/capture/operations.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tocsin.errors import Conflict, InvalidInput, NotFound
from tocsin.flow.capture import removal, renames
from tocsin.flow.capture.normalize import without_server_keys
from tocsin.flow.capture.secrets import keeps_its_secrets, sealed_parts_of
from tocsin.flow.capture.upsert import change
from tocsin.flow.capture.write import Record
from tocsin.model import fqn
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.labels import SOURCES, labels_of, replace_labels
from tocsin.model.list_identity import MEMBERSHIPS, REFERENCE_LISTS, REFERENCES, target_of
from tocsin.model.secret import without_secrets
from tocsin.model.stored import Draft, Key, Stored, Written

_OTHER_SECRETS = (
    "its secrets are not stored for this version or for this endpoint; send the connection with its secrets"
)


@dataclass(frozen=True)
class LeftOut:
    """Part of the old version that was not restored: its path, its value, and the reason."""

    field: str
    value: object
    reason: str


@dataclass(frozen=True)
class RolledBack:
    """Result of a rollback, or of its dry run."""

    written: Written
    left_out: tuple[LeftOut, ...]


def roll_back(record: Record, old: Stored, past: Document) -> RolledBack:
    """Bring an entity back to ``past``, one of its versions; one that is soft-deleted comes back with all under it.

    Raises
    ------
    InvalidInput : the entity is an alert, whose versions hold no secrets; or it would be restored before its parent
    """
    kind = ENTITY_TYPES[old.entity_type]
    if kind.name == "eventsubscription":
        raise InvalidInput(
            "alerts cannot be rolled back, as versions do not contain their secrets; PUT the desired state instead"
        )
    omissions: list[LeftOut] = []
    fields = without_server_keys(record.rules.of_the_past(record, kind.name, past))
    fields = _with_living_tags(record, old, fields, omissions)
    fields |= _with_living_references(record, old, fields, omissions) | _values_of(old, MEMBERSHIPS.get(kind.name, ()))
    fields = {key: value for key, value in fields.items() if value is not None}
    fields = _with_own_secrets(record, old, fields, omissions)
    draft = _place(record, kind, old, (fields, omissions))
    if old.is_deleted:
        removal.check_above(record, replace(old, document=draft.document))
    if draft.fqn == old.fqn:
        result = change(record, record.resolver(strict=False), old, draft.document)
    else:
        result = renames.rename(record, old, draft)
    if old.is_deleted:
        removal.restore_under(record, replace(old, fqn=draft.fqn))
    return RolledBack(replace(result, cascaded=tuple(made.event for made in record.events[1:])), tuple(omissions))


def _with_own_secrets(record: Record, old: Stored, fields: Document, left_out: list[LeftOut]) -> Document:
    """Return the old version's fields; connections stay as they are where the present secrets are not theirs."""
    kind = ENTITY_TYPES[old.entity_type]
    if keeps_its_secrets(record.transaction, kind, (old.id, old.document), fields):
        return fields
    parts = [key for key in sealed_parts_of(kind) if key in fields]
    left_out += [LeftOut(key, without_secrets({key: fields[key]}).get(key), _OTHER_SECRETS) for key in parts]
    return {key: value for key, value in fields.items() if key not in parts} | _values_of(old, tuple(parts))


def _place(record: Record, kind: EntityType, old: Stored, target: tuple[Document, list[LeftOut]]) -> Draft:
    """Return the entity's place: that of the old version, or the current one if that is taken."""
    fields, left_out = target
    place_keys = ("name", "serviceType", *kind.upward)
    now = _values_of(old, place_keys)
    if renames.is_moved(old, fields):
        try:
            return renames.place_of(record, old, fields)
        except (Conflict, InvalidInput, NotFound) as refused:
            old_place = {key: fields[key] for key in place_keys if key in fields}
            left_out.append(
                LeftOut("name" if now["name"] != old_place["name"] else kind.upward[0], old_place, str(refused))
            )
    return Draft(old.fqn, {key: value for key, value in fields.items() if key not in place_keys} | now)


def _values_of(old: Stored, keys: tuple[str, ...]) -> Document:
    """Return the entity's current values of these keys."""
    return {key: old.document[key] for key in keys if key in old.document}


def _with_living_references(record: Record, old: Stored, fields: Document, left_out: list[LeftOut]) -> Document:
    """Return the reference fields of the old version, without references to entities that no longer exist."""
    living: Document = {}
    for key in REFERENCE_LISTS.keys() & fields.keys():
        present = {reference.get("id"): reference for reference in old.document.get(key) or ()}
        living[key] = list(_still_there(record, (key, fields[key] or []), present, left_out))
    for key in REFERENCES.keys() & fields.keys():
        now = old.document.get(key) or {}
        living[key] = next(_still_there(record, (key, [fields[key]]), {now.get("id"): now}, left_out), None)
    return living


def _still_there(
    record: Record,
    field_references: tuple[str, list[Document]],
    present: dict[object, Document],
    left_out: list[LeftOut],
) -> Iterator[Document]:
    field, references = field_references
    for reference in references:
        if reference.get("id") in present:
            yield present[reference.get("id")]
            continue
        living = record.transaction.reference(str(reference.get("type")), Key.by_id(target_of(reference)))
        if living is None or living.get("deleted"):
            left_out.append(LeftOut(field, reference, "it is deleted" if living else "it no longer exists"))
        else:
            yield living


def _with_living_tags(record: Record, old: Stored, fields: Document, left_out: list[LeftOut]) -> Document:
    """Return the old version's fields without labels whose tag was deleted since."""
    present = {(label.get("source"), label["tagFQN"]) for label in labels_of(old.document)}
    deleted_labels: set[tuple[object, str]] = set()
    for label in labels_of(fields):
        label_key = (label.get("source"), label["tagFQN"])
        if label_key not in present | deleted_labels and _was_deleted(record, *label_key):
            deleted_labels.add(label_key)
            left_out.append(LeftOut("tags", label, "it no longer exists"))
    if not deleted_labels:
        return fields
    living_fields: Document = replace_labels(
        fields, lambda label: None if (label.get("source"), label["tagFQN"]) in deleted_labels else label
    )
    return living_fields


def _was_deleted(record: Record, source: object, tag: str) -> bool:
    """Return whether a tag is deleted, or missing although its classification or glossary is catalogued."""
    kind, root_type = ("glossaryTerm", "glossary") if source == SOURCES["glossaryTerm"] else ("tag", "classification")
    root = fqn.quote(fqn.split(tag)[0])
    find = record.transaction.reference
    reference = find(kind, Key.by_name(tag))
    return bool(reference.get("deleted")) if reference else find(root_type, Key.by_name(root)) is not None
