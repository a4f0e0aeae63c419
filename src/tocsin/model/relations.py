"""Inverse relations of an entity: keys computed from other entities' documents on reading, never stored.

A dashboard names its charts; a chart's list of dashboards is such a relation. Next:
``store/catalogue/entities/relations.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

from tocsin.model.entity_types import ENTITY_TYPES


@dataclass(frozen=True)
class Relation:
    """An inverse relation under one key.

    Attributes
    ----------
    types : of the related entities
    field : the key under which they name this one; None for its children
    counted : whether only their number is shown
    deep : whether all descendants count
    in_teams : whether it follows the hierarchy of teams
    at_most : the most entries shown; the rest is listed elsewhere, page by page
    """

    types: tuple[str, ...]
    field: str | None = None
    counted: bool = False
    deep: bool = False
    in_teams: bool = False
    at_most: int | None = None


def _below(*types: str) -> Relation:
    return Relation(types)


def _many(*types: str) -> Relation:
    return Relation(types, counted=True)


_USED = Relation((), "tags", counted=True, deep=True)
_OWNED = Relation((), "owners")
_MOST_ASSETS = 1_000
_FROM_ABOVE = Relation(("role",), "defaultRoles", deep=True, in_teams=True)

RELATIONS: dict[str, dict[str, Relation]] = {
    **{row.name: {"pipelines": _below("ingestionPipeline")} for row in ENTITY_TYPES.values() if row.is_service},
    "apiCollection": {"apiEndpoints": _below("apiEndpoint")},
    "classification": {"termCount": Relation(("tag",), counted=True, deep=True), "usageCount": _USED},
    "container": {"children": _below("container")},
    "database": {"databaseSchemas": _below("databaseSchema")},
    "databaseSchema": {"tables": _below("table")},
    "dataProduct": {"assets": Relation((), "dataProducts", at_most=_MOST_ASSETS)},
    "domain": {
        "assets": Relation((), "domains", at_most=_MOST_ASSETS),
        "children": _below("domain"),
        "childrenCount": _many("domain"),
    },
    "glossary": {"termCount": Relation(("glossaryTerm",), counted=True, deep=True), "usageCount": _USED},
    "glossaryTerm": {
        "children": _below("glossaryTerm"),
        "childrenCount": _many("glossaryTerm"),
        "usageCount": _USED,
    },
    "policy": {"roles": Relation(("role",), "policies"), "teams": Relation(("team",), "policies")},
    "role": {"teams": Relation(("team",), "defaultRoles"), "users": Relation(("user",), "roles")},
    "tag": {"children": _below("tag"), "usageCount": _USED},
    "team": {
        "children": Relation(("team",), "parents", in_teams=True),
        "childrenCount": Relation(("team",), "parents", counted=True, in_teams=True),
        "inheritedRoles": _FROM_ABOVE,
        "owns": _OWNED,
        "userCount": Relation(("user",), "teams", counted=True, deep=True, in_teams=True),
    },
    "user": {"inheritedRoles": _FROM_ABOVE, "owns": _OWNED},
}
"""By type and key. ``_USED`` counts the entities with a label that names this entity or a descendant."""

BOTH_WAYS: dict[str, dict[str, Relation]] = {
    "chart": {"dashboards": Relation(("dashboard",), "charts")},
    "dashboard": {"charts": Relation(("chart",), "dashboards")},
}
"""Keys that a document has itself, to which those are added who say the same from the other side."""

SHOWN_FIELDS = ("charts", "dataModels")
"""Keys under which a dashboard names what its page shows."""
