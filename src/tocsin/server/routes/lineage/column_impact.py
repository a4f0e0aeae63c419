"""Readers of every column of an asset in numbers: how many assets read it, and how many people own them.

Next: ``flow/resolve/impact.py`` for how column lineage is followed, ``impact.py`` for the readers themselves.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from fastapi import Response

from tocsin.flow.resolve.impact import users_by_column
from tocsin.model.columns import column_fqns
from tocsin.model.entity import Document
from tocsin.model.stored import Key
from tocsin.server.access.permissions import visible_document, visible_references
from tocsin.server.http.answer_shapes import Shape, json_of, schema_of
from tocsin.server.http.json_schema import COUNT, FLAG, TEXT, array, closed_object
from tocsin.server.http.keyed_routes import by_id_and_name
from tocsin.server.http.routing import DeclaredRoutes
from tocsin.server.openapi.operations import answers
from tocsin.server.request import Asked, Caller, TypeName, answer
from tocsin.server.routes.lineage.edges import kind_of_type
from tocsin.server.routes.lineage.impact import Depth, reference_to

router = DeclaredRoutes(tags=["lineage"])


class ColumnReaders(NamedTuple):
    """Who reads one column by column lineage: assets, the people who own them, and assets that nobody owns."""

    column: str
    assets: int
    people: int
    unowned: int


READERS_OF_A_COLUMN: Shape[ColumnReaders] = {
    "column": (TEXT, lambda readers: readers.column),
    "assets": (COUNT, lambda readers: readers.assets),
    "people": (COUNT, lambda readers: readers.people),
    "unowned": (COUNT, lambda readers: readers.unowned),
}
_COLUMN_IMPACT = closed_object(
    {"data": array(schema_of(READERS_OF_A_COLUMN)), "truncated": FLAG}, required=["data", "truncated"]
)


@by_id_and_name(
    router.get,
    "/lineage/{entity_type}/{entity_id}/impact/columns",
    openapi_extra=answers("ColumnImpact", _COLUMN_IMPACT),
)
def impact_of_columns(entity_type: TypeName, key: Key, caller: Asked, *, depth: Depth = 5) -> Response:
    """Return how many assets read each column, nested ones too, and how many people own them."""
    kind = kind_of_type(entity_type)
    document = visible_document(kind, key, caller, include="all")
    columns = sorted(column_fqns(kind.name, document["fullyQualifiedName"], document))
    walk = caller.parts.graph.impact.walk(reference_to(kind.name, document), depth)
    visible_ids = {asset["id"] for asset in visible_references(caller, (step.asset for step in walk.reached))}
    readers = {name: ids & visible_ids for name, ids in users_by_column(walk.edges, columns).items()}
    people = _people_by_asset(caller, set().union(*readers.values()))
    prefix = len(document["fullyQualifiedName"]) + 1
    data = [json_of(READERS_OF_A_COLUMN, _count(name[prefix:], readers[name], people)) for name in columns]
    return answer({"data": data, "truncated": walk.is_cut})


def _people_by_asset(caller: Caller, asset_ids: Collection[str]) -> dict[str, set[str]]:
    """Return the ids of the people who own each asset, themselves or by a team."""
    reader = caller.parts.graph.impact
    owners: dict[str, list[Document]] = reader.owners(asset_ids)
    people = reader.people_by_owner(owner for some in owners.values() for owner in some)
    return {asset: {person for owner in some for person in people[owner["id"]]} for asset, some in owners.items()}


def _count(column: str, readers: Collection[str], people: dict[str, set[str]]) -> ColumnReaders:
    owners = [people.get(asset, set()) for asset in readers]
    return ColumnReaders(column, len(readers), len(set().union(*owners)), sum(not some for some in owners))
