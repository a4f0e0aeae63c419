"""Response fields of an entity: the keys of its type, those requested with ``fields=``, and absolute URLs.

OpenMetadata's client rejects a response with an unknown key, so keys outside the type's schema are removed.
Next: ``server/routes/entities/crud.py``.
"""

from __future__ import annotations

from tocsin.errors import InvalidInput
from tocsin.model.entity import Document
from tocsin.model.entity_type import FOLLOWERS, EntityType
from tocsin.model.entity_types import ENTITY_TYPES
from tocsin.model.member_fqn import with_member_names
from tocsin.model.phrases import meant, with_article
from tocsin.server.http.paths import API

ON_REQUEST = frozenset(
    {
        "owners",
        "tags",
        "followers",
        "domains",
        "extension",
        "teams",
        "users",
        "parents",
        "tests",
        "follows",
        "triggers",
        "dependsOn",
    }
)
"""What a read leaves out unless ``fields=`` names it; an answer to a write holds what the entity holds."""

ALL = "*"


def parse_fields(row: EntityType, text: str | None) -> frozenset[str]:
    """Return the fields asked for: a comma list of names, or ``*`` for all that OpenMetadata's clients can read.

    Raises
    ------
    InvalidInput : one of them is no field of this type
    """
    asked = frozenset(name.strip() for name in (text or "").split(",") if name.strip())
    if ALL in asked:
        return row.keys - (row.added.keys() & FOLLOWERS.keys()) | (asked & row.keys)
    unknown = sorted(asked - row.keys)
    if unknown:
        said = f"{with_article(row.name)} has no field {unknown[0]!r}; {meant(unknown[0], sorted(row.keys))}"
        raise InvalidInput(said, field="fields")
    return asked


def shown(row: EntityType, document: Document, root: str, *, fields: frozenset[str] | None = None) -> Document:
    """Return the document as it is answered; ``root`` is the server's address, ``fields`` None shows everything."""
    allowed = row.keys if fields is None else row.keys - (ON_REQUEST - fields)
    view = {key: value for key, value in with_member_names(row, document).items() if key in allowed}
    for key in (fields or frozenset()) & (row.keys - row.added.keys()) & ON_REQUEST & _LISTS:
        view.setdefault(key, [])
    if "testSuites" in view:  # as suites, which have no type, not as references
        view["testSuites"] = [_untyped(suite) for suite in view["testSuites"]]
    view["href"] = href(row, document["id"], root)
    return view


def href(row: EntityType, entity_id: str, root: str) -> str:
    """Return the absolute address of an entity."""
    return f"{root}{API}/{row.collection}/{entity_id}"


def addressed(reference: Document, root: str) -> Document:
    """Return a reference with the absolute address of what it points to."""
    return {**reference, "href": href(ENTITY_TYPES[reference["type"]], reference["id"], root)}


def _untyped(reference: Document) -> Document:
    """Return a reference without its type, as upstream shows an entity in its place."""
    return {key: value for key, value in reference.items() if key != "type"}


_LISTS = ON_REQUEST - {"extension"}
