"""References with the names that the caller may see. Next: ``server/access/permissions.py``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tocsin.model.entity import Document
from tocsin.server.request import Caller

_SHOWN = ("name", "fullyQualifiedName", "displayName", "deleted")


def with_names(references: Sequence[Document], caller: Caller) -> dict[str, Document]:
    """Return these references by id, those of the deleted as well; without names where they may not be seen."""
    visible_ids = caller.visibility.sees(references)
    documents = caller.parts.access.standing.of(
        {reference["id"] for reference in references if reference["id"] in visible_ids}
    )
    return {
        reference["id"]: reference | {key: document[key] for key in _SHOWN if document.get(key)}
        for reference in references
        for document in (documents.get(reference["id"], ("", {}))[1],)
    }


def shown_name_of(reference: Mapping[str, object]) -> str:
    """Return what people call a person or team that a reference names: the display name, else the name."""
    return str(reference.get("displayName") or reference.get("name") or reference["id"])
