"""Parameters of operations: FastAPI's, and the filters of each list.

Their descriptions are those that routes give, or those here, where a name means the same everywhere.

Next: ``store/catalogue/entities/filters.py``.
"""

from __future__ import annotations

from tocsin.model.entity import Document
from tocsin.model.entity_type import EntityType
from tocsin.server.openapi.json_schema import TEXT
from tocsin.store.catalogue.entities.filters import filters_of

_DESCRIPTIONS = {
    "after": "Cursor of the page after; from `paging`.",
    "alert": "Id or name of an alert.",
    "alert_type": "Type of alert, e.g. `Notification`.",
    "asOf": "The state at this time, epoch milliseconds.",
    "asset": "Id or fully qualified name of an asset.",
    "assignee": "Id or name of a user or team.",
    "async": "Whether the answer is a job that has ended, with status 202.",
    "before": "Cursor of the page before; from `paging`.",
    "by": "Whether `key` is an `id` or a `name`.",
    "change": "Whether the assets are added or removed.",
    "column": "Name of a column.",
    "columns": "Comma list of columns: only what uses them.",
    "connector": "Name of a connector.",
    "date": "A day, `2026-01-31`; default: today.",
    "days": "Number of days up to the date.",
    "deleted": "Whether deleted entities are searched, too.",
    "depth": "Levels of lineage to follow downstream.",
    "destination": "Id of a destination of the alert.",
    "downstreamDepth": "Levels of lineage to follow downstream.",
    "dryRun": "Whether the request is only tried, and nothing is written.",
    "endDate": "The last day, or a time in epoch milliseconds.",
    "endTs": "End of the time range, epoch milliseconds.",
    "entityId": "Id of an entity.",
    "entityLink": "Link to an asset or a part of it: `<#E::table::warehouse.shop.public.orders>`.",
    **dict.fromkeys(("entityType", "entityTypes"), "Comma list of types of entities."),
    **dict.fromkeys(("eventType", "eventTypes"), "Comma list of types of events."),
    "expression": "A condition.",
    "fetch_source": "Without effect: hits always have their entity.",
    "field": "The field whose values are counted.",
    "fieldName": "The field to search.",
    "fields": "Comma list of the fields that are left out unless asked for, such as `owners,tags`; `*` for all.",
    "fieldValue": "The text to find; `*` and `?` stand for others.",
    "format": "Form of events.",
    "fqn": "Fully qualified name.",
    "from": "Number of the first hit.",
    "group": "Id or fully qualified name.",
    "hardDelete": "Whether it is deleted for good.",
    "if-match": "The `ETag` of the state that is to be changed; 412 if it is another one by now.",
    "incident": "Number (`INC-7`) or id of an incident.",
    "include": "Whether what is deleted is included.",
    "include_aggregations": "Whether the hits are counted by every field, too.",
    "include_source_fields": "Keys of the entities to be returned; default: all.",
    "includeFields": "Comma list of fields: only events that change one of them.",
    "index": "Comma list of indexes, such as `table`; default: all.",
    "isJoinable": "Only teams that people can join, and those above them.",
    "key": "Id or name of an alert.",
    "kind": "Kind of the entries; default: all.",
    "last-event-id": "Position after which the stream goes on.",
    "latest": "Whether only the current step of each test case is returned.",
    "limit": "Most entries on one page.",
    "limitPosts": "Most posts shown of each thread, the latest ones.",
    "listCountOnly": "Whether the events are only counted.",
    "maxDeletedPercent": "Most of the scope that may be deleted, in percent, if it is more than ten entities.",
    "name": "Name.",
    "namePrefix": "Beginning of the names.",
    "number": "Number of a task.",
    "offset": "Number of entries to skip.",
    "overrideMetadata": "Whether a bot also replaces what a person wrote last.",
    "owner": "Id or name of an owner.",
    "paginationOffset": "Number of entries to skip.",
    "pipeline": "Fully qualified name of a pipeline.",
    "q": "What to search for; see docs/search.md.",
    "query": "Without effect: nothing is shortened.",
    "query_filter": "Further conditions, as JSON.",
    "reason": "Why they failed, e.g. `rejected`.",
    "recursive": "Whether everything below is included.",
    "removeAll": "Whether all personal tokens are revoked.",
    "resource": "A type of entity, or another resource of policies.",
    "run_id": "Id of a run.",
    "search_after": "The `sort` of the last hit of the page before.",
    "since": "Start: `30d`, a date, or epoch milliseconds.",
    "size": "Most hits on one page.",
    "sort_field": "The field to sort by.",
    "sort_order": "The direction to sort in.",
    "source": "By what edges were found, e.g. `ViewLineage`.",
    "startDate": "The first day, or a time in epoch milliseconds.",
    "startTs": "Start of the time range, epoch milliseconds.",
    "status": "Only entries of this status.",
    "subscription": "Id or name of an alert.",
    "tags": "Comma list of tags, each of which an entity has.",
    "timestamp": "A time, epoch milliseconds.",
    "to": "The newer version; default: the newest.",
    "tocsin_login": "Cookie of a log-in that has begun.",
    "token": "The token of the link in a mail.",
    "track_total_hits": "Whether hits are counted exactly.",
    "unread": "Whether only unread notifications are returned.",
    "until": "End: `1d`, a date, or epoch milliseconds.",
    "upstreamDepth": "Levels of lineage to follow upstream.",
    "user": "Id or name of a person; default: oneself.",
    "userName": "Name of the person who made the changes.",
    "validate": "Whether the columns must be those of the table.",
    "version": "A version, e.g. `0.3`.",
    "wait": "Seconds to wait for the result.",
    "words": "Whether the changes are described in words.",
}
_FILTER = "Only entities with this value; see docs/entities.md."


def parameters_of(declared: list[Document], enums: Document, route: str, row: EntityType | None) -> list[Document]:
    """Return the parameters of a route, each described; ``declared`` are FastAPI's."""
    parameters = [_plain(one, enums) for one in declared]
    names = {one["name"] for one in parameters}
    filters = sorted(filters_of(row.name)) if row and route == "listing.list_entities" else ()
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
