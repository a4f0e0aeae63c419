"""What a bot's PUT leaves as it is: values that a person wrote last, and those that the bot may not edit.

A connector reports all that its source has, whenever it runs; neither its first run nor a rule about one field may cost
people their work or the connector its report. Next: ``flow/capture/upsert.py``.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from tocsin.access.operations import operations_needed
from tocsin.flow.capture.authorization import EVERYTHING
from tocsin.flow.capture.curation import TOP_KEYS, Values, changed_paths, curated_paths_of, values_of, with_kept_values
from tocsin.flow.capture.write import Record
from tocsin.model import fqn
from tocsin.model.access import Operation
from tocsin.model.entity import Document
from tocsin.model.entity_type import Path
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.stored import Stored


def merge_bot_put(record: Record, old: Stored, fields: Document, *, overrides: bool) -> tuple[Stored, Document]:
    """Return the entity, with the paths of what people wrote known if they matter, and what a bot's PUT makes of it.

    With ``overrides`` the bot replaces what people wrote, as far as it may.
    """
    if not _may_differ(old, fields):
        return old, fields
    before, after = (values_of(old.entity_type, state) for state in (old.document, fields))
    paths = changed_paths(before, after)
    replaced = paths & before.keys()
    if replaced:
        old = with_curated_paths(record, old)
    persons = {path for path in replaced if fqn.join(path) in (old.curated or ())}
    stays = set() if overrides else persons
    if record.permit is not EVERYTHING:
        stays |= _denied_paths(record, old, (before, after), (paths - stays, persons))
    return old, with_kept_values(old.document, fields, stays) if stays else fields


def with_curated_paths(record: Record, old: Stored) -> Stored:
    """Return the entity with the paths of what people wrote last known."""
    if old.curated is not None:
        return old
    curated = curated_paths_of(old.entity_type, record.transaction.states(old.id))
    record.transaction.remember_curated(old.id, curated)
    return replace(old, curated=curated)


def _may_differ(old: Stored, fields: Document) -> bool:
    """Return whether a curated value may differ: most reports repeat the last one."""
    keys = {path[0] for path in ENTITY_TYPES[old.entity_type].member_paths}
    return any(fields.get(key) != old.document.get(key) for key in (*TOP_KEYS, *keys))


def _denied_paths(
    record: Record, old: Stored, states: tuple[Values, Values], changes: tuple[set[Path], set[Path]]
) -> set[Path]:
    """Return those of the changed paths that the bot may not edit.

    A display name that no person wrote is part of a report: a bot that may create the entity with it may report it.
    """
    before, after = states
    paths, persons = changes
    denied_paths = set()

    @cache
    def may(operation: Operation) -> bool:
        return record.permit.may(operation, old.entity_type, old.document)

    for path in paths:
        value = after.get(path) or before.get(path)
        for need in _needs(old.entity_type, path, value):
            is_report = need is Operation.EDIT_DISPLAY_NAME and path not in persons
            if not (may(need) or (is_report and may(Operation.CREATE))):
                denied_paths.add(path)
    return denied_paths


def _needs(entity_type: str, path: Path, value: object) -> frozenset[Operation]:
    """Return what changing the curated value at a path needs."""
    if isinstance(value, dict) and value.get("tagFQN") == path[-1]:
        return operations_needed(entity_type, {}, {"tags": [value]}, ("tags",))
    key = "extension" if path[0] == "extension" else path[-1]
    return operations_needed(entity_type, {}, {key: value}, (key,))
