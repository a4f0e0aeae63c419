"""Consolidation of one person's successive edits into one version, if enabled.

PATCHes of one entity by one person, each within some minutes of the previous one, then share a version, as they do
upstream. Every request still makes its own event, with its own changes. An edit that reverts all others removes the
version. Source: OpenMetadata's ``SessionConsolidationPolicy``. Next: ``flow/capture/write.py``.
"""

from __future__ import annotations

from decimal import Decimal

from tocsin.flow.capture.write import Record
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.list_identity import MEMBERSHIPS, SERVER_KEPT
from tocsin.model.stored import Stored

_NEVER = frozenset({"testCase", "testSuite", *MEMBERSHIPS})
"""Types whose every edit is a version: tests, as upstream, and those of which a version does not hold all."""

_STAMPS = frozenset(
    {
        "id",
        "fullyQualifiedName",
        "version",
        "updatedAt",
        "updatedBy",
        "changeDescription",
        "incrementalChangeDescription",
    }
)


def start_of_shared_version(record: Record, old: Stored, fields: Document, *, within_ms: int) -> Stored | None:
    """Return the state that the shared version of this edit starts from; None if the edit makes a separate version."""
    before = (old.document.get("changeDescription") or {}).get("previousVersion")
    is_continued = (
        before is not None
        and old.entity_type not in _NEVER
        and old.updated_by_id == record.actor.id
        and 0 <= record.at_ms - old.document["updatedAt"] <= within_ms
    )
    if not is_continued:
        return None
    version = Decimal(str(before))
    document = record.transaction.version(old.id, version)
    if document is None or document["fullyQualifiedName"] != old.fqn or _is_elsewhere(old, document, fields):
        return None
    server_values = {key: old.document[key] for key in SERVER_KEPT - _STAMPS if key in old.document}
    return Stored(old.id, old.entity_type, old.fqn, version, document | server_values)


def _is_elsewhere(old: Stored, before: Document, fields: Document) -> bool:
    """Return whether the entity is being restored, renamed or moved meanwhile."""
    keys = ("deleted", "name", *ENTITY_TYPES[old.entity_type].upward)
    return any(before.get(key) != old.document.get(key) for key in keys) or fields.get("name") != old.document["name"]
