"""How does an asset join a domain, a data product, a tag or an owner? As an ordinary change of the asset.

Whoever says so at the group's side (``PUT /dataProducts/{name}/assets/add``) changes the same list of the asset as
whoever patches the asset itself, so both are one event of the asset. Next: ``flow/capture/requested.py``.
"""

from __future__ import annotations

from tocsin.model.entity import Document
from tocsin.model.labels import SOURCES

GROUPS: dict[str, str] = {
    "domain": "domains",
    "dataProduct": "dataProducts",
    "tag": "tags",
    "glossaryTerm": "tags",
    "user": "owners",
    "team": "owners",
}
"""Per type that groups assets: the list of an asset that says so."""

GIVEN: dict[str, tuple[str, str]] = {"team": ("children", "parents"), "dataProduct": ("assets", "dataProducts")}
"""Per type whose requests may name what belongs to it: the key in the request, and the list of what it names."""


def member_of(group_type: str, group: Document) -> Document:
    """Return what stands in an asset's list for belonging to ``group``, a reference."""
    if group_type in SOURCES:
        label = {"tagFQN": group["fullyQualifiedName"], "source": SOURCES[group_type]}
        return label | {"labelType": "Manual", "state": "Confirmed"}
    return {"id": group["id"], "type": group_type}
