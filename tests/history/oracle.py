"""Expected events of a history, in the format of the reference file ``changes.jsonl``."""

from __future__ import annotations

from collections import Counter
from typing import Any

import orjson

from tocsin.model import fqn
from tocsin.model.change import ChangeDescription, ChangeEvent, EventType, FieldChange
from tocsin.model.list_identity import BOOKKEEPING

Atom = dict[str, Any]  # Any: JSON

_NAMED = {"columns", "children", "tasks", "parameterValues"}
_REFERENCES = {"owners", "domains"}


def expectation_of(line: Atom) -> Atom:
    """Return what the oracle says of one line, in a form that compares."""
    kind = line["eventType"]
    if kind == "entityCreated":
        return {"eventType": kind, "fieldsAdded": sorted(line["fields"]["fieldsAdded"])}
    if kind == "entityDeleted":
        return {"eventType": kind}
    changes = [one for one in line["changes"] if not _is_no_change(one)]
    is_none = kind == "entityUpdated" and not changes
    return {"eventType": "entityNoChange" if is_none else kind, "atoms": _count_atoms(changes)}


def _is_no_change(atom: Atom) -> bool:
    """Return whether the oracle counts as a change what is none here: another order, and bookkeeping."""
    return atom["kind"] == "reordered" or atom["path"][0] in BOOKKEEPING


def statement_of(event: ChangeEvent | None) -> Atom:
    """Return what our event says, in the same form; no event is the oracle's ``entityNoChange``."""
    if event is None:
        return {"eventType": "entityNoChange", "atoms": Counter()}
    assert event.change_description is not None
    if event.event_type is EventType.ENTITY_CREATED:
        added = {fqn.split(change.name)[0] for change in event.change_description.fields_added}
        return {"eventType": "entityCreated", "fieldsAdded": sorted(added)}
    if event.event_type is EventType.ENTITY_DELETED:
        return {"eventType": "entityDeleted"}
    return {"eventType": event.event_type.value, "atoms": _count_atoms(atoms_of(event.change_description))}


def atoms_of(change: ChangeDescription) -> list[Atom]:
    """Return one atomic change for each member or field that changed."""
    atoms: list[Atom] = []
    for change_of_field in change.fields_added:
        atoms += _several("added", "new", change_of_field, change_of_field.new_value)
    for change_of_field in change.fields_deleted:
        atoms += _several("deleted", "old", change_of_field, change_of_field.old_value)
    for change_of_field in change.fields_updated:
        path = fqn.split(change_of_field.name)
        atoms.append(
            {
                "kind": "updated",
                "path": path,
                "old": _plain(change_of_field.old_value),
                "new": _plain(change_of_field.new_value),
            }
        )
    return atoms


def _several(kind: str, side: str, change: FieldChange, value: Any) -> list[Atom]:
    path = fqn.split(change.name)
    if not _is_list(path):
        return [{"kind": kind, "path": path, side: _plain(value)}]
    return [{"kind": kind, "path": [*path, _name(path[-1], member)], side: _plain(member)} for member in value]


def _is_list(path: list[str]) -> bool:
    if path[0] == "extension":
        return False
    return path[-1] in _NAMED | _REFERENCES | {"tags", "charts"} and len(path) % 2 == 1


def _name(field: str, member: Atom) -> str:
    if field in _NAMED:
        return str(member["name"])
    if field in _REFERENCES:
        return f"{member['type']}:{member['name']}"
    return str(member["tagFQN"] if field == "tags" else member["fullyQualifiedName"])


def _plain(value: Any) -> Any:
    """Return a value without what capture fills in: ids of references, defaults of tags."""
    if isinstance(value, list):
        return [_plain(member) for member in value]
    if not isinstance(value, dict):
        return value
    if "tagFQN" in value:
        return {"tagFQN": value["tagFQN"], "source": value["source"]}
    if value.get("type") in ("user", "team", "domain") and "name" in value:
        return {"type": value["type"], "name": value["name"]}
    return {key: _plain(member) for key, member in value.items()}


def _count_atoms(atoms: list[Atom]) -> Counter[bytes]:
    return Counter(orjson.dumps(_without_empties(atom), option=orjson.OPT_SORT_KEYS) for atom in atoms)


def _without_empties(value: Any) -> Any:
    """Return a member without keys that hold no value, which are the same as absent ones."""
    if isinstance(value, dict):
        return {k: _without_empties(v) for k, v in value.items() if v is not None and v not in ("", [], {})}
    return [_without_empties(member) for member in value] if isinstance(value, list) else value
