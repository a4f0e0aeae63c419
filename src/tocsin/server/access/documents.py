"""Documents of entities that the caller may see, for routes.

Next: ``server/entities/serialize.py``.
"""

from __future__ import annotations

from typing import Literal

from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType
from tocsin.model.stored import Key
from tocsin.server.access.permissions import require
from tocsin.server.request import Caller

Include = Literal["non-deleted", "deleted", "all"]


def visible_document(kind: EntityType, key: Key, caller: Caller, *, include: Include = "non-deleted") -> Document:
    """Return the entity's document, if there is one and the caller may see it."""
    document = caller.parts.catalogue.get(kind.name, key, include)
    check_visible(caller, kind, document)
    return document


def check_visible(caller: Caller, kind: EntityType, document: Document) -> None:
    """Refuse to show what the caller may not see."""
    require(caller, Operation.VIEW_BASIC, kind, document)
