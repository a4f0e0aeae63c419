"""Routes of impact: everything downstream of an asset or of an event, by type and level, with its owners.

Next: ``flow/resolve/impact.py`` for how columns narrow it, ``store/recipients/impact.py`` for the walk.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Query, Response

from tocsin.errors import InvalidInput
from tocsin.flow.capture.references import is_uuid
from tocsin.flow.resolve.impact import Reached, counts, readers_of, used_columns
from tocsin.model import fqn as names
from tocsin.model.change import ChangeEvent
from tocsin.model.columns import changed_columns, column_fqns, missing_column, relative_fqns_by_spelling
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.stored import Key
from tocsin.server.access.events import shown_event
from tocsin.server.access.permissions import visible_document, visible_references
from tocsin.server.entities.response import with_address
from tocsin.server.entities.serialize import mark_deleted
from tocsin.server.http.keyed_routes import by_id_and_name
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, PathId, TypeName, answer
from tocsin.server.routes.lineage.edges import kind_of_type
from tocsin.store.recipients.impact import MOST_ASSETS

Depth = Annotated[int, Query(ge=0, le=50, description="Levels of lineage to follow downstream.")]
CountedDepth = Annotated[int, Query(ge=1, le=5, description="Levels of lineage to follow downstream.")]
Most = Annotated[int, Query(ge=1, le=MOST_ASSETS, description="Most assets that are listed, the nearest first.")]
Columns = Annotated[str | None, Query(max_length=10_000, description="Comma list of columns: only what uses them.")]

Assets = Annotated[str, Query(max_length=4_000, description="Comma list of ids.")]

MOST_COUNTED = 50
"""Assets of which one request may ask how much lies downstream."""

_ALWAYS = ("dashboard", "pipeline", "mlmodel", "table")
"""Types whose group is in every response, empty or not."""

router = DeclaredRoutes(tags=["lineage"])


@dataclass(frozen=True)
class _Question:
    """A question: about which asset, how far and how much, and through which of its columns."""

    root: Document
    depth: int
    limit: int
    columns: frozenset[str]


@by_id_and_name(router.get, "/lineage/{entity_type}/{entity_id}/impact", openapi_extra=answers("Impact"))
def impact(
    entity_type: TypeName,
    key: Key,
    caller: Asked,
    *,
    depth: Depth = 5,
    limit: Most = MOST_ASSETS,
    columns: Columns = None,
) -> Response:
    """Return everything downstream by type and level, with owners.

    ``columns`` (comma list) narrows it to what uses one of them, or may: what is known to use none is left out.
    """
    row = kind_of_type(entity_type)
    document = visible_document(row, key, caller, include="all")
    root = reference_to(row.name, document)
    return answer(_impact_json(caller, _Question(root, depth, limit, _requested_columns(row, document, columns))))


@router.get("/lineage/counts", openapi_extra=answers("ImpactCounts"))
def impact_counts(caller: Asked, *, assets: Assets = "", depth: CountedDepth = 5) -> Response:
    """Return how many assets lie downstream of each of these (comma list of ids); what one may not see is left out."""
    reader = caller.parts.graph.impact
    kinds = caller.parts.access.standing.of(_ids_in(assets))
    roots = visible_references(caller, ({"id": one, "type": kind} for one, (kind, _) in kinds.items()))
    walks = {root["id"]: reader.walk(root, depth) for root in roots}
    reached_assets = (step.asset for walk in walks.values() for step in walk.reached)
    visible_ids = {asset["id"] for asset in visible_references(caller, reached_assets)}
    counts_by_asset = [
        {
            "id": asset_id,
            "total": sum(step.asset["id"] in visible_ids for step in walks[asset_id].reached),
            "isCut": walks[asset_id].is_cut,
        }
        for asset_id in _ids_in(assets)
        if asset_id in walks
    ]
    return answer({"data": counts_by_asset})


def _ids_in(text: str) -> list[str]:
    """Return the ids of a comma list, each once."""
    ids = [one.strip() for one in text.split(",") if one.strip()]
    if not ids or len(ids) > MOST_COUNTED or not all(map(is_uuid, ids)):
        raise InvalidInput(f"must be a list of 1 to {MOST_COUNTED} ids", field="assets")
    return list(dict.fromkeys(one.lower() for one in ids))


@router.get("/events/{event_id}/impact", openapi_extra=answers("Impact"))
def impact_of_event(event_id: PathId, caller: Asked, *, depth: Depth = 5, limit: Most = MOST_ASSETS) -> Response:
    """Return everything downstream of an event's change, by current lineage."""
    event = shown_event(str(event_id), caller).event
    kind_of_type(event.entity_type)
    question = _Question(_subject(event), depth, limit, frozenset(_changed_column_fqns(event)))
    reference = {"id": event.id, "eventType": event.event_type.value, "timestamp": event.timestamp}
    return answer({"event": reference} | _impact_json(caller, question))


def _impact_json(caller: Caller, question: _Question) -> Document:
    reader = caller.parts.graph.impact
    walk = reader.walk(question.root, question.depth)
    visible = {
        question.root["id"],
        *(asset["id"] for asset in visible_references(caller, (one.asset for one in walk.reached))),
    }
    reader_ids = readers_of(walk, question.root["id"], question.columns)
    reached_assets = [one for one in walk.reached if one.asset["id"] in visible and one.asset["id"] in reader_ids]
    uses = used_columns(walk.edges, question.columns) if question.columns else None
    owners = reader.owners({one.asset["id"] for one in reached_assets})
    mark_deleted(list(owners.values()), caller)
    people = reader.people(owner for some in owners.values() for owner in some)
    listed_assets = reached_assets[: question.limit]
    assets = [_asset_json(caller, one, owners, visible) | _use(one, uses) for one in listed_assets]
    return {
        "entity": with_address(question.root, caller.root),
        "columns": sorted(question.columns),
        "depth": question.depth,
        "truncated": walk.is_cut or len(listed_assets) < len(reached_assets),
        "counts": counts(reached_assets),
        "people": {
            "owners": len(people),
            "followers": reader.follower_count([one.asset["id"] for one in reached_assets]),
        },
        "affected": _by_type(assets),
    }


def _asset_json(caller: Caller, reached: Reached, owners: dict[str, list[Document]], visible: set[str]) -> Document:
    asset = with_address(reached.asset, caller.root) | {"level": reached.level}
    if reached.via["id"] in visible:
        asset["via"] = reached.via
    if reached.pipeline is not None and reached.pipeline["id"] in visible:
        asset["pipeline"] = reached.pipeline
    return asset | {"owners": owners.get(reached.asset["id"], [])}


def _use(reached: Reached, uses: dict[str, set[str]] | None) -> Document:
    """Return how sure it is that an asset uses what was asked: by column lineage, or only its source's table."""
    if uses is None:
        return {}
    columns = uses.get(reached.asset["id"])
    return {"basis": "table"} if columns is None else {"basis": "column", "affectedColumns": sorted(columns)}


def _by_type(assets: Sequence[Document]) -> Document:
    groups: dict[str, list[Document]] = {_group(name): [] for name in _ALWAYS}
    for asset in assets:
        groups.setdefault(_group(asset["type"]), []).append(asset)
    return cast("Document", groups)


def _group(entity_type: str) -> str:
    return ENTITY_TYPES[entity_type].collection.rsplit("/", 1)[-1]


def _requested_columns(kind: EntityType, document: Document, columns: str | None) -> frozenset[str]:
    """Return the full names of the columns that a comma list names."""
    fqn = document["fullyQualifiedName"]
    existing = column_fqns(kind.name, fqn, document)
    requested = {_full(fqn, name.strip()) for name in (columns or "").split(",") if name.strip()}
    for column in sorted(requested - existing):
        raise missing_column(
            fqn, column.removeprefix(f"{fqn}."), relative_fqns_by_spelling(kind.name, fqn, document), field="columns"
        )
    return frozenset(requested)


def _full(fqn: str, column: str) -> str:
    name = names.join(names.split(column))
    return name if name.startswith(f"{fqn}.") else f"{fqn}.{name}"


def _changed_column_fqns(event: ChangeEvent) -> Iterable[str]:
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


def reference_to(entity_type: str, document: Document) -> Document:
    """Return a reference to an asset, by which a walk begins."""
    keys = ("id", "name", "fullyQualifiedName")
    return {"type": entity_type} | {key: document[key] for key in keys}
