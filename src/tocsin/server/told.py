"""May they see what happened? An event is as open as what it is about: of a thread, the asset that people talk about.

Next: ``server/permissions.py``.
"""

from __future__ import annotations

from tocsin.errors import NotFound
from tocsin.flow.capture.ports import Key
from tocsin.flow.resolve.visibility import Policies, may_view
from tocsin.model.access import Operation
from tocsin.model.change import ChangeEvent
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.people import Actor
from tocsin.model.thread import THREAD
from tocsin.server.permissions import as_asked
from tocsin.store.catalogue.entities import SqlCatalogue


def may_be_shown(viewer: Actor, event: ChangeEvent, policies: Policies, catalogue: SqlCatalogue) -> bool:
    """Say whether ``viewer`` may see an event."""
    if event.entity_type != THREAD:
        return may_view(viewer, event.entity_type, event.entity or {}, policies)
    asset = (event.entity or {}).get("entityRef") or {}
    entity_type, entity_id = str(asset.get("type", "")), str(asset.get("id", ""))
    is_closed = viewer.is_bot or not policies.is_open(entity_type)
    document: Document = {}
    if is_closed and not viewer.is_admin:
        view, stored = policies.of(viewer.id), _document(catalogue, entity_type, entity_id)
        document = as_asked(view, Operation.VIEW_BASIC, entity_type, stored, catalogue)
    return may_view(viewer, entity_type, document, policies)


def _document(catalogue: SqlCatalogue, entity_type: str, entity_id: str) -> Document:
    """Return an asset as it stands, or as it stood last."""
    if entity_type not in ENTITY_TYPES:
        return {}
    try:
        return catalogue.get(entity_type, Key.by_id(entity_id), "all")
    except NotFound:
        return catalogue.versions(entity_id)[0]
