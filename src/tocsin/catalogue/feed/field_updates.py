"""Tasks that propose owners, a tier or a domain of an asset; the proposal is in the payload, and approval writes it.

*Source:* OpenMetadata 2.0, ``type/{ownership,tier,domain}UpdatePayload.json``. Next: ``catalogue/feed/tasks.py``.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from tocsin.conditions.documents import TIER_PREFIX
from tocsin.errors import InvalidInput
from tocsin.flow.capture.authorization import check_view
from tocsin.flow.capture.ports import Hold
from tocsin.flow.capture.prepare import patched_fields
from tocsin.flow.capture.references import key_of, reference_to
from tocsin.flow.capture.upsert import change
from tocsin.flow.capture.write import Record
from tocsin.model.change import ChangeEvent
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.stored import Stored, not_found
from tocsin.model.task import task_type_of
from tocsin.model.thread import FACTS, StoredThread


class _FieldUpdate(NamedTuple):
    """Under which key a payload proposes, which key of the asset that is, and of which types references may be."""

    proposal: str
    key: str
    types: tuple[str, ...] = ()
    is_list: bool = False


_UPDATES: Mapping[str, _FieldUpdate] = MappingProxyType(
    {
        "OwnershipUpdate": _FieldUpdate("newOwners", "owners", ("user", "team"), is_list=True),
        "DomainUpdate": _FieldUpdate("newDomain", "domains", ("domain",)),
        "TierUpdate": _FieldUpdate("newTier", "tags"),
    }
)
"""By type of task."""

Value = Any  # Any: whatever JSON was sent


def checked_proposal(record: Record, kind: str, payload: Document, steps: tuple[str, ...]) -> Document:
    """Return the payload of a new task, with full references in what it proposes; that of other types as it is.

    Raises
    ------
    InvalidInput : it proposes nothing, or has the wrong form, or is about a part of the asset
    NotFound : what it refers to does not exist
    Forbidden : the actor may not see that
    """
    row = _UPDATES.get(kind)
    if row is None:
        return payload
    place = f"payload.{row.proposal}"
    if steps not in ((), (row.key,)):
        raise InvalidInput(f"{kind} is about a whole asset", field="about")
    value: Value = payload.get(row.proposal)
    if not row.types:
        if not isinstance(value, dict) or not str(value.get("tagFQN")).startswith(TIER_PREFIX):
            raise InvalidInput("must be a tag label with a tagFQN such as Tier.Tier1", field=place)
        return payload
    if row.is_list and (not isinstance(value, list) or not value):
        raise InvalidInput("must be a list of references", field=place)
    references = [_full_reference(record, one, row.types, place) for one in (value if row.is_list else [value])]
    return payload | {row.proposal: references if row.is_list else references[0]}


def carry_out_update(record: Record, thread: StoredThread, asset: Stored) -> ChangeEvent | None:
    """Write what a task proposes into its asset; return the asset's event, None when there is nothing to write."""
    row = _UPDATES.get(task_type_of(thread.document))
    value = (thread.document.get(FACTS, {}).get("payload") or {}).get(row.proposal) if row else None
    if row is None or value is None:
        return None
    document = copy.deepcopy(asset.document)
    if row.types:
        document[row.key] = value if row.is_list else [value]
    else:
        other_tags = [one for one in document.get(row.key) or () if not str(one.get("tagFQN")).startswith(TIER_PREFIX)]
        document[row.key] = [*other_tags, value]
    fields = patched_fields(ENTITY_TYPES[asset.entity_type], asset, document)
    return change(record, record.resolver(), asset, fields).event


def _full_reference(record: Record, reference: Value, types: tuple[str, ...], place: str) -> Document:
    if not isinstance(reference, dict) or reference.get("type") not in types:
        raise InvalidInput(f"must be a reference to a {' or a '.join(types)}", field=place)
    entity = record.transaction.find(reference["type"], key_of(reference), Hold.SHARED)
    if entity is None or entity.is_deleted:
        raise not_found(reference["type"], key_of(reference))
    check_view(record.permit, entity)  # a full reference reveals a name
    return reference_to(entity)
