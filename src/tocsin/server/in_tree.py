"""What do teams and people have from their place in the tree of teams? Parents that are shown, and domains.

Next: ``store/catalogue/teams.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

from tocsin.access.subject import ORGANIZATION
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType
from tocsin.server.request import Caller

IN_TREE = frozenset({"team", "user"})
"""The types that have a place in it."""


def in_tree(
    row: EntityType, documents: Sequence[Document], caller: Caller, fields: frozenset[str] | None
) -> list[Document]:
    """Return teams or people with the domains of their teams, and teams without parents with the Organization."""
    whole = list(documents)
    if fields is None or "domains" in fields:
        bare = [one["id"] for one in whole if not one.get("domains")]
        found = caller.parts.catalogue.team_domains(bare) if bare else {}
        whole = [one | _inherited(found[one["id"]]) if one["id"] in found else one for one in whole]
    if row.name == "team" and (fields is None or "parents" in fields):
        root = caller.parts.catalogue.root_team()
        whole = [one | {"parents": [root]} if root and _is_top(one) else one for one in whole]
    return whole


def _inherited(domains: Sequence[Document]) -> Document:
    return {"domains": [{**domain, "inherited": True} for domain in domains]}


def _is_top(team: Document) -> bool:
    return not team.get("parents") and team["name"] != ORGANIZATION
