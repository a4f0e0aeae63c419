"""Description of an operation beside its route: the body that it reads, and its response.

``{}`` stands for the type of the collection. Next: ``document.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fastapi.routing import APIRoute

from tocsin.catalogue.governance.memberships import GROUPS
from tocsin.catalogue.observations.samples import FORMS
from tocsin.catalogue.sheets.import_sheet import SHEETS
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType


@dataclass(frozen=True)
class OpenApiOperation:
    """What an operation reads and answers, by names of schemas.

    Attributes
    ----------
    answer : None: no content
    body : None: it reads none
    schema : that of the answer, or of what it is a page of, where it is in no table
    also : further statuses of the same answer
    media : of the answer
    is_linked : it answers in the formats of linked data, too
    or_csv : it answers in CSV, too
    or_accepted : what it answers instead with status 202, with ``async``
    or_nothing : when the answer is empty instead (204)
    or_unavailable : when the same answer has status 503
    refuses, never : statuses of errors that it has besides those of its kind of route, or has not, apart by spaces
    """

    answer: str | None
    body: str | None = None
    schema: Document | None = None
    also: tuple[str, ...] = ()
    media: str = "application/json"
    is_linked: bool = False
    or_csv: bool = False
    or_accepted: str = ""
    or_nothing: str = ""
    or_unavailable: str = ""
    refuses: str = ""
    never: str = ""


def answers(
    name: str | None, schema: Document | None = None, *, reads: str | None = None, **options: Any
) -> dict[str, Any]:  # Any: FastAPI's own type; further fields of the operation
    """Return what a route's ``openapi_extra`` says of it: what it answers and reads, by names of schemas."""
    return {"x-operation": OpenApiOperation(name, reads, schema, **options)}


def operation_of(route: APIRoute) -> OpenApiOperation:
    """Return what a route says of itself with ``answers``."""
    operation: OpenApiOperation = (route.openapi_extra or {})["x-operation"]
    return operation


def name_of(route: APIRoute) -> str:
    """Return the name of a route: its module and its own name, which is that of its function by default."""
    return f"{route.endpoint.__module__.rpartition('.')[2]}.{route.name}"


_ONLY_SOME: dict[str, Callable[[EntityType], bool]] = {
    "bulk": lambda row: row.name != "eventsubscription",
    "sheets": lambda row: row.name in SHEETS,
    "assets": lambda row: row.name in GROUPS,
    "votes": lambda row: "votes" in row.keys,
    "samples": lambda row: row.name in FORMS,
    "followers": lambda row: row.is_followable,
    "listing.list_children": lambda row: row.name == "container",
    "listing.list_ancestors": lambda row: row.name == "container",
}


def has(kind: EntityType, route: str) -> bool:
    """Return whether a collection of entities of this type has a route that is laid out for all of them."""
    applies = _ONLY_SOME.get(route) or _ONLY_SOME.get(route.partition(".")[0])
    return applies is None or applies(kind)
