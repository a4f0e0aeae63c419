"""Membership of assets in domains, data products, tags and owners, written as a change of the asset.

Adding assets through the group (``PUT /dataProducts/{name}/assets/add``) and patching the asset change the same list of
the asset, so both make one event of the asset. Next: ``flow/capture/upsert.py``.
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
    """Return the list entry by which an asset belongs to ``group``, a reference."""
    if group_type in SOURCES:
        label = {"tagFQN": group["fullyQualifiedName"], "source": SOURCES[group_type]}
        return label | {"labelType": "Manual", "state": "Confirmed"}
    return {"id": group["id"], "type": group_type}
