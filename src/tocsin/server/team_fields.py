"""Fields of teams and people that follow from the hierarchy of teams: implied parents and domains.

Next: ``store/catalogue/teams.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

from tocsin.access.subject import ORGANIZATION
from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType
from tocsin.server.request import Caller

_ABOVE = {"team": "parents", "user": "teams"}
IN_TREE = frozenset(_ABOVE)
"""The types that have a place in it."""


def in_tree(
    row: EntityType, documents: Sequence[Document], caller: Caller, fields: frozenset[str] | None
) -> list[Document]:
    """Return teams or people with the domains of their teams, and those that are in no team with the Organization."""
    whole = list(documents)
    if fields is None or "domains" in fields:
        bare = [one["id"] for one in whole if not one.get("domains")]
        found = caller.parts.catalogue.team_domains(bare) if bare else {}
        whole = [one | _inherited(found[one["id"]]) if one["id"] in found else one for one in whole]
    above = _ABOVE[row.name]
    if (fields is None or above in fields) and any(_is_top(one, above) for one in whole):
        root = caller.parts.catalogue.root_team()
        whole = [one | {above: [root]} if root and _is_top(one, above) else one for one in whole]
    return whole


def _inherited(domains: Sequence[Document]) -> Document:
    return {"domains": [{**domain, "inherited": True} for domain in domains]}


def _is_top(one: Document, above: str) -> bool:
    return not one.get(above) and not (above == "parents" and one["name"] == ORGANIZATION)
