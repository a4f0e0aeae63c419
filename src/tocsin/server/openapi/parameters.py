"""Parameters of operations: FastAPI's, and the filters of each list.

Their descriptions are those that routes give, or those here, where a name means the same everywhere.

Next: ``store/catalogue/entities/filters.py``.
"""

from __future__ import annotations

from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType
from tocsin.model.stated_reason import WHY_HEADER
from tocsin.server.http.json_schema import TEXT
from tocsin.store.catalogue.entities.filters import filters_of

_DESCRIPTIONS = {
    "after": "Cursor of the page after; from `paging`.",
    "alert_type": "Type of alert, e.g. `Notification`.",
    "asOf": "The state at this time, epoch milliseconds.",
    "async": "Whether the answer is a job that has ended, with status 202.",
    "before": "Cursor of the page before; from `paging`.",
    "by": "Whether `key` is an `id` or a `name`.",
    "change": "Whether the assets are added or removed.",
    "column": "Name of a column.",
    "connector": "Name of a connector.",
    "downstreamDepth": "Levels of lineage to follow downstream.",
    "dryRun": "Whether the request is only tried, and nothing is written.",
    "endDate": "The last day, or a time in epoch milliseconds.",
    "endTs": "End of the time range, epoch milliseconds.",
    "entityLink": "Link to an asset or a part of it: `<#E::table::warehouse.shop.public.orders>`.",
    "eventType": "Comma list of types of events.",
    "expression": "A condition.",
    "fields": "Comma list of the fields that are left out unless asked for, such as `owners,tags`; `*` for all.",
    "fieldValue": "The text to find; `*` and `?` stand for others.",
    "format": "Form of events.",
    "fqn": "Fully qualified name.",
    "group": "Id or fully qualified name.",
    "if-match": "The `ETag` of the state that is to be changed; 412 if it is another one by now.",
    "incident": "Number (`INC-7`) or id of an incident.",
    "include": "Whether what is deleted is included.",
    "include_source_fields": "Keys of the entities to be returned; default: all.",
    "channel": "The channel, e.g. `Slack`.",
    "holder_id": "Id of a user or team.",
    "person_id": "Id of the person who has named the user as substitute.",
    "index": "Comma list of indexes, such as `table`; default: all.",
    "isJoinable": "Only teams that people can join, and those above them.",
    "key": "Id or name of an alert.",
    "last-event-id": "Position after which the stream goes on.",
    "limit": "Most entries on one page.",
    "limitPosts": "Most posts shown of each thread, the latest ones.",
    "maxDeletedPercent": "Most of the scope that may be deleted, in percent, if it is more than ten entities.",
    "name": "Name.",
    "number": "Number of a task.",
    "overrideMetadata": "Whether a bot also replaces what a person wrote last.",
    "pipeline": "Fully qualified name of a pipeline.",
    "query": "Without effect: nothing is shortened.",
    "recursive": "Whether everything below is included.",
    "removeAll": "Whether all personal tokens are revoked.",
    "request": "Number (`CR-12`) or id of a change request.",
    "resource": "A type of entity, or another resource of policies.",
    "run_id": "Id of a run.",
    "search_after": "The `sort` of the last hit of the page before.",
    "since": "Start: `30d`, a date, or epoch milliseconds.",
    "source": "By what edges were found, e.g. `ViewLineage`.",
    "startDate": "The first day, or a time in epoch milliseconds.",
    "status": "Only entries of this status.",
    "subscription": "Id or name of an alert.",
    "timestamp": "A time, epoch milliseconds.",
    "token": "The token of the link in a mail.",
    "upstreamDepth": "Levels of lineage to follow upstream.",
    "user": "Id or name of a person; default: oneself.",
    "validate": "Whether the columns must be those of the table.",
    "version": "A version, e.g. `0.3`.",
    "words": "Whether the changes are described in words.",
}
_FILTER = "Only entities with this value; see docs/entities.md."


WHY_PARAMETER: Document = {
    "name": WHY_HEADER,
    "in": "header",
    "required": False,
    "description": "Why the change is made: plain text in one line, in other letters than ASCII as RFC 8187 has it.",
    "schema": TEXT,
}
"""The parameter of every operation that may write."""


def parameters_of(declared: list[Document], enums: Document, route: str, kind: EntityType | None) -> list[Document]:
    """Return the parameters of a route, each described; ``declared`` are FastAPI's."""
    parameters = [_plain(one, enums) for one in declared]
    names = {one["name"] for one in parameters}
    filters = sorted(filters_of(kind.name)) if kind and route == "listing.list_entities" else ()
    return parameters + [
        {"name": name, "in": "query", "required": False, "description": _FILTER, "schema": dict(TEXT)}
        for name in filters
        if name not in names
    ]


def _plain(parameter: Document, enums: Document) -> Document:
    schema, name = _without_null(parameter["schema"], enums), parameter["name"]
    return {
        "name": name,
        "in": parameter["in"],
        "required": parameter.get("required", False),
        "description": parameter.get("description") or schema.get("description") or _description(name),
        "schema": {key: value for key, value in schema.items() if key not in ("title", "description")},
    }


def _description(name: str) -> str:
    kind = name.removesuffix("_id").removesuffix("_fqn").removesuffix("_type").replace("_", " ")
    ending = name.rpartition("_")[2]
    words = {"id": f"Id of the {kind}.", "fqn": f"Fully qualified name of the {kind}.", "type": f"Type of the {kind}."}
    return _DESCRIPTIONS.get(name) or words[ending]


def _without_null(schema: Document, enums: Document) -> Document:
    """Return a parameter's schema without null, which no query can say, and without references."""
    if "$ref" in schema:
        return {key: value for key, value in enums[schema["$ref"].rpartition("/")[2]].items() if key != "description"}
    alternatives = [_without_null(one, enums) for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    beside = {key: value for key, value in schema.items() if key != "anyOf"}
    if not alternatives:
        return beside
    return {**beside, **alternatives[0]} if len(alternatives) == 1 else {**beside, "anyOf": alternatives}
