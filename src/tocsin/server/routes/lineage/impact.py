"""Routes of impact: everything downstream of an asset or of an event, by type and level, with its owners.

Next: ``flow/resolve/impact.py`` for how columns narrow it, ``store/lineage/impact.py`` for the walk.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import APIRouter, Path, Query, Response

from tocsin.flow.resolve.impact import Reached, counts, used_columns
from tocsin.model import fqn as names
from tocsin.model.access import Operation
from tocsin.model.change import ChangeEvent
from tocsin.model.columns import changed_columns, column_fqns, column_paths, missing_column
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.stored import Key
from tocsin.server.access.events import shown_event
from tocsin.server.access.permissions import require, seen
from tocsin.server.entities.response import addressed
from tocsin.server.entities.serialize import mark_deleted
from tocsin.server.http.request import Asked, Caller, PathId, PathText, answer
from tocsin.server.routes.entities.crud import found
from tocsin.server.routes.lineage.edges import row_of_type
from tocsin.store.lineage.impact import MOST_ASSETS

Depth = Annotated[int, Query(ge=0, le=50)]
Most = Annotated[int, Query(ge=1, le=MOST_ASSETS)]
Columns = Annotated[str | None, Query(max_length=10_000)]
TypeName = Annotated[str, Path(max_length=40)]

_ALWAYS = ("dashboard", "pipeline", "mlmodel", "table")
"""Types whose group is in every response, empty or not."""

router = APIRouter(tags=["lineage"])


@dataclass(frozen=True)
class _Question:
    """What is asked: of which asset, how far and how much, and through which of its columns."""

    root: Document
    depth: int
    most: int
    columns: frozenset[str]


@router.get("/lineage/{entity_type}/{entity_id}/impact")
def impact(
    entity_type: TypeName,
    entity_id: PathId,
    caller: Asked,
    *,
    depth: Depth = 5,
    limit: Most = MOST_ASSETS,
    columns: Columns = None,
) -> Response:
    """Return everything downstream by type and level, with owners; ``columns`` (comma list) narrows it."""
    return _of_entity(caller, (entity_type, Key.by_id(str(entity_id))), (depth, limit), columns)


@router.get("/lineage/{entity_type}/name/{fqn}/impact")
def impact_by_name(
    entity_type: TypeName,
    fqn: PathText,
    caller: Asked,
    *,
    depth: Depth = 5,
    limit: Most = MOST_ASSETS,
    columns: Columns = None,
) -> Response:
    """Return everything downstream of an asset by FQN, by type and level, with owners."""
    return _of_entity(caller, (entity_type, Key.by_name(fqn)), (depth, limit), columns)


@router.get("/events/{event_id}/impact")
def impact_of_event(event_id: PathId, caller: Asked, *, depth: Depth = 5, limit: Most = MOST_ASSETS) -> Response:
    """Return everything downstream of an event's change, by current lineage."""
    event = shown_event(str(event_id), caller).event
    row_of_type(event.entity_type)
    asked = _Question(_subject(event), depth, limit, frozenset(_changed(event)))
    return answer({"event": _named(event)} | _answered(caller, asked))


def _of_entity(caller: Caller, which: tuple[str, Key], bounds: tuple[int, int], columns: str | None) -> Response:
    row = row_of_type(which[0])
    document = found(row, which[1], caller, include="all")
    require(caller, Operation.VIEW_BASIC, row, document)
    root = _reference(row.name, document)
    return answer(_answered(caller, _Question(root, *bounds, _requested(row, document, columns))))


def _answered(caller: Caller, asked: _Question) -> Document:
    reader = caller.parts.impact
    walk = reader.walk(asked.root, asked.depth, asked.most)
    visible = {asked.root["id"], *(asset["id"] for asset in seen(caller, (one.asset for one in walk.reached)))}
    reached = [one for one in walk.reached if one.asset["id"] in visible]
    uses = used_columns(walk.edges, asked.columns) if asked.columns else None
    owners = reader.owners(visible - {asked.root["id"]})
    mark_deleted(list(owners.values()), caller)
    people = reader.people(owner for some in owners.values() for owner in some)
    shown = [_shown(caller, one, owners, visible) | _use(one, uses) for one in reached]
    return {
        "entity": addressed(asked.root, caller.root),
        "columns": sorted(asked.columns),
        "depth": asked.depth,
        "truncated": walk.is_cut,
        "counts": counts(reached),
        "people": {
            "owners": len(people),
            "followers": reader.follower_count([one.asset["id"] for one in reached]),
        },
        "affected": _by_type(shown),
    }


def _shown(caller: Caller, one: Reached, owners: dict[str, list[Document]], visible: set[str]) -> Document:
    asset = addressed(one.asset, caller.root) | {"level": one.level}
    if one.via["id"] in visible:
        asset["via"] = one.via
    if one.pipeline is not None and one.pipeline["id"] in visible:
        asset["pipeline"] = one.pipeline
    return asset | {"owners": owners.get(one.asset["id"], [])}


def _use(one: Reached, uses: dict[str, set[str]] | None) -> Document:
    """Return how sure it is that an asset uses what was asked: by column lineage, or only its source's table."""
    if uses is None:
        return {}
    columns = uses.get(one.asset["id"])
    return {"basis": "table"} if columns is None else {"basis": "column", "affectedColumns": sorted(columns)}


def _by_type(shown: Sequence[Document]) -> Document:
    groups: dict[str, list[Document]] = {_group(name): [] for name in _ALWAYS}
    for asset in shown:
        groups.setdefault(_group(asset["type"]), []).append(asset)
    return cast("Document", groups)


def _group(entity_type: str) -> str:
    return ENTITY_TYPES[entity_type].collection.rsplit("/", 1)[-1]


def _requested(row: EntityType, document: Document, columns: str | None) -> frozenset[str]:
    """Return the full names of the columns that a comma list names."""
    fqn = document["fullyQualifiedName"]
    known = column_fqns(row.name, fqn, document)
    wanted = {_full(fqn, name.strip()) for name in (columns or "").split(",") if name.strip()}
    for column in sorted(wanted - known):
        raise missing_column(
            fqn, column.removeprefix(f"{fqn}."), column_paths(row.name, fqn, document), field="columns"
        )
    return frozenset(wanted)


def _full(fqn: str, column: str) -> str:
    name = names.join(names.split(column))
    return name if name.startswith(f"{fqn}.") else f"{fqn}.{name}"


def _changed(event: ChangeEvent) -> Iterable[str]:
    change = event.change_description
    if change is None or event.entity_fully_qualified_name is None:
        return ()
    fields = (*change.fields_added, *change.fields_updated, *change.fields_deleted)
    paths = ((one.name, one.old_value if one.new_value is None else one.new_value) for one in fields)
    return changed_columns(event.entity_type, event.entity_fully_qualified_name, paths)


def _subject(event: ChangeEvent) -> Document:
    fqn = event.entity_fully_qualified_name or ""
    reference = {"id": event.entity_id, "type": event.entity_type, "fullyQualifiedName": fqn}
    return reference | {"name": (event.entity or {}).get("name", fqn)}


def _named(event: ChangeEvent) -> Document:
    return {"id": event.id, "eventType": event.event_type.value, "timestamp": event.timestamp}


def _reference(entity_type: str, document: Document) -> Document:
    keys = ("id", "name", "fullyQualifiedName")
    return {"type": entity_type} | {key: document[key] for key in keys}
