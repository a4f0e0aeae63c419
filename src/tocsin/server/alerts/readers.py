"""What reads that which a breaking change changed, as far as the caller may see it, for explanations.

Next: ``flow/resolve/impact.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tocsin.conditions.breaking import reasons_of_event
from tocsin.flow.resolve.impact import readers_of
from tocsin.model.breaking import BreakingReason
from tocsin.model.change import ChangeEvent
from tocsin.model.columns import changed_columns
from tocsin.model.entity import Document
from tocsin.server.access.permissions import visible_references
from tocsin.server.http.answer_shapes import Shape, json_of
from tocsin.server.http.json_schema import COUNT, OPEN, array
from tocsin.server.request import Caller

_MOST_NAMED = 20
_DIRECTLY = 1


@dataclass(frozen=True)
class _Readers:
    """References to the readers that may be seen, and how many others there are."""

    visible: Sequence[Document]
    hidden_count: int


READERS: Shape[_Readers] = {
    "total": (COUNT, lambda readers: len(readers.visible)),
    "hidden": (COUNT, lambda readers: readers.hidden_count),
    "data": (array(OPEN), lambda readers: readers.visible[:_MOST_NAMED]),
}
"""What reads it directly, pipelines that move it included: how many you may see and may not, and the first of them."""


def readers_of_event(event: ChangeEvent, caller: Caller) -> Document:
    """Return ``readers`` of an event that breaks them, by lineage of now; nothing of another event.

    Of a change of columns these are what reads one of them, by column lineage where it is known.
    """
    if not (reasons := reasons_of_event(event)):
        return {}
    root = {"id": event.entity_id, "type": event.entity_type}
    walk = caller.parts.graph.impact.walk(root, _DIRECTLY)
    reader_ids = readers_of(walk, event.entity_id, _changed_columns(event, reasons))
    references = [step.asset for step in walk.reached if step.asset["id"] in reader_ids]
    visible = visible_references(caller, references)
    return {"readers": json_of(READERS, _Readers(visible, len(references) - len(visible)))}


def _changed_columns(event: ChangeEvent, reasons: Sequence[BreakingReason]) -> set[str]:
    """Return the full names of the columns that break readers; none where something else of the asset does."""
    fqn = event.entity_fully_qualified_name or ""
    paths = ([] if reason.field is None else [(reason.field, None)] for reason in reasons)
    columns = [changed_columns(event.entity_type, fqn, path) for path in paths]
    return set().union(*columns) if all(columns) else set()
