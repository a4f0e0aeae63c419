"""Marks on what the mirror brought and nobody maps any more: its mapping was taken back, or it lies under another name.

They depend on no answer of the source. Next: ``access/unmapped.py``.
"""

from __future__ import annotations

from collections.abc import Collection

from tocsin.flow.capture.write import Record
from tocsin.model.entity_types import types_below
from tocsin.model.stored import Key, Stored, Written
from tocsin.sources.openmetadata.kinds import MARKED
from tocsin.sources.openmetadata.link_writes import remove_texts
from tocsin.sources.openmetadata.mapping import MARK, Mapping, is_marked


def hide(record: Record, place: tuple[str, str], *, mapping: Mapping, source: str) -> Written:
    """Mark an entity (type and id), deleted or not, unless it is mapped; texts of edges that could name it go."""
    entity = record.transaction.find(place[0], Key.by_id(place[1]))
    if entity is None:
        return Written({}, None)
    written = _mark(record, entity, mapping)
    if written.event is not None:
        remove_texts(record, entity, source)
    return written


def hide_below(record: Record, container: Stored, brought_ids: Collection[str], mapping: Mapping) -> frozenset[str]:
    """Mark what the source brought below an entity that has a new name, as far as it is not mapped under that one.

    Return the ids of what is marked.
    """
    below = record.transaction.descendants(types_below(container.entity_type), container.fqn)
    brought = [entity for entity in below if entity.id in brought_ids]
    return frozenset(entity.id for entity in brought if _mark(record, entity, mapping).event is not None)


def _mark(record: Record, entity: Stored, mapping: Mapping) -> Written:
    if entity.entity_type not in MARKED or mapping.covers(entity.entity_type, entity.fqn) or is_marked(entity.document):
        return Written(entity.document, None)
    labels = entity.document.get("tags") or ()
    return record.change(entity, entity.document | {"tags": [*labels, MARK]})
