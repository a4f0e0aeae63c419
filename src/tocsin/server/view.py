"""What of an entity is shown? The keys its type has, those asked for through ``fields=``, and absolute addresses.

OpenMetadata's client refuses an answer with one key too many, so nothing leaves that the type's schema lacks.
Next: ``server/routes/entities.py``.
"""

from __future__ import annotations

from tocsin.errors import InvalidInput
from tocsin.model.entity import Document
from tocsin.model.entity_types import ENTITY_TYPES, EntityType, keys_of
from tocsin.server.paths import API

ON_REQUEST = frozenset(
    {"owners", "tags", "followers", "domains", "extension", "teams", "users", "parents", "tests", "follows"}
)
"""What a read leaves out unless ``fields=`` names it; an answer to a write holds what the entity holds."""

_ELSEWHERE = (
    "certification charts childrenCount customMetrics customProperties dataModel dataModels dataProducts "
    "defaultPersona defaultRoles experts incidentId incidentStatus inheritedRoles joins lifeCycle ownedBy owns "
    "personas pipelines policies profile reviewers roles sampleData scheduleInterval schemaDefinition statusDetails "
    "summary tableConstraints tablePartition testSuite testSuites testCaseResult testDefinition usageSummary "
    "userCount votes"
)
KNOWN_ELSEWHERE = frozenset(_ELSEWHERE.split())
"""Fields that upstream knows for one type or another and that are empty here: accepted, answered without them."""

ALL = "*"


def parse_fields(row: EntityType, text: str | None) -> frozenset[str]:
    """Return the fields asked for: a comma list of names, or ``*`` for all.

    Raises
    ------
    InvalidInput : one of them is no field of this type
    """
    asked = frozenset(name.strip() for name in (text or "").split(",") if name.strip())
    if ALL in asked:
        return keys_of(row)
    extra = {"follows"} if row.name == "user" else set()
    unknown = sorted(asked - keys_of(row) - KNOWN_ELSEWHERE - extra)
    if unknown:
        known = ", ".join(sorted(keys_of(row) & ON_REQUEST))
        raise InvalidInput(f"{unknown[0]!r} is no field of a {row.name}; on request there are: {known}", field="fields")
    return asked


def shown(row: EntityType, document: Document, root: str, *, fields: frozenset[str] | None = None) -> Document:
    """Return the document as it is answered; ``root`` is the server's address, ``fields`` None shows everything."""
    allowed = keys_of(row) if fields is None else keys_of(row) - (ON_REQUEST - fields)
    view = {key: value for key, value in document.items() if key in allowed}
    for key in (fields or frozenset()) & keys_of(row) & ON_REQUEST & _LISTS:
        view.setdefault(key, [])
    view["href"] = href(row, document["id"], root)
    return view


def href(row: EntityType, entity_id: str, root: str) -> str:
    """Return the absolute address of an entity."""
    return f"{root}{API}/{row.collection}/{entity_id}"


def addressed(reference: Document, root: str) -> Document:
    """Return a reference with the absolute address of what it points to."""
    return {**reference, "href": href(ENTITY_TYPES[reference["type"]], reference["id"], root)}


_LISTS = ON_REQUEST - {"extension"}
